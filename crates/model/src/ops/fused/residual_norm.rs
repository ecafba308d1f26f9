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
use crate::ops::kernels::residual_norm::{Norm, Normed, backward, forward};
use crate::ops::{NORM_EPSILON, ResidualNorm};

/// See [`crate::ops::residual_norm`].
pub fn residual_norm(input: ResidualNorm) -> Tensor<2> {
    let shape = input.update.dims();
    let dropout = input.dropout;
    let ((residual, residual_node), (update, update_node)) =
        (take(input.residual), take(input.update));
    let ((gain, gain_node), (bias, bias_node)) = (take(input.gain), take(input.bias));
    let run = |keep: bool| {
        let norm = Norm { gain: values(&gain), dropout, epsilon: NORM_EPSILON as f32 };
        let (rows, normed) = forward(values(&residual), values(&update), values(&bias), norm);
        let state = keep.then(|| State { normed: Arc::new(normed), gain, dropout, shape });
        (from_values(rows, shape), state)
    };
    record(Op, [residual_node, update_node, gain_node, bias_node], run)
}

#[derive(Debug)]
struct Op;

#[derive(Clone, Debug)]
struct State {
    normed: Arc<Normed>,
    gain: FlexTensor,
    dropout: Option<DropoutMask>,
    shape: [usize; 2],
}

impl Backward<Flex, 4> for Op {
    type State = State;

    fn backward(self, ops: Ops<State, 4>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let State { normed, gain, dropout, shape } = ops.state;
        let gradient = contiguous(gradients.consume::<Flex>(&ops.node));
        let norm = Norm { gain: values(&gain), dropout, epsilon: NORM_EPSILON as f32 };
        let of = backward(values(&gradient), &normed, norm);
        let [to_residual, to_update, to_gain, to_bias] =
            ops.parents.map(|parent| parent.map(|node| node.id));
        let of_update = if dropout.is_some() { of.update } else { of.residual.clone() };
        register(gradients, to_update, || of_update, shape);
        register(gradients, to_residual, || of.residual, shape);
        register(gradients, to_gain, || of.gain, [shape[1]]);
        register(gradients, to_bias, || of.bias, [shape[1]]);
    }
}
