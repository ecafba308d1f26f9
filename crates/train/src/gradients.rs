//! Gradients of all parameters, flattened, in the order of the network.

use abridge_model::weights::Parameter;
use abridge_model::{Model, ops};
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::Tensor;

use crate::Result;
use crate::ranks::Ranks;

/// Values that are summed over all ranks at a time, or a few more: 64 MiB.
const AT_A_TIME: usize = 1 << 24;

/// One flat gradient per trainable parameter, in the order of [`Model::parameters`].
#[derive(Clone, Debug)]
pub struct Gradients {
    parts: Vec<Tensor<1>>,
    /// The factor by which all gradients are multiplied when they are used, so scaling is free.
    factor: f64,
    /// The sum of the squares of all values, without the factor, if it was read together with something
    /// else.
    square: Option<f64>,
}

impl Gradients {
    /// Takes the gradients of all parameters; zeros where a parameter had no part in the loss.
    pub fn of(model: &Model, gradients: &burn::tensor::Gradients) -> Self {
        struct Collect<'a> {
            gradients: &'a burn::tensor::Gradients,
            parts: Vec<Tensor<1>>,
        }
        impl ModuleVisitor for Collect<'_> {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                let value = param.val();
                if !learns(&value) {
                    return;
                }
                let count = value.shape().num_elements();
                self.parts.push(match value.grad(self.gradients) {
                    Some(gradient) => gradient.reshape([count]),
                    None => Tensor::zeros([count], &value.device().without_autodiff()),
                });
            }
        }
        let mut collect = Collect { gradients, parts: Vec::new() };
        model.visit(&mut collect);
        Self { parts: collect.parts, factor: 1.0, square: None }
    }

    /// Zero gradients: the contribution of a rank without a micro-batch.
    pub fn zeros(model: &Model) -> Self {
        #[derive(Default)]
        struct Zeros(Vec<Tensor<1>>);
        impl ModuleVisitor for Zeros {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                let value = param.val();
                if learns(&value) {
                    let device = value.device().without_autodiff();
                    self.0.push(Tensor::zeros([value.shape().num_elements()], &device));
                }
            }
        }
        let mut zeros = Zeros::default();
        model.visit(&mut zeros);
        Self { parts: zeros.0, factor: 1.0, square: None }
    }

    /// Adds the gradients of the other ranks; must be called before scaling. Many parameters are summed
    /// at a time, because every sum synchronises the ranks and waits for the device.
    pub fn sum_over(&mut self, ranks: &dyn Ranks) -> Result<()> {
        self.sum_in_pieces(ranks, AT_A_TIME)
    }

    /// [`Self::sum_over`], `at_a_time` values or a few more.
    fn sum_in_pieces(&mut self, ranks: &dyn Ranks, at_a_time: usize) -> Result<()> {
        self.square = None;
        let mut rest = self.parts.as_mut_slice();
        while !rest.is_empty() {
            let (mut count, mut size) = (0, 0);
            while count < rest.len() && size < at_a_time {
                size += rest[count].shape().num_elements();
                count += 1;
            }
            let piece = rest.split_off_mut(..count).unwrap_or_default();
            let mut values = ops::read(Tensor::cat(piece.to_vec(), 0))?;
            ranks.sum(&mut values);
            let mut sums = values.as_slice();
            for part in piece {
                let (own, after) = sums.split_at(part.shape().num_elements());
                *part = ops::upload(own.to_vec(), [own.len()], &part.device());
                sums = after;
            }
        }
        Ok(())
    }

    /// Adds the gradients of another part of the same update.
    pub fn add(&mut self, other: Self) {
        assert_eq!(self.parts.len(), other.parts.len(), "gradients of the same network");
        self.square = None;
        let factor = other.factor / self.factor;
        #[allow(clippy::float_cmp, reason = "exactly 1, as in training, needs no multiplication")]
        let is_equal = factor == 1.0;
        for (sum, part) in self.parts.iter_mut().zip(other.parts) {
            sum.inplace(|sum| if is_equal { sum + part } else { sum + part * factor });
        }
    }

    /// Multiplies all gradients by a number.
    pub fn scale(&mut self, factor: f64) {
        self.factor *= factor;
    }

    /// The Euclidean norm over all parameters together.
    pub fn norm(&self) -> Result<f64> {
        let square = match self.square {
            Some(square) => square,
            None => ops::square_sum(&self.parts)?,
        };
        Ok(square.sqrt() * self.factor)
    }

    /// Reads single values from the device together with the sum of squares that [`Self::norm`] needs:
    /// waiting for a device once costs as much as waiting for all of its work.
    pub(crate) fn read_along(&mut self, mut values: Vec<Tensor<1>>) -> Result<Vec<f64>> {
        let squares = ops::deferred_square_sum(&self.parts);
        values.extend(squares.clone());
        let mut read = ops::read_all(values)?;
        if squares.is_some() {
            self.square = read.pop();
        }
        Ok(read)
    }

    /// Scales all gradients so that their global norm is at most `limit`; returns the norm before.
    pub fn clip(&mut self, limit: f64) -> Result<f64> {
        let norm = self.norm()?;
        let factor = limit / (norm + 1e-6);
        if factor < 1.0 {
            self.scale(factor);
        }
        Ok(norm)
    }

    /// The parts, and the factor to multiply them by.
    pub(crate) fn into_parts(self) -> (Vec<Tensor<1>>, f64) {
        (self.parts, self.factor)
    }
}

