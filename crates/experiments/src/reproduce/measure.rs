//! Cells that need no training: parameters, and what context costs in memory.

use abridge_evaluate::profile::{ProfileSettings, profile};
use abridge_machine::allocator::Counted;
use abridge_model::{DeviceKind, ModelConfig};
use burn::module::Module;

use super::cell::Outcome;

/// The paper's vocabularies, which its counts of parameters stand on.
pub const PAPER_VOCABULARY: usize = 19_804;

/// Parameters in millions.
pub fn parameters(config: &ModelConfig) -> anyhow::Result<Outcome> {
    let model = config.init(0, &DeviceKind::Cpu.open()?)?;
    let millions = model.num_params() as f64 / 1e6;
    Ok(Outcome { scores: [("parameters".to_owned(), millions)].into(), ..Outcome::default() })
}

/// The memory of translating with context: at the peak beyond the weights, in MiB, and what is kept
/// between two sentences, in KiB.
pub fn memory(config: &ModelConfig, device: DeviceKind) -> anyhow::Result<Outcome> {
    let model = config.init(1, &device.open()?)?;
    let settings = ProfileSettings::default();
    let point = profile("", &model, &settings, &Counted)?;
    let scores = [
        ("operation".to_owned(), point.operation_bytes as f64 / f64::from(1 << 20)),
        ("memory".to_owned(), point.memory_bytes as f64 / 1024.0),
    ];
    Ok(Outcome { scores: scores.into(), ..Outcome::default() })
}
