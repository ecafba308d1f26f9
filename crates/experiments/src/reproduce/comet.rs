//! COMET of finished cells, from their stored translations.

use std::fs;
use std::path::Path;

use abridge_base::files::replace;
use abridge_evaluate::comet::{Comet, CometTexts};
use abridge_model::DeviceKind;
use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::cell::{Cell, Outcome, Stored};
use super::data::Data;

/// A score stored with the translation, by COMET model.
#[derive(Serialize, Deserialize)]
struct Kept {
    comet: f64,
}

/// Adds COMET to the outcomes of finished cells; `outcomes` is in the order of `cells`.
pub fn add(
    cells: &[Stored],
    outcomes: &mut [(Cell, Option<Outcome>)],
    data: &Data,
    directory: &Path,
    device: DeviceKind,
) -> anyhow::Result<()> {
    let comet = Comet::open(directory, &device.open()?)?;
    for (stored, (_, outcome)) in cells.iter().zip(outcomes) {
        let Some(outcome) = outcome else { continue };
        let file = stored.directory.join(format!("comet-{}.json", comet.signature_name()));
        let kept = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let kept = if let Some(kept) = kept {
            kept
        } else {
            let kept = Kept { comet: score(&comet, stored, data)? };
            replace(&file, serde_json::to_string(&kept)?.as_bytes())?;
            kept
        };
        outcome.scores.insert("comet".into(), kept.comet);
    }
    Ok(())
}

/// The mean over the sentences of the test split.
fn score(comet: &Comet, stored: &Stored, data: &Data) -> anyhow::Result<f64> {
    let segments = || data.test.iter().flat_map(|document| &document.segments);
    let sources: Vec<String> = segments().map(|segment| segment.source.clone()).collect();
    let references: Vec<String> = segments().filter_map(|segment| segment.target.clone()).collect();
    let translation = stored.translation();
    let text = fs::read_to_string(&translation)
        .with_context(|| format!("cannot read {}", translation.display()))?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    anyhow::ensure!(
        lines.len() == sources.len(),
        "{} has {} lines, but the test split has {}; remove {} and run again",
        translation.display(),
        lines.len(),
        sources.len(),
        stored.directory.display()
    );
    let systems = [lines.as_slice()];
    let texts =
        CometTexts { sources: &sources, references: &references, systems: &systems, context: None };
    let scores = comet.score(&texts, &mut |_| {}).systems.remove(0);
    Ok(scores.iter().sum::<f64>() / scores.len().max(1) as f64)
}
