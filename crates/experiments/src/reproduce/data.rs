//! The training and test data of a grid.

use std::path::{Path, PathBuf};

use abridge_corpus::practice::{PracticeConfig, PracticeLanguage};
use abridge_corpus::prepare::{
    Description, FileHash, FilterReport, MANIFEST, Recipe, Request, SplitDocuments, prepare,
    prepare_practice,
};
use abridge_corpus::{ContrastiveInput, ContrastiveSet, Document, Input, read};
use anyhow::Context;

use super::table::Pair;
use crate::observer::Observer;
use crate::recipes;

/// The user's data.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The input of the data recipe: an archive or a folder.
    pub data: Option<PathBuf>,
    /// The data recipe, if it is not the paper's.
    pub recipe: Option<PathBuf>,
    /// The contrastive set.
    pub contrastive: Option<PathBuf>,
    /// The documents that ContraPro's JSON points into.
    pub documents: Option<PathBuf>,
    /// Use only this many documents of the test split.
    pub test_documents: Option<usize>,
}

/// Prepared data with its test documents and contrastive set.
#[derive(Debug)]
pub struct Data {
    /// A prepared directory.
    pub prepared: PathBuf,
    /// Test documents with their references.
    pub test: Vec<Document>,
    /// The contrastive set.
    pub contrastive: Option<ContrastiveInput>,
    /// What filters removed from the training text.
    pub filtered: Vec<FilterReport>,
    /// The hash of everything above.
    pub hash: String,
}

impl Data {
    /// Prepares the user's data, or the practice corpus if none is given.
    pub fn prepare(
        pair: Pair,
        given: &Given,
        out: &Path,
        observer: &dyn Observer,
    ) -> anyhow::Result<Self> {
        let (prepared, mut test, contrastive) = match &given.data {
            Some(data) => Self::from_files(pair, given, data, out, observer)?,
            None => Self::practice(pair, given, out, observer)?,
        };
        test.truncate(given.test_documents.unwrap_or(usize::MAX));
        let manifest = FileHash::of(&prepared.join(MANIFEST), MANIFEST)?.sha256;
        let mut parts = vec![manifest];
        parts.extend(test.iter().flat_map(|document| &document.segments).map(|segment| {
            format!("{}\t{}", segment.source, segment.target.as_deref().unwrap_or_default())
        }));
        if let Some(input) = &contrastive {
            let set = ContrastiveSet::read(input)?;
            parts.extend(set.items.iter().map(|item| {
                format!(
                    "{}\t{}\t{}",
                    item.context.join(" "),
                    item.source,
                    item.candidates.join("\t")
                )
            }));
        }
        let hash = super::cell::hash(&parts.join("\n"));
        let filtered = Description::load(&prepared)?.filtered;
        Ok(Self { prepared, test, contrastive, filtered, hash })
    }

    /// How many context sentences the contrastive set has for a model with this context size.
    pub fn contrastive_context(&self, wanted: usize) -> anyhow::Result<Option<usize>> {
        let Some(input) = &self.contrastive else { return Ok(None) };
        let set = ContrastiveSet::read(&ContrastiveInput { context: wanted, ..input.clone() })?;
        Ok(Some(set.longest_context()))
    }

    fn from_files(
        pair: Pair,
        given: &Given,
        data: &Path,
        out: &Path,
        observer: &dyn Observer,
    ) -> anyhow::Result<(PathBuf, Vec<Document>, Option<ContrastiveInput>)> {
        let mut recipe = match &given.recipe {
            Some(file) => Recipe::load(file)?,
            None => toml::from_str(match pair {
                Pair::EnDe => recipes::IWSLT_EN_DE,
                Pair::EnFr => recipes::IWSLT_EN_FR,
            })
            .context("the built-in data recipe")?,
        };
        // A model that has seen the test sets in training would prove nothing.
        let set = given.contrastive.as_deref().map(std::path::absolute).transpose()?;
        recipe.without(&set.iter().map(|set| set.display().to_string()).collect::<Vec<_>>());
        let output = out.join("data").join(pair.name());
        std::fs::create_dir_all(out.join("data"))?;
        let request =
            Request { recipe: &recipe, data, output: &output, threads: threads(), force: false };
        let outcome = prepare(&request, &mut *observer.preparation())?;
        for report in &outcome.description().filtered {
            observer.line(&report.to_string());
        }
        let test = SplitDocuments::read("test", &recipe.split("test"), data)?;
        anyhow::ensure!(
            test.has_target(),
            "the test split has no references; name a target file for each of its source files"
        );
        let contrastive = given.contrastive.as_ref().map(|path| ContrastiveInput {
            documents: given.documents.clone(),
            ..ContrastiveInput::new(path, "en", pair.target())
        });
        Ok((output, test.documents, contrastive))
    }

    fn practice(
        pair: Pair,
        given: &Given,
        out: &Path,
        observer: &dyn Observer,
    ) -> anyhow::Result<(PathBuf, Vec<Document>, Option<ContrastiveInput>)> {
        let language = match pair {
            Pair::EnDe => PracticeLanguage::German,
            Pair::EnFr => PracticeLanguage::French,
        };
        let config = PracticeConfig::new(language);
        let output = out.join("data").join(format!("practice-{}", pair.name()));
        std::fs::create_dir_all(out.join("data"))?;
        let recipe = Recipe::practice(language);
        let request = Request {
            recipe: &recipe,
            data: Path::new(""),
            output: &output,
            threads: threads(),
            force: false,
        };
        prepare_practice(&config, &request, &mut *observer.preparation())?;
        let text = output.join("text");
        let target = text.join(format!("test.{}", pair.target()));
        let corpus = read(&Input::parallel(text.join("test.en"), target))?;
        let set = given.contrastive.clone().unwrap_or_else(|| text.join("contrastive.json"));
        let contrastive = ContrastiveInput::new(set, "en", pair.target());
        Ok((output, corpus.documents, Some(contrastive)))
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
