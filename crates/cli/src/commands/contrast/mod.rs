//! `abridge contrast`: how often a model prefers the right pronoun.

mod make;
mod text;

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_base::files::{OutputFile, Outputs};
use abridge_base::tell;
use abridge_corpus::{ContrastiveInput, ContrastiveSet};
use abridge_evaluate::{
    ContrastiveComparison, ContrastiveReport, Control, ControlReport, Controls, Example, Identity,
    Scores, check_context, check_languages, limit_context, part_file, read_scores,
    score_with_controls, write_scores,
};
use abridge_model::DeviceKind;
use abridge_translate::Translator;
use anyhow::Context;
use clap::{Args, Subcommand};

use super::model::ModelArgument;
pub use text::{probability, range, table};

/// The name of a candidate's score in signatures.
const SCORE: &str = "mean-token-log-probability";
/// The languages of a set if neither the user nor the model names them.
const LANGUAGES: &str = "en-de";
/// The controls that are scored by default.
const DEFAULT_CONTROLS: &str = "none,random";

/// Scores the candidates of a contrastive set and counts how often the reference wins.
///
/// A candidate's score is its log-probability per token, the end included; an example is right if
/// its reference scores strictly higher than every alternative. Besides the true context, examples
/// are scored with other contexts (--controls): a gain that these give as well does not come from
/// what the context says.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  abridge contrast --model runs/grouping/model --set practice/text/contrastive.json

  # ContraPro with its documents; scores are kept, so an interrupted run resumes
  abridge contrast --model runs/grouping/model --set contrapro.json --documents documents \\
    --scores grouping.scores

  # All controls: also shuffled, mirrored slots, and only the k-th sentence back
  abridge contrast --model runs/grouping/model --set contrapro-en-de --controls all

  # Two models, with McNemar's test
  abridge contrast --model runs/grouping/model --against runs/sentence/model --set contrapro.json
  abridge contrast --model runs/grouping/model --against sentence.scores --set contrapro.json

  # Your own set, from any parallel documents
  abridge contrast make --source dev.en --target dev.de --training train.en --output own.json

  # The large English-French set, with less context than the model can take
  abridge contrast --model runs/fr/model --set large_pronoun --languages en-fr --context-size 1"
)]
pub struct Contrast {
    #[command(subcommand)]
    task: Option<Task>,
    #[command(flatten)]
    model: ModelArgument,
    /// The contrastive set: ContraPro as JSON or text, the large English-French set, Bawden's.
    #[arg(long, value_name = "PATH", required = true)]
    set: Option<PathBuf>,
    /// The folder of the documents that ContraPro's JSON refers to.
    #[arg(long, value_name = "DIR")]
    documents: Option<PathBuf>,
    /// The language pair of the set; by default the model's.
    #[arg(long, value_name = "PAIR")]
    languages: Option<String>,
    /// The language of the translations, for a multilingual model.
    #[arg(long, value_name = "CODE")]
    to: Option<String>,
    /// Sentences of context; by default as many as the model was trained with. More are possible,
    /// with a warning.
    #[arg(long, value_name = "N")]
    context_size: Option<usize>,
    /// Other contexts to compare with: none, random, shuffled, mirrored, only-1, only-2 and so on;
    /// `all`, or `off`.
    #[arg(long, value_name = "NAMES", default_value = DEFAULT_CONTROLS)]
    controls: String,
    /// The seed that picks sentences for the random context.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many random contexts every example gets. The true context is compared with their mean,
    /// so that a small set does not depend on the luck of one draw.
    #[arg(long, value_name = "N", default_value_t = Controls::DRAWS as u32,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    draws: u32,
    /// Another model directory, or a file of its scores, to compare with.
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// Writes all scores, one per line, in the order of the set's candidates, and those of each
    /// control to FILE.CONTROL (FILE.random-2 is the second draw). An interrupted run leaves them in
    /// FILE.part, from which the same command resumes.
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    json: bool,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

/// Where scores go.
struct ScoreFiles {
    /// Those with the true context.
    truth: OutputFile,
    /// Those of each control.
    controls: Vec<OutputFile>,
    /// All of them, until the last is computed.
    part: Option<OutputFile>,
}

#[derive(Debug, Subcommand)]
enum Task {
    Make(make::Make),
}

impl Contrast {
    /// Scores and reports, or makes a set.
    pub fn run(&self) -> anyhow::Result<()> {
        if let Some(Task::Make(make)) = &self.task {
            return make.run();
        }
        let model = self.model.directory(false)?;
        let translator =
            super::open_at(&model, self.device, self.context_size, self.to.as_deref())?;
        let trained = translator.languages().map(|(source, target)| format!("{source}-{target}"));
        let pair = self.languages.clone().or_else(|| trained.clone());
        let pair = pair.unwrap_or_else(|| LANGUAGES.to_owned());
        let input = self.set_input(&pair, &translator)?;
        let set = read(&input)?;
        check_languages(&set, &pair, trained.as_deref())?;
        let controls = self.controls(&translator, &set)?;
        let controls =
            Controls { controls: &controls, seed: self.seed, draws: self.draws as usize };
        let files = self.score_files(&input, controls)?;
        let (scores, identity) = self.score(&translator, &set, controls, files.as_ref())?;
        let report = ContrastiveReport::new(&set, &scores[0]);
        let beside = (scores.len() > 1).then(|| ControlReport::new(&set, controls, &scores));
        let signature = identity.signature(SCORE);
        let other = self.against.as_ref().map(|path| self.other(path, &set)).transpose()?;
        let other = other
            .map(|(others, name)| (ContrastiveComparison::new(&set, &scores[0], &others), name));

        let mut out = std::io::stdout().lock();
        if self.json {
            let mut value = serde_json::json!({ "contrast": {
                "score": report.total.share(), "signature": signature, "report": report,
            }});
            if let Some(beside) = beside {
                value["contrast"]["controls"] = serde_json::to_value(beside)?;
            }
            if let Some((comparison, signature)) = other {
                value["contrast"]["against"] = serde_json::json!({
                    "signature": signature, "rows": comparison.rows, "mean": comparison.mean,
                    "mean_holm": comparison.mean_holm,
                });
            }
            writeln!(out, "{value:#}")?;
            return Ok(());
        }
        writeln!(out, "{}\n{}", report.composition, table(&report))?;
        for part in [
            text::crossed(&report),
            beside.map_or_else(String::new, |beside| text::control_table(&report, &beside)),
        ] {
            if !part.is_empty() {
                writeln!(out, "{part}")?;
            }
        }
        writeln!(out, "{signature}")?;
        if let Some((comparison, name)) = other {
            write!(out, "\n{}", text::comparison_table(&comparison))?;
            writeln!(out, "\nagainst {name}")?;
        }
        Ok(())
    }

