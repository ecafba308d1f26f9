//! A simpler simple recurrent unit, word by word over all segments.

use burn::tensor::Tensor;
use burn::tensor::activation::{relu, sigmoid};

use super::segment::Padding;
use crate::packed::Segments;

/// See [`crate::ops::recurrence`].
pub fn recurrence(candidates: Tensor<2>, forget: Tensor<2>, segments: &Segments) -> Tensor<2> {
    // One rectangle, because each word of each rectangle is a step that waits for the one before.
    Padding::whole(segments, &candidates.device()).rows(|rectangle| {
        let (candidates, keep) = (rectangle.pad(&candidates), sigmoid(rectangle.pad(&forget)));
        let words = candidates.dims()[1];
        let mut cells: Vec<Tensor<3>> = Vec::with_capacity(words);
        for word in 0..words {
            let keep = keep.clone().narrow(1, word, 1);
            let candidate = candidates.clone().narrow(1, word, 1);
            cells.push(next_cell(cells.last().cloned(), candidate, keep));
        }
        relu(Tensor::cat(cells, 1))
    })
}

/// The next cell, from the one before if there is one; `keep` is the share of it that stays.
pub fn next_cell<const D: usize>(
    before: Option<Tensor<D>>,
    candidate: Tensor<D>,
    keep: Tensor<D>,
) -> Tensor<D> {
    let new = (keep.clone().neg() + 1.0) * candidate;
    match before {
        Some(before) => keep * before + new,
        None => new,
    }
}
