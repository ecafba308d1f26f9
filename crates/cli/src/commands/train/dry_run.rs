//! `abridge train --dry-run`: what would be trained, and what it would cost.

use std::io::Write;

use abridge_experiments::estimate::Estimate;
use abridge_train::TrainRecipe;

use super::watch::duration;

/// Prints the recipe, sizes, batches per epoch, padding, and the memory and time of one update.
pub fn describe(recipe: &TrainRecipe, estimate: &Estimate) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", recipe.to_toml())?;
    let mut row = |name: &str, value: String| writeln!(out, "{name:<24} {value}");
    row("parameters", estimate.parameters.to_string())?;
    if estimate.learning < estimate.parameters {
        row("  trainable", estimate.learning.to_string())?;
    }
    row("sentences per epoch", estimate.sentences.to_string())?;
    let context = 100.0 * estimate.context_share();
    row("  encoded as context only", format!("{} ({context:.1} %)", estimate.context_only))?;
    if estimate.dropped > 0 {
        row("  too long, left out", estimate.dropped.to_string())?;
    }
    for (corpus, share) in &estimate.corpora {
        row(&format!("  {corpus}"), format!("{:.1} % of the target tokens", 100.0 * share))?;
    }
    row("micro-batches per epoch", estimate.batches.to_string())?;
    row("updates per epoch", estimate.updates.to_string())?;
    let padding = 100.0 * estimate.padding;
    row("padding", format!("none; padded batches would be {padding:.0} % padding"))?;
    let memory = match estimate.memory {
        Some(memory) => {
            let whose = if estimate.is_of_device { " of the device" } else { "" };
            format!("{memory:.0} MiB{whose}, with {} workers", estimate.workers)
        }
        None => "not known on this system".into(),
    };
    row("expected memory", memory)?;
    let epoch = duration(estimate.seconds as u64 + 1);
    row("expected time", format!("{epoch} per epoch, at most"))?;
    Ok(())
}
