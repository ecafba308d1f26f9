//! Validation metrics besides the loss: BLEU, and accuracy on a contrastive set.

use std::collections::BTreeMap;
use std::path::Path;

use abridge_corpus::prepare::PreparedDirectory;
use abridge_corpus::store::{Side, TokenStore};
use abridge_corpus::tokenizer::language_code;
use abridge_corpus::{ContrastiveInput, ContrastiveSet, Tokenizer};
use abridge_evaluate::{Bleu, ContrastiveReport, References, corpus_score, score_set};
use abridge_model::Model;
use abridge_train::{Error, Result, TrainRecipe, Validator};
use abridge_translate::{BeamSettings, Translator};

/// Translates the first documents of the validation split, and scores a contrastive set.
pub struct Measure {
    source: Tokenizer,
    target: Tokenizer,
    /// The first documents of each corpus.
    texts: Vec<Texts>,
    beam: BeamSettings,
    set: Option<ContrastiveSet>,
}

/// The sentences of one corpus to translate.
struct Texts {
    /// The name of its score.
    score: String,
    /// Source texts by document.
    documents: Vec<Vec<String>>,
    references: References,
}

impl Measure {
    /// Reads the data that the recipe names; `None` if it names none.
    pub fn open(recipe: &TrainRecipe, data: &Path) -> anyhow::Result<Option<Self>> {
        let wanted = &recipe.validation;
        if wanted.sentences == 0 && wanted.contrastive.is_none() {
            return Ok(None);
        }
        let data = PreparedDirectory::open(data)?;
        let set = match &wanted.contrastive {
            None => None,
            Some(path) => {
                let targets = data.description().recipe.target_languages();
                anyhow::ensure!(
                    targets.is_empty(),
                    "validation.contrastive has one language, but the data has {}; leave it out, \
                     and measure each language with `abridge contrast --to`",
                    targets.join(", ")
                );
                let languages = &data.description().recipe.languages;
                let (source, target) = (languages.source.as_str(), languages.target.as_str());
                let mut input = ContrastiveInput::new(path, source, target);
                input.documents.clone_from(&wanted.contrastive_documents);
                input.context = recipe.model.context_size;
                Some(ContrastiveSet::read(&input)?)
            }
        };
        let (source, target) = (data.tokenizer(Side::Source)?, data.tokenizer(Side::Target)?);
        let mut texts = Vec::new();
        let mut longest = 0;
        for corpus in data.corpora("valid") {
            let (split, score) = match corpus {
                "" => ("valid".to_owned(), "BLEU".to_owned()),
                corpus => (format!("{corpus}/valid"), format!("BLEU {corpus}")),
            };
            let valid = data.split(&split)?;
            longest = (0..valid.sentences())
                .map(|s| valid.length(Side::Target, s))
                .fold(longest, usize::max);
            if wanted.sentences > 0 {
                texts.push(Texts::of(score, &valid, wanted.sentences, &source, &target)?);
            }
        }
        // A model at the start of training may never end a translation.
        let beam = BeamSettings {
            beam: wanted.beam.max(1),
            max_length: longest * 6 / 5 + 10,
            ..BeamSettings::default()
        };
        Ok(Some(Self { source, target, texts, beam, set }))
    }

    fn measure(&self, model: &Model) -> anyhow::Result<BTreeMap<String, f64>> {
        let mut scores = BTreeMap::new();
        let (source, target) = (self.source.clone(), self.target.clone());
        let translator = Translator::new(model.clone(), source, target, "in training")?;
        for Texts { score: name, documents, references } in &self.texts {
            let translated = translator.translate_documents(documents, &self.beam, &|_| {})?;
            let hypotheses: Vec<String> = translated.into_iter().flatten().collect();
            let score = corpus_score(&Bleu::default(), &hypotheses, references)?;
            scores.insert(name.clone(), score.score);
        }
        if let Some(set) = &self.set {
            let report =
                ContrastiveReport::new(set, &score_set(&translator, set, None, &mut |_| {})?);
            scores.insert("contrastive".to_owned(), 100.0 * report.total.share());
            for (distance, accuracy) in &report.by_distance {
                scores.insert(format!("contrastive {distance}"), 100.0 * accuracy.share());
            }
        }
        Ok(scores)
    }
}

impl Texts {
    /// The first sentences of a split.
    fn of(
        score: String,
        valid: &TokenStore,
        sentences: usize,
        source: &Tokenizer,
        target: &Tokenizer,
    ) -> anyhow::Result<Self> {
        let mut documents = Vec::new();
        let mut references: Vec<String> = Vec::new();
        for document in (0..valid.documents()).map(|document| valid.document(document)) {
            let left = sentences - references.len();
            if left == 0 {
                break;
            }
            let taken = document.take(left);
            references.extend(taken.clone().map(|s| text(valid, Side::Target, s, target)));
            documents.push(taken.map(|s| text(valid, Side::Source, s, source)).collect());
        }
        Ok(Self { score, documents, references: References::single(references)? })
    }
}

impl Validator for Measure {
    fn validate(&mut self, model: &Model, _update: u64) -> Result<BTreeMap<String, f64>> {
        self.measure(model).map_err(|error| Error::Validation(format!("{error:#}")))
    }
}

fn text(store: &TokenStore, side: Side, sentence: usize, tokenizer: &Tokenizer) -> String {
    let mut tokens = Vec::new();
    store.append(side, sentence, &mut tokens);
    let text = tokenizer.decode(&tokens);
    // The language token is not decoded, so it has to be added again.
    match tokens.first().and_then(|&first| tokenizer.languages().code(first)) {
        Some(code) => format!("{} {text}", language_code(code)),
        None => text,
    }
}
