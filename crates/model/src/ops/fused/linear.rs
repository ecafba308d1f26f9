//! Linear layers with bias and activation.

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use super::{contiguous, from_values, record, register, take, values};
use crate::config::Activation;
use crate::ops::kernels::activation::{self, multiply_slopes, slope_is_of_output};
use crate::ops::kernels::product::{Before, Matrix, MatrixMut, product};
use crate::ops::kernels::vectorised;

/// See [`crate::ops::linear`].
pub fn linear(
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    activation: Option<Activation>,
) -> Tensor<2> {
    let [rows, _] = x.dims();
    let [inputs, outputs] = weight.dims();
    let ((x, x_node), (weight, weight_node), (bias, bias_node)) =
        (take(x), take(weight), take(bias));
    let forward = |keep: bool| {
        let mut y = Vec::with_capacity(rows * outputs);
        for _ in 0..rows {
            y.extend_from_slice(values(&bias));
        }
        let (from, by) =
            (Matrix::packed(values(&x), inputs), Matrix::packed(values(&weight), outputs));
        product(MatrixMut::packed(&mut y, outputs), from, by, 1.0, Before::Keep);
        let shape = [rows, outputs];
        let Some(activation) = activation else {
            let state = keep.then(|| State { x, weight, activated: None, inputs, outputs });
            return (from_values(y, shape), state);
        };
        let input = (keep && !slope_is_of_output(activation)).then(|| y.clone());
        activation::apply(activation, &mut y);
        let y = from_values(y, shape);
        let known = input.map_or_else(|| y.clone(), |input| from_values(input, shape));
        let activated = Some((activation, known));
        (y, keep.then(|| State { x, weight, activated, inputs, outputs }))
    };
    record(Linear, [x_node, weight_node, bias_node], forward)
}

#[derive(Debug)]
struct Linear;

#[derive(Clone, Debug)]
struct State {
    x: FlexTensor,
    weight: FlexTensor,
    /// The activation, and what its slope is known from.
    activated: Option<(Activation, FlexTensor)>,
    inputs: usize,
    outputs: usize,
}

impl Backward<Flex, 3> for Linear {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let State { x, weight, activated, inputs, outputs } = ops.state;
        let mut gradient = contiguous(gradients.consume::<Flex>(&ops.node));
        if let Some((activation, known)) = activated {
            multiply_slopes(activation, gradient.storage_mut(), values(&known));
        }
        let gradient = values(&gradient);
        let rows = gradient.len() / outputs;
        let from = Matrix::packed(gradient, outputs);
        let [to_x, to_weight, to_bias] = ops.parents.map(|parent| parent.map(|node| node.id));
        let of_x = || through_weight(gradient, &weight, inputs, outputs);
        register(gradients, to_x, of_x, [rows, inputs]);
        let of_weight = || {
            let mut of_weight = vec![0.0; inputs * outputs];
            let out = MatrixMut::packed(&mut of_weight, outputs);
            let x = Matrix::packed(values(&x), inputs).transposed();
            product(out, x, from, 1.0, Before::Forget);
            of_weight
        };
        register(gradients, to_weight, of_weight, [inputs, outputs]);
        register(gradients, to_bias, || column_sums(gradient, outputs), [outputs]);
    }
}

/// `gradient W^T`
fn through_weight(
    gradient: &[f32],
    weight: &FlexTensor,
    inputs: usize,
    outputs: usize,
) -> Vec<f32> {
    let mut of_x = vec![0.0; gradient.len() / outputs * inputs];
    let weight = Matrix::packed(values(weight), outputs).transposed();
    let gradient = Matrix::packed(gradient, outputs);
    product(MatrixMut::packed(&mut of_x, inputs), gradient, weight, 1.0, Before::Forget);
    of_x
}

fn column_sums(rows: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0; columns];
    vectorised(
        #[inline(always)]
        || {
            for row in rows.chunks_exact(columns) {
                for (sum, &value) in sums.iter_mut().zip(row) {
                    *sum += value;
                }
            }
        },
    );
    sums
}

/// See [`crate::ops::linear_again`].
pub fn linear_again(product: Tensor<2>, x: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    let [inputs, outputs] = weight.dims();
    let ((product, product_node), (_, x_node), (weight, _)) =
        (take(product), take(x), take(weight));
    let forward = |keep: bool| {
        let state = keep.then_some(AgainState { weight, inputs, outputs });
        (product, state)
    };
    record(Again, [product_node, x_node], forward)
}

#[derive(Debug)]
struct Again;

#[derive(Clone, Debug)]
struct AgainState {
    weight: FlexTensor,
    inputs: usize,
    outputs: usize,
}

impl Backward<Flex, 2> for Again {
    type State = AgainState;

    fn backward(self, ops: Ops<AgainState, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let AgainState { weight, inputs, outputs } = ops.state;
        let gradient = contiguous(gradients.consume::<Flex>(&ops.node));
        let rows = values(&gradient).len() / outputs;
        let [to_product, to_x] = ops.parents.map(|parent| parent.map(|node| node.id));
        let of_x = || through_weight(values(&gradient), &weight, inputs, outputs);
        register(gradients, to_x, of_x, [rows, inputs]);
        if let Some(product) = to_product {
            gradients.register::<Flex>(product, gradient);
        }
    }
}
