//! COMET in `abridge evaluate`: its options, and the scores of all systems.

use std::path::PathBuf;

use abridge_base::tell;
use abridge_evaluate::TestSet;
use abridge_evaluate::comet::{Comet, CometMetric, CometTexts, CutText, Side};
use abridge_model::DeviceKind;
use anyhow::Context;
use clap::Args;

/// The COMET options of `abridge evaluate`.
#[derive(Debug, Args)]
#[command(next_help_heading = "COMET")]
pub struct CometArguments {
    /// The directory of a COMET model: hparams.yaml, model.ckpt or model.safetensors, and the
    /// sentencepiece.bpe.model and config.json of its encoder
    #[arg(long, value_name = "DIR", requires = "source")]
    comet: Option<PathBuf>,

    /// Sentences of context in front of every text (`DocCOMET`); needs documents
    #[arg(long, default_value_t = 0, value_name = "N", requires = "comet")]
    comet_context: usize,

    /// Where COMET computes; `abridge --version --verbose` lists what this machine has
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
}

impl CometArguments {
    /// Scores all systems with COMET, if `--comet` is given.
    pub fn metric(&self, set: &TestSet) -> anyhow::Result<Option<CometMetric>> {
        let Some(directory) = &self.comet else { return Ok(None) };
        let sources = set.sources.as_deref().context("COMET reads the source; give --source")?;
        let context = match (&set.documents, self.comet_context) {
            (_, 0) => None,
            (Some(documents), size) => Some((documents, size)),
            (None, _) => anyhow::bail!(
                "--comet-context needs to know which lines make a document; give --docids"
            ),
        };
        let model = Comet::open(directory, &self.device.open()?)?;
        let references = set.references.first();
        let systems: Vec<&[String]> =
            set.systems.iter().map(|system| system.lines.as_slice()).collect();
        let bar = crate::progress::counter(sources.len(), "lines", false);
        let texts = CometTexts { sources, references: &references, systems: &systems, context };
        let scores = model.score(&texts, &mut |done| bar.inc(done as u64));
        bar.finish_and_clear();
        warn_of_cuts(&scores.cut, set);
        Ok(Some(CometMetric {
            model: model.signature_name(),
            context: self.comet_context,
            systems: scores.systems,
            cut: scores.cut.len(),
        }))
    }
}

/// Warns about the texts that COMET truncated.
fn warn_of_cuts(cuts: &[CutText], set: &TestSet) {
    const SHOWN: usize = 10;
    for cut in cuts.iter().take(SHOWN) {
        let side = match cut.side {
            Side::Source => "source",
            Side::Reference => "reference",
            Side::System(system) => set.systems[system].name.as_str(),
        };
        tell!(
            "warning: {side}, line {}: COMET read {} of {} tokens",
            cut.line,
            cut.read,
            cut.tokens
        );
    }
    if cuts.len() > SHOWN {
        tell!("warning: COMET truncated {} more texts", cuts.len() - SHOWN);
    }
}
