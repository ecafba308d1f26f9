//! `abridge prepare`: turns text files into a prepared directory.

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_base::tell;
use abridge_corpus::practice::{PracticeConfig, PracticeLanguage};
use abridge_corpus::prepare::{
    ImportFiles, InputFiles, Languages, Outcome, Recipe, Request, prepare, prepare_practice,
};
use anyhow::bail;
use clap::Args;

use crate::progress;

const EXAMPLES: &str = "\
Examples:
  abridge prepare data/practice --practice
      the built-in practice corpus: no files needed
  abridge prepare data/talks --train train.en,train.de --valid dev.en,dev.de --test test.en,test.de
      three splits of lines; document ids come from train.docids and so on, if they are there
  abridge prepare data/iwslt17-en-de --recipe recipes/iwslt17-en-de.toml --data en-de.tgz
      the paper's corpus, straight from its archive
  abridge prepare data/imported --train train.en,train.de \\
      --source-model spm.en.model --source-dictionary dict.en.txt \\
      --target-model spm.de.model --target-dictionary dict.de.txt
      with tokenizers and ids from SentencePiece and fairseq
  abridge prepare data/debates --tokenizer models/en-pt --train train.en,train.pt \\
      --valid dev.en,dev.pt
      with the tokenizers of a model, to give it a memory (abridge train --from models/en-pt)
  abridge prepare data/base --recipe recipes/base/data.toml --data texts \\
      --without contrapro-en-de flores/flores-dev.en,flores/flores-dev.de
      three corpora, without pairs that occur in their validation sets or in two test sets";

/// Turns text files into a directory to train from.
///
/// Trains a tokenizer per language on the training split (or takes those of a model), encodes all
/// splits, prints the data table and warns about what looks wrong. The directory is written
/// complete or not at all; if nothing has changed since then, it is left alone.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Prepare {
    /// The directory to write
    output: PathBuf,

    /// A recipe in TOML that names languages, tokenizers and files
    #[arg(long, value_name = "FILE", conflicts_with_all = ["train", "valid", "test", "practice"])]
    recipe: Option<PathBuf>,

    /// The directory or archive that all paths are relative to [default: the current directory]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Training files: source and target separated by a comma, or one file that holds both; can be
    /// repeated
    #[arg(long, value_name = "SOURCE,TARGET")]
    train: Vec<String>,

    /// Validation files
    #[arg(long, value_name = "SOURCE,TARGET")]
    valid: Vec<String>,

    /// Test files; the target may be missing
    #[arg(long, value_name = "SOURCE,TARGET")]
    test: Vec<String>,

    /// The format of the files named here; by default found from name and content
    #[arg(long, conflicts_with = "recipe")]
    format: Option<String>,

    /// The language pair, such as en-de; by default found from the names of the files
    #[arg(long, value_name = "PAIR", conflicts_with = "recipe")]
    languages: Option<String>,

    /// Prepare the built-in practice corpus, en-de or en-fr
    #[arg(long, value_name = "PAIR", num_args = 0..=1, default_missing_value = "en-de",
          conflicts_with_all = ["train", "valid", "test", "languages", "without"])]
    practice: Option<PracticeLanguage>,

    /// The seed of the practice corpus
    #[arg(long, requires = "practice")]
    seed: Option<u64>,

    /// Pieces per vocabulary, special tokens included [default: 20000; practice corpus: 1000]
    #[arg(long, value_name = "PIECES")]
    vocabulary_size: Option<usize>,

    /// One vocabulary for both languages
    #[arg(long)]
    joint: bool,

    /// A model directory or an installed model whose tokenizers to use, for training that starts from it
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["joint", "vocabulary_size",
          "source_model", "target_model"])]
    tokenizer: Option<PathBuf>,

    /// A SentencePiece model for the source language, instead of training a tokenizer
    #[arg(long, value_name = "FILE")]
    source_model: Option<PathBuf>,

    /// The fairseq dictionary that gives the source pieces their ids
    #[arg(long, value_name = "FILE", requires = "source_model")]
    source_dictionary: Option<PathBuf>,

    /// A SentencePiece model for the target language
    #[arg(long, value_name = "FILE")]
    target_model: Option<PathBuf>,

    /// The fairseq dictionary that gives the target pieces their ids
    #[arg(long, value_name = "FILE", requires = "target_model")]
    target_dictionary: Option<PathBuf>,

    /// Remove training pairs that occur in the validation and test splits, exactly or nearly, or in
    /// further sets: SOURCE,TARGET, one file of text, or a contrastive set
    #[arg(long, value_name = "SET", num_args = 0..)]
    without: Option<Vec<String>>,

    /// Skip at most N bad lines (invalid UTF-8, broken JSON), and list them
    #[arg(long, value_name = "LINES")]
    skip_bad: Option<usize>,

    /// Threads for counting and encoding; they do not change the result
    #[arg(long, default_value_t = default_threads())]
    threads: usize,

    /// Prepare again even if nothing has changed
    #[arg(long)]
    force: bool,

    /// No progress, no table, no warnings: only errors
    #[arg(long, short)]
    quiet: bool,
}

