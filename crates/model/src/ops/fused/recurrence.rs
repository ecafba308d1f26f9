//! A simpler simple recurrent unit over packed segments.

use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use super::{contiguous, from_values, record, register, take, values};
use crate::ops::kernels::recurrence::Recurrence;
use crate::packed::Segments;

/// See [`crate::ops::recurrence`].
pub fn recurrence(candidates: Tensor<2>, forget: Tensor<2>, segments: &Segments) -> Tensor<2> {
    let shape = candidates.dims();
    let ((candidates, candidates_node), (forget, forget_node)) = (take(candidates), take(forget));
    let operands = Operands { candidates, forget, segments: segments.clone(), width: shape[1] };
    let run = |keep: bool| {
        let cells = operands.recurrence().cells();
        let output = cells.iter().map(|cell| cell.max(0.0)).collect();
        let state = keep.then(|| State { operands, cells: Arc::new(cells) });
        (from_values(output, shape), state)
    };
    record(Op, [candidates_node, forget_node], run)
}

#[derive(Clone, Debug)]
struct Operands {
    candidates: FlexTensor,
    forget: FlexTensor,
    segments: Segments,
    width: usize,
}

impl Operands {
    fn recurrence(&self) -> Recurrence<'_> {
        Recurrence {
            candidates: values(&self.candidates),
            forget: values(&self.forget),
            segments: &self.segments,
            width: self.width,
        }
    }
}

#[derive(Clone, Debug)]
struct State {
    operands: Operands,
    cells: Arc<Vec<f32>>,
}

#[derive(Debug)]
struct Op;

impl Backward<Flex, 2> for Op {
    type State = State;

    fn backward(self, ops: Ops<State, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let State { operands, cells } = ops.state;
        let gradient = contiguous(gradients.consume::<Flex>(&ops.node));
        let of = operands.recurrence().backward(values(&gradient), &cells);
        let shape = [cells.len() / operands.width, operands.width];
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        for (parent, values) in parents.into_iter().zip(of) {
            register(gradients, parent, || values, shape);
        }
    }
}