    /// The files of the scores; fails, before the work, if one cannot be written.
    fn score_files(
        &self,
        input: &ContrastiveInput,
        controls: Controls<'_>,
    ) -> anyhow::Result<Option<ScoreFiles>> {
        let Some(path) = &self.scores else { return Ok(None) };
        let mut outputs = Outputs::new();
        self.model.reading(&mut outputs)?;
        for file in input.files() {
            outputs.reading(&file);
        }
        match &self.against {
            Some(scores) if scores.is_file() => {
                outputs.reading(scores);
            }
            Some(model) => super::model::reading(model, &mut outputs)?,
            None => {}
        }
        let truth = outputs.file(path)?;
        let controls = controls.contexts().into_iter().map(|draw| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{draw}").replace(' ', "-"));
            outputs.file(Path::new(&name))
        });
        let controls = controls.collect::<abridge_base::Result<_>>()?;
        // Beside a device or standard output there is no place for a partial file.
        let part = truth.is_file().then(|| outputs.file(&part_file(path))).transpose()?;
        Ok(Some(ScoreFiles { truth, controls, part }))
    }

    fn set_input(&self, pair: &str, translator: &Translator) -> anyhow::Result<ContrastiveInput> {
        let (source, target) = pair
            .split_once('-')
            .with_context(|| format!("`{pair}` is not a language pair like en-de"))?;
        let most = translator.model().config().context_size;
        let set = self.set.as_deref().context("--set is missing")?;
        let mut input = ContrastiveInput::new(set, source, target);
        input.documents.clone_from(&self.documents);
        input.context = input.context.max(most);
        Ok(input)
    }

