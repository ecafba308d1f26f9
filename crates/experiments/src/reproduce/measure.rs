//! Cells that need no training: parameters.

use abridge_model::{DeviceKind, ModelConfig};
use burn::module::Module;

use super::cell::Outcome;

/// The vocabulary size inferred from the paper's parameter counts; its text says 20,000.
pub const PAPER_VOCABULARY: usize = 19_804;

/// Parameters in millions.
pub fn parameters(config: &ModelConfig) -> anyhow::Result<Outcome> {
    let model = config.init(0, &DeviceKind::Cpu.open()?)?;
    let millions = model.num_params() as f64 / 1e6;
    Ok(Outcome { scores: [("parameters".to_owned(), millions)].into(), ..Outcome::default() })
}
