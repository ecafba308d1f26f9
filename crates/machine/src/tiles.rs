//! Sums of products with AMX, the tile unit of server processors since 2023.
//!
//! A tile holds 16 rows of 64 bytes. One instruction multiplies a tile of 16 rows and 32 columns of
//! bfloat16 with one of 32 rows and 16 columns, and adds the result to a tile of 16 x 16 `f32`:
//! sixteen times the work of an AVX-512 instruction. Rust has no stable name for these
//! instructions yet, so they are written out here, and nowhere else.

/// What a tile holds: 16 rows of 16 pairs of bfloat16, neighbours along the inner dimension.
///
/// On the left side of a product a row of the tile is a row of the matrix. On the right side it is
/// two rows of the matrix, a column's two values side by side.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Tile(pub [[u32; ROWS]; ROWS]);

/// Rows of a tile, and pairs in a row.
pub const ROWS: usize = 16;

/// Rows and columns of what is computed at a time: two tiles each way.
pub const SIDE: usize = 2 * ROWS;

/// Values of the inner dimension that a tile holds.
pub const DEPTH: usize = 2 * ROWS;

/// The right of a thread to use the tile unit, whose registers are shaped until it is dropped.
#[derive(Debug)]
pub struct TileUnit {
    /// Tile registers belong to a thread.
    _of_this_thread: std::marker::PhantomData<*const ()>,
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod here {
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid_count, __m512i, _mm512_permutex2var_epi32};
    use std::array::from_fn;
    use std::cell::Cell;
    use std::marker::PhantomData;
    use std::mem::transmute;
    use std::sync::OnceLock;

    use super::{ROWS, SIDE, Tile, TileUnit};
    use crate::Instructions;

    /// What `ldtilecfg` reads: all eight registers have 16 rows of 64 bytes.
    #[repr(C, align(64))]
    struct Shapes {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        bytes_per_row: [u16; 16],
        rows: [u8; 16],
    }

    static SHAPES: Shapes = {
        let mut shapes = Shapes {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            bytes_per_row: [0; 16],
            rows: [0; 16],
        };
        let mut tile = 0;
        while tile < 8 {
            shapes.bytes_per_row[tile] = 64;
            shapes.rows[tile] = ROWS as u8;
            tile += 1;
        }
        shapes
    };

