//! The named items of a Marian model, from either kind of file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The item that holds Marian's options.
const OPTIONS: &str = "special:model.yml";

/// Parameters in single precision, and the options of the network.
#[derive(Debug)]
pub(super) struct Items {
    path: PathBuf,
    text: Option<String>,
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    /// Whether any of them was stored as integers.
    pub is_int8: bool,
}

impl Items {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), text: None, tensors: BTreeMap::new(), is_int8: false }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether an item of this name is the text of the options.
    pub fn is_text(name: &str) -> bool {
        name == OPTIONS
    }

    /// Whether an item is not used here: the input multipliers of Marian's own integer products.
    pub fn is_unused(name: &str) -> bool {
        name.ends_with("_QuantMultA")
    }

    /// Takes the options; the file ends them with a zero byte.
    pub fn set_text(&mut self, bytes: &[u8]) -> Result<(), String> {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let text = std::str::from_utf8(&bytes[..end])
            .map_err(|_| format!("item {OPTIONS} is not UTF-8"))?;
        self.text = Some(text.to_owned());
        Ok(())
    }

    /// The options, if the file has them.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Adds a parameter, whose number of values fits its shape.
    pub fn insert(
        &mut self,
        name: String,
        shape: Vec<usize>,
        values: Vec<f32>,
    ) -> Result<(), String> {
        if !values.iter().all(|value| value.is_finite()) {
            return Err(format!("item {name} has values that are not finite"));
        }
        if self.tensors.contains_key(&name) {
            return Err(format!("item {name} occurs twice"));
        }
        self.tensors.insert(name, (shape, values));
        Ok(())
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The shape of an item, without dimensions of 1 before the last: Marian's vectors are rows.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        let (shape, _) = self.tensors.get(name)?;
        Some(match &shape[..] {
            [1, rest @ ..] if rest.len() == 1 => rest,
            shape => shape,
        })
    }

    /// The values of an item, row by row.
    pub fn values(&self, name: &str) -> Option<&[f32]> {
        self.tensors.get(name).map(|(_, values)| &values[..])
    }
}

/// How many values a shape has.
pub(super) fn elements(name: &str, shape: &[usize]) -> Result<usize, String> {
    let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
    match count {
        Some(count) if count > 0 => Ok(count),
        _ => Err(format!("item {name} has the impossible shape {shape:?}")),
    }
}
