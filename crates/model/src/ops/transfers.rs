//! What goes to a device, and what is read back: in one place, so that it can be counted.
//!
//! Reading waits for all the work that a device was given, so an update of training reads once.

use burn::tensor::kind::Basic;
use burn::tensor::{Device, Element, Int, Tensor, TensorData};
use tracing::trace;

use crate::{Error, Result};

/// The target of the events that tell of each transfer, with its bytes as the field `uploaded` or `read`.
/// Those of the engine's own operations are not among them.
pub const TRANSFERS: &str = "abridge::transfers";

/// Makes a tensor of values.
pub fn upload<const D: usize, K: Basic, E: Element>(
    values: Vec<E>,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D, K> {
    trace!(target: TRANSFERS, uploaded = size_of_val(values.as_slice()));
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Reads all values of a tensor, row by row; fails if the device has failed.
pub fn read<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    let data = tensor.try_into_data().map_err(Error::failed_device)?;
    let values: Vec<f32> = data.iter::<f32>().collect();
    trace!(target: TRANSFERS, read = size_of_val(values.as_slice()));
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
