//! The optimiser's pass over a parameter. It is not part of any autodiff graph.

use burn::backend::Flex;
use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use super::{contiguous, take, values};
use crate::ops::AdamState;
use crate::ops::kernels::adam::{self, Rates};

/// See [`crate::ops::adam`].
pub fn adam<const D: usize>(
    parameter: Tensor<D>,
    state: AdamState,
    gradient: Tensor<1>,
    rates: Rates,
) -> (Tensor<D>, AdamState) {
    let own = |tensor: FlexTensor| {
        // Writing to a view would also write to the rest of the larger tensor.
        let is_whole = tensor.layout().start_offset() == 0
            && tensor.storage::<f32>().len() == tensor.layout().num_elements();
        if is_whole { tensor } else { tensor.to_contiguous() }
    };
    let [mut mean, mut square] = [state.mean, state.square].map(|moment| own(take(moment).0));
    let mut parameter = own(take(parameter).0);
    let gradient = take(gradient).0;
    adam::step(
        parameter.storage_mut(),
        mean.storage_mut(),
        square.storage_mut(),
        values(&gradient),
        rates,
    );
    let state = AdamState {
        mean: Tensor::from_primitive::<Flex>(mean),
        square: Tensor::from_primitive::<Flex>(square),
    };
    (Tensor::from_primitive::<Flex>(parameter), state)
}

/// See [`crate::ops::square_sum`].
pub fn square_sum(x: Tensor<1>) -> f64 {
    adam::square_sum(values(&contiguous(take(x).0)))
}
