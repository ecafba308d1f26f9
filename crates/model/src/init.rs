//! Initial values of parameters, as the published implementation draws them.
//!
//! Parameters are lazy: nothing is drawn or allocated until a parameter is used, so a network can
//! be built only to know its names and shapes. Values come from counters ([`crate::random`]): the
//! n-th parameter of a network has its own stream, whatever is used first.

use burn::module::{Param, ParamId};
use burn::tensor::{Device, Shape, Tensor, TensorData};

use crate::ops::Products;
use crate::random;

/// Makes the parameters of one network.
pub(crate) struct Init<'a> {
    seed: u64,
    parameters: u64,
    pub device: &'a Device,
    /// How the network computes products.
    pub products: &'a Products,
}

/// What a parameter is filled with.
#[derive(Clone, Copy)]
pub(crate) enum Values {
    Constant(f64),
    /// Uniform in `[-bound, bound]`.
    Uniform(f64),
    /// Normal with the given deviation, except for one row that is never used and is zero.
    NormalExceptRow(f64, usize),
}

impl<'a> Init<'a> {
    pub fn new(seed: u64, device: &'a Device, products: &'a Products) -> Self {
        Self { seed, parameters: 0, device, products }
    }

    /// The next parameter.
    pub fn parameter<const D: usize>(
        &mut self,
        shape: [usize; D],
        values: Values,
    ) -> Param<Tensor<D>> {
        self.parameters += 1;
        let key = random::key(&[self.seed, self.parameters]);
        let draw = move |device: &Device, require_grad: bool| {
            let data = TensorData::new(values.draw(key, &shape), shape);
            let tensor = Tensor::from_data(data, device);
            if require_grad { tensor.require_grad() } else { tensor }
        };
        let device = self.device.clone();
        Param::uninitialized(ParamId::new(), draw, device, true, Shape::from(shape))
    }

    /// Weight and bias of a linear layer, both uniform within `1 / sqrt(inputs)`.
    pub fn linear(&mut self, inputs: usize, outputs: usize) -> crate::linear::Linear {
        let bound = Values::Uniform((inputs as f64).powf(-0.5));
        self.linear_of([inputs, outputs], bound, bound)
    }

    /// A linear layer of inputs and outputs, with these weights and biases.
    pub fn linear_of(
        &mut self,
        shape: [usize; 2],
        weight: Values,
        bias: Values,
    ) -> crate::linear::Linear {
        let (weight, bias) = (self.parameter(shape, weight), self.parameter([shape[1]], bias));
        crate::linear::Linear { weight, bias, products: self.products.clone(), packed: None }
    }
}

impl Values {
    fn draw(self, key: u64, shape: &[usize]) -> Vec<f32> {
        let count: usize = shape.iter().product();
        let places = 0..count as u64;
        match self {
            Self::Constant(value) => vec![value as f32; count],
            Self::Uniform(bound) => {
                places.map(|i| ((2.0 * random::uniform(key, i) - 1.0) * bound) as f32).collect()
            }
            Self::NormalExceptRow(deviation, zero_row) => {
                let width = shape[shape.len() - 1];
                let zero = zero_row * width..(zero_row + 1) * width;
                places
                    .map(|i| {
                        if zero.contains(&(i as usize)) {
                            0.0
                        } else {
                            (random::normal(key, i) * deviation) as f32
                        }
                    })
                    .collect()
            }
        }
    }
}

/// The bound of Xavier's uniform distribution.
pub(crate) fn xavier(inputs: usize, outputs: usize, gain: f64) -> Values {
    Values::Uniform(gain * (6.0 / (inputs + outputs) as f64).sqrt())
}
