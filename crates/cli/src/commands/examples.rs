//! `abridge examples`: translations of several models that differ in a pronoun.

use std::io::Write;
use std::path::PathBuf;

use abridge_base::files::{OutputFile, Outputs};
use abridge_corpus::swaps::SwapTable;
use abridge_corpus::{ContrastiveInput, ContrastiveSet, Input, read};
use abridge_evaluate::{
    examples_page, examples_summary, examples_text, limit_context, pronoun_examples,
    pronoun_sentences, translate_examples,
};
use abridge_model::DeviceKind;
use anyhow::Context;
use clap::Args;

/// Translates a contrastive set or any test set with two or three models and shows where they differ
/// in the pronoun (the paper's Table 10).
///
/// Of a test set, the sentences whose reference has one pronoun that depends on context, by the rules
/// of `abridge tags`, are translated.
///
/// In the text, the antecedent is in brackets, the source pronoun between underscores, and a wrong
/// pronoun in a translation between asterisks.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge examples demo/models/sentence demo/models/grouping --set demo/data/text/contrastive.json
  abridge examples sentence grouping selecting --set contrapro-en-de --page examples.html --show 5
  abridge examples sentence grouping --source tst2015.en --reference tst2015.de")]
pub struct Examples {
    /// Model directories.
    #[arg(value_name = "MODEL", required = true, num_args = 2..=3)]
    models: Vec<PathBuf>,
    /// A contrastive set; or name a test set with --source and --reference.
    #[arg(long, value_name = "PATH", required_unless_present = "source")]
    set: Option<PathBuf>,
    /// The source text of a test set, in English.
    #[arg(long, short, value_name = "SRC", requires = "reference", conflicts_with = "set")]
    source: Option<PathBuf>,
    /// Its reference translation, in German, French or Portuguese.
    #[arg(long, short, value_name = "REF", requires = "source")]
    reference: Option<PathBuf>,
    /// The language pair of the set; by default that of the first model.
    #[arg(long, value_name = "PAIR")]
    languages: Option<String>,
    /// The language of the translations, for multilingual models.
    #[arg(long, value_name = "CODE")]
    to: Option<String>,
    /// The folder of the documents that ContraPro's JSON refers to.
    #[arg(long, value_name = "DIR")]
    documents: Option<PathBuf>,
    /// Translates only the first N examples of the set.
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    /// How many differences to show.
    #[arg(long, value_name = "N", default_value_t = 10)]
    show: usize,
    /// Writes all differences as an HTML page.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

impl Examples {
    /// Translates and shows.
    pub fn run(&self) -> anyhow::Result<()> {
        let translators = self
            .models
            .iter()
            .map(|model| super::open(model, self.device, self.to.as_deref()))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let trained = translators[0].languages().map(|(s, t)| format!("{s}-{t}"));
        let pair = self.languages.clone().or(trained).unwrap_or_else(|| "en-de".to_owned());
        let (source, target) = pair
            .split_once('-')
            .with_context(|| format!("`{pair}` is not a language pair like en-de"))?;
        let test_set = self.test_set(source, target)?;
        let page_file = self.page_file(&test_set)?;
        let furthest = translators.iter().map(|t| t.model().config().context_size).max();
        let furthest = furthest.unwrap_or(0);
        let mut set = test_set.read(target, furthest)?;
        set.items.truncate(self.first.unwrap_or(usize::MAX));
        let bar = crate::progress::counter(
            set.items.len() * translators.len(),
            "translations",
            self.quiet,
        );
        let progress = &mut |done| bar.inc(done as u64);
        let translations = translate_examples(&translators, &set, progress)?;
        bar.finish_and_clear();
        limit_context(&mut set, furthest);
        let names = names(&self.models);
        let examples = pronoun_examples(&set, &translations);
        if let Some(page) = &page_file {
            page.write(examples_page(&examples, &names).as_bytes())?;
        }
        let mut out = std::io::stdout().lock();
        if self.json {
            let value = serde_json::json!({ "examples": {
                "models": names, "translated": set.items.len(), "differences": examples,
            }});
            writeln!(out, "{value:#}")?;
            return Ok(());
        }
        write!(out, "{}", examples_text(&examples[..examples.len().min(self.show)], &names))?;
        write!(out, "{}", examples_summary(&examples, &names, set.items.len()))?;
        Ok(())
    }
}

impl Examples {
    /// What is to be translated.
    fn test_set(&self, source: &str, target: &str) -> anyhow::Result<TestSet> {
        if let (Some(text), Some(reference)) = (&self.source, &self.reference) {
            return Ok(TestSet::Text(Input::parallel(text, reference)));
        }
        let set = self.set.as_deref().context("--set is missing")?;
        let mut input = ContrastiveInput::new(set, source, target);
        input.documents.clone_from(&self.documents);
        Ok(TestSet::Contrastive(input))
    }

    /// The file of the page; fails, before the work, if it cannot be written.
    fn page_file(&self, set: &TestSet) -> anyhow::Result<Option<OutputFile>> {
        let mut outputs = Outputs::new();
        for file in set.files() {
            outputs.reading(&file);
        }
        for model in &self.models {
            super::model::reading(model, &mut outputs)?;
        }
        Ok(self.page.as_ref().map(|page| outputs.file(page)).transpose()?)
    }
}

/// Where the sentences come from.
enum TestSet {
    /// A contrastive set.
    Contrastive(ContrastiveInput),
    /// A text with its reference, of which the sentences with a pronoun are taken.
    Text(Input),
}

impl TestSet {
    fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Contrastive(input) => input.files(),
            Self::Text(input) => input.files(),
        }
    }

    fn read(&self, target: &str, context: usize) -> anyhow::Result<ContrastiveSet> {
        match self {
            Self::Contrastive(input) => Ok(ContrastiveSet::read(input)?),
            Self::Text(input) => {
                let corpus = read(input)?;
                let table = SwapTable::built_in(target)?;
                Ok(pronoun_sentences(&corpus.documents, target.parse()?, &table, context))
            }
        }
    }
}

/// The shortest endings of the paths that tell the models apart.
fn names(models: &[PathBuf]) -> Vec<String> {
    let name = |model: &PathBuf, parts: usize| {
        let mut all: Vec<_> =
            model.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        // Training writes runs/NAME/model.
        if all.len() > 1 && all.last().is_some_and(|last| last == "model") {
            all.pop();
        }
        all[all.len().saturating_sub(parts)..].join("/")
    };
    for parts in 1..8 {
        let names: Vec<String> = models.iter().map(|model| name(model, parts)).collect();
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        if distinct.len() == names.len() {
            return names;
        }
    }
    (1..=models.len()).map(|number| format!("model {number}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_by_the_ends_of_their_paths_that_differ() {
        let named = |models: [&str; 2]| names(&models.map(PathBuf::from));
        assert_eq!(
            named(["demo/models/sentence", "demo/models/grouping"]),
            ["sentence", "grouping"]
        );
        assert_eq!(named(["runs/s/model", "g1"]), ["s", "g1"]);
        assert_eq!(named(["a/x/model", "b/x"]), ["a/x", "b/x"]);
        assert_eq!(named(["x", "x"]), ["model 1", "model 2"]);
    }
}
