//! Output projection and loss, without all logits at once.

use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use super::{contiguous, from_values, is_tracked, record, register, take, values};
use crate::ops::kernels::loss::{self, Outcome, Scored, run};
use crate::ops::{Loss, Projection};

/// See [`crate::ops::projected_loss`].
pub fn projected_loss(
    states: Tensor<2>,
    projection: Projection,
    targets: &[u32],
    smoothing: f64,
) -> Loss {
    let device = states.device();
    let shapes = [states.dims(), projection.weight.dims()];
    let trains_weight = is_tracked(&projection.weight);
    let ((states, states_node), (weight, weight_node)) = (take(states), take(projection.weight));
    let bias = projection.bias.map(take);
    let products = &projection.products;
    let mut likelihood = 0.0;
    let forward = |bias: Option<FlexTensor>| {
        let likelihood = &mut likelihood;
        move |keep: bool| {
            let width = shapes[0][1];
            let (states, weight) = (values(&states), values(&weight));
            let bias = bias.as_ref().map_or(&[][..], values);
            let scored = Scored { states, weight, bias, targets, width, smoothing, products };
            let outcome = run(scored, keep.then_some(loss::Gradients { of_weight: trains_weight }));
            *likelihood = outcome.likelihood;
            let smoothed = from_values(vec![outcome.smoothed as f32], [1]);
            (smoothed, keep.then(|| State { outcome: Arc::new(outcome), shapes }))
        }
    };
    let smoothed = match bias {
        None => record(Plain, [states_node, weight_node], forward(None)),
        Some((bias, bias_node)) => {
            record(Biased, [states_node, weight_node, bias_node], forward(Some(bias)))
        }
    };
    let likelihood = Tensor::from_floats([likelihood as f32], &device);
    Loss { smoothed, likelihood, tokens: targets.len() }
}

/// See [`crate::ops::projected_log_probabilities`].
pub fn projected_log_probabilities(
    states: Tensor<2>,
    projection: Projection,
    targets: &[u32],
) -> Vec<f32> {
    let width = states.dims()[1];
    let ((states, _), (weight, _)) = (take(states), take(projection.weight));
    let bias = projection.bias.map(|bias| take(bias).0);
    let (states, weight) = (values(&states), values(&weight));
    let bias = bias.as_ref().map_or(&[][..], values);
    let products = &projection.products;
    let scored = Scored { states, weight, bias, targets, width, smoothing: 0.0, products };
    run(scored, None).log_probabilities
}

#[derive(Clone, Debug)]
struct State {
    /// The gradients are computed in the forward pass, while the logits exist.
    outcome: Arc<Outcome>,
    shapes: [[usize; 2]; 2],
}

impl State {
    /// The gradients of states, weight and bias, times that of the loss.
    fn gradients(self, factor: FlexTensor) -> [Vec<f32>; 3] {
        let factor = values(&contiguous(factor))[0];
        let Outcome { states, weight, bias, .. } =
            Arc::try_unwrap(self.outcome).unwrap_or_else(|shared| Outcome {
                states: shared.states.clone(),
                weight: shared.weight.clone(),
                bias: shared.bias.clone(),
                ..Outcome::default()
            });
        let mut all = [states, weight, bias];
        #[allow(clippy::float_cmp, reason = "exactly one, as in training, needs no pass")]
        if factor != 1.0 {
            all.iter_mut().flatten().for_each(|value| *value *= factor);
        }
        all
    }
}

#[derive(Debug)]
struct Plain;

impl Backward<Flex, 2> for Plain {
    type State = State;

    fn backward(self, ops: Ops<State, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let shapes = ops.state.shapes;
        let [states, weight, _] = ops.state.gradients(gradients.consume::<Flex>(&ops.node));
        let [to_states, to_weight] = ops.parents.map(|parent| parent.map(|node| node.id));
        register(gradients, to_states, || states, shapes[0]);
        register(gradients, to_weight, || weight, shapes[1]);
    }
}

/// With a bias.
#[derive(Debug)]
struct Biased;

impl Backward<Flex, 3> for Biased {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let shapes = ops.state.shapes;
        let [states, weight, bias] = ops.state.gradients(gradients.consume::<Flex>(&ops.node));
        let [to_states, to_weight, to_bias] = ops.parents.map(|parent| parent.map(|node| node.id));
        register(gradients, to_states, || states, shapes[0]);
        register(gradients, to_weight, || weight, shapes[1]);
        register(gradients, to_bias, || bias, [shapes[1][0]]);
    }
}
