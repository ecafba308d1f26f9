//! Products of matrices in slices, with any distance between rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use abridge_machine::product::multiply;
pub use abridge_machine::product::{Matrix, MatrixMut, Output};

use super::bf16_product::bf16_product;
use super::precision::ProductPrecision;

/// How matrix products are computed. A model passes it to its layers, and these to their
/// operations.
#[derive(Clone, Debug, Default)]
pub struct Products {
    /// Their precision.
    pub precision: ProductPrecision,
    /// Counts them, for benchmarks.
    pub tally: Option<Arc<Tally>>,
}

/// The cost of products so far, over all threads.
#[derive(Debug, Default)]
pub struct Tally {
    operations: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Tally {
    /// Multiplications and additions.
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// The time inside products.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    /// Resets the counts.
    pub fn clear(&self) {
        self.operations.store(0, Ordering::Relaxed);
        self.nanoseconds.store(0, Ordering::Relaxed);
    }

    fn add(&self, multiplications: usize, time: Duration) {
        self.operations.fetch_add(2 * multiplications as u64, Ordering::Relaxed);
        self.nanoseconds.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// Below this many multiplications it is not worth rounding the operands of a product.
const WORTH_ROUNDING: usize = 1 << 20;

impl Products {
    /// Products of this precision, not counted.
    pub fn of_precision(precision: ProductPrecision) -> Self {
        Self { precision, tally: None }
    }

    /// `out = scale * a b`, or `out += scale * a b`.
    ///
    /// Uses the threads of the current pool if there is enough to do.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn multiply(
        &self,
        out: MatrixMut<'_>,
        a: Matrix<'_>,
        b: Matrix<'_>,
        scale: f32,
        output: Output,
    ) {
        let (rows, columns, inner) = (out.rows(), out.columns(), a.columns());
        assert_eq!(
            (a.rows(), b.rows(), b.columns()),
            (rows, inner, columns),
            "the shapes of a product must fit"
        );
        if rows == 0 || columns == 0 {
            return;
        }
        let start = self.tally.as_ref().map(|_| Instant::now());
        let multiplications = rows * columns * inner;
        match self.precision {
            ProductPrecision::Bf16 if multiplications >= WORTH_ROUNDING => {
                bf16_product(out, a, b, scale, output);
            }
            _ => multiply(out, a, b, scale, output),
        }
        if let (Some(tally), Some(start)) = (&self.tally, start) {
            tally.add(multiplications, start.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_products_are_rounded_and_only_on_request() {
        // 1 + 2^-12 is not representable in bfloat16.
        let value = 1.0 + 2f32.powi(-12);
        let product = |size: usize, precision| {
            let tally = Arc::new(Tally::default());
            let products = Products { precision, tally: Some(Arc::clone(&tally)) };
            let (a, b) = (vec![value; size * size], vec![1.0; size * size]);
            let (a, b) = (Matrix::packed(&a, size), Matrix::packed(&b, size));
            let mut out = vec![0.0; size * size];
            products.multiply(MatrixMut::packed(&mut out, size), a, b, 1.0, Output::Overwrite);
            assert_eq!(tally.operations(), 2 * (size * size * size) as u64);
            out[0] / size as f32
        };
        let is_exact = |mean: f32| (mean - value).abs() < 1e-6;
        assert!(is_exact(product(128, ProductPrecision::F32)));
        assert!(is_exact(product(16, ProductPrecision::Bf16)));
        assert!(!is_exact(product(128, ProductPrecision::Bf16)));
    }
}
