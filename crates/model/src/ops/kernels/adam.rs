//! One update of Adam in one pass over each parameter.

use rayon::prelude::*;

use super::{sum_of, vectorised};

/// Values that one thread processes at a time.
const CHUNK: usize = 1 << 14;

/// See [`crate::ops::adam`].
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// The decay rate of the mean.
    pub beta_1: f32,
    /// The decay rate of the mean square.
    pub beta_2: f32,
    /// Keeps the division finite.
    pub epsilon: f32,
    /// What the direction is multiplied by.
    pub step: f32,
    /// What the parameter is multiplied by first.
    pub shrink: f32,
    /// What the gradient is multiplied by first.
    pub scale: f32,
}

/// Updates a parameter and its running means, in place.
pub fn step(
    parameter: &mut [f32],
    mean: &mut [f32],
    square: &mut [f32],
    gradient: &[f32],
    rates: Rates,
) {
    let count = gradient.len();
    assert_eq!([parameter.len(), mean.len(), square.len()], [count; 3], "all of one parameter");
    let chunks = parameter
        .par_chunks_mut(CHUNK)
        .zip(mean.par_chunks_mut(CHUNK))
        .zip(square.par_chunks_mut(CHUNK))
        .zip(gradient.par_chunks(CHUNK));
    chunks.for_each(|(((parameter, mean), square), gradient)| {
        vectorised(
            #[inline(always)]
            || {
                let moments = mean.iter_mut().zip(square.iter_mut());
                for ((parameter, (mean, square)), gradient) in
                    parameter.iter_mut().zip(moments).zip(gradient)
                {
                    let gradient = gradient * rates.scale;
                    *mean = *mean * rates.beta_1 + gradient * (1.0 - rates.beta_1);
                    *square = *square * rates.beta_2 + gradient * gradient * (1.0 - rates.beta_2);
                    let direction = *mean / (square.sqrt() + rates.epsilon);
                    *parameter = *parameter * rates.shrink - direction * rates.step;
                }
            },
        );
    });
}

/// The sum of the squares, the same for any number of threads.
pub fn square_sum(values: &[f32]) -> f64 {
    let of_chunk = |chunk: &[f32]| {
        f64::from(vectorised(
            #[inline(always)]
            || sum_of(chunk, |value| value * value),
        ))
    };
    let parts: Vec<f64> = values.par_chunks(CHUNK).map(of_chunk).collect();
    parts.iter().sum()
}
