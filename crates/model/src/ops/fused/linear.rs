//! Linear layers with bias and activation.

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use super::{contiguous, from_values, record, register, take, values};
use crate::config::Activation;
use crate::ops::Products;
use crate::ops::kernels::activation::{self, multiply_slopes, slope_is_of_output};
use crate::ops::kernels::int8_product::Int8Rows;
use crate::ops::kernels::product::{Matrix, MatrixMut, Output};
use crate::ops::kernels::vectorised;
use crate::ops::kernels::weight_matrix::WeightMatrix;

/// See [`crate::ops::linear`].
pub fn linear(
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    activation: Option<Activation>,
    products: &Products,
) -> Tensor<2> {
    let [rows, _] = x.dims();
    let shape = weight.dims();
    let [inputs, outputs] = shape;
    let ((x, x_node), (weight, weight_node), (bias, bias_node)) =
        (take(x), take(weight), take(bias));
    let weight = Weight::new(weight, shape, products);
    let forward = |keep: bool| {
        let mut y = Vec::with_capacity(rows * outputs);
        for _ in 0..rows {
            y.extend_from_slice(values(&bias));
        }
        let (from, by) =
            (Matrix::packed(values(&x), inputs), Matrix::packed(values(&weight.values), outputs));
        let out = MatrixMut::packed(&mut y, outputs);
        products.multiply(out, from, by, 1.0, Output::Accumulate);
        let shape = [rows, outputs];
        let Some(activation) = activation else {
            return (from_values(y, shape), keep.then(|| State { x, activated: None, weight }));
        };
        let input = (keep && !slope_is_of_output(activation)).then(|| y.clone());
        activation::apply(activation, &mut y);
        let y = from_values(y, shape);
        let known = input.map_or_else(|| y.clone(), |input| from_values(input, shape));
        let activated = Some((activation, known));
        (y, keep.then(|| State { x, activated, weight }))
    };
    record(Linear, [x_node, weight_node, bias_node], forward)
}

/// See [`crate::ops::packed_linear`].
pub fn packed_linear(
    x: Tensor<2>,
    weight: &WeightMatrix,
    activation: Option<Activation>,
) -> Tensor<2> {
    let [rows, _] = x.dims();
    let (x, _) = take(x);
    let mut y = Vec::new();
    weight.multiply(values(&x), &mut Int8Rows::default(), &mut y);
    if let Some(activation) = activation {
        activation::apply(activation, &mut y);
    }
    Tensor::from_primitive::<Flex>(from_values(y, [rows, weight.outputs()]))
}

#[derive(Debug)]
struct Linear;

#[derive(Clone, Debug)]
struct State {
    x: FlexTensor,
    /// The activation, and the values that its slope is computed from.
    activated: Option<(Activation, FlexTensor)>,
    weight: Weight,
}

/// The weight, for the backward pass.
#[derive(Clone, Debug)]
struct Weight {
    values: FlexTensor,
    inputs: usize,
    outputs: usize,
    products: Products,
}

impl Weight {
    fn new(values: FlexTensor, [inputs, outputs]: [usize; 2], products: &Products) -> Self {
        Self { values, inputs, outputs, products: products.clone() }
    }

    /// `gradient W^T`
    fn gradient_of_input(&self, gradient: &[f32]) -> Vec<f32> {
        let mut of_x = vec![0.0; gradient.len() / self.outputs * self.inputs];
        let weight = Matrix::packed(values(&self.values), self.outputs).transposed();
        let gradient = Matrix::packed(gradient, self.outputs);
        let out = MatrixMut::packed(&mut of_x, self.inputs);
        self.products.multiply(out, gradient, weight, 1.0, Output::Overwrite);
        of_x
    }
}

impl Backward<Flex, 3> for Linear {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let State { x, activated, weight } = ops.state;
        let Weight { inputs, outputs, .. } = weight;
        let mut gradient = contiguous(gradients.consume::<Flex>(&ops.node));
        if let Some((activation, known)) = activated {
            multiply_slopes(activation, gradient.storage_mut(), values(&known));
        }
        let gradient = values(&gradient);
        let rows = gradient.len() / outputs;
        let from = Matrix::packed(gradient, outputs);
        let [to_x, to_weight, to_bias] = ops.parents.map(|parent| parent.map(|node| node.id));
        let of_x = || weight.gradient_of_input(gradient);
        register(gradients, to_x, of_x, [rows, inputs]);
        let of_weight = || {
            let mut of_weight = vec![0.0; inputs * outputs];
            let out = MatrixMut::packed(&mut of_weight, outputs);
            let x = Matrix::packed(values(&x), inputs).transposed();
            weight.products.multiply(out, x, from, 1.0, Output::Overwrite);
            of_weight
        };
        register(gradients, to_weight, of_weight, [inputs, outputs]);
        register(gradients, to_bias, || column_sums(gradient, outputs), [outputs]);
    }
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
pub fn linear_again(
    product: Tensor<2>,
    x: Tensor<2>,
    weight: Tensor<2>,
    products: &Products,
) -> Tensor<2> {
    let shape = weight.dims();
    let ((product, product_node), (_, x_node), (weight, _)) =
        (take(product), take(x), take(weight));
    let forward = |keep: bool| {
        let state = keep.then(|| Weight::new(weight, shape, products));
        (product, state)
    };
    record(Again, [product_node, x_node], forward)
}

#[derive(Debug)]
struct Again;

impl Backward<Flex, 2> for Again {
    type State = Weight;

    fn backward(self, ops: Ops<Weight, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let weight = ops.state;
        let gradient = contiguous(gradients.consume::<Flex>(&ops.node));
        let rows = values(&gradient).len() / weight.outputs;
        let [to_product, to_x] = ops.parents.map(|parent| parent.map(|node| node.id));
        let of_x = || weight.gradient_of_input(values(&gradient));
        register(gradients, to_x, of_x, [rows, weight.inputs]);
        if let Some(product) = to_product {
            gradients.register::<Flex>(product, gradient);
        }
    }
}
