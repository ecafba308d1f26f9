//! Files of named tensors: safetensors, and PyTorch checkpoints without running their pickles.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use abridge_base::files::open_regular;
use abridge_machine::file::MappedFile;
use pytorch_reader::{DType, PytorchReader};
use safetensors::tensor::{Dtype, Metadata};

use super::integers::Integers;
use super::precision::{WeightPrecision, scale_name};
use super::{broken, pickle};
use crate::Result;
use crate::ops::kernels::int8_product::MAX_INPUTS;

/// A file of named tensors. Opening it reads names and shapes only.
#[derive(Debug)]
pub struct TensorFile {
    path: PathBuf,
    /// The bytes of a `.safetensors` file, which are read on access.
    map: Option<Arc<MappedFile>>,
    tensors: BTreeMap<String, Stored>,
}

#[derive(Debug)]
struct Stored {
    shape: Vec<usize>,
    elements: Elements,
    place: Place,
    /// The scale of integers: `[rows, 1]` or `[1, columns]`.
    scale: Option<Box<Stored>>,
}

#[derive(Debug)]
enum Place {
    /// At a byte offset of the file.
    At(usize),
    /// Wherever the checkpoint keeps it.
    Checkpoint(pytorch_reader::Tensor),
}

#[derive(Clone, Copy, Debug)]
enum Elements {
    I8,
    F16,
    BF16,
    F32,
    F64,
}

/// A header larger than this is not one of ours.
const MAX_HEADER: u64 = 100 << 20;

