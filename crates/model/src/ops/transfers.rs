//! What goes to a device, and what is read back: in one place, so that it can be counted.
//!
//! Reading waits for all the work that a device was given, so an update of training reads once.

use std::sync::atomic::{AtomicU64, Ordering};

use burn::tensor::kind::Basic;
use burn::tensor::{Device, Element, Int, Tensor, TensorData};

use crate::{Error, Result};

static UPLOADS: AtomicU64 = AtomicU64::new(0);
static UPLOADED: AtomicU64 = AtomicU64::new(0);
static READS: AtomicU64 = AtomicU64::new(0);
static READ: AtomicU64 = AtomicU64::new(0);

/// The transfers of this process, over all threads and devices; those of the engine's own operations are
/// not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Tensors that were made of values of this program.
    pub uploads: u64,
    /// Their bytes.
    pub uploaded_bytes: u64,
    /// How often values were read from a device.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
}

impl Transfers {
    /// Those so far.
    pub fn so_far() -> Self {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Self {
            uploads: of(&UPLOADS),
            uploaded_bytes: of(&UPLOADED),
            reads: of(&READS),
            read_bytes: of(&READ),
        }
    }

    /// Those after an earlier count.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            uploads: self.uploads - before.uploads,
            uploaded_bytes: self.uploaded_bytes - before.uploaded_bytes,
            reads: self.reads - before.reads,
            read_bytes: self.read_bytes - before.read_bytes,
        }
    }
}

/// Makes a tensor of values.
pub fn upload<const D: usize, K: Basic, E: Element>(
    values: Vec<E>,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D, K> {
    UPLOADS.fetch_add(1, Ordering::Relaxed);
    UPLOADED.fetch_add(size_of_val(values.as_slice()) as u64, Ordering::Relaxed);
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Reads all values of a tensor, row by row; fails if the device has failed.
pub fn read<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    let data = tensor.try_into_data().map_err(Error::failed_device)?;
    READS.fetch_add(1, Ordering::Relaxed);
    let values: Vec<f32> = data.iter::<f32>().collect();
    READ.fetch_add(size_of_val(values.as_slice()) as u64, Ordering::Relaxed);
    Ok(values)
}

/// The values of tensors with one value each, read from the device at once.
pub fn read_all(values: Vec<Tensor<1>>) -> Result<Vec<f64>> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    Ok(read(Tensor::cat(values, 0))?.into_iter().map(f64::from).collect())
}

/// Row numbers as a tensor that `select` takes.
pub(crate) fn indices(rows: impl IntoIterator<Item = usize>, device: &Device) -> Tensor<1, Int> {
    let rows: Vec<i64> = rows.into_iter().map(|row| row as i64).collect();
    let count = rows.len();
    upload(rows, [count], device)
}
