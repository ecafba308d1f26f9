//! `abridge score`: how probable given translations are.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use abridge_base::tell;
use abridge_corpus::{Corpus, Format, Input, read};
use abridge_model::DeviceKind;
use abridge_translate::{Score, ScoreRequest, Translator};
use anyhow::ensure;
use clap::Args;

use super::model::ModelArgument;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

/// Scores given translations, each with the memory of the source sentences before it.
///
/// Writes one line per sentence and translation: the log-probability of all its tokens (the end
/// included), the mean per token, the number of tokens. Several translations of one source share
/// its encoding.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge score --model runs/grouping/model talk.en talk.de
  abridge score --model runs/grouping/model talk.en first.de second.de
  abridge score --model runs/grouping/model talk.jsonl
  abridge score --model runs/grouping/model talk.en talk.de --json")]
pub struct ScoreArguments {
    #[command(flatten)]
    model: ModelArgument,
    /// The source text.
    source: PathBuf,
    /// Its translations, in the same format; none if the source file contains them.
    translations: Vec<PathBuf>,
    /// The language of the translations, for a multilingual model.
    #[arg(long, value_name = "CODE")]
    to: Option<String>,
    /// The names of the documents, one per line; found beside the source by default.
    #[arg(long, value_name = "FILE")]
    docids: Option<PathBuf>,
    /// The format; by default found from name and content.
    #[arg(long)]
    format: Option<Format>,
    /// Writes one JSON object per sentence, with the log-probability of every token.
    #[arg(long)]
    json: bool,
    /// Threads; one per core by default.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar and no summary.
    #[arg(long, short)]
    quiet: bool,
}

impl ScoreArguments {
    /// Reads, scores and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(self.threads != Some(0), "--threads must be at least 1");
        let corpora = self.read()?;
        let first = &corpora[0];
        let candidates = candidates(&corpora)?;
        let model = self.model.directory(false)?;
        let translator = super::open(&model, self.device, self.to.as_deref())?;
        let translator = match self.threads {
            Some(threads) => translator.with_threads(threads)?,
            None => translator,
        };
        let sources: Vec<Vec<String>> = first
            .documents
            .iter()
            .map(|document| document.segments.iter().map(|s| s.source.clone()).collect())
            .collect();
        let translations: Vec<Vec<String>> = first
            .documents
            .iter()
            .map(|document| document.segments.iter().filter_map(|s| s.target.clone()).collect())
            .collect();
        let mut requests = Vec::with_capacity(candidates.len());
        let mut places = Vec::with_capacity(candidates.len());
        for (document, sentences) in sources.iter().enumerate() {
            for (index, source) in sentences.iter().enumerate() {
                let candidates = &candidates[requests.len()];
                requests.push(ScoreRequest {
                    source,
                    context: &sentences[..index],
                    context_translations: &translations[document][..index],
                    shown: None,
                    candidates,
                });
                places.push((document, index));
            }
        }
        let bar = self.bar(requests.len())?;
        let scores = translator.score(&requests, &|done| bar.inc(done as u64))?;
        bar.finish_and_clear();

        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        for ((request, scores), &(document, index)) in requests.iter().zip(&scores).zip(&places) {
            if self.json {
                let name = &first.documents[document].id;
                writeln!(out, "{}", object(name, index, request, scores, &translator))?;
                continue;
            }
            let columns: Vec<String> = scores
                .iter()
                .map(|score| format!("{:.6}\t{:.6}\t{}", score.sum, score.mean(), score.tokens))
                .collect();
            writeln!(out, "{}", columns.join("\t"))?;
        }
        out.flush()?;
        drop(out);
        if !self.quiet {
            self.summarise(&scores, &translator);
        }
        Ok(())
    }

    /// The source with each of its translations.
    fn read(&self) -> anyhow::Result<Vec<Corpus>> {
        let input = |target: Option<&PathBuf>| Input {
            target: target.cloned(),
            docids: self.docids.clone(),
            format: self.format,
            ..Input::new(&self.source)
        };
        if self.translations.is_empty() {
            return Ok(vec![read(&input(None))?]);
        }
        let read = |target| Ok(read(&input(Some(target)))?);
        self.translations.iter().map(read).collect()
    }

    fn bar(&self, sentences: usize) -> anyhow::Result<ProgressBar> {
        if self.quiet || !std::io::stderr().is_terminal() {
            return Ok(ProgressBar::hidden());
        }
        let style = "{bar:30} {pos}/{len} sentences, {per_sec}, {eta} left";
        Ok(ProgressBar::new(sentences as u64).with_style(ProgressStyle::with_template(style)?))
    }

    /// Totals per translation on standard error: the standard output has one line per sentence.
    fn summarise(&self, scores: &[Vec<Score>], translator: &Translator) {
        let names = self.translations.iter().map(|path| path.display().to_string());
        let own = std::iter::once(self.source.display().to_string());
        let count = scores.first().map_or(0, Vec::len);
        for (place, name) in names.chain(own).take(count).enumerate() {
            let of = scores.iter().filter_map(|scores| scores.get(place));
            let sum: f64 = of.clone().map(|score| score.sum).sum();
            let tokens: usize = of.map(|score| score.tokens).sum();
            let mean = sum / tokens.max(1) as f64;
            tell!("{name}: sum {sum:.3}, mean {mean:.6}, {tokens} tokens");
        }
        let hash = &translator.hash()[..translator.hash().len().min(12)];
        let context = translator.model().config().context_size;
        tell!("abridge {}|model {hash}|context {context}", env!("CARGO_PKG_VERSION"));
    }
}

/// For each sentence its translations, one per corpus.
fn candidates(corpora: &[Corpus]) -> anyhow::Result<Vec<Vec<String>>> {
    let count = corpora[0].segments();
    let mut candidates: Vec<Vec<String>> = vec![Vec::new(); count];
    for corpus in corpora {
        ensure!(
            corpus.segments() == count,
            "a translation has {} sentences, but another has {count}; a line that is blank on \
             only one side counts as a sentence, so give document ids with --docids",
            corpus.segments()
        );
        let segments = corpus.documents.iter().flat_map(|document| &document.segments);
        for (place, (segment, candidates)) in segments.zip(&mut candidates).enumerate() {
            let Some(target) = &segment.target else {
                return Err(abridge_corpus::Error::new(format!(
                    "sentence {} has no translation",
                    place + 1
                ))
                .remedy("name a file of translations after the source")
                .into());
            };
            candidates.push(target.clone());
        }
    }
    Ok(candidates)
}

fn object(
    document: &str,
    index: usize,
    request: &ScoreRequest<'_>,
    scores: &[Score],
    translator: &Translator,
) -> serde_json::Value {
    let candidates: Vec<serde_json::Value> = request
        .candidates
        .iter()
        .zip(scores)
        .map(|(text, score)| {
            let mut pieces = translator.target().encode(text);
            pieces.push(abridge_model::tokens::END);
            let piece = |token: u32| translator.target().piece(token).unwrap_or_default();
            let tokens: Vec<serde_json::Value> = pieces
                .iter()
                .zip(&score.token_scores)
                .map(|(&token, score)| json!({ "piece": piece(token), "score": score }))
                .collect();
            json!({
                "translation": text,
                "sum": score.sum,
                "mean": score.mean(),
                "tokens": tokens,
            })
        })
        .collect();
    json!({
        "document": document,
        "index": index,
        "source": request.source,
        "candidates": candidates,
    })
}