    /// The requested controls that make sense for the model and the set.
    fn controls(
        &self,
        translator: &Translator,
        set: &ContrastiveSet,
    ) -> anyhow::Result<Vec<Control>> {
        let context = self.context(translator);
        let controls = match self.controls.as_str() {
            "off" => Vec::new(),
            "all" => Control::all(context),
            names => names.split(',').map(str::parse).collect::<Result<_, _>>()?,
        };
        let asked = self.controls != DEFAULT_CONTROLS;
        let mut limited = set.clone();
        limit_context(&mut limited, context);
        let examples = Example::all(&limited);
        let mut kept = Vec::new();
        for control in controls {
            match control.check(&examples, translator.model().config().context_size, self.seed) {
                Ok(0) if context == 0 => {}
                Ok(0) => tell!("note: the control `{control}` changes no context of the set"),
                Ok(_) => kept.push(control),
                Err(error) if asked => return Err(error.into()),
                Err(error) => tell!("note: skipping the control `{control}`: {error}"),
            }
        }
        Ok(kept)
    }

    fn context(&self, translator: &Translator) -> usize {
        let most = translator.model().config().context_size;
        self.context_size.map_or(most, |size| size.min(most))
    }

    /// The scores of a model with the true context and each control; written to `files`, if given.
    fn score(
        &self,
        translator: &Translator,
        set: &ContrastiveSet,
        controls: Controls<'_>,
        files: Option<&ScoreFiles>,
    ) -> anyhow::Result<(Vec<Scores>, Identity)> {
        let context = self.context(translator);
        check_context(set, context)?;
        let identity = Identity::new(translator, set, context).with_controls(controls);
        let mut limited = set.clone();
        limit_context(&mut limited, context);
        let part = files.and_then(|files| Some(files.part.as_ref()?.path()));
        let kept = part.map(|part| (part, &identity));
        let bar = crate::progress::counter(set.items.len(), "examples", self.quiet);
        let scores = score_with_controls(translator, &limited, controls, kept, &mut |done| {
            bar.inc(done as u64);
        })?;
        bar.finish_and_clear();
        if let Some(files) = files {
            let all = [&files.truth].into_iter().chain(&files.controls);
            for (file, scores) in all.zip(&scores) {
                write_scores(file, scores)?;
            }
        }
        if let Some(part) = part {
            std::fs::remove_file(part)
                .with_context(|| format!("cannot remove {}", part.display()))?;
        }
        Ok((scores, identity))
    }

    /// The scores to compare with, and their signature or file.
    fn other(&self, path: &Path, set: &ContrastiveSet) -> anyhow::Result<(Scores, String)> {
        if path.is_file() {
            return Ok((read_scores(path, set)?, path.display().to_string()));
        }
        let translator = super::open(path, self.device, self.to.as_deref())?;
        let (mut scores, identity) = self.score(&translator, set, Controls::default(), None)?;
        Ok((scores.swap_remove(0), identity.signature(SCORE).to_string()))
    }
}

/// Reads a set and passes on its notes.
fn read(input: &ContrastiveInput) -> anyhow::Result<ContrastiveSet> {
    let set = ContrastiveSet::read(input)?;
    for note in &set.notes {
        tell!("note: {note}");
    }
    Ok(set)
}
