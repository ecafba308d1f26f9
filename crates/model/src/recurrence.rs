//! A simpler simple recurrent unit (SSRU), which some decoders have in place of self-attention.
//!
//! A cell per channel keeps a share of itself and takes the rest from the word, so a step costs the
//! same however many words there are, and needs no cache of keys.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::{relu, sigmoid};

use crate::init::{Init, xavier};
use crate::linear::Linear;
use crate::ops;
use crate::packed::Segments;

/// `f_t = sigmoid(x_t W_f + b_f)` and `c_t = f_t c_{t-1} + (1 - f_t) x_t W`; the output is
/// `max(0, c_t)`.
#[derive(Module, Debug)]
pub struct Ssru {
    /// W, `[width, width]`.
    pub candidate: Param<Tensor<2>>,
    /// `W_f` and `b_f`.
    pub forget: Linear,
}

impl Ssru {
    pub(crate) fn new(width: usize, init: &mut Init<'_>) -> Self {
        let candidate = init.parameter([width, width], xavier(width, width, 1.0));
        Self { candidate, forget: init.linear(width, width) }
    }

    /// All words of some translations.
    ///
    /// # Shapes
    /// - x and result: `[words, width]`
    pub fn forward(&self, x: Tensor<2>, segments: &Segments) -> Tensor<2> {
        ops::recurrence(self.candidates(x.clone()), self.forget.forward(x), segments)
    }

    /// One more word of each hypothesis; `cell` is the cell after those before.
    ///
    /// # Shapes
    /// - x, cell and result: `[hypotheses, width]`
    pub(crate) fn step(&self, x: Tensor<2>, cell: &mut Option<Tensor<2>>) -> Tensor<2> {
        let keep = sigmoid(self.forget.forward(x.clone()));
        let next = ops::next_cell(cell.take(), self.candidates(x), keep);
        *cell = Some(next.clone());
        relu(next)
    }

    fn candidates(&self, x: Tensor<2>) -> Tensor<2> {
        let weight = self.candidate.val();
        let none = Tensor::zeros([weight.dims()[1]], &weight.device());
        ops::linear(x, weight, none, None, &self.forget.products)
    }
}
