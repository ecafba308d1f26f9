//! What to prepare: a recipe in TOML, or the same from the command line.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::corpora::CorpusRecipe;
use super::filter::FilterRecipe;
use crate::formats::STANDARD_INPUT;
use crate::tokenizer::TrainSettings;
use crate::{Error, Format, Input, Result};

/// Everything that determines a prepared directory, except the content of the input files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Which languages; used in names and tables.
    pub languages: Languages,
    /// How text becomes tokens.
    #[serde(default)]
    pub tokenizer: TokenizerRecipe,
    /// Filters for the training text.
    #[serde(default, skip_serializing_if = "FilterRecipe::is_off")]
    pub filters: FilterRecipe,
    /// How many bad lines may be skipped; each is listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip_bad: usize,
    /// Text to train on; tokenizers are trained on nothing else.
    #[serde(default)]
    pub train: Vec<InputFiles>,
    /// Text that determines when training stops.
    #[serde(default)]
    pub valid: Vec<InputFiles>,
    /// Text to evaluate on.
    #[serde(default)]
    pub test: Vec<InputFiles>,
    /// Several corpora, stored separately, instead of the three splits above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corpora: Vec<CorpusRecipe>,
}

/// The two languages, as codes such as `en` and `de`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Languages {
    /// The language to translate from.
    pub source: String,
    /// The language to translate into.
    pub target: String,
}

impl Default for Languages {
    fn default() -> Self {
        Self { source: "source".into(), target: "target".into() }
    }
}

/// How the tokenizers are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenizerRecipe {
    /// Pieces per vocabulary, including special tokens; 20,000 as in the paper.
    pub vocabulary_size: usize,
    /// One vocabulary for both languages instead of one each.
    pub joint: bool,
    /// A model directory whose tokenizers are used instead of training new ones: for a run that
    /// starts from that model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// A SentencePiece model to import for the source language, instead of training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ImportFiles>,
    /// The same for the target language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ImportFiles>,
}

impl Default for TokenizerRecipe {
    fn default() -> Self {
        Self {
            vocabulary_size: TrainSettings::default().vocabulary_size,
            joint: false,
            model: None,
            source: None,
            target: None,
        }
    }
}

/// A tokenizer made elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportFiles {
    /// SentencePiece's `.model`.
    pub model: PathBuf,
    /// fairseq's `dict.txt`, for its ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dictionary: Option<PathBuf>,
}

/// The files of one part of a split.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputFiles {
    /// The source side, or the only file.
    pub source: PathBuf,
    /// The target side, if it is a separate file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<PathBuf>,
    /// One document id per line; found beside the source if it is not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docids: Option<PathBuf>,
    /// The format, if it should not be detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Whether a repeated document id means a new document; otherwise it is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated_ids: bool,
}