/// Whether a parameter is trained, that is, not frozen.
pub(crate) fn learns<const D: usize>(value: &Tensor<D>) -> bool {
    !value.is_autodiff() || value.is_require_grad()
}

/// The trainable parameters.
pub(crate) fn learning(model: &Model) -> Vec<Parameter> {
    #[derive(Default)]
    struct Learning(Vec<bool>);
    impl ModuleVisitor for Learning {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0.push(learns(&param.val()));
        }
    }
    let mut learning = Learning::default();
    model.visit(&mut learning);
    let parameters = model.parameters().into_iter().zip(learning.0);
    parameters.filter(|(_, learns)| *learns).map(|(parameter, _)| parameter).collect()
}

/// The number of trainable values of a network.
pub fn learning_count(model: &Model) -> usize {
    learning(model).iter().map(|parameter| parameter.shape.iter().product::<usize>()).sum()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use burn::tensor::Device;

    use super::*;

    /// Two ranks with the same gradients; notes how many values were summed at a time.
    #[derive(Default)]
    struct Twins(RefCell<Vec<usize>>);

    impl Ranks for Twins {
        fn rank(&self) -> usize {
            0
        }

        fn count(&self) -> usize {
            2
        }

        fn sum(&self, values: &mut [f32]) {
            self.0.borrow_mut().push(values.len());
            for value in values {
                *value *= 2.0;
            }
        }

        fn sum_wide(&self, values: &mut [f64]) {
            for value in values {
                *value *= 2.0;
            }
        }

        fn wait(&self) {}

        fn abort(&self, _code: u8) -> ! {
            unreachable!("no test aborts")
        }
    }

    fn gradients() -> Gradients {
        let part = |values: &[f32]| Tensor::from_floats(values, &Device::flex());
        let parts = vec![part(&[1.0, 2.0]), part(&[3.0]), part(&[4.0, 5.0, 6.0]), part(&[7.0])];
        Gradients { parts, factor: 1.0, square: Some(9.0) }
    }

    #[test]
    fn parameters_are_summed_several_at_a_time() {
        for (at_a_time, pieces) in [(1, vec![2, 1, 3, 1]), (3, vec![3, 3, 1]), (100, vec![7])] {
            let (mut ours, twins) = (gradients(), Twins::default());
            ours.sum_in_pieces(&twins, at_a_time).unwrap();
            assert_eq!(*twins.0.borrow(), pieces);
            let values: Vec<f32> =
                ours.parts.iter().flat_map(|part| ops::read(part.clone()).unwrap()).collect();
            assert_eq!(values, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]);
            let square: f64 = values.iter().map(|&value| f64::from(value).powi(2)).sum();
            assert!((ours.norm().unwrap() - square.sqrt()).abs() < 1e-6);
        }
    }
}
