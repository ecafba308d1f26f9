//! `abridge demo`: the whole walk on what is built in, in a few minutes.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use abridge_corpus::practice::PracticeConfig;
use abridge_corpus::prepare::{Recipe, Request, Silent, prepare_practice};
use abridge_corpus::{ContrastiveInput, ContrastiveSet, Document, Input, read};
use abridge_evaluate::ContrastiveReport;
use abridge_model::weights::ModelDirectory;
use abridge_model::{DeviceKind, Packed, tokens};
use abridge_train::{Ending, Event, Options, RunPaths, TrainRecipe, Training};
use abridge_translate::{BeamSettings, Translator};
use clap::Args;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::contrast;

/// Trains a model without and one with context on the built-in corpus, and shows the difference.
///
/// Needs no data and no network; a few minutes on two cores. Run again, it finds what is there.
/// Interrupted, it goes on where it was.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge demo
  abridge demo --out /tmp/demo --updates 300")]
pub struct Demo {
    /// Where the corpus and the two models go.
    #[arg(long, default_value = "demo", value_name = "DIR")]
    out: PathBuf,
    /// Updates of each model; fewer are faster and worse.
    #[arg(long, default_value_t = 1000)]
    updates: u64,
}

/// The two models that are compared.
const PRESETS: [&str; 2] = ["sentence", "grouping"];

/// The recipe of `recipes/practice.toml`, in the binary.
const RECIPE: &str = include_str!("../../../../recipes/practice.toml");

impl Demo {
    /// Prepares, trains, compares and says what to try next.
    pub fn run(&self) -> anyhow::Result<()> {
        let data = self.out.join("data");
        let config = PracticeConfig::default();
        let recipe = Recipe::practice(config.language);
        let request = Request {
            recipe: &recipe,
            data: Path::new(""),
            output: &data,
            threads: 2,
            force: false,
        };
        let manifest = prepare_practice(&config, &request, &mut Silent)?.manifest().clone();
        let mut out = std::io::stdout().lock();
        writeln!(out, "The practice corpus, written by a small grammar inside this program:\n")?;
        writeln!(out, "{}", manifest.table())?;
        drop(out);
        self.train_both(&data)?;
        self.compare(&data)
    }

    fn model(&self, preset: &str) -> PathBuf {
        self.out.join("models").join(preset)
    }

