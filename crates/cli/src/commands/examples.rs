//! `abridge examples`: translations of several models that differ in a pronoun.

use std::io::Write;
use std::path::PathBuf;

use abridge_base::files::{OutputFile, Outputs};
use abridge_corpus::{ContrastiveInput, ContrastiveSet};
use abridge_evaluate::{
    examples_page, examples_summary, examples_text, limit_context, pronoun_examples,
    translate_examples,
};
use abridge_model::DeviceKind;
use anyhow::Context;
use clap::Args;

/// Translates a contrastive set with two or three models and shows where they differ in the pronoun
/// (the paper's Table 10).
///
/// In the text, the antecedent is in brackets, the source pronoun between underscores, and a wrong
/// pronoun in a translation between asterisks.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge examples demo/models/sentence demo/models/grouping --set demo/data/text/contrastive.json
  abridge examples sentence grouping selecting --set contrapro-en-de --page examples.html --show 5")]
pub struct Examples {
    /// Model directories.
    #[arg(value_name = "MODEL", required = true, num_args = 2..=3)]
    models: Vec<PathBuf>,
    /// A contrastive set.
    #[arg(long, value_name = "PATH")]
    set: PathBuf,
    /// The language pair of the set; by default that of the first model.
    #[arg(long, value_name = "PAIR")]
    languages: Option<String>,
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
    /// Where to compute.
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
            .map(|model| super::open(model, self.device, None))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let trained = translators[0].languages().map(|(s, t)| format!("{s}-{t}"));
        let pair = self.languages.clone().or(trained).unwrap_or_else(|| "en-de".to_owned());
        let (source, target) = pair
            .split_once('-')
            .with_context(|| format!("`{pair}` is not a language pair like en-de"))?;
        let mut input = ContrastiveInput::new(&self.set, source, target);
        input.documents.clone_from(&self.documents);
        let page_file = self.page_file(&input)?;
        let mut set = ContrastiveSet::read(&input)?;
        set.items.truncate(self.first.unwrap_or(usize::MAX));
        let bar = crate::progress::counter(
            set.items.len() * translators.len(),
            "translations",
            self.quiet,
        );
        let progress = &mut |done| bar.inc(done as u64);
        let translations = translate_examples(&translators, &set, progress)?;
        bar.finish_and_clear();
        let furthest = translators.iter().map(|t| t.model().config().context_size).max();
        limit_context(&mut set, furthest.unwrap_or(0));
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
    /// The file of the page; fails, before the work, if it cannot be written.
    fn page_file(&self, set: &ContrastiveInput) -> anyhow::Result<Option<OutputFile>> {
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
