//! Products of matrices that lie in slices, with any distance between rows, in the precision that
//! was asked for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use abridge_machine::product::multiply;
pub use abridge_machine::product::{Before, Matrix, MatrixMut};

use super::bf16_product::bf16_product;
use super::precision::Precision;

/// What products have cost since the process began: for benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Multiplications and additions.
    pub operations: u64,
    /// The time inside products, over all threads that asked for one.
    pub time: Duration,
}

static OPERATIONS: AtomicU64 = AtomicU64::new(0);
static NANOSECONDS: AtomicU64 = AtomicU64::new(0);

impl Tally {
    /// Until now.
    pub fn now() -> Self {
        Self {
            operations: OPERATIONS.load(Ordering::Relaxed),
            time: Duration::from_nanos(NANOSECONDS.load(Ordering::Relaxed)),
        }
    }

    /// What was added since an earlier one.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            operations: self.operations - earlier.operations,
            time: self.time.saturating_sub(earlier.time),
        }
    }
}

/// Below this many multiplications a product is not worth the rounding of its operands.
const WORTH_ROUNDING: usize = 1 << 20;

/// `out = scale * a b`, or `out += scale * a b`, with the [`Precision`] of this thread.
///
/// Uses the threads of the current pool if there is enough to do.
///
/// # Panics
/// If the shapes do not fit.
pub fn product(out: MatrixMut<'_>, a: Matrix<'_>, b: Matrix<'_>, scale: f32, before: Before) {
    let (rows, columns, inner) = (out.rows(), out.columns(), a.columns());
    assert_eq!(
        (a.rows(), b.rows(), b.columns()),
        (rows, inner, columns),
        "shapes of a product fit"
    );
    if rows == 0 || columns == 0 {
        return;
    }
    let start = Instant::now();
    let multiplications = rows * columns * inner;
    match Precision::current() {
        Precision::Bf16 if multiplications >= WORTH_ROUNDING => {
            bf16_product(out, a, b, scale, before);
        }
        _ => multiply(out, a, b, scale, before),
    }
    OPERATIONS.fetch_add(2 * multiplications as u64, Ordering::Relaxed);
    NANOSECONDS.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
}
