//! What filters removed, with examples.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::FilterRecipe;
use crate::Segment;

/// Examples per filter.
const EXAMPLES: usize = 3;
/// Characters of a text that an example shows.
const SHOWN: usize = 100;

/// What one filter removed from one split.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilterReport {
    /// The split, as in `europarl/train`.
    pub split: String,
    /// The name of the filter.
    pub filter: String,
    /// Pairs that it removed.
    pub removed: usize,
    /// Pairs before any filter.
    pub of: usize,
    /// Pairs that occur in a set, but were kept because they are short.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub short: usize,
    /// About how many pairs were removed though they had not occurred before, because the record of
    /// duplicates takes them for others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wrong: usize,
    /// The first pairs that were removed.
    pub examples: Vec<TakenOut>,
}

/// A pair that was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenOut {
    /// Its document and its position there.
    pub place: String,
    /// Why the filter rejected it.
    pub why: String,
    /// The beginning of the source side.
    pub source: String,
    /// The beginning of the target side.
    pub target: String,
}

impl FilterReport {
    /// One report per enabled filter.
    pub(super) fn all(recipe: &FilterRecipe) -> Vec<Self> {
        let filters = [
            ("characters", recipe.characters.is_some()),
            ("length", recipe.length.is_some()),
            ("ratio", recipe.ratio.is_some()),
            ("language", recipe.language.is_some()),
            ("overlap", recipe.overlap.is_some()),
            ("duplicates", recipe.duplicates.is_some()),
        ];
        let on = filters.into_iter().filter(|(_, is_on)| *is_on);
        on.map(|(filter, _)| Self { filter: filter.to_owned(), ..Self::default() }).collect()
    }

    /// The counts, without examples.
    pub fn summary(&self) -> String {
        let Self { split, filter, removed, of, short, wrong, .. } = self;
        let percent = 100.0 * *removed as f64 / (*of).max(1) as f64;
        let mut parts =
            vec![format!("{split}: {filter} removed {removed} of {of} pairs ({percent:.2} %)")];
        if *short > 0 {
            parts.push(format!("{short} short ones that occur in a set were kept"));
        }
        if *wrong > 0 {
            parts.push(format!("about {wrong} of them had not occurred before"));
        }
        parts.join("; ")
    }

    pub(super) fn add(&mut self, place: impl FnOnce() -> String, pair: &Segment, why: String) {
        self.removed += 1;
        if self.examples.len() < EXAMPLES {
            let beginning = |text: &str| text.chars().take(SHOWN).collect();
            self.examples.push(TakenOut {
                place: place(),
                why,
                source: beginning(&pair.source),
                target: beginning(pair.target.as_deref().unwrap_or_default()),
            });
        }
    }
}

impl fmt::Display for FilterReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        for TakenOut { place, why, source, target } in &self.examples {
            write!(f, "\n  {place} ({why}): {source} | {target}")?;
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
