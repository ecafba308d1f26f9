//! Sparsemax and softmax over rows, or over the rows of each segment.

use super::softmax::exp;
use crate::config::Normaliser;

/// A distribution's scores: `count` values, `stride` apart.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// The first value.
    pub first: usize,
    /// How many there are.
    pub count: usize,
    /// From one to the next.
    pub stride: usize,
}

impl Lane {
    fn places(self) -> impl Iterator<Item = usize> + Clone {
        (0..self.count).map(move |i| self.first + i * self.stride)
    }
}

/// Scores to weights, for every lane.
pub fn forward(
    scores: &[f32],
    lanes: impl Iterator<Item = Lane>,
    normaliser: Normaliser,
) -> Vec<f32> {
    let mut weights = vec![0.0; scores.len()];
    let mut sorted = Vec::new();
    for lane in lanes {
        match normaliser {
            Normaliser::Sparsemax => {
                let threshold = threshold(scores, lane, &mut sorted);
                for place in lane.places() {
                    weights[place] = (scores[place] - threshold).max(0.0);
                }
            }
            Normaliser::Softmax => {
                let largest = lane.places().fold(f32::NEG_INFINITY, |m, i| m.max(scores[i]));
                let mut sum = 0.0;
                for place in lane.places() {
                    weights[place] = exp(scores[place] - largest);
                    sum += weights[place];
                }
                for place in lane.places() {
                    weights[place] /= sum;
                }
            }
        }
    }
    weights
}

/// What sparsemax subtracts: `(sum - 1) / k` of the largest `k` scores, all of which exceed it.
fn threshold(scores: &[f32], lane: Lane, sorted: &mut Vec<f32>) -> f32 {
    sorted.clear();
    sorted.extend(lane.places().map(|place| scores[place]));
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let mut threshold = 0.0;
    for (rank, &score) in sorted.iter().enumerate() {
        sum += score;
        let count = (rank + 1) as f32;
        if score * count + 1.0 <= sum {
            break;
        }
        threshold = (sum - 1.0) / count;
    }
    threshold
}

/// The backward pass, from the weights.
pub fn backward(
    gradient: &[f32],
    weights: &[f32],
    lanes: impl Iterator<Item = Lane>,
    normaliser: Normaliser,
) -> Vec<f32> {
    let mut of_scores = vec![0.0; gradient.len()];
    for lane in lanes {
        match normaliser {
            Normaliser::Sparsemax => {
                let support = lane.places().filter(|&place| weights[place] > 0.0);
                let count = support.clone().count() as f32;
                let mean = support.clone().map(|place| gradient[place]).sum::<f32>() / count;
                for place in support {
                    of_scores[place] = gradient[place] - mean;
                }
            }
            Normaliser::Softmax => {
                let mean: f32 = lane.places().map(|i| gradient[i] * weights[i]).sum();
                for place in lane.places() {
                    of_scores[place] = weights[place] * (gradient[place] - mean);
                }
            }
        }
    }
    of_scores
}
