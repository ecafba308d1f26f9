//! The practice corpus as a prepared directory: something to train on without any data.

use super::{
    Languages, Outcome, Progress, Recipe, Request, SplitDocuments, TokenizerRecipe,
    prepare_generated,
};
use crate::practice::{PracticeConfig, PracticeLanguage, generate};
use crate::{Error, Result};

/// Pieces that suit the few hundred words of the practice corpus.
const PRACTICE_VOCABULARY_SIZE: usize = 1_000;

impl Recipe {
    /// The recipe of the practice corpus: it has no files, and a vocabulary that suits it.
    pub fn practice(language: PracticeLanguage) -> Self {
        Self {
            languages: Languages { source: "en".into(), target: language.code().into() },
            tokenizer: TokenizerRecipe {
                vocabulary_size: PRACTICE_VOCABULARY_SIZE,
                ..TokenizerRecipe::default()
            },
            ..Self::default()
        }
    }
}

/// Generates and prepares the practice corpus; its text and its contrastive set go into the folder
/// `text` of the directory.
pub fn prepare_practice(
    config: &PracticeConfig,
    request: &Request<'_>,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let settings = serde_json::to_value(config)
        .map_err(|error| Error::new(format!("cannot serialise the settings: {error}")))?;
    let generate = |staging: &std::path::Path| {
        let practice = generate(config)?;
        let text = staging.join("text");
        std::fs::create_dir(&text).map_err(|error| Error::io("create", &text, error))?;
        practice.write_into(config.language, &text)?;
        let splits =
            [("train", practice.train), ("valid", practice.valid), ("test", practice.test)];
        splits
            .into_iter()
            .filter(|(_, documents)| !documents.is_empty())
            .map(|(name, documents)| SplitDocuments::new(name, documents))
            .collect()
    };
    prepare_generated(request, settings, generate, progress)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::prepare::{PreparedDirectory, Silent};

    #[test]
    fn the_default_vocabulary_suits_both_languages() {
        for language in [PracticeLanguage::German, PracticeLanguage::French] {
            let directory = tempfile::tempdir().unwrap();
            let output = directory.path().join("practice");
            let config = PracticeConfig { train_documents: 600, ..PracticeConfig::new(language) };
            let recipe = Recipe::practice(language);
            let data = Path::new("");
            let request =
                Request { recipe: &recipe, data, output: &output, threads: 2, force: false };
            let outcome = prepare_practice(&config, &request, &mut Silent).unwrap();
            let again = prepare_practice(&config, &request, &mut Silent).unwrap();
            assert_eq!(again, Outcome::Unchanged(outcome.description().clone()));
            let prepared = PreparedDirectory::open(&output).unwrap();
            assert_eq!(prepared.split("train").unwrap().documents(), 600);
            assert!(output.join("text/contrastive.json").is_file());
            // The splits share their words.
            for split in &prepared.description().splits {
                assert_eq!(split.source.unknown, 0, "{}", split.name);
            }
        }
    }
}
