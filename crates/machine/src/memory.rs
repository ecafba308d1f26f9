//! How much memory the machine has.

/// The memory of the machine in bytes, if the system reports it.
pub fn total() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    kibibytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn reports_a_plausible_size() {
        assert!(super::total().is_some_and(|bytes| bytes > 64 << 20));
    }
}
