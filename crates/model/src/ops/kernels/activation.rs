//! The non-linearities of feed-forward sublayers, and their slopes.

use super::softmax::exp;
use super::vectorised;
use crate::config::Activation;

/// The factor of [`Activation::QuickGelu`].
pub const QUICK_GELU: f32 = 1.702;

/// Applies an activation to all values in place.
pub fn apply(activation: Activation, values: &mut [f32]) {
    fn each(values: &mut [f32], f: impl Fn(f32) -> f32) {
        vectorised(
            #[inline(always)]
            || values.iter_mut().for_each(|value| *value = f(*value)),
        );
    }
    match activation {
        Activation::Relu => each(
            values,
            #[inline(always)]
            |x| x.max(0.0),
        ),
        Activation::Silu => each(
            values,
            #[inline(always)]
            |x| x * sigmoid(x),
        ),
        Activation::Gelu => each(
            values,
            #[inline(always)]
            |x| x * normal_share(x),
        ),
        Activation::QuickGelu => each(
            values,
            #[inline(always)]
            |x| x * sigmoid(QUICK_GELU * x),
        ),
    }
}

/// Whether the slope is computed from the output; the others need the input.
pub fn slope_is_of_output(activation: Activation) -> bool {
    activation == Activation::Relu
}

/// Multiplies gradients by the slopes, in place. `known` is the output if [`slope_is_of_output`],
/// and the input otherwise.
pub fn multiply_slopes(activation: Activation, gradients: &mut [f32], known: &[f32]) {
    fn each(gradients: &mut [f32], known: &[f32], back: impl Fn(f32, f32) -> f32) {
        vectorised(
            #[inline(always)]
            || {
                for (gradient, &x) in gradients.iter_mut().zip(known) {
                    *gradient = back(*gradient, x);
                }
            },
        );
    }
    assert_eq!(gradients.len(), known.len(), "a gradient has the shape of its value");
    match activation {
        Activation::Relu => each(
            gradients,
            known,
            #[inline(always)]
            |gradient, y| if y > 0.0 { gradient } else { 0.0 },
        ),
        Activation::Silu => each(
            gradients,
            known,
            #[inline(always)]
            |gradient, x| gradient * swish_slope(x, 1.0),
        ),
        Activation::Gelu => each(
            gradients,
            known,
            #[inline(always)]
            |gradient, x| gradient * (normal_share(x) + x * normal_density(x)),
        ),
        Activation::QuickGelu => each(
            gradients,
            known,
            #[inline(always)]
            |gradient, x| gradient * swish_slope(x, QUICK_GELU),
        ),
    }
}

/// The slope of `x sigmoid(factor x)`.
#[inline(always)]
fn swish_slope(x: f32, factor: f32) -> f32 {
    let open = sigmoid(factor * x);
    open + factor * x * open * (1.0 - open)
}

/// `1 / (1 + exp(-x))`
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The density of the standard normal distribution.
#[inline(always)]
fn normal_density(x: f32) -> f32 {
    const FACTOR: f32 = 0.398_942_3;
    FACTOR * exp(-0.5 * x * x)
}

/// The distribution function of the standard normal distribution to within 2e-7, by the rational
/// approximation of the error function of Abramowitz and Stegun, 7.1.26.
#[inline(always)]
fn normal_share(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let mut p = 1.061_405_4;
    p = p * t - 1.453_152_1;
    p = p * t + 1.421_413_8;
    p = p * t - 0.284_496_72;
    p = p * t + 0.254_829_6;
    let beyond = 0.5 * p * t * exp(-z * z);
    if x < 0.0 { beyond } else { 1.0 - beyond }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_is_close_everywhere() {
        // Φ at some points, to ten digits.
        for (x, share) in [
            (0.0, 0.5),
            (0.5, 0.691_462_461_3),
            (1.0, 0.841_344_746_1),
            (2.0, 0.977_249_868_1),
            (3.5, 0.999_767_370_9),
        ] {
            assert!((f64::from(normal_share(x)) - share).abs() < 3e-7, "{x}");
            assert!((f64::from(normal_share(-x)) - (1.0 - share)).abs() < 3e-7, "-{x}");
        }
    }
}
