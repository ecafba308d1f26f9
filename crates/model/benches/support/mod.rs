//! Shared parts of the training benchmarks: options, text and clocks.
#![allow(dead_code, reason = "each benchmark uses a part of it")]

pub use abridge_model::synthetic::batch;

/// The values of an option, separated by commas.
pub fn list<T: std::str::FromStr>(text: &str) -> Vec<T>
where
    T::Err: std::fmt::Debug,
{
    text.split(',').map(|item| item.parse().expect("a known name or number")).collect()
}

/// Processor time of this process so far, from Linux's `/proc`; 0 elsewhere.
pub fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// The largest resident memory so far, from Linux's `/proc`; 0 elsewhere.
pub fn peak_mebibytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or(0.0) / 1024.0
}
