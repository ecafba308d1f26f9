//! `abridge cxmi`: how much a model gains from context.

use std::fmt;
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

use super::model::ModelArgument;

/// Measures how much more probable context makes the reference (CXMI).
///
/// For every sentence with preceding sentences: log p(reference | source, context) minus
/// log p(reference | source), in nats, by the same model. The control uses sentences from another
/// document as context.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge cxmi --model runs/grouping/model --source test.en --reference test.de
  abridge cxmi --model runs/grouping/model --source test.en --reference test.de --context-size 1,2,3
  abridge cxmi --model runs/grouping/model --source test.en --reference test.de --json \\
      | jq .cxmi.score")]
pub struct Cxmi {
    #[command(flatten)]
    model: ModelArgument,
    /// The source text.
    #[arg(long, short, value_name = "SRC")]
    source: PathBuf,
    /// Its human translation.
    #[arg(long, short, value_name = "REF")]
    reference: PathBuf,
    /// The language of the reference, for a multilingual model.
    #[arg(long, value_name = "CODE")]
    to: Option<String>,
    /// The names of the documents, one per line; found beside the source by default.
    #[arg(long, value_name = "FILE")]
    docids: Option<PathBuf>,
    /// The format; by default found from name and content.
    #[arg(long)]
    format: Option<Format>,
    /// Sentences of context; several sizes are measured in turn. By default as many as the model
    /// was trained with; more are possible, with a warning.
    #[arg(
        long = "context-size",
        alias = "context-sizes",
        value_delimiter = ',',
        value_name = "N,…"
    )]
    context_sizes: Vec<usize>,
    /// The seed that picks sentences for the control.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The gain of words that depend on context, as `abridge tags` finds them (P-CXMI): de, fr or pt.
    #[arg(long, value_name = "CODE")]
    tags: Option<TagLanguage>,
    /// How many of the words that gained most to show.
    #[arg(long, default_value_t = 15, value_name = "N")]
    words: usize,
    /// Prints one JSON object, with every sentence, instead of tables.
    #[arg(long)]
    json: bool,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
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
        let model = self.model.directory(false)?;
        let translator = super::open_at(&model, self.device, furthest, self.to.as_deref())?;
        let most = translator.model().config().context_size;
        ensure!(
            most > 0,
            "{} uses no context; CXMI needs a model that can use context",
            self.model.name()
        );
        let sizes = if self.context_sizes.is_empty() { &[most][..] } else { &self.context_sizes };
        for &size in sizes {
            ensure!(
                size > 0,
                "--context-size must be at least 1: without context nothing is gained"
            );
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
        let tagged = self.tags.zip(reports.last()).map(|(language, (_, _, report))| {
            TagTable::new(tag_gains(report, &corpus.documents, language))
        });
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
            if let Some(TagTable(rows)) = &tagged {
                let row = |(gain, [p, p_beyond]): &(TagGain, [f64; 2])| serde_json::json!({ "gain": gain, "holm": p, "holm_beyond": p_beyond });
                object["tags"] = rows.iter().map(row).collect();
            }
            writeln!(out, "{:#}", serde_json::json!({ "cxmi": object }))?;
            return Ok(());
        }
        write!(out, "{}", self.text(&reports))?;
        if let Some(tagged) = tagged {
            write!(out, "\n{tagged}")?;
        }
        writeln!(out)?;
        for (signature, ..) in &reports {
            writeln!(out, "CXMI|{signature}")?;
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
            let gains = report.context.per_sentence > 0.0 && p[0] < 0.05;
            let from_content = report.beyond.per_sentence > 0.0 && p[2] < 0.05;
            match (gains, from_content) {
                (true, false) => parts.push(format!(
                    "\nThe gain of context {size} does not come from what the context says: \
                     sentences from other documents gain as much.\n"
                )),
                (false, true) => parts.push(format!(
                    "\nContext {size} is better than sentences from other documents, but not better \
                     than none: a wrong context harms, the right one does not help.\n"
                )),
                (false, false) => {
                    parts.push(format!("\nNo gain from context {size} can be shown.\n"));
                }
                (true, true) => {}
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
        parts.concat()
    }
}

/// The gain of tagged words, with the corrected p-values of the gain and of its excess over that of
/// a random context: only both together show that what the context says helps.
struct TagTable(Vec<(TagGain, [f64; 2])>);

impl TagTable {
    fn new(gains: Vec<TagGain>) -> Self {
        let tests = gains.iter().flat_map(|gain| [gain.context.p_value, gain.beyond.p_value]);
        let corrected = holm(&tests.collect::<Vec<_>>());
        let pairs = corrected.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
        Self(gains.into_iter().zip(pairs).collect())
    }
}

impl fmt::Display for TagTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<18} {:>8} {:>18} {:>9} {:>18} {:>9}",
            "nats per word", "words", "gain", "Holm's p", "beyond random", "Holm's p"
        )?;
        for (gain, [p, p_beyond]) in &self.0 {
            let name = gain.tag.map_or_else(|| "all others".to_owned(), |tag| tag.to_string());
            writeln!(
                f,
                "{name:<18} {:>8} {:>9.4} ± {:<6.4} {:>9} {:>9.4} ± {:<6.4} {:>9}",
                gain.words,
                gain.context.per_sentence,
                gain.context.half_width,
                super::contrast::probability(*p),
                gain.beyond.per_sentence,
                gain.beyond.half_width,
                super::contrast::probability(*p_beyond)
            )?;
        }
        Ok(())
    }
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
