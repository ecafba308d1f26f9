//! `abridge --version --verbose`: the version, and what speed depends on.

use std::io::Write;

use abridge_model::DeviceKind;
use abridge_model::ops::{Bf16Kind, Instructions, Int8Path};

/// Prints the version, processor features, threads and devices.
pub fn run() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "abridge {}", env!("CARGO_PKG_VERSION"))?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mpi = if cfg!(feature = "mpi") { "yes" } else { "no (cargo feature mpi)" };
    writeln!(out, "instructions:  {}", Instructions::here())?;
    writeln!(out, "int8 products: {}", Int8Path::here())?;
    let bf16 = Bf16Kind::fastest()
        .map_or("no faster than f32 (neither AMX nor AVX-512 BF16)".to_owned(), |kind| {
            format!("with {kind}")
        });
    writeln!(out, "bf16 products: {bf16}")?;
    writeln!(out, "threads:       {threads}")?;
    for (place, device) in DeviceKind::built_in().enumerate() {
        let title = if place == 0 { "devices:" } else { "" };
        let state = device.describe().unwrap_or_else(|error| error.to_string());
        writeln!(out, "{title:<14} {device}: {state}")?;
    }
    writeln!(out, "MPI:           {mpi}")?;
    writeln!(out, "system:        {} {}", std::env::consts::OS, std::env::consts::ARCH)?;
    Ok(())
}