    thread_local! {
        /// Whether this thread has a [`TileUnit`]: the first of two to be dropped would take the
        /// registers from the other.
        static IS_TAKEN: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether the processor has tiles of bfloat16, and AVX-512 to fill them, and the system lets
    /// this process use them.
    fn is_here() -> bool {
        static HERE: OnceLock<bool> = OnceLock::new();
        const BFLOAT16: u32 = 1 << 22;
        const TILES: u32 = 1 << 24;
        const ASK_FOR_PERMISSION: libc::c_long = 0x1023;
        const TILE_REGISTERS: libc::c_long = 18;
        *HERE.get_or_init(|| {
            let wanted = BFLOAT16 | TILES;
            if Instructions::here() != Instructions::Avx512
                || __cpuid_count(7, 0).edx & wanted != wanted
            {
                return false;
            }
            // SAFETY: asks the kernel a question; it answers with an error where it does not know
            // it, and else changes only what threads of this process may do.
            let answer =
                unsafe { libc::syscall(libc::SYS_arch_prctl, ASK_FOR_PERMISSION, TILE_REGISTERS) };
            answer == 0
        })
    }

    impl TileUnit {
        /// Whether there is one.
        pub fn is_here() -> bool {
            is_here()
        }

        /// Nothing where the processor has none, or the system does not share it.
        ///
        /// # Panics
        /// If this thread has it already.
        pub fn take() -> Option<Self> {
            is_here().then(|| {
                assert!(!IS_TAKEN.replace(true), "a thread has one set of tile registers");
                // SAFETY: the processor has the instruction and the process the permission. The
                // 64 bytes that it reads are those of `SHAPES`.
                unsafe {
                    asm!("ldtilecfg [{}]", in(reg) &raw const SHAPES, options(nostack, readonly));
                }
                Self { _of_this_thread: PhantomData }
            })
        }

        /// Adds the products of two tiles of the left with two of the right side, over the inner
        /// dimension, to the first [`SIDE`] values of [`SIDE`] rows, each `stride` after the one
        /// before; `keep` says whether those values count.
        pub fn add_products(
            &self,
            left: &[[Tile; 2]],
            right: &[[Tile; 2]],
            out: &mut [f32],
            stride: usize,
            keep: bool,
        ) {
            assert_eq!(left.len(), right.len(), "both sides have the same inner dimension");
            assert!(!left.is_empty(), "there is something to multiply");
            let extent = stride.checked_mul(SIDE - 1).and_then(|last| last.checked_add(SIDE));
            assert!(extent.is_some_and(|extent| extent <= out.len()), "all sums have a place");
            assert!(stride >= SIDE, "rows do not overlap");
            // SAFETY: `self` says that the registers are there and shaped. The loop reads
            // `left.len()` times two tiles of 1024 bytes from each side, which is what the slices
            // hold. The four corners of `out`, 16 rows of 64 bytes each, are read and written; the
            // last of them ends where `extent` does, which was compared with the slice.
            unsafe {
                asm!(
                    "test {keep}, {keep}",
                    "jnz 3f",
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "jmp 2f",
                    "3:",
                    "tileloadd tmm0, [{above} + {stride}]",
                    "tileloadd tmm1, [{above} + {stride} + 64]",
                    "tileloadd tmm2, [{below} + {stride}]",
                    "tileloadd tmm3, [{below} + {stride} + 64]",
                    "2:",
                    "tileloadd tmm4, [{left} + {row}]",
                    "tileloadd tmm6, [{right} + {row}]",
                    "tileloadd tmm7, [{right} + {row} + 1024]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm5, [{left} + {row} + 1024]",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                    "add {left}, 2048",
                    "add {right}, 2048",
                    "dec {count}",
                    "jnz 2b",
                    "tilestored [{above} + {stride}], tmm0",
                    "tilestored [{above} + {stride} + 64], tmm1",
                    "tilestored [{below} + {stride}], tmm2",
                    "tilestored [{below} + {stride} + 64], tmm3",
                    left = inout(reg) left.as_ptr() => _,
                    right = inout(reg) right.as_ptr() => _,
                    count = inout(reg) left.len() => _,
                    above = in(reg) out.as_mut_ptr(),
                    below = in(reg) out.as_mut_ptr().add(ROWS * stride),
                    stride = in(reg) stride * size_of::<f32>(),
                    row = in(reg) 64_usize,
                    keep = in(reg) usize::from(keep),
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    }

    impl TileUnit {
        /// Rows as columns; who has a tile unit has the instructions for it.
        #[inline]
        pub fn transpose(&self, tile: &mut Tile) {
            // SAFETY: who has a tile unit has AVX-512.
            unsafe { transpose(tile) }
        }
    }

    #[target_feature(enable = "avx512f")]
    fn transpose(Tile(words): &mut Tile) {
        // SAFETY: sixteen rows of sixteen words either way.
        let mut rows: [__m512i; ROWS] = unsafe { transmute(*words) };
        swap::<8>(&mut rows);
        swap::<4>(&mut rows);
        swap::<2>(&mut rows);
        swap::<1>(&mut rows);
        // SAFETY: as above.
        *words = unsafe { transmute::<[__m512i; ROWS], [[u32; ROWS]; ROWS]>(rows) };
    }

    /// Exchanges the off-diagonal blocks of `SIZE` x `SIZE` in all blocks of twice the size.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn swap<const SIZE: usize>(rows: &mut [__m512i; ROWS]) {
        // Columns of the upper row of a pair are 0 to 15, those of the lower one 16 to 31.
        let upper = from_fn(|j| if j & SIZE == 0 { j } else { ROWS + j - SIZE } as u32);
        let lower = from_fn(|j| if j & SIZE == 0 { j + SIZE } else { ROWS + j } as u32);
        // SAFETY: sixteen words either way.
        let [upper, lower] = unsafe { transmute::<[[u32; ROWS]; 2], [__m512i; 2]>([upper, lower]) };
        for i in (0..ROWS).filter(|i| i & SIZE == 0) {
            let (above, below) = (rows[i], rows[i + SIZE]);
            rows[i] = _mm512_permutex2var_epi32(above, upper, below);
            rows[i + SIZE] = _mm512_permutex2var_epi32(above, lower, below);
        }
    }

    impl Drop for TileUnit {
        fn drop(&mut self) {
            // SAFETY: the processor has the instruction, or there would be no value to drop.
            unsafe { asm!("tilerelease", options(nostack, nomem)) }
            IS_TAKEN.set(false);
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
impl TileUnit {
    /// There is none.
    pub fn is_here() -> bool {
        false
    }

    /// There is none here.
    pub fn take() -> Option<Self> {
        None
    }

    /// Never called, for nobody can have one.
    pub fn transpose(&self, _: &mut Tile) {
        unreachable!("there is no tile unit here")
    }

    /// Neither is this.
    pub fn add_products(&self, _: &[[Tile; 2]], _: &[[Tile; 2]], _: &mut [f32], _: usize, _: bool) {
        unreachable!("there is no tile unit here")
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "all of these numbers are exact")]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A small whole number as bfloat16.
    fn bits(value: i32) -> u32 {
        (value as f32).to_bits() >> 16
    }

    /// Entries of the two sides: the left by row, the right by column.
    fn left(row: usize, inner: usize) -> i32 {
        ((row * 5 + inner * 3) % 7) as i32 - 3
    }

    fn right(inner: usize, column: usize) -> i32 {
        ((column * 3 + inner * 2) % 5) as i32 - 2
    }

    fn tiles(deep: usize, at: impl Fn(usize, usize) -> u32) -> Vec<[Tile; 2]> {
        let tile = |step: usize, half: usize| {
            Tile(std::array::from_fn(|row| {
                std::array::from_fn(|word| at(step * ROWS * ROWS + row * ROWS + word, half))
            }))
        };
        (0..deep).map(|step| [tile(step, 0), tile(step, 1)]).collect()
    }

    #[test]
    fn equals_the_sum_of_products() {
        // `tests/presence.rs` shows that a tile unit is found where there is one.
        let Some(unit) = TileUnit::take() else { return eprintln!("skipped: no tile unit here") };
        for deep in [1, 3] {
            let pair = |first: i32, second: i32| bits(first) | bits(second) << 16;
            let split = |place: usize| (place / (ROWS * ROWS), place / ROWS % ROWS, place % ROWS);
            let lefts = tiles(deep, |place, half| {
                let (step, row, word) = split(place);
                let (row, inner) = (half * ROWS + row, step * DEPTH + 2 * word);
                pair(left(row, inner), left(row, inner + 1))
            });
            let rights = tiles(deep, |place, half| {
                let (step, row, word) = split(place);
                let (inner, column) = (step * DEPTH + 2 * row, half * ROWS + word);
                pair(right(inner, column), right(inner + 1, column))
            });
            let stride = SIDE + 3;
            for keep in [false, true] {
                let mut out = vec![1.0; stride * (SIDE - 1) + SIDE];
                unit.add_products(&lefts, &rights, &mut out, stride, keep);
                for (place, &sum) in out.iter().enumerate() {
                    let (row, column) = (place / stride, place % stride);
                    let products =
                        (0..deep * DEPTH).map(|inner| left(row, inner) * right(inner, column));
                    let expected = products.sum::<i32>() + i32::from(keep);
                    // What lies between the rows is left alone.
                    let expected = if column < SIDE { expected as f32 } else { 1.0 };
                    assert_eq!(sum, expected, "row {row}, column {column}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        // `tests/presence.rs` shows that a tile unit is found where there is one.
        let Some(unit) = TileUnit::take() else { return eprintln!("skipped: no tile unit here") };
        let some = vec![[Tile([[0; ROWS]; ROWS]); 2]; 2];
        let refused = |left: usize, right: usize, length: usize, stride: usize| {
            let mut out = vec![0.0; length];
            let add = || unit.add_products(&some[..left], &some[..right], &mut out, stride, false);
            catch_unwind(AssertUnwindSafe(add)).is_err()
        };
        let enough = SIDE * SIDE;
        assert!(!refused(2, 2, enough, SIDE));
        assert!(refused(2, 2, enough - 1, SIDE), "a result beyond the end");
        assert!(refused(1, 2, enough, SIDE), "sides of different lengths");
        assert!(refused(0, 0, enough, SIDE), "nothing to multiply");
        assert!(refused(2, 2, enough, SIDE - 1), "rows that overlap");
        assert!(refused(2, 2, enough, usize::MAX), "rows beyond all memory");
        assert!(catch_unwind(TileUnit::take).is_err(), "registers that are taken");
    }
}
