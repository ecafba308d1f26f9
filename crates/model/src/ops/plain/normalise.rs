//! Turns scores into weights that add up to one: over the row, or over the segment.

use burn::tensor::activation::{relu, softmax};
use burn::tensor::{Int, Tensor};

use super::segment::Padding;
use crate::config::Normaliser;
use crate::packed::Segments;

/// What a score of padding is set to: far below any other, yet finite.
const FAR_BELOW: f64 = -1e8;
/// The most places whose scores are compared in pairs. Sorting takes less memory, but devices sort on
/// the host, which waits for all that they have been given to do.
const MOST_PAIRED: usize = 256;

/// See [`crate::ops::normalise_rows`].
pub fn normalise_rows(scores: Tensor<2>, normaliser: Normaliser) -> Tensor<2> {
    let [rows, columns] = scores.dims();
    normalise(scores.reshape([rows, columns, 1]), normaliser).reshape([rows, columns])
}

/// See [`crate::ops::normalise_segments`].
pub fn normalise_segments(
    scores: Tensor<2>,
    segments: &Segments,
    normaliser: Normaliser,
) -> Tensor<2> {
    Padding::new(segments, &scores.device())
        .rows(|rectangle| normalise(rectangle.pad_with(&scores, FAR_BELOW), normaliser))
}

/// Over the middle dimension of `[outer, places, inner]`.
fn normalise(scores: Tensor<3>, normaliser: Normaliser) -> Tensor<3> {
    match normaliser {
        Normaliser::Sparsemax => {
            let fixed = scores.clone().detach();
            let few = fixed.dims()[1] <= MOST_PAIRED;
            let support = if few { support_by_pairs(fixed) } else { support_by_sorting(fixed) };
            sparsemax(scores, support)
        }
        Normaliser::Softmax => softmax(scores, 1),
    }
}

/// The Euclidean projection onto the simplex (Martins and Astudillo, 2016), given its support, that
/// is, a one for each weight that is not zero.
///
/// The weights are `z - tau` with `tau = (sum of z over the support - 1) / size of the support`. The
/// support is constant almost everywhere, so it does not contribute to the gradient.
fn sparsemax(scores: Tensor<3>, support: Tensor<3>) -> Tensor<3> {
    let size = support.clone().sum_dim(1);
    let threshold = ((scores.clone() * support.clone()).sum_dim(1) - 1.0) / size;
    relu((scores - threshold) * support)
}

/// A score is in the support if the amounts by which others exceed it add up to less than one.
fn support_by_pairs(scores: Tensor<3>) -> Tensor<3> {
    let [outer, places, inner] = scores.dims();
    let of_one = scores.clone().reshape([outer, places, 1, inner]);
    let of_others = scores.clone().reshape([outer, 1, places, inner]);
    let excess = relu(of_others - of_one).sum_dim(2).reshape([outer, places, inner]);
    excess.lower_scalar(1.0).float().cast(scores.dtype())
}

/// The same in memory that grows with the number of places, not with its square.
fn support_by_sorting(scores: Tensor<3>) -> Tensor<3> {
    let sorted = scores.clone().sort_descending(1);
    let places = sorted.dims()[1];
    let rank: Tensor<3> = Tensor::<1, Int>::arange(1..places as i64 + 1, &scores.device())
        .float()
        .cast(sorted.dtype())
        .reshape([1, places, 1]);
    let sums = sorted.clone().cumsum(1);
    let inside = (sorted.clone() * rank + 1.0).greater(sums).float().cast(sorted.dtype());
    let threshold = ((sorted * inside.clone()).sum_dim(1) - 1.0) / inside.sum_dim(1);
    scores.clone().greater(threshold).float().cast(scores.dtype())
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Device, TensorData};

    use crate::random;

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

    /// Sums to one, no weight below zero, and the score of a positive weight exceeds the threshold by
    /// just that weight, which no other score does: together they define the projection.
    #[track_caller]
    fn assert_is_projection(scores: &[f32], weights: &[f32]) {
        let sum: f32 = weights.iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        let inside = scores.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let thresholds: Vec<f32> = inside.map(|(score, weight)| score - weight).collect();
        for (score, weight) in scores.iter().zip(weights) {
            let expected = (score - thresholds[0]).max(0.0);
            assert!((weight - expected).abs() < 1e-5, "{score}: {weight} instead of {expected}");
        }
    }

    #[test]
    fn both_ways_to_the_support_agree_on_ties_and_long_rows() {
        let device = Device::flex();
        let drawn = |i: u64| random::normal(5, i) as f32;
        let mut rows: Vec<Vec<f32>> = vec![
            vec![0.0; 7],
            vec![2.0, 2.0, 2.0, 1.75, 1.5, 1.5, -3.0],
            vec![1.0, 0.0, 0.0],
            (0..MOST_PAIRED as u64).map(drawn).collect(),
            (0..2 * MOST_PAIRED as u64).map(|i| drawn(i / 2) / 50.0).collect(),
        ];
        rows.push(vec![0.25; 2 * MOST_PAIRED]);
        for row in rows {
            let places = row.len();
            let scores: Tensor<3> =
                Tensor::from_data(TensorData::new(row.clone(), [1, places, 1]), &device);
            let weights =
                |support| sparsemax(scores.clone(), support).try_into_vec_as::<f32>().unwrap();
            let paired = weights(support_by_pairs(scores.clone()));
            let sorted = weights(support_by_sorting(scores.clone()));
            assert_is_projection(&row, &paired);
            assert_is_projection(&row, &sorted);
            // Which of them is taken depends on the length only.
            let chosen = self::rows(normalise_rows(
                scores.clone().reshape([1, places]),
                Normaliser::Sparsemax,
            ));
            assert_eq!(chosen, if places <= MOST_PAIRED { paired } else { sorted });
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