    /// Trains what is not there yet, side by side, one core each.
    fn train_both(&self, data: &Path) -> anyhow::Result<()> {
        let missing: Vec<&str> = PRESETS
            .into_iter()
            .filter(|preset| ModelDirectory::open(&self.model(preset)).is_err())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (stop, signal) = super::train::listen()?;
        let bars = MultiProgress::new();
        if !std::io::stderr().is_terminal() {
            bars.set_draw_target(indicatif::ProgressDrawTarget::hidden());
            eprintln!("training {} for {} updates", missing.join(" and "), self.updates);
        }
        let results: Vec<anyhow::Result<Ending>> = std::thread::scope(|scope| {
            let started: Vec<_> = missing
                .iter()
                .map(|preset| {
                    let bar = bars.add(ProgressBar::new(self.updates));
                    let stop = &stop;
                    scope.spawn(move || {
                        let result = self.train_one(preset, data, stop, &bar);
                        // One that fails does not let the other work in vain.
                        if result.is_err() {
                            stop.store(true, Ordering::Relaxed);
                        }
                        result
                    })
                })
                .collect();
            let joined = started.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.map(|r| r.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        bars.clear()?;
        let endings = results.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
        if endings.contains(&Ending::Interrupted) {
            let signal = signal.load(Ordering::Relaxed);
            return Err(crate::exit::Stopped { signal, run: self.out.clone() }.into());
        }
        Ok(())
    }

    fn train_one(
        &self,
        preset: &str,
        data: &Path,
        stop: &AtomicBool,
        bar: &ProgressBar,
    ) -> anyhow::Result<Ending> {
        let style = format!("{preset:<9} {{bar:30}} {{pos}}/{{len}} updates  {{msg}}");
        bar.set_style(ProgressStyle::with_template(&style)?);
        let settings = [
            format!("model.preset={preset}"),
            format!("stop.max_updates={}", self.updates),
            "stop.patience=1000".to_owned(),
        ];
        let recipe = TrainRecipe::parse(RECIPE, &settings)?;
        let run = self.out.join("runs").join(preset);
        let paths = RunPaths { data, run: &run };
        let options = Options { workers: Some(1), ..Options::default() };
        let mut training = Training::open(recipe, &paths, &DeviceKind::Cpu.open()?, options)?;
        let ending = training.run(stop, &mut |event| {
            if let Event::Updated { update, perplexity, .. } = event {
                bar.set_position(*update);
                bar.set_message(format!("perplexity {perplexity:.2}"));
            }
        })?;
        if ending != Ending::Interrupted {
            training.write_model(&self.model(preset))?;
        }
        bar.finish();
        Ok(ending)
    }

    fn compare(&self, data: &Path) -> anyhow::Result<()> {
        let device = DeviceKind::Cpu.open()?;
        let [sentence, grouping] =
            PRESETS.map(|preset| Translator::open(&self.model(preset), &device));
        let (sentence, grouping) = (sentence?, grouping?);
        let text = data.join("text");
        let mut input = ContrastiveInput::new(text.join("contrastive.json"), "en", "de");
        input.context = grouping.model().config().context_size;
        let set = ContrastiveSet::read(&input)?;
        let mut out = std::io::stdout().lock();

        let corpus = read(&Input::parallel(text.join("test.en"), text.join("test.de")))?;
        let document = longest_pronoun_document(&corpus.documents);
        writeln!(out, "A document that neither model has seen:\n")?;
        show(&mut out, document, &sentence, &grouping)?;

        writeln!(out, "How often each prefers the right pronoun, by how far back its noun is:\n")?;
        for (name, translator) in
            [("sentence (no context)", &sentence), ("grouping (three sentences)", &grouping)]
        {
            let report = ContrastiveReport::new(&set, &contrast::score(translator, &set)?);
            writeln!(out, "{name}\n{}", contrast::table(&report))?;
        }
        writeln!(out, "{}", memory(&grouping)?)?;
        let (out_dir, model) = (self.out.display(), self.model("grouping"));
        let model = model.display();
        writeln!(out, "Both models stay in {out_dir}/models. Try:\n")?;
        writeln!(out, "  abridge translate --model {model} {out_dir}/data/text/test.en")?;
        writeln!(
            out,
            "  abridge contrast --model {model} --set {out_dir}/data/text/contrastive.json"
        )?;
        writeln!(out, "  abridge practice --show 3")?;
        Ok(())
    }
}

/// The document with the most sentences that have a pronoun to get wrong.
fn longest_pronoun_document(documents: &[Document]) -> &Document {
    let pronouns = |document: &Document| {
        let sentences = document.segments.iter();
        sentences.filter(|s| s.source.split(' ').any(|w| w == "it" || w == "It")).count()
    };
    let best =
        documents.iter().max_by_key(|document| (pronouns(document), document.segments.len()));
    best.expect("the practice corpus has test documents")
}

/// Source, reference and both translations; words that differ from the reference in colour.
fn show(
    out: &mut impl Write,
    document: &Document,
    sentence: &Translator,
    grouping: &Translator,
) -> anyhow::Result<()> {
    let sources: Vec<String> = document.segments.iter().map(|s| s.source.clone()).collect();
    let translate = |translator: &Translator| -> anyhow::Result<Vec<String>> {
        let settings = BeamSettings::default();
        let documents = std::slice::from_ref(&sources);
        Ok(translator.translate_documents(documents, &settings, &|_| {})?.remove(0))
    };
    let (without, with) = (translate(sentence)?, translate(grouping)?);
    let colours = std::io::stdout().is_terminal();
    for (index, segment) in document.segments.iter().enumerate() {
        let reference = segment.target.as_deref().unwrap_or_default();
        writeln!(out, "  English          {}", segment.source)?;
        writeln!(out, "  reference        {reference}")?;
        writeln!(out, "  without context  {}", marked(&without[index], reference, colours))?;
        writeln!(out, "  with context     {}\n", marked(&with[index], reference, colours))?;
    }
    Ok(())
}

/// Pronouns in green where the reference has them at the same place, in red where it has not.
fn marked(translation: &str, reference: &str, colours: bool) -> String {
    const PRONOUNS: [&str; 7] = ["er", "sie", "es", "ihn", "ihm", "ihr", "ihnen"];
    let expected: Vec<&str> = reference.split(' ').collect();
    let words = translation.split(' ').enumerate().map(|(place, word)| {
        let bare = word.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
        if !PRONOUNS.contains(&bare.as_str()) {
            return word.to_owned();
        }
        let right = expected.get(place) == Some(&word);
        match (colours, right) {
            (true, true) => format!("\u{1b}[32m{word}\u{1b}[0m"),
            (true, false) => format!("\u{1b}[31m{word}\u{1b}[0m"),
            (false, true) => word.to_owned(),
            (false, false) => format!("*{word}*"),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What a context sentence costs, measured on a sentence of ten tokens.
fn memory(translator: &Translator) -> anyhow::Result<String> {
    let mut sentence = vec![7; 9];
    sentence.push(tokens::END);
    let read = translator.model().read(&Packed::new([sentence]))?.remove(0).remembered;
    let rows = read.entry.as_ref().map_or(0, |entry| entry.rows.dims()[0]);
    let bytes = read.values() * size_of::<f32>();
    Ok(format!(
        "The memory keeps {rows} vectors per sentence, however long it is: {:.1} KiB with their \
         keys and values for every layer.\n",
        bytes as f64 / 1024.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_pronouns_are_marked() {
        assert_eq!(marked("Er sah sie .", "Er sah ihn .", false), "Er sah *sie* .");
        let coloured = marked("Er sah sie.", "Er sah ihn.", true);
        assert!(coloured.starts_with("\u{1b}[32mEr") && coloured.contains("\u{1b}[31msie."));
    }
}
