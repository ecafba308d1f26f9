//! The identity of a contrastive result: model, set and context size.

use abridge_corpus::ContrastiveSet;
use abridge_translate::Translator;
use serde::{Deserialize, Serialize};

use crate::controls::{Control, Controls};
use crate::hash;
use crate::signature::{Field, Signature};

/// Everything that scores depend on. Scores of different identities are never mixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The program and its version.
    pub tool: String,
    /// The hash of the model's weights.
    pub model: String,
    /// The hash of the set.
    pub set: String,
    /// The context size.
    pub context: usize,
    /// The order of the context sentences.
    pub order: String,
    /// The controls scored in addition to the true context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<Control>,
    /// The seed of the random control.
    #[serde(default)]
    pub seed: u64,
    /// The draws of the random control.
    #[serde(default)]
    pub draws: usize,
}

impl Identity {
    /// The identity of the scores of a model with this many sentences of context.
    pub fn new(translator: &Translator, set: &ContrastiveSet, context: usize) -> Self {
        Self {
            tool: concat!("abridge-", env!("CARGO_PKG_VERSION")).to_owned(),
            model: translator.hash().to_owned(),
            set: set_hash(set),
            context,
            order: context_order(translator).to_owned(),
            controls: Vec::new(),
            seed: 0,
            draws: 0,
        }
    }

    /// The identity of scores with these controls.
    #[must_use]
    pub fn with_controls(self, controls: Controls<'_>) -> Self {
        let Controls { controls, seed, draws } = controls;
        Self { controls: controls.to_vec(), seed, draws, ..self }
    }

    /// The signature of a result.
    pub fn signature(&self, score: &str) -> Signature {
        let mut fields = vec![
            Field::new("score", "s", score),
            Field::new("model", "m", hash::short(&self.model)),
            Field::new("set", "set", hash::short(&self.set)),
            Field::new("context", "ctx", self.context.to_string()),
            Field::new("order", "o", self.order.clone()),
        ];
        if !self.controls.is_empty() {
            fields.push(Field::new("controls", "c", self.control_names()));
            fields.push(Field::new("seed", "seed", self.seed.to_string()));
            fields.push(Field::new("draws", "draws", self.draws.to_string()));
        }
        fields.push(Field::new("version", "v", self.tool.clone()));
        Signature::custom(fields)
    }

    fn control_names(&self) -> String {
        let names: Vec<String> = self.controls.iter().map(ToString::to_string).collect();
        names.join("+")
    }

    /// The first difference to another identity, in words.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        [
            ("program", &self.tool, &other.tool),
            ("model", &self.model, &other.model),
            ("set", &self.set, &other.set),
            ("context size", &self.context.to_string(), &other.context.to_string()),
            ("order of context", &self.order, &other.order),
            ("list of controls", &self.control_names(), &other.control_names()),
            ("seed", &self.seed.to_string(), &other.seed.to_string()),
            ("number of draws", &self.draws.to_string(), &other.draws.to_string()),
        ]
        .into_iter()
        .find(|(_, own, others)| own != others)
        .map(|(what, own, others)| format!("another {what}: {others}, not {own}"))
    }
}

/// The order in which context slots are filled, for signatures.
pub fn context_order(translator: &Translator) -> &'static str {
    if translator.layout().is_mirrored { "newest-first" } else { "oldest-first" }
}

/// The hash of a set's sentences, contexts and candidates, independent of file paths.
pub fn set_hash(set: &ContrastiveSet) -> String {
    hash::of_lines(set.items.iter().flat_map(|item| {
        let parts = [("context", &item.context), ("candidates", &item.candidates)];
        let parts = parts.into_iter().flat_map(|(name, texts)| {
            std::iter::once(name).chain(texts.iter().map(String::as_str))
        });
        parts.chain(["source", &item.source])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use abridge_corpus::ContrastiveItem;

    #[test]
    fn the_hash_depends_on_every_text_and_its_place() {
        let set = |context: &[&str], candidates: &[&str]| ContrastiveSet {
            items: vec![ContrastiveItem {
                context: context.iter().map(ToString::to_string).collect(),
                candidates: candidates.iter().map(ToString::to_string).collect(),
                ..ContrastiveItem::default()
            }],
            notes: Vec::new(),
        };
        let hash = set_hash(&set(&["a"], &["b"]));
        assert_eq!(hash, set_hash(&set(&["a"], &["b"])));
        assert_ne!(hash, set_hash(&set(&[], &["a", "b"])));
        assert_ne!(hash, set_hash(&set(&["ab"], &[])));
    }
}
