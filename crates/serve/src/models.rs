//! The models that a server holds, by name and by language.

use abridge_model::config::Context;
use abridge_translate::Translator;

use crate::error::{ApiError, Code};
use crate::{Error, Result};

/// A model with its name.
#[derive(Debug)]
pub struct Served {
    /// What requests call it.
    pub name: String,
    /// The model.
    pub translator: Translator,
}

impl Served {
    /// The codes of its languages, or `und` (undetermined) where the model does not name them.
    pub fn languages(&self) -> (&str, &str) {
        self.translator.languages().unwrap_or(("und", "und"))
    }

    /// The codes of all languages that it translates into.
    pub fn targets(&self) -> Vec<&str> {
        let known: Vec<&str> = self.translator.target_languages().codes().collect();
        if known.is_empty() { vec![self.languages().1] } else { known }
    }

    /// Each of these with the source language.
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let source = self.languages().0;
        self.targets().into_iter().map(|target| (source, target)).collect()
    }

    /// How many sentences it looks back at.
    pub fn context_size(&self) -> usize {
        let config = self.translator.model().config();
        if config.context == Context::None { 0 } else { config.context_size }
    }
}

/// All models; the first is the one that a request gets when it names none.
#[derive(Debug)]
pub struct Models {
    models: Vec<Served>,
}

impl Models {
    /// At least one model, each with a name of its own.
    pub fn new(models: Vec<Served>) -> Result<Self> {
        if models.is_empty() {
            return Err(Error::Settings("there is no model; give --model NAME=DIR".into()));
        }
        for (place, model) in models.iter().enumerate() {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if model.name.is_empty() || !model.name.chars().all(is_plain) {
                return Err(Error::Settings(format!(
                    "\"{}\" cannot name a model; use letters, digits, '-', '_' and '.', as in \
                     --model en-de=DIR",
                    model.name
                )));
            }
            if models[..place].iter().any(|other| other.name == model.name) {
                let name = &model.name;
                let problem = format!(
                    "two models are named {name}; name one otherwise, as in --model {name}-2=DIR"
                );
                return Err(Error::Settings(problem));
            }
        }
        Ok(Self { models })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Served> {
        self.models.iter()
    }

    pub(crate) fn get(&self, place: usize) -> &Served {
        &self.models[place]
    }

    /// The model of this name, or of this language direction, or the first.
    pub(crate) fn find(
        &self,
        name: Option<&str>,
        source: Option<&str>,
        target: Option<&str>,
    ) -> std::result::Result<usize, ApiError> {
        let is_wanted = |model: &Served| {
            let (from, to) = (model.languages().0, model.targets());
            name.is_none_or(|name| name == model.name)
                && source.is_none_or(|source| source == from)
                && target.is_none_or(|target| to.contains(&target))
        };
        self.models.iter().position(is_wanted).ok_or_else(|| {
            let known: Vec<String> = self
                .models
                .iter()
                .map(|model| {
                    let (from, to) = (model.languages().0, model.targets().join(", "));
                    format!("{} ({from} to {to})", model.name)
                })
                .collect();
            let problem = format!("no such model; there are: {}", known.join(", "));
            ApiError::new(Code::UnknownModel, problem)
        })
    }
}
