//! The normal distribution.

/// The 97.5 % quantile: half the width of a 95 % interval, in standard deviations.
pub const Z95: f64 = 1.959_963_984_540_054;

/// The probability of a value at least this far from 0, on either side.
pub fn two_sided(z: f64) -> f64 {
    complementary_error(z.abs() / std::f64::consts::SQRT_2)
}

/// erfc(x) for x ≥ 0: the series of erf near 0, where it converges fast, and Laplace's continued
/// fraction beyond.
fn complementary_error(x: f64) -> f64 {
    let scale = (-x * x).exp() / std::f64::consts::PI.sqrt();
    if x < 2.5 {
        // erf(x) = 2/√π · exp(-x²) · Σ 2ⁿ x²ⁿ⁺¹ / (1·3·5…(2n+1))
        let mut term = x;
        let mut sum = x;
        for n in 1..200 {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
            if term < 1e-17 * sum {
                break;
            }
        }
        return 1.0 - 2.0 * scale * sum;
    }
    let fraction = (1..120).rev().fold(x, |below, n| x + f64::from(n) / 2.0 / below);
    scale / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_scipy() {
        // 2 * scipy.stats.norm.sf(z)
        for (z, expected) in [
            (0.0, 1.0),
            (0.5, 0.617_075_077_451_973_8),
            (1.959_963_984_540_054, 0.05),
            (3.5, 0.000_465_258_158_071_038_2),
            (3.6, 0.000_318_217_180_208_137_7),
            (8.0, 1.244_192_114_854_356_8e-15),
            (20.0, 5.507_248_237_212_467e-89),
        ] {
            let found = two_sided(z);
            assert!((found - expected).abs() <= 1e-9 * expected, "{z}: {found:e}");
            assert!((two_sided(-z) - found).abs() < 1e-300);
        }
    }
}
