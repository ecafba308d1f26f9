//! The models of a server, by name and language.

use abridge_model::config::Context;
use abridge_translate::Translator;

use crate::error::{ApiError, Code};
use crate::{Error, Result};

/// A model with its name.
#[derive(Debug)]
pub struct Served {
    /// Its name in requests.
    pub name: String,
    /// The model.
    pub translator: Translator,
}

impl Served {
    /// Its language codes, or `und` (undetermined) if the model does not name them.
    pub fn languages(&self) -> (&str, &str) {
        self.translator.languages().unwrap_or(("und", "und"))
    }

    /// The codes of all its target languages.
    pub fn targets(&self) -> Vec<&str> {
        let known: Vec<&str> = self.translator.target_languages().codes().collect();
        if known.is_empty() { vec![self.languages().1] } else { known }
    }

    /// All language pairs, source first.
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let source = self.languages().0;
        self.targets().into_iter().map(|target| (source, target)).collect()
    }

    /// How many previous sentences it attends to.
    pub fn context_size(&self) -> usize {
        let config = self.translator.model().config();
        if config.context == Context::None { 0 } else { config.context_size }
    }
}

/// All models; the first is the default.
#[derive(Debug)]
pub struct Models {
    models: Vec<Served>,
}

impl Models {
    /// Takes at least one model; names must be unique.
    pub fn new(models: Vec<Served>) -> Result<Self> {
        if models.is_empty() {
            return Err(Error::Settings("no model given; pass --model NAME=DIR".into()));
        }
        for (place, model) in models.iter().enumerate() {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if model.name.is_empty() || !model.name.chars().all(is_plain) {
                return Err(Error::Settings(format!(
                    "\"{}\" is not a model name; use letters, digits, '-', '_' and '.', as in \
                     --model en-de=DIR",
                    model.name
                )));
            }
            if models[..place].iter().any(|other| other.name == model.name) {
                let name = &model.name;
                let problem =
                    format!("two models are named {name}; rename one, as in --model {name}-2=DIR");
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

    /// The first model that matches whichever of name, source and target are given.
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
            let problem = format!("no such model; available: {}", known.join(", "));
            ApiError::new(Code::UnknownModel, problem)
        })
    }
}
