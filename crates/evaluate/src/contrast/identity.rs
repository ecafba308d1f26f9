//! What a contrastive result is about: which model, which set, how much context.

use abridge_corpus::ContrastiveSet;
use abridge_translate::Translator;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::signature::{Field, Signature};

/// How much of a hash a signature shows.
const SHOWN: usize = 12;

/// What scores depend on. Scores of different identities never mix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The program and its version.
    pub tool: String,
    /// The hash of the model's weights.
    pub model: String,
    /// The hash of the set.
    pub set: String,
    /// How many sentences before the model sees.
    pub context: usize,
    /// In which order it sees them.
    pub order: String,
}

impl Identity {
    /// The identity of scores of a model with so many sentences of context.
    pub fn new(translator: &Translator, set: &ContrastiveSet, context: usize) -> Self {
        let mirrored = translator.model().config().as_published;
        Self {
            tool: concat!("abridge-", env!("CARGO_PKG_VERSION")).to_owned(),
            model: translator.hash().to_owned(),
            set: set_hash(set),
            context,
            order: if mirrored { "newest-first" } else { "oldest-first" }.to_owned(),
        }
    }

    /// The signature of a result.
    pub fn signature(&self, score: &str) -> Signature {
        let short = |hash: &str| hash[..hash.len().min(SHOWN)].to_owned();
        Signature::custom(vec![
            Field::new("score", "s", score),
            Field::new("model", "m", short(&self.model)),
            Field::new("set", "set", short(&self.set)),
            Field::new("context", "ctx", self.context.to_string()),
            Field::new("order", "o", self.order.clone()),
            Field::new("version", "v", self.tool.clone()),
        ])
    }

    /// The first thing in which another identity differs, in words.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        [
            ("program", &self.tool, &other.tool),
            ("model", &self.model, &other.model),
            ("set", &self.set, &other.set),
            ("context size", &self.context.to_string(), &other.context.to_string()),
            ("order of context", &self.order, &other.order),
        ]
        .into_iter()
        .find(|(_, own, others)| own != others)
        .map(|(what, own, others)| format!("another {what}: {others}, not {own}"))
    }
}

/// The hash of a set: of its sentences, contexts and candidates, wherever the files lie.
pub fn set_hash(set: &ContrastiveSet) -> String {
    let mut hasher = Sha256::new();
    let mut add = |text: &str| {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    };
    for item in &set.items {
        for texts in [&item.context, &item.candidates] {
            add(&texts.len().to_string());
            for text in texts {
                add(text);
            }
        }
        add(&item.source);
    }
    format!("{:x}", hasher.finalize())
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
