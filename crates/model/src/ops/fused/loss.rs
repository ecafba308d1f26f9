//! Output projection and loss, without all logits at once.

use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::tensor::Tensor;

use super::{contiguous, from_values, record, register, take, values};
use crate::ops::Loss;
use crate::ops::kernels::loss::{Outcome, Scored, run};

/// See [`crate::ops::projected_loss`].
pub fn projected_loss(
    states: Tensor<2>,
    weight: Tensor<2>,
    targets: &[u32],
    smoothing: f64,
) -> Loss {
    let device = states.device();
    let shapes = [states.dims(), weight.dims()];
    let ((states, states_node), (weight, weight_node)) = (take(states), take(weight));
    let mut likelihood = 0.0;
    let forward = |keep: bool| {
        let width = shapes[0][1];
        let (states, weight) = (values(&states), values(&weight));
        let outcome = run(Scored { states, weight, targets, width, smoothing }, keep);
        likelihood = outcome.likelihood;
        let smoothed = from_values(vec![outcome.smoothed as f32], [1]);
        (smoothed, keep.then(|| State { outcome: Arc::new(outcome), shapes }))
    };
    let smoothed = record(Op, [states_node, weight_node], forward);
    let likelihood = Tensor::from_floats([likelihood as f32], &device);
    Loss { smoothed, likelihood, tokens: targets.len() }
}

#[derive(Debug)]
struct Op;

#[derive(Clone, Debug)]
struct State {
    /// The gradients were computed on the way forward, while the logits were there.
    outcome: Arc<Outcome>,
    shapes: [[usize; 2]; 2],
}

impl Backward<Flex, 2> for Op {
    type State = State;

    fn backward(self, ops: Ops<State, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let State { outcome, shapes } = ops.state;
        let factor = values(&contiguous(gradients.consume::<Flex>(&ops.node)))[0];
        let outcome = Arc::try_unwrap(outcome).unwrap_or_else(|shared| Outcome {
            states: shared.states.clone(),
            weight: shared.weight.clone(),
            ..Outcome::default()
        });
        let scaled = |mut rows: Vec<f32>| {
            #[allow(clippy::float_cmp, reason = "exactly one, as in training, needs no pass")]
            if factor != 1.0 {
                for value in &mut rows {
                    *value *= factor;
                }
            }
            rows
        };
        let [to_states, to_weight] = ops.parents.map(|parent| parent.map(|node| node.id));
        register(gradients, to_states, || scaled(outcome.states), shapes[0]);
        register(gradients, to_weight, || scaled(outcome.weight), shapes[1]);
    }
}
