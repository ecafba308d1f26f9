//! How a model uses its groups over a whole corpus.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{GroupKind, GroupedSentence};

/// How groups are used.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupStatistics {
    /// Which weights add up to one.
    pub kind: GroupKind,
    /// The number of sentences.
    pub sentences: usize,
    /// The number of tokens.
    pub tokens: usize,
    /// Groups per sentence in which any token has a weight.
    pub used_per_sentence: f64,
    /// The mean entropy in bits: of a token's weights over groups (grouping), or of a group's
    /// weights over tokens (selecting).
    pub entropy: f64,
    /// The groups.
    pub groups: Vec<GroupUse>,
}

/// How one group is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupUse {
    /// Its share of all weights.
    pub share: f64,
    /// The share of sentences in which any token has a weight in it.
    pub sentences: f64,
    /// The share of tokens whose largest weight is in it.
    pub strongest: f64,
    /// The tokens with the most weight in it: the token, its total weight here, and the share of
    /// the token's weight that is here.
    pub tokens: Vec<(String, f64, f64)>,
}

impl GroupStatistics {
    /// Counts; `top` tokens are listed for each group. `None` if there is no sentence.
    pub fn new(sentences: &[GroupedSentence], top: usize) -> Option<Self> {
        let first = &sentences.first()?.groups;
        let kind = first.kind;
        let count = first.weights.first().map_or(0, Vec::len);
        let mut mass = vec![0.0; count];
        let mut strongest = vec![0usize; count];
        let mut present = vec![0usize; count];
        let mut by_token: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut entropies = Mean::default();
        let mut tokens = 0;
        for GroupedSentence { tokens: names, groups } in sentences {
            let weights = &groups.weights;
            tokens += weights.len();
            for (name, weights) in names.iter().zip(weights) {
                let own = by_token.entry(name).or_insert_with(|| vec![0.0; count]);
                for (group, &weight) in weights.iter().enumerate() {
                    mass[group] += f64::from(weight);
                    own[group] += f64::from(weight);
                }
                let largest = (0..count).max_by(|&a, &b| weights[a].total_cmp(&weights[b]));
                if let Some(largest) = largest.filter(|&group| weights[group] > 0.0) {
                    strongest[largest] += 1;
                }
                if kind == GroupKind::Grouping {
                    entropies.add(entropy(weights.iter().copied()));
                }
            }
            for (group, present) in present.iter_mut().enumerate() {
                let column = || weights.iter().map(|token| token[group]);
                *present += usize::from(column().any(|weight| weight > 0.0));
                if kind == GroupKind::Selecting {
                    entropies.add(entropy(column()));
                }
            }
        }
        let total: f64 = mass.iter().sum();
        let groups = (0..count).map(|group| GroupUse {
            share: mass[group] / total.max(1e-12),
            sentences: present[group] as f64 / sentences.len() as f64,
            strongest: strongest[group] as f64 / tokens.max(1) as f64,
            tokens: top_tokens(&by_token, group, top),
        });
        Some(Self {
            kind,
            sentences: sentences.len(),
            tokens,
            used_per_sentence: present.iter().sum::<usize>() as f64 / sentences.len() as f64,
            entropy: entropies.value(),
            groups: groups.collect(),
        })
    }

    /// Groups that are used at all.
    pub fn used(&self) -> usize {
        self.groups.iter().filter(|group| group.share > 0.0).count()
    }

    /// A table in plain text.
    pub fn to_text(&self) -> String {
        let (of, over) = match self.kind {
            GroupKind::Grouping => ("a token's weights", "groups"),
            GroupKind::Selecting => ("a group's weights", "tokens"),
        };
        let mut text = format!(
            "{} sentences, {} tokens\n{} of {} groups are used, {:.1} per sentence; {of} over \
             {over} have {:.2} bits of entropy\n\n{:>5} {:>8} {:>10} {:>10}  tokens with the most \
             weight (and how much of theirs is here)\n",
            self.sentences,
            self.tokens,
            self.used(),
            self.groups.len(),
            self.used_per_sentence,
            self.entropy,
            "group",
            "share",
            "sentences",
            "strongest",
        );
        for (index, group) in self.groups.iter().enumerate() {
            let tokens: Vec<String> = group
                .tokens
                .iter()
                .map(|(token, _, share)| format!("{token} ({:.0} %)", 100.0 * share))
                .collect();
            let _ = writeln!(
                text,
                "{:>5} {:>6.1} % {:>8.1} % {:>8.1} %  {}",
                index + 1,
                100.0 * group.share,
                100.0 * group.sentences,
                100.0 * group.strongest,
                if tokens.is_empty() { "-".to_owned() } else { tokens.join("  ") }
            );
        }
        text
    }
}

fn top_tokens(
    by_token: &BTreeMap<&str, Vec<f64>>,
    group: usize,
    top: usize,
) -> Vec<(String, f64, f64)> {
    let mut tokens: Vec<(String, f64, f64)> = by_token
        .iter()
        .filter(|(_, mass)| mass[group] > 0.0)
        .map(|(token, mass)| {
            let total: f64 = mass.iter().sum();
            ((*token).to_owned(), mass[group], mass[group] / total)
        })
        .collect();
    tokens.sort_by(|a, b| b.1.total_cmp(&a.1));
    tokens.truncate(top);
    tokens
}

fn entropy(weights: impl Iterator<Item = f32>) -> f64 {
    -weights.map(f64::from).filter(|&p| p > 0.0).map(|p| p * p.log2()).sum::<f64>()
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Groups;

    #[test]
    fn shares_entropy_and_top_tokens() {
        let weights = vec![vec![1.0, 0.0, 0.0], vec![0.5, 0.5, 0.0]];
        let groups = Groups { kind: GroupKind::Grouping, weights };
        let names = vec!["the".to_owned(), "dog".to_owned()];
        let statistics =
            GroupStatistics::new(&[GroupedSentence { tokens: names, groups }], 5).unwrap();
        assert_eq!((statistics.used(), statistics.tokens), (2, 2));
        assert!((statistics.entropy - 0.5).abs() < 1e-9, "one bit for dog, none for the");
        assert!((statistics.groups[0].share - 0.75).abs() < 1e-9);
        assert_eq!(statistics.groups[0].tokens[0], ("the".into(), 1.0, 1.0));
        assert_eq!(statistics.groups[1].tokens, [("dog".into(), 0.5, 0.5)]);
        assert!(statistics.to_text().contains("2 of 3 groups are used"));
        assert!(GroupStatistics::new(&[], 5).is_none());
    }

    #[test]
    fn selecting_has_an_entropy_per_group() {
        let weights = vec![vec![1.0, 0.5], vec![0.0, 0.5]];
        let groups = Groups { kind: GroupKind::Selecting, weights };
        let names = vec!["a".to_owned(), "b".to_owned()];
        let statistics =
            GroupStatistics::new(&[GroupedSentence { tokens: names, groups }], 5).unwrap();
        assert!((statistics.entropy - 0.5).abs() < 1e-9);
    }
}
