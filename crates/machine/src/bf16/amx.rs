//! AMX, the matrix unit of server processors since 2023.
//!
//! A tile register holds 16 rows of 64 bytes. One instruction multiplies a tile of 16 rows and 32
//! columns of bfloat16 by one of 32 rows and 16 columns, and adds the result to a tile of 16 x 16
//! `f32`: sixteen times the work of an AVX-512 instruction. Rust has no stable intrinsics for these
//! instructions yet, so this module, and no other, uses inline assembly.

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;

use super::{ROWS, Tile};

/// Permission for one thread to use AMX; the tile registers stay configured until it is dropped.
#[derive(Debug)]
pub struct Amx {
    /// Tile registers belong to a thread.
    _of_this_thread: PhantomData<*const ()>,
}

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
    /// Whether this thread has an [`Amx`]: if there were two, dropping one would release the
    /// registers of the other.
    static IS_TAKEN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the processor has bfloat16 tiles, and AVX-512 BF16 to fill them, and the system lets this
/// process use them.
pub fn is_here() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    const BFLOAT16: u32 = 1 << 22;
    const TILES: u32 = 1 << 24;
    const ASK_FOR_PERMISSION: libc::c_long = 0x1023;
    const TILE_REGISTERS: libc::c_long = 18;
    *HERE.get_or_init(|| {
        let wanted = BFLOAT16 | TILES;
        if !super::avx512::is_here() || __cpuid_count(7, 0).edx & wanted != wanted {
            return false;
        }
        // SAFETY: a request to the kernel; it returns an error if it does not know the request,
        // and otherwise only changes what threads of this process may do.
        let answer =
            unsafe { libc::syscall(libc::SYS_arch_prctl, ASK_FOR_PERMISSION, TILE_REGISTERS) };
        answer == 0
    })
}

impl Amx {
    /// `None` if the processor has no AMX, or the system does not permit its use.
    ///
    /// # Panics
    /// If this thread already has it.
    pub fn take() -> Option<Self> {
        is_here().then(|| {
            assert!(!IS_TAKEN.replace(true), "a thread has one set of tile registers");
            // SAFETY: the processor has the instruction and the process has permission. The
            // 64 bytes that it reads are those of `SHAPES`.
            unsafe {
                asm!("ldtilecfg [{}]", in(reg) &raw const SHAPES, options(nostack, readonly));
            }
            Self { _of_this_thread: PhantomData }
        })
    }

    /// See [`super::Bf16Unit::add_products`].
    ///
    /// # Safety
    /// Both sides have the same number of tiles, at least one, and `out` has room for all sums.
    #[allow(clippy::unused_self, reason = "it proves that the registers are configured")]
    pub unsafe fn add_products(
        &self,
        left: &[[Tile; 2]],
        right: &[[Tile; 2]],
        out: &mut [f32],
        stride: usize,
        keep: bool,
    ) {
        // SAFETY: `self` proves that the registers exist and are configured. The loop reads
        // `left.len()` times two tiles of 1024 bytes from each side, which is what the slices
        // hold, as the caller guarantees. The four quadrants of `out`, 16 rows of 64 bytes each,
        // are read and written; the caller guarantees that they are in bounds.
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

impl Drop for Amx {
    fn drop(&mut self) {
        // SAFETY: the processor has the instruction; otherwise there would be no value to drop.
        unsafe { asm!("tilerelease", options(nostack, nomem)) }
        IS_TAKEN.set(false);
    }
}
