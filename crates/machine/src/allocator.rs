//! What the allocator of the system does not do by itself: count, keep and give back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which also counts what is asked of it.
///
/// The resident size that the system reports counts what an allocator holds back as well; this
/// counts what the program asked for. Two additions per allocation are lost in what it costs.
#[derive(Debug)]
pub struct Counted;

impl Counted {
    /// Bytes in use.
    pub fn current(&self) -> usize {
        CURRENT.load(Ordering::Relaxed)
    }

    /// The most that was in use since the last [`reset`](Self::reset).
    pub fn peak(&self) -> usize {
        PEAK.load(Ordering::Relaxed)
    }

    /// Begins anew to look for a peak.
    pub fn reset(&self) {
        PEAK.store(self.current(), Ordering::Relaxed);
    }
}

fn grown(bytes: usize) {
    let now = CURRENT.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

fn shrunk(bytes: usize) {
    CURRENT.fetch_sub(bytes, Ordering::Relaxed);
}

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

/// Lets the system's allocator keep what a step of a long computation has freed, for the next one.
///
/// Else every large array is asked of the system, filled with zeros page by page, and given back: a
/// quarter of the time of a training step with products by AMX. What is kept is less than
/// what a step needs at its peak.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The largest size that the allocator takes for this.
        const LARGEST: libc::c_int = 32 << 20;
        // SAFETY: `mallopt` may be called at any time; it changes how later allocations are made, and
        // answers with zero where it does not know the setting.
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST) };
    }
}

/// Gives memory that a peak of load has left behind back to the system.
///
/// The system's allocator keeps what a peak needed, scattered over an arena per thread, and returns
/// only the end of each. Measured in a server with ten times overload: 31 % more than before without
/// this, and nothing was leaked. Costs milliseconds, so it is for when nobody waits.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: `malloc_trim` may be called at any time from any thread; it takes the allocator's
        // own locks and touches only pages that hold nothing.
        let _ = unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counted = Counted;

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