impl TensorFile {
    /// Opens a `.safetensors` file, or a PyTorch checkpoint under any other name.
    pub fn open(path: &Path) -> Result<Self> {
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            Self::open_safetensors(path)
        } else {
            Self::open_checkpoint(path)
        }
    }

    fn open_safetensors(path: &Path) -> Result<Self> {
        let fail = |problem: String| broken(path, problem);
        let file = open_regular(path).map_err(|error| fail(error.into_parts().1))?;
        let map =
            MappedFile::map(&file).map_err(|error| fail(format!("cannot read it: {error}")))?;
        let size = map.len();
        let truncated = || fail(format!("truncated: only {size} bytes"));
        let (length, rest) = map.split_first_chunk::<8>().ok_or_else(truncated)?;
        let length = u64::from_le_bytes(*length);
        if length > MAX_HEADER {
            return Err(fail(format!("not a safetensors file: its header claims {length} bytes")));
        }
        let length = length as usize;
        let header = rest.get(..length).ok_or_else(truncated)?;
        let damaged = |error: &dyn std::fmt::Display| fail(format!("damaged header: {error}"));
        let header: Metadata = serde_json::from_slice(header).map_err(|error| damaged(&error))?;
        // Building the metadata anew checks that sizes and offsets agree with each other.
        let ordered = header.offset_keys().into_iter().map(|name| {
            let info = header.info(&name).cloned();
            info.map(|info| (name.clone(), info)).ok_or_else(|| damaged(&name))
        });
        let header = Metadata::new(None, ordered.collect::<Result<_>>()?)
            .map_err(|error| damaged(&error))?;
        let expected = (8 + length).saturating_add(header.data_len());
        if size != expected {
            return Err(fail(format!(
                "the header describes {expected} bytes, but the file has {size}; it was cut off \
                 or changed"
            )));
        }
        let mut tensors = BTreeMap::new();
        for name in header.offset_keys() {
            let info = header.info(&name).ok_or_else(|| damaged(&name))?;
            let elements = match info.dtype {
                Dtype::I8 => Elements::I8,
                Dtype::F16 => Elements::F16,
                Dtype::BF16 => Elements::BF16,
                Dtype::F32 => Elements::F32,
                Dtype::F64 => Elements::F64,
                other => return Err(fail(format!("tensor {name} has elements of type {other:?}"))),
            };
            let place = Place::At(8 + length + info.data_offsets.0);
            let shape = info.shape.clone();
            tensors.insert(name, Stored { shape, elements, place, scale: None });
        }
        attach_scales(&mut tensors).map_err(fail)?;
        Ok(Self { path: path.to_path_buf(), map: Some(Arc::new(map)), tensors })
    }

    /// Tensors of other element types (counters, for instance) are left out: they are not weights.
    fn open_checkpoint(path: &Path) -> Result<Self> {
        pickle::check(path).map_err(|problem| broken(path, problem))?;
        // fairseq keeps weights under the first name, Lightning under the second.
        let reader = PytorchReader::with_top_level_key(path, "model")
            .or_else(|_| PytorchReader::with_top_level_key(path, "state_dict"))
            .or_else(|_| PytorchReader::new(path))
            .map_err(|error| broken(path, format!("not a readable checkpoint: {error}")))?;
        let mut names = reader.keys();
        names.sort();
        let mut tensors = BTreeMap::new();
        for name in names {
            let Some(tensor) = reader.get(&name) else { continue };
            let elements = match tensor.dtype() {
                DType::F16 => Elements::F16,
                DType::BF16 => Elements::BF16,
                DType::F32 => Elements::F32,
                DType::F64 => Elements::F64,
                _ => continue,
            };
            let shape = tensor.shape().to_vec();
            let place = Place::Checkpoint(tensor.clone());
            tensors.insert(name, Stored { shape, elements, place, scale: None });
        }
        Ok(Self { path: path.to_path_buf(), map: None, tensors })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The shape of a tensor, if it is there.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|stored| stored.shape.as_slice())
    }

    /// The values of a tensor, row by row.
    pub fn read(&self, name: &str) -> Result<Vec<f32>> {
        if let Some(integers) = self.integers(name)? {
            return Ok(integers.unpacked());
        }
        self.values(name, self.stored(name)?)
    }

    /// A matrix of integers, without reading it; `None` if the tensor is stored otherwise.
    pub(super) fn integers(&self, name: &str) -> Result<Option<Integers>> {
        let stored = self.stored(name)?;
        let (Some(scale), Some(map), Place::At(start)) = (&stored.scale, &self.map, &stored.place)
        else {
            return Ok(None);
        };
        let scales = self.values(&scale_name(name), scale)?;
        if !scales.iter().all(|scale| scale.is_finite()) {
            let problem = format!("tensor {name} has a scale that is not finite");
            return Err(broken(&self.path, problem));
        }
        // A tensor has a scale only if it is a matrix of integers, and the file was found to be as
        // long as its header says.
        let shape = [stored.shape[0], stored.shape[1]];
        let is_by_row = scale.shape == [shape[0], 1];
        Ok(Some(Integers { map: Arc::clone(map), start: *start, shape, scales, is_by_row }))
    }

    fn stored(&self, name: &str) -> Result<&Stored> {
        let stored = self.tensors.get(name);
        stored.ok_or_else(|| broken(&self.path, format!("tensor {name} is missing")))
    }

    /// The precision of its tensors: the lowest among them.
    pub fn precision(&self) -> WeightPrecision {
        let has = |wanted: fn(Elements) -> bool| {
            self.tensors.values().any(|stored| wanted(stored.elements))
        };
        if has(|elements| matches!(elements, Elements::I8)) {
            WeightPrecision::Int8
        } else if has(|elements| matches!(elements, Elements::F16 | Elements::BF16)) {
            WeightPrecision::Half
        } else {
            WeightPrecision::Single
        }
    }

    fn values(&self, name: &str, stored: &Stored) -> Result<Vec<f32>> {
        let cannot_read =
            |problem: String| broken(&self.path, format!("cannot read tensor {name}: {problem}"));
        let bytes = match &stored.place {
            Place::At(start) => {
                let map = self.map.as_deref().map(|map| &**map).unwrap_or_default();
                let end = stored.byte_length().and_then(|length| start.checked_add(length));
                let bytes = end.and_then(|end| map.get(*start..end));
                Cow::Borrowed(bytes.ok_or_else(|| cannot_read("it is cut off".into()))?)
            }
            Place::Checkpoint(tensor) => {
                Cow::Owned(tensor.read().map_err(|error| cannot_read(error.to_string()))?)
            }
        };
        Ok(stored.elements.to_f32(&bytes))
    }
}

