//! The composition of a contrastive set, which is needed to interpret an accuracy.

use std::collections::BTreeMap;
use std::fmt;

use abridge_corpus::ContrastiveSet;
use serde::Serialize;

use super::report::{Class, classes};

/// The composition of a set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Composition {
    /// The number of examples.
    pub items: usize,
    /// The accuracy of guessing at random.
    pub chance: f64,
    /// Examples per pronoun of the reference.
    pub pronouns: Vec<(String, usize)>,
    /// Examples per distance of the antecedent, where it is known.
    pub distances: Vec<(String, usize)>,
    /// Examples per number of context sentences.
    pub contexts: Vec<(usize, usize)>,
}

impl Composition {
    /// Counts.
    pub fn new(set: &ContrastiveSet) -> Self {
        let mut contexts = BTreeMap::new();
        for item in &set.items {
            *contexts.entry(item.context.len()).or_insert(0) += 1;
        }
        let (mut pronouns, mut distances) = (Vec::new(), Vec::new());
        for (class, items) in classes(set) {
            match class {
                Class::Pronoun(name) => pronouns.push((name, items.len())),
                Class::Distance(name) => distances.push((name.to_owned(), items.len())),
                _ => {}
            }
        }
        let chance = set.items.iter().map(|item| 1.0 / item.candidates.len().max(1) as f64);
        Self {
            items: set.items.len(),
            chance: chance.sum::<f64>() / set.items.len().max(1) as f64,
            pronouns,
            distances,
            contexts: contexts.into_iter().collect(),
        }
    }
}

impl fmt::Display for Composition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} examples", self.items)?;
        let list = |counts: &[(String, usize)], before: &str| {
            let words: Vec<String> =
                counts.iter().map(|(name, count)| format!("{count} {before}{name}")).collect();
            words.join(", ")
        };
        if !self.pronouns.is_empty() {
            write!(f, ": {}", list(&self.pronouns, ""))?;
        }
        writeln!(f, "; chance {:.1} %", 100.0 * self.chance)?;
        let known: usize = self.distances.iter().map(|(_, count)| count).sum();
        if known > 0 {
            writeln!(
                f,
                "antecedent distance known for {known}: {}",
                list(&self.distances, "at distance ")
            )?;
        }
        let contexts: Vec<String> =
            self.contexts.iter().map(|(size, count)| format!("{count} with {size}")).collect();
        writeln!(f, "sentences of context: {}", contexts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abridge_corpus::ContrastiveItem;

    #[test]
    fn counts_are_shown() {
        let item = |pronoun: &str, distance: Option<u32>, context: usize, candidates: usize| {
            ContrastiveItem {
                pronoun: Some(pronoun.into()),
                antecedent_distance: distance,
                context: vec![String::new(); context],
                candidates: vec![String::new(); candidates],
                ..ContrastiveItem::default()
            }
        };
        let items =
            vec![item("er", Some(1), 1, 2), item("es", None, 0, 4), item("er", Some(5), 1, 2)];
        let composition = Composition::new(&ContrastiveSet { items, notes: Vec::new() });
        assert_eq!(
            composition.to_string(),
            "3 examples: 2 er, 1 es; chance 41.7 %\n\
             antecedent distance known for 2: 1 at distance 1, 1 at distance >3\n\
             sentences of context: 1 with 0, 2 with 1\n"
        );
    }
}
