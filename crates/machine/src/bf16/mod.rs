//! Matrix products in bfloat16, on processors with instructions for them.
//!
//! Matrices are laid out in [`Tile`]s of 16 x 32 values, for both instruction sets: AMX, and
//! AVX-512 with bfloat16.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx512;

use std::fmt;

/// 16 rows of 16 pairs of bfloat16, adjacent along the inner dimension.
///
/// On the left side of a product, a row of the tile is a row of the matrix. On the right side, it
/// is two rows of the matrix, with the two values of each column adjacent.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Tile(pub [[u32; ROWS]; ROWS]);

/// Rows of a tile, and pairs in a row.
pub const ROWS: usize = 16;

/// Rows and columns of the block that is computed at a time: two tiles each way.
pub const SIDE: usize = 2 * ROWS;

/// Values of the inner dimension that a tile holds.
pub const DEPTH: usize = 2 * ROWS;

/// The instruction set that multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The matrix unit of Intel's servers.
    Amx,
    /// Dot products of pairs.
    Avx512,
}

impl Kind {
    /// From fastest to slowest.
    pub const ALL: [Self; 2] = [Self::Amx, Self::Avx512];

    /// Whether the processor has the instructions and the system lets this process use them.
    pub fn is_here(self) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::Amx => amx::is_here(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => avx512::is_here(),
            #[allow(unreachable_patterns, reason = "there are other processors")]
            _ => false,
        }
    }

    /// The fastest that is available.
    pub fn fastest() -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.is_here())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Amx => "AMX",
            Self::Avx512 => "AVX-512 BF16",
        })
    }
}

/// Permission for one thread to multiply with the instructions of a [`Kind`].
#[derive(Debug)]
pub struct Bf16Unit(Instructions);

