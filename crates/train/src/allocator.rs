//! Memory that the next step needs again.

/// Lets the system's allocator keep what a training step has freed.
///
/// Else every large array is asked of the system, filled with zeros page by page, and given back: with
/// products on a tile unit that is a quarter of the time of a step. What is kept is less than what a
/// step needs at its peak.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The largest size that the allocator takes for this.
        const LARGEST: libc::c_int = 32 << 20;
        #[expect(unsafe_code, reason = "a function of the C library without conditions")]
        // SAFETY: `mallopt` may be called at any time; it changes how later allocations are made, and
        // answers with zero where it does not know the setting.
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST) };
    }
}
