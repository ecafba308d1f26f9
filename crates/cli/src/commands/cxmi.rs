//! `abridge cxmi`: how much a model gains from context.

use std::io::Write;
use std::path::PathBuf;

use abridge_corpus::{Document, Format, Input, read};
use abridge_evaluate::tagger::{TagGain, TagLanguage, tag_gains};
use abridge_evaluate::{
    CxmiReport, CxmiSettings, Field, Gain, Signature, context_order, cxmi, cxmi_sentences,
    documents_hash, holm,
};
use abridge_model::DeviceKind;
use abridge_translate::Translator;
use anyhow::ensure;
use clap::Args;

/// Measures how much more probable context makes the reference (CXMI).
///
/// For every sentence that has sentences before it: log p(reference | source, context) less
/// log p(reference | source), in nats, by the same model. The control takes sentences of another
/// document for context.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge cxmi --model runs/grouping/model --source test.en --reference test.de
  abridge cxmi --model runs/grouping/model --source test.en --reference test.de --context-size 1,2,3
  abridge cxmi --model runs/grouping/model --source test.en --reference test.de --json | jq .cxmi.score")]
pub struct Cxmi {
    /// A model directory.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// The source text.
    #[arg(long, short, value_name = "SRC")]
    source: PathBuf,
    /// Its translation by people.
    #[arg(long, short, value_name = "REF")]
    reference: PathBuf,
    /// The language of the reference, for a model that knows several.
    #[arg(long, value_name = "CODE")]
    to: Option<String>,
    /// The names of the documents, one per line; found beside the source by default.
    #[arg(long, value_name = "FILE")]
    docids: Option<PathBuf>,
    /// The format, where the name and content do not tell it.
    #[arg(long)]
    format: Option<Format>,
    /// How many sentences before; several are measured one after the other. By default as many as
    /// the model was trained with; more are possible, with a warning.
    #[arg(
        long = "context-size",
        alias = "context-sizes",
        value_delimiter = ',',
        value_name = "N,…"
    )]
    context_sizes: Vec<usize>,
    /// Which other sentences are the control.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The gain of words that depend on context, as `abridge tags` finds them (P-CXMI): de, fr or pt.
    #[arg(long, value_name = "CODE")]
    tags: Option<TagLanguage>,
    /// How many of the words that gained most are shown.
    #[arg(long, default_value_t = 15, value_name = "N")]
    words: usize,
    /// Prints one JSON object, with every sentence, instead of tables.
    #[arg(long)]
    json: bool,
    /// Where to compute.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

impl Cxmi {
    /// Reads, scores and reports.
    pub fn run(&self) -> anyhow::Result<()> {
        let corpus = read(&Input {
            target: Some(self.reference.clone()),
            docids: self.docids.clone(),
            format: self.format,
            ..Input::new(&self.source)
        })?;
        let furthest = self.context_sizes.iter().copied().max();
        let translator = super::open_at(&self.model, self.device, furthest, self.to.as_deref())?;
        let most = translator.model().config().context_size;
        ensure!(
            most > 0,
            "{} looks at no sentence before; CXMI needs a model that can use context",
            self.model.display()
        );
        let sizes = if self.context_sizes.is_empty() { &[most][..] } else { &self.context_sizes };
        for &size in sizes {
            ensure!(size > 0, "with a context size of 0 there is nothing to gain; give at least 1");
        }
        let sentences = cxmi_sentences(&corpus.documents);
        let bar = crate::progress::counter(sentences * sizes.len(), "sentences", self.quiet);
        let mut reports = Vec::new();
        for &context in sizes {
            let settings = CxmiSettings { context, seed: self.seed };
            let report =
                cxmi(&translator, &corpus.documents, settings, &mut |done| bar.inc(done as u64))?;
            reports.push((
                self.signature(&translator, &corpus.documents, context),
                context,
                report,
            ));
        }
        bar.finish_and_clear();
        let mut out = std::io::stdout().lock();
        if self.json {
            let values: Vec<serde_json::Value> = reports
                .iter()
                .map(|(signature, context, report)| {
                    serde_json::json!({
                        "score": report.context.per_sentence,
                        "signature": signature,
                        "context_size": context,
                        "report": report,
                    })
                })
                .collect();
            let mut object = values.last().cloned().unwrap_or_default();
            if values.len() > 1 {
                object["sizes"] = values.into();
            }
            writeln!(out, "{:#}", serde_json::json!({ "cxmi": object }))?;
        } else {
            write!(out, "{}", self.text(&reports))?;
        }
        if let (Some(language), false, Some((_, _, report))) =
            (self.tags, self.json, reports.last())
        {
            write!(out, "\n{}", tag_table(&tag_gains(report, &corpus.documents, language)))?;
        }
        Ok(())
    }

