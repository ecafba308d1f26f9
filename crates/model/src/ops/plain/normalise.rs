//! Turns scores into weights that add up to one: over the row, or over the segment.

use burn::tensor::activation::{relu, softmax};
use burn::tensor::{Bool, Int, Tensor};

use super::segment::Padding;
use crate::config::Normaliser;
use crate::packed::Segments;

/// What a score of padding is set to: far below any other, yet finite.
const FAR_BELOW: f64 = -1e8;

/// See [`crate::ops::normalise_rows`].
pub fn normalise_rows(scores: Tensor<2>, normaliser: Normaliser) -> Tensor<2> {
    normalise(scores, 1, normaliser)
}

/// See [`crate::ops::normalise_segments`].
pub fn normalise_segments(
    scores: Tensor<2>,
    segments: &Segments,
    normaliser: Normaliser,
) -> Tensor<2> {
    let padding = Padding::new(segments, &scores.device());
    let padded = padding.pad(scores);
    let absent: Tensor<3, Bool> = padding.absent().expand(padded.shape());
    padding.unpad(normalise(padded.mask_fill(absent, FAR_BELOW), 1, normaliser))
}

fn normalise<const D: usize>(
    scores: Tensor<D>,
    dimension: usize,
    normaliser: Normaliser,
) -> Tensor<D> {
    match normaliser {
        Normaliser::Sparsemax => sparsemax(scores, dimension),
        Normaliser::Softmax => softmax(scores, dimension),
    }
}

/// The Euclidean projection onto the simplex (Martins and Astudillo, 2016).
///
/// The support (which weights are not zero) comes from the sorted scores; given the support, the
/// weights are `z - tau` with `tau = (sum of z over the support - 1) / size of the support`. The
/// support is constant almost everywhere, so it does not contribute to the gradient.
fn sparsemax<const D: usize>(scores: Tensor<D>, dimension: usize) -> Tensor<D> {
    let device = scores.device();
    let fixed = scores.clone().detach();
    let sorted = fixed.clone().sort_descending(dimension);
    let mut shape = [1; D];
    shape[dimension] = sorted.dims()[dimension];
    let rank: Tensor<D> = Tensor::<1, Int>::arange(1..shape[dimension] as i64 + 1, &device)
        .float()
        .cast(sorted.dtype())
        .reshape(shape);
    let sums = sorted.clone().cumsum(dimension);
    let inside = (sorted.clone() * rank + 1.0).greater(sums).float().cast(sorted.dtype());
    let threshold =
        ((sorted * inside.clone()).sum_dim(dimension) - 1.0) / inside.sum_dim(dimension);
    let support = fixed.clone().greater(threshold).float().cast(fixed.dtype());

    let size = support.clone().sum_dim(dimension);
    let threshold = ((scores.clone() * support.clone()).sum_dim(dimension) - 1.0) / size;
    relu((scores - threshold) * support)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    fn rows(values: Tensor<2>) -> Vec<f32> {
        values.try_into_vec_as::<f32>().unwrap()
    }

    #[test]
    fn sparsemax_projects_onto_the_simplex() {
        let device = Device::flex();
        let scores =
            Tensor::from_floats([[0.1, 0.0, 0.2], [3.0, 0.0, -1.0], [1.0, 0.5, 0.5]], &device);
        let weights = rows(normalise_rows(scores, Normaliser::Sparsemax));
        let expected =
            [1.0 / 3.0, 0.7 / 3.0, 1.3 / 3.0, 1.0, 0.0, 0.0, 2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0];
        for (weight, expected) in weights.iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-6, "{weights:?}");
        }
    }

    #[test]
    fn segments_are_normalised_separately() {
        let device = Device::flex();
        let segments = Segments::from_lengths([2, 1, 0, 3]);
        for normaliser in [Normaliser::Sparsemax, Normaliser::Softmax] {
            let scores = Tensor::from_floats([[0.3], [0.1], [-50.0], [0.0], [1.0], [0.2]], &device);
            let weights = rows(normalise_segments(scores, &segments, normaliser));
            for range in segments.ranges().filter(|range| !range.is_empty()) {
                let sum: f32 = weights[range].iter().sum();
                assert!((sum - 1.0).abs() < 1e-6, "{normaliser:?}: {weights:?}");
            }
        }
    }
}