impl InputFiles {
    /// The same files as input for the readers, relative to a directory.
    pub fn input(&self, data: &Path) -> Result<Input> {
        let standard_input = self.source.as_os_str() == STANDARD_INPUT;
        Ok(Input {
            source: if standard_input { self.source.clone() } else { data.join(&self.source) },
            target: self.target.as_ref().map(|path| data.join(path)),
            docids: self.docids.as_ref().map(|path| data.join(path)),
            format: self.format.as_deref().map(str::parse::<Format>).transpose()?,
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The names of the splits, in the order of every table.
pub const SPLITS: [&str; 3] = ["train", "valid", "test"];

/// A split of one corpus, to be read.
#[derive(Clone, Copy, Debug)]
pub struct SplitRecipe<'a> {
    /// The corpus; none if there is only one.
    pub corpus: Option<&'a CorpusRecipe>,
    /// `train`, `valid` or `test`.
    pub split: &'static str,
    /// Its files.
    pub files: &'a [InputFiles],
}

impl SplitRecipe<'_> {
    /// The name of the split in the directory: `train`, or `europarl/train`.
    pub fn name(&self) -> String {
        match self.corpus {
            Some(corpus) => format!("{}/{}", corpus.name, self.split),
            None => self.split.to_owned(),
        }
    }
}

impl Recipe {
    /// Reads a recipe file.
    pub fn load(path: &Path) -> Result<Self> {
        let text = abridge_base::files::read_text(path, 1 << 20)?;
        toml::from_str(&text).map_err(|error| {
            let line = error
                .span()
                .map(|span| text.get(..span.start).unwrap_or(&text).matches('\n').count() + 1);
            let problem = Error::new(format!("not a recipe: {}", error.message()))
                .in_file(path)
                .remedy("see recipes/iwslt17-en-de.toml for an example");
            match line {
                Some(line) => problem.at_line(line),
                None => problem,
            }
        })
    }

    /// The splits that have files, by split and then by corpus.
    pub fn splits(&self) -> Vec<SplitRecipe<'_>> {
        let mut splits = Vec::new();
        for split in SPLITS {
            let alone = SplitRecipe {
                corpus: None,
                split,
                files: match split {
                    "train" => &self.train,
                    "valid" => &self.valid,
                    _ => &self.test,
                },
            };
            let each = self.corpora.iter().map(|corpus| SplitRecipe {
                corpus: Some(corpus),
                split,
                files: corpus.split(split),
            });
            splits.extend(std::iter::once(alone).chain(each));
        }
        splits.retain(|split| !split.files.is_empty());
        splits
    }

    /// The languages of a corpus: its own target language, or that of the recipe.
    pub fn languages_of(&self, corpus: Option<&CorpusRecipe>) -> Languages {
        let own = corpus.and_then(|corpus| corpus.target.clone());
        let target = own.unwrap_or_else(|| self.languages.target.clone());
        Languages { target, ..self.languages.clone() }
    }

    /// The distinct target languages that source sentences name, in the order of the corpora; none
    /// if all corpora have the same.
    pub fn target_languages(&self) -> Vec<String> {
        let mut languages: Vec<String> = Vec::new();
        for target in self.corpora.iter().filter_map(|corpus| corpus.target.as_ref()) {
            if !languages.contains(target) {
                languages.push(target.clone());
            }
        }
        languages
    }

    /// The filters of a corpus: its own, or those of the recipe.
    pub fn filters_of<'a>(&'a self, corpus: Option<&'a CorpusRecipe>) -> &'a FilterRecipe {
        corpus.and_then(|corpus| corpus.filters.as_ref()).unwrap_or(&self.filters)
    }

    /// Also filters training text that occurs in the validation and test splits or in further sets.
    pub fn without(&mut self, sets: &[String]) {
        let own = self.corpora.iter_mut().filter_map(|corpus| corpus.filters.as_mut());
        for filters in own.chain([&mut self.filters]) {
            let overlap = filters.overlap.get_or_insert_default();
            overlap.sets.extend(sets.iter().cloned());
        }
    }

    /// The files of all sets that training text must not overlap with.
    pub(super) fn overlapping_files(&self, data: &Path) -> Vec<PathBuf> {
        let own = self.corpora.iter().filter_map(|corpus| corpus.filters.as_ref());
        let all = own.chain([&self.filters]).filter_map(|filters| filters.overlap.as_ref());
        all.flat_map(|overlap| overlap.files(data)).collect()
    }

    /// The files of a split, of all corpora.
    pub fn split(&self, name: &str) -> Vec<InputFiles> {
        let splits = self.splits().into_iter().filter(|split| split.split == name);
        splits.flat_map(|split| split.files.to_vec()).collect()
    }

    /// Rejects contradictions before anything is read.
    pub fn check(&self) -> Result<()> {
        let TokenizerRecipe { model, source, target, .. } = &self.tokenizer;
        let imported = [source, target].iter().filter(|import| import.is_some()).count();
        if model.is_some() && (imported > 0 || self.tokenizer.joint) {
            return Err(Error::new(
                "a model's tokenizers cannot be combined with imported ones or a joint vocabulary",
            )
            .remedy("give the model alone: it has a tokenizer for each language"));
        }
        let imported = if model.is_some() { 2 } else { imported };
        self.filters.check()?;
        self.check_corpora()?;
        if imported < 2 && self.split("train").is_empty() {
            return Err(Error::new("nothing to train the tokenizers on").remedy(
                "name the files of the training split, or import a tokenizer for each language",
            ));
        }
        if self.tokenizer.joint && imported > 0 {
            return Err(Error::new(
                "a joint vocabulary and an imported tokenizer cannot be combined",
            )
            .remedy("import the same files for both languages instead"));
        }
        if self.splits().is_empty() {
            return Err(Error::new("no split has any files").remedy("name at least one split"));
        }
        Ok(())
    }

    fn check_corpora(&self) -> Result<()> {
        let alone = [&self.train, &self.valid, &self.test];
        if !self.corpora.is_empty() && alone.iter().any(|files| !files.is_empty()) {
            return Err(Error::new("some files belong to a corpus, and others to none")
                .remedy("list all of them below [[corpora]], or none"));
        }
        let weighted = self.corpora.iter().filter(|corpus| corpus.weight.is_some()).count();
        for (index, corpus) in self.corpora.iter().enumerate() {
            corpus.check()?;
            if self.corpora[..index].iter().any(|other| other.name == corpus.name) {
                return Err(Error::new(format!("two corpora have the name `{}`", corpus.name))
                    .remedy("give each its own name, and list all of its files there"));
            }
            if weighted > 0 && corpus.weight.is_none() && !corpus.train.is_empty() {
                return Err(Error::new(format!("the corpus `{}` has no weight", corpus.name))
                    .remedy("give each corpus with training text a weight, or none of them"));
            }
        }
        let named = self.corpora.iter().find(|corpus| corpus.target.is_some());
        let unnamed = self.corpora.iter().find(|corpus| corpus.target.is_none());
        if let (Some(named), Some(unnamed)) = (named, unnamed) {
            return Err(Error::new(format!(
                "the corpus `{}` has a target language, `{}` has none",
                named.name, unnamed.name
            ))
            .remedy("give each corpus its `target`, or none of them"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_is_parsed() {
        let recipe: Recipe = toml::from_str(
            "[languages]\nsource = \"en\"\ntarget = \"de\"\n\
             [tokenizer]\nvocabulary_size = 300\n\
             [[train]]\nsource = \"train.en\"\ntarget = \"train.de\"\n\
             [[test]]\nsource = \"a.xml\"\nformat = \"lines\"\n",
        )
        .unwrap();
        assert_eq!(recipe.tokenizer.vocabulary_size, 300);
        assert!(!recipe.tokenizer.joint);
        assert_eq!(recipe.split("train").len(), 1);
        assert!(recipe.split("valid").is_empty());
        recipe.check().unwrap();
        let input = recipe.test[0].input(Path::new("data")).unwrap();
        assert_eq!(input.source, Path::new("data/a.xml"));
    }

    #[test]
    fn a_misspelled_key_is_named_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("recipe.toml");
        std::fs::write(&path, "[languages]\nsource = \"en\"\ntarget = \"de\"\n[tokeniser]\n")
            .unwrap();
        let error = Recipe::load(&path).unwrap_err().to_string();
        assert!(error.contains("recipe.toml:4: ") && error.contains("tokeniser"), "{error}");
    }

    #[test]
    fn corpora_have_their_own_names_and_weights() {
        let corpora = "[languages]\nsource = \"en\"\ntarget = \"de\"\n\
             [[corpora]]\nname = \"talks\"\nweight = 2\n\
             [[corpora.train]]\nsource = \"a.en\"\ntarget = \"a.de\"\n\
             [[corpora.test]]\nsource = \"b.en\"\n\
             [[corpora]]\nname = \"films\"\nweight = 0.5\ncut_documents = 0.25\n\
             [[corpora.train]]\nsource = \"c.en\"\ntarget = \"c.de\"\n";
        let recipe: Recipe = toml::from_str(corpora).unwrap();
        recipe.check().unwrap();
        let names: Vec<String> = recipe.splits().iter().map(SplitRecipe::name).collect();
        assert_eq!(names, ["talks/train", "films/train", "talks/test"]);
        assert_eq!(recipe.split("train").len(), 2);
        let again: Recipe = toml::from_str(&toml::to_string(&recipe).unwrap()).unwrap();
        assert_eq!(again, recipe);
        for (from, to, part) in [
            ("talks", "films", "two corpora have the name"),
            ("talks", "../talks", "is not a name"),
            ("weight = 2", "", "`talks` has no weight"),
            ("weight = 2", "weight = -1", "weight of `talks` is -1"),
            ("0.25", "1.5", "cut_documents"),
            ("weight = 2", "weight = 2\ntarget = \"de\"", "`films` has none"),
            ("weight = 2", "weight = 2\ntarget = \">>de<<\"", "is not a language code"),
            (
                "[[corpora]]\nname = \"talks\"",
                "[[train]]\nsource = \"x\"\n[[corpora]]\nname = \"t\"",
                "and others to none",
            ),
        ] {
            let wrong: Recipe = toml::from_str(&corpora.replacen(from, to, 1)).unwrap();
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn rejects_contradictions() {
        let error = Recipe::default().check().unwrap_err().to_string();
        assert!(error.contains("nothing to train"), "{error}");
        let import = ImportFiles { model: "a.model".into(), dictionary: None };
        let mut recipe = Recipe::default();
        recipe.train.push(InputFiles::default());
        recipe.tokenizer.joint = true;
        recipe.tokenizer.source = Some(import.clone());
        let error = recipe.check().unwrap_err().to_string();
        assert!(error.contains("joint"), "{error}");
        recipe = Recipe::default();
        recipe.tokenizer.source = Some(import.clone());
        recipe.tokenizer.target = Some(import);
        let error = recipe.check().unwrap_err().to_string();
        assert!(error.contains("no split"), "{error}");
    }
}