    fn signature(
        &self,
        translator: &Translator,
        documents: &[Document],
        context: usize,
    ) -> Signature {
        let short = |hash: &str| hash[..hash.len().min(12)].to_owned();
        Signature::custom(vec![
            Field::new("model", "m", short(translator.hash())),
            Field::new("set", "set", short(&documents_hash(documents))),
            Field::new("context", "ctx", context.to_string()),
            Field::new("order", "o", context_order(translator)),
            Field::new("seed", "seed", self.seed.to_string()),
            Field::new("version", "v", concat!("abridge-", env!("CARGO_PKG_VERSION"))),
        ])
    }

    fn text(&self, reports: &[(Signature, usize, CxmiReport)]) -> String {
        let mut parts = vec![format!(
            "{:<28} {:>20} {:>12} {:>10} {:>9}\n",
            "nats", "CXMI per sentence", "per token", "gained", "Holm's p"
        )];
        let gains: Vec<(String, Gain)> = reports
            .iter()
            .flat_map(|(_, size, report)| {
                [
                    ("before", report.context),
                    ("random", report.random),
                    ("beyond random", report.beyond),
                ]
                .map(|(name, gain)| (format!("context {size}, {name}"), gain))
            })
            .collect();
        let corrected = holm(&gains.iter().map(|(_, gain)| gain.p_value).collect::<Vec<_>>());
        for ((name, gain), p) in gains.iter().zip(&corrected) {
            parts.push(row(name, gain, *p));
        }
        for ((_, size, report), p) in reports.iter().zip(corrected.chunks(3)) {
            if report.context.per_sentence > 0.0 && p[0] < 0.05 {
                let from_content = report.beyond.per_sentence > 0.0 && p[2] < 0.05;
                if !from_content {
                    parts.push(format!(
                        "\nThe gain of context {size} does not come from what the context says: \
                         sentences of other documents gain as much.\n"
                    ));
                }
            }
        }
        if let Some((_, size, report)) = reports.last() {
            parts.push(format!(
                "\n{} sentences with context, {} tokens\n\nwords that gained most from context \
                 {size}\n{:<20} {:>8} {:>10} {:>10}\n",
                report.sentences, report.tokens, "", "count", "mean", "total"
            ));
            parts.extend(report.words.iter().take(self.words).map(|word| {
                let mean = word.total / word.count as f64;
                format!("{:<20} {:>8} {mean:>10.3} {:>10.2}\n", word.word, word.count, word.total)
            }));
        }
        parts.push("\n".to_owned());
        parts.extend(reports.iter().map(|(signature, ..)| format!("CXMI|{signature}\n")));
        parts.concat()
    }
}

/// What tagged words gained, each tag with its test.
fn tag_table(gains: &[TagGain]) -> String {
    let corrected = holm(&gains.iter().map(|gain| gain.beyond.p_value).collect::<Vec<_>>());
    let mut parts = vec![format!(
        "{:<18} {:>8} {:>18} {:>24} {:>9}\n",
        "nats per word", "words", "gain", "beyond random context", "Holm's p"
    )];
    parts.extend(gains.iter().zip(corrected).map(|(gain, p)| {
        let name = gain.tag.map_or_else(|| "all others".to_owned(), |tag| tag.to_string());
        format!(
            "{name:<18} {:>8} {:>9.4} ± {:<6.4} {:>13.4} ± {:<8.4} {:>9}\n",
            gain.words,
            gain.context.per_sentence,
            gain.context.half_width,
            gain.beyond.per_sentence,
            gain.beyond.half_width,
            super::contrast::probability(p)
        )
    }));
    parts.concat()
}

fn row(name: &str, gain: &Gain, p: f64) -> String {
    format!(
        "{name:<28} {:>10.4} ± {:<7.4} {:>12.4} {:>8.1} % {:>9}\n",
        gain.per_sentence,
        gain.half_width,
        gain.per_token,
        100.0 * gain.gained,
        super::contrast::probability(p)
    )
}