/// Attaches their scales to the tensors of integers; a scale is not a tensor by itself.
fn attach_scales(tensors: &mut BTreeMap<String, Stored>) -> Result<(), String> {
    let integers = tensors.iter().filter(|(_, stored)| matches!(stored.elements, Elements::I8));
    let integers: Vec<(String, Vec<usize>)> =
        integers.map(|(name, stored)| (name.clone(), stored.shape.clone())).collect();
    for (name, shape) in integers {
        let &[rows, columns] = &shape[..] else {
            return Err(format!("tensor {name} holds integers, but is not a matrix: {shape:?}"));
        };
        let scale = tensors.remove(&scale_name(&name)).ok_or_else(|| {
            format!("tensor {name} holds integers, but its scale {name}.scale is missing")
        })?;
        let fits = scale.shape == [rows, 1] || scale.shape == [1, columns];
        if !fits || !matches!(scale.elements, Elements::F32) {
            return Err(format!(
                "the scale of tensor {name} has shape {:?}, but must be [{rows}, 1] or \
                 [1, {columns}] in single precision",
                scale.shape
            ));
        }
        let inputs = if scale.shape == [rows, 1] { columns } else { rows };
        if inputs > MAX_INPUTS {
            return Err(format!(
                "tensor {name} holds integers for {inputs} inputs, but products of integers have \
                 at most {MAX_INPUTS}; store it as f16"
            ));
        }
        if let Some(stored) = tensors.get_mut(&name) {
            stored.scale = Some(Box::new(scale));
        }
    }
    Ok(())
}

impl Stored {
    /// `None` if no file could hold it.
    fn byte_length(&self) -> Option<usize> {
        let sizes = self.shape.iter().copied().chain([self.elements.size()]);
        sizes.into_iter().try_fold(1usize, usize::checked_mul)
    }
}

impl Elements {
    fn size(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    fn to_f32(self, bytes: &[u8]) -> Vec<f32> {
        fn each<const N: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> f32) -> Vec<f32> {
            bytes.as_chunks::<N>().0.iter().map(|&chunk| convert(chunk)).collect()
        }
        match self {
            Self::I8 => each(bytes, |b: [u8; 1]| f32::from(i8::from_le_bytes(b))),
            Self::F16 => each(bytes, |b| half::f16::from_le_bytes(b).to_f32()),
            Self::BF16 => each(bytes, |b| half::bf16::from_le_bytes(b).to_f32()),
            Self::F32 => each(bytes, f32::from_le_bytes),
            Self::F64 => each(bytes, |b| f64::from_le_bytes(b) as f32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_for_too_many_inputs_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("model.safetensors");
        let open = |inputs: usize| {
            let header = serde_json::json!({
                "w": { "dtype": "I8", "shape": [inputs, 1], "data_offsets": [0, inputs] },
                "w.scale": {
                    "dtype": "F32", "shape": [1, 1], "data_offsets": [inputs, inputs + 4],
                },
            });
            let header = header.to_string();
            let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
            bytes.extend(header.as_bytes());
            bytes.resize(bytes.len() + inputs + 4, 0);
            std::fs::write(&file, bytes).unwrap();
            TensorFile::open(&file).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(open(MAX_INPUTS), Ok(()));
        let error = open(MAX_INPUTS + 1).unwrap_err();
        assert!(error.contains("65537 inputs") && error.contains("f16"), "{error}");
    }
}