/// A value of this type proves that the instructions are available.
#[derive(Debug)]
enum Instructions {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx(amx::Amx),
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Bf16Unit {
    /// The unit of the fastest available kind, if there is one.
    ///
    /// # Panics
    /// If that is AMX and this thread already holds its registers.
    pub fn take() -> Option<Self> {
        Kind::fastest().and_then(Self::of)
    }

    /// The unit of a kind, if it is available.
    ///
    /// # Panics
    /// If that is AMX and this thread already holds its registers.
    pub fn of(kind: Kind) -> Option<Self> {
        match kind {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Kind::Amx => amx::Amx::take().map(|amx| Self(Instructions::Amx(amx))),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => avx512::is_here().then_some(Self(Instructions::Avx512)),
            #[allow(unreachable_patterns, reason = "there are other processors")]
            _ => None,
        }
    }

    /// Multiplies two rows of tiles on the left by two columns of tiles on the right, and adds the
    /// sums over the inner dimension to the first [`SIDE`] values of [`SIDE`] rows of `out`, which
    /// are `stride` apart; without `keep`, overwrites those values.
    ///
    /// # Panics
    /// If the sides differ in length or are empty, rows overlap, or the sums do not fit into `out`.
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
        match &self.0 {
            // SAFETY: lengths were just checked.
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Instructions::Amx(amx) => unsafe { amx.add_products(left, right, out, stride, keep) },
            // SAFETY: lengths were just checked; this value proves that the instructions exist.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe {
                avx512::add_products(left, right, out, stride, keep);
            },
        }
    }

    /// Rounds `scale` times a row of a matrix to row `row` of the given tiles, 32 values each; values
    /// beyond the matrix are zero. To nearest, ties to even, and numbers too small for `f32`'s
    /// normal range become zero.
    ///
    /// # Panics
    /// If two tiles do not have that many rows.
    #[inline]
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables, reason = "never called"))]
    pub fn round_row(&self, tiles: &mut [[Tile; 2]], row: usize, from: &[f32], scale: f32) {
        match &self.0 {
            // SAFETY: both kinds need AVX-512 BF16.
            #[cfg(target_arch = "x86_64")]
            _ => unsafe { avx512::round_row(tiles, row, from, scale) },
        }
    }

    /// Rounds two rows of a matrix in the same way to pairs: those of every 32 columns go to row
    /// `row` of the next two tiles.
    ///
    /// # Panics
    /// If a tile does not have that many rows.
    #[inline]
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables, reason = "never called"))]
    pub fn round_pair<'a>(
        &self,
        tiles: impl Iterator<Item = &'a mut [Tile; 2]>,
        row: usize,
        [first, second]: [&[f32]; 2],
        scale: f32,
    ) {
        match &self.0 {
            // SAFETY: both kinds need AVX-512 BF16.
            #[cfg(target_arch = "x86_64")]
            _ => unsafe { avx512::round_pair(tiles, row, first, second, scale) },
        }
    }

    /// Transposes a tile.
    #[inline]
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables, reason = "never called"))]
    pub fn transpose(&self, tile: &mut Tile) {
        match &self.0 {
            // SAFETY: both kinds need AVX-512 BF16.
            #[cfg(target_arch = "x86_64")]
            _ => unsafe { avx512::transpose(tile) },
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "all of these numbers are exact")]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A small integer as bfloat16.
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

    /// One of each kind that this processor has; `tests/presence.rs` checks the detection.
    fn units() -> Vec<Bf16Unit> {
        let (here, missing): (Vec<Kind>, Vec<Kind>) =
            Kind::ALL.into_iter().partition(|kind| kind.is_here());
        for kind in missing {
            eprintln!("skipped: no {kind} here");
        }
        here.into_iter().filter_map(Bf16Unit::of).collect()
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
        for (unit, deep) in units().iter().flat_map(|unit| [(unit, 1), (unit, 3)]) {
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
                    // Values between the rows stay unchanged.
                    let expected = if column < SIDE { expected as f32 } else { 1.0 };
                    assert_eq!(sum, expected, "row {row}, column {column}");
                }
            }
        }
    }

    #[test]
    fn rounds_to_nearest_and_keeps_what_is_no_number() {
        // Two bfloat16 are 1/128 apart here; a tie goes to the even one.
        let cases = [
            (1.0 + 0.4 / 128.0, 1.0),
            (1.0 + 0.5 / 128.0, 1.0),
            (1.0 + 1.5 / 128.0, 1.0 + 2.0 / 128.0),
            (1.0 + 0.6 / 128.0, 1.0 + 1.0 / 128.0),
            (f32::NEG_INFINITY, f32::NEG_INFINITY),
            (f32::MAX, f32::INFINITY),
        ];
        let number = |half: u32| f32::from_bits(half << 16);
        for unit in units() {
            let mut tiles = [[Tile([[7; ROWS]; ROWS]); 2]];
            for (value, expected) in cases {
                unit.round_row(&mut tiles, 17, &[value / 2.0, f32::NAN, 1.0], 2.0);
                let row = tiles[0][1].0[1];
                assert_eq!(number(row[0] & 0xffff), expected, "{value}");
                assert!(number(row[0] >> 16).is_nan());
                assert_eq!([row[1], row[2]], [bits(2), 0], "nothing comes after the third value");
                assert_eq!(tiles[0][0].0[1], [7; ROWS], "other rows stay unchanged");

                let mut second = [1.0; 18];
                second[17] = value;
                unit.round_pair(tiles.iter_mut(), 3, [&[3.0; 18], &second], 1.0);
                assert_eq!(tiles[0][0].0[3], [bits(3) | bits(1) << 16; ROWS]);
                let row = tiles[0][1].0[3];
                assert_eq!(number(row[1] >> 16), expected, "{value}");
                assert_eq!([row[1] & 0xffff, row[2]], [bits(3), 0]);
            }
        }
    }

    #[test]
    fn rejects_arguments_that_do_not_fit() {
        let some = vec![[Tile([[0; ROWS]; ROWS]); 2]; 2];
        for unit in units() {
            let refused = |left: usize, right: usize, length: usize, stride: usize| {
                let mut out = vec![0.0; length];
                let add =
                    || unit.add_products(&some[..left], &some[..right], &mut out, stride, false);
                catch_unwind(AssertUnwindSafe(add)).is_err()
            };
            let enough = SIDE * SIDE;
            assert!(!refused(2, 2, enough, SIDE));
            assert!(refused(2, 2, enough - 1, SIDE), "a result beyond the end");
            assert!(refused(1, 2, enough, SIDE), "sides of different lengths");
            assert!(refused(0, 0, enough, SIDE), "nothing to multiply");
            assert!(refused(2, 2, enough, SIDE - 1), "rows that overlap");
            assert!(refused(2, 2, enough, usize::MAX), "a stride that overflows");
        }
    }

    #[test]
    fn registers_can_be_taken_only_once() {
        let Some(_unit) = Bf16Unit::of(Kind::Amx) else { return eprintln!("skipped: no AMX here") };
        assert!(catch_unwind(|| Bf16Unit::of(Kind::Amx)).is_err());
    }
}