impl Prepare {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<()> {
        let recipe = self.recipe()?;
        let request = Request {
            recipe: &recipe,
            data: self.data.as_deref().unwrap_or(Path::new("")),
            output: &self.output,
            threads: self.threads,
            force: self.force,
        };
        let outcome = {
            let mut progress = progress::reporter(self.quiet);
            match self.practice {
                Some(language) => {
                    let mut config = PracticeConfig::new(language);
                    config.seed = self.seed.unwrap_or(config.seed);
                    prepare_practice(&config, &request, progress.as_mut())?
                }
                None => prepare(&request, progress.as_mut())?,
            }
        };
        if !self.quiet {
            self.report(&outcome)?;
        }
        Ok(())
    }

    fn report(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let description = outcome.description();
        for line in &description.skipped {
            tell!("skipped: {line}");
        }
        for report in &description.filtered {
            tell!("{report}");
        }
        for warning in &description.warnings {
            tell!("warning: {warning}");
        }
        let mut out = std::io::stdout().lock();
        write!(out, "{}", description.table())?;
        let directory = self.output.display();
        match outcome {
            Outcome::Written(_) => writeln!(
                out,
                "{directory}: vocabularies of {} and {} pieces",
                description.vocabularies.source, description.vocabularies.target
            )?,
            Outcome::Unchanged(_) => {
                writeln!(out, "{directory}: inputs and settings are unchanged, nothing to do")?;
            }
        }
        Ok(())
    }

    fn recipe(&self) -> anyhow::Result<Recipe> {
        let mut recipe = match &self.recipe {
            Some(path) => Recipe::load(path)?,
            None => self.recipe_from_flags()?,
        };
        let tokenizer = &mut recipe.tokenizer;
        if let Some(size) = self.vocabulary_size {
            tokenizer.vocabulary_size = size;
        }
        tokenizer.joint |= self.joint;
        if let Some(model) = &self.tokenizer {
            // A path on the command line is not relative to the data directory.
            tokenizer.model = Some(std::path::absolute(super::model::directory(model)?)?);
        }
        let import = |model: &Option<PathBuf>, dictionary: &Option<PathBuf>| {
            model
                .as_ref()
                .map(|model| ImportFiles { model: model.clone(), dictionary: dictionary.clone() })
        };
        if let Some(files) = import(&self.source_model, &self.source_dictionary) {
            tokenizer.source = Some(files);
        }
        if let Some(files) = import(&self.target_model, &self.target_dictionary) {
            tokenizer.target = Some(files);
        }
        if let Some(lines) = self.skip_bad {
            recipe.skip_bad = lines;
        }
        if let Some(sets) = &self.without {
            recipe.without(sets);
        }
        Ok(recipe)
    }

    fn recipe_from_flags(&self) -> anyhow::Result<Recipe> {
        if let Some(language) = self.practice {
            return Ok(Recipe::practice(language));
        }
        if self.train.is_empty() && self.valid.is_empty() && self.test.is_empty() {
            bail!("nothing to prepare; give --train, --recipe or --practice");
        }
        let files = |names: &[String]| names.iter().map(|name| self.input(name)).collect();
        let mut recipe = Recipe {
            train: files(&self.train),
            valid: files(&self.valid),
            test: files(&self.test),
            ..Recipe::default()
        };
        recipe.languages = match &self.languages {
            Some(pair) => {
                let Some((source, target)) = pair.split_once('-') else {
                    bail!("`{pair}` is not a language pair like en-de");
                };
                Languages { source: source.into(), target: target.into() }
            }
            None => languages_of(&recipe),
        };
        Ok(recipe)
    }

    fn input(&self, names: &str) -> InputFiles {
        let (source, target) = match names.split_once(',') {
            Some((source, target)) => (source, Some(target.into())),
            None => (names, None),
        };
        InputFiles {
            source: source.into(),
            target,
            format: self.format.clone(),
            ..InputFiles::default()
        }
    }
}

/// The languages that the file names end in: English and German for `train.en,train.de`.
fn languages_of(recipe: &Recipe) -> Languages {
    let first = recipe.train.iter().chain(&recipe.valid).chain(&recipe.test).next();
    let code = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
        let ending = name.rsplit_once('.')?.1;
        let is_code = (2..=3).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_lowercase())
            && !["txt", "xml", "srt", "vtt"].contains(&ending);
        is_code.then(|| ending.to_owned())
    };
    let Languages { source, target } = Languages::default();
    Languages {
        source: first.and_then(|files| code(&files.source)).unwrap_or(source),
        target: first.and_then(|f| f.target.as_deref()).and_then(code).unwrap_or(target),
    }
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
