//! Counts what is allocated, so that `abridge profile` measures instead of guessing.
//!
//! The resident size that the system reports counts what an allocator holds back as well; this
//! counts what the program asked for. Two additions per allocation are lost in what it costs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use abridge_evaluate::profile::MemoryProbe;

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted.
#[derive(Debug)]
pub struct Counted;

fn grown(bytes: usize) {
    let now = CURRENT.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

fn shrunk(bytes: usize) {
    CURRENT.fetch_sub(bytes, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "an allocator is unsafe by contract; this one hands everything on")]
// SAFETY: every call goes to the system's allocator unchanged; only sizes are counted beside it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`, which is the same.
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            grown(layout.size());
        }
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        if !pointer.is_null() {
            grown(layout.size());
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) };
        shrunk(layout.size());
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        if !moved.is_null() {
            grown(size);
            shrunk(layout.size());
        }
        moved
    }
}

impl MemoryProbe for Counted {
    fn current(&self) -> usize {
        CURRENT.load(Ordering::Relaxed)
    }

    fn reset(&self) {
        PEAK.store(self.current(), Ordering::Relaxed);
    }

    fn peak(&self) -> usize {
        PEAK.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_vector_is_seen_and_forgotten() {
        let before = Counted.current();
        Counted.reset();
        let large = vec![1u8; 1 << 26];
        assert!(Counted.peak() >= before + (1 << 26) - (1 << 20));
        drop(large);
        assert!(Counted.current() < before + (1 << 25));
    }
}
