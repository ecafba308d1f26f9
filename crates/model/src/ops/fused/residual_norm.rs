//! Residual, dropout and layer normalisation in one pass.

use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use super::{contiguous, from_values, record, register, take, values};
use crate::dropout::DropoutMask;
use crate::ops::kernels::residual_norm::{self as kernel, NormGradients, Normed};
use crate::ops::{Norm, ResidualNorm};

/// See [`crate::ops::residual_norm`].
pub fn residual_norm(input: ResidualNorm) -> Tensor<2> {
    let ResidualNorm { residual, update, dropout, norm } = input;
    let shape = update.dims();
    let ((residual, residual_node), (update, update_node)) = (take(residual), take(update));
    let ((gain, gain_node), (bias, bias_node)) = (take(norm.gain), take(norm.bias));
    let over = Over { gain, dropout, epsilon: norm.epsilon as f32, shape };
    let run = |keep: bool| over.run(values(&residual), values(&update), values(&bias), keep);
    record(OfBoth, [residual_node, update_node, gain_node, bias_node], run)
}

/// See [`crate::ops::norm`].
pub fn norm(x: Tensor<2>, norm: Norm) -> Tensor<2> {
    let shape = x.dims();
    let ((x, x_node), (gain, gain_node), (bias, bias_node)) =
        (take(x), take(norm.gain), take(norm.bias));
    let over = Over { gain, dropout: None, epsilon: norm.epsilon as f32, shape };
    let run = |keep: bool| over.run(values(&x), &[], values(&bias), keep);
    record(OfOne, [x_node, gain_node, bias_node], run)
}

/// What the forward and the backward pass need.
#[derive(Clone, Debug)]
struct Over {
    gain: FlexTensor,
    dropout: Option<DropoutMask>,
    epsilon: f32,
    shape: [usize; 2],
}

impl Over {
    fn norm(&self) -> kernel::Norm<'_> {
        kernel::Norm { gain: values(&self.gain), dropout: self.dropout, epsilon: self.epsilon }
    }

    fn run(
        self,
        residual: &[f32],
        update: &[f32],
        bias: &[f32],
        keep: bool,
    ) -> (FlexTensor, Option<State>) {
        let (rows, normed) = kernel::forward(residual, update, bias, self.norm());
        let rows = from_values(rows, self.shape);
        (rows, keep.then(|| State { normed: Arc::new(normed), over: self }))
    }
}

#[derive(Clone, Debug)]
struct State {
    normed: Arc<Normed>,
    over: Over,
}

impl State {
    fn gradients(&self, gradient: FlexTensor) -> NormGradients {
        kernel::backward(values(&contiguous(gradient)), &self.normed, self.over.norm())
    }
}

/// Without an update.
#[derive(Debug)]
struct OfOne;

impl Backward<Flex, 3> for OfOne {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let of = ops.state.gradients(gradients.consume::<Flex>(&ops.node));
        let shape = ops.state.over.shape;
        let [to_x, to_gain, to_bias] = ops.parents.map(|parent| parent.map(|node| node.id));
        register(gradients, to_x, || of.residual, shape);
        register(gradients, to_gain, || of.gain, [shape[1]]);
        register(gradients, to_bias, || of.bias, [shape[1]]);
    }
}

/// Of a residual and its update.
#[derive(Debug)]
struct OfBoth;

impl Backward<Flex, 4> for OfBoth {
    type State = State;

    fn backward(self, ops: Ops<State, 4>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let of = ops.state.gradients(gradients.consume::<Flex>(&ops.node));
        let Over { dropout, shape, .. } = ops.state.over;
        let [to_residual, to_update, to_gain, to_bias] =
            ops.parents.map(|parent| parent.map(|node| node.id));
        let of_update = if dropout.is_some() { of.update } else { of.residual.clone() };
        register(gradients, to_update, || of_update, shape);
        register(gradients, to_residual, || of.residual, shape);
        register(gradients, to_gain, || of.gain, [shape[1]]);
        register(gradients, to_bias, || of.bias, [shape[1]]);
    }
}
