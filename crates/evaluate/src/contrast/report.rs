//! Contrastive accuracy: how often a model prefers the reference to its wrong alternatives.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use abridge_corpus::ContrastiveSet;
use serde::Serialize;

use super::composition::Composition;
use super::mean::MeanAccuracy;
use crate::normal::Z95;

/// Accuracy on a contrastive set, in total and by pronoun, distance and category.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContrastiveReport {
    /// The composition of the set.
    pub composition: Composition,
    /// All items.
    pub total: Accuracy,
    /// The unweighted mean of the pronouns' accuracies, if there are several.
    pub mean: Option<MeanAccuracy>,
    /// By the reference's pronoun, in alphabetical order. Words with fewer than 1 % of the items
    /// are counted together.
    pub by_pronoun: Vec<(String, Accuracy)>,
    /// By the distance of the antecedent: 0, 1, 2, 3, more; only those that occur.
    pub by_distance: Vec<(String, Accuracy)>,
    /// By the kind of example, if the set has several.
    pub by_category: Vec<(String, Accuracy)>,
    /// By pronoun and distance: for each pronoun, the rows of `by_distance`. Empty if fewer than
    /// two pronouns or no distances are known.
    pub by_pronoun_and_distance: Vec<(String, Vec<Accuracy>)>,
}

/// How many items were right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accuracy {
    /// Items whose reference scored higher than every alternative.
    pub correct: usize,
    /// All items.
    pub items: usize,
}

impl Accuracy {
    /// The share that was right; 0 if there are no items.
    pub fn share(&self) -> f64 {
        self.correct as f64 / self.items.max(1) as f64
    }

    /// The 95 % interval of the share (Wilson's, which is also valid near 0 and 1).
    pub fn interval(&self) -> (f64, f64) {
        let n = self.items.max(1) as f64;
        let p = self.share();
        let centre = p + Z95 * Z95 / (2.0 * n);
        let spread = Z95 * (p * (1.0 - p) / n + Z95 * Z95 / (4.0 * n * n)).sqrt();
        let scale = 1.0 + Z95 * Z95 / n;
        (((centre - spread) / scale).max(0.0), ((centre + spread) / scale).min(1.0))
    }

    pub(crate) fn of(items: impl IntoIterator<Item = usize>, right: &[bool]) -> Self {
        let mut accuracy = Self::default();
        items.into_iter().for_each(|item| accuracy.count(right[item]));
        accuracy
    }

    pub(super) fn count(&mut self, correct: bool) {
        self.correct += usize::from(correct);
        self.items += 1;
    }
}

/// Whether the reference, which comes first, scores strictly higher than every alternative.
pub fn is_preferred(scores: &[f64]) -> bool {
    scores
        .split_first()
        .is_some_and(|(reference, others)| others.iter().all(|other| reference > other))
}

impl ContrastiveReport {
    /// Counts; `scores` has one list per item, in the order of its candidates.
    pub fn new(set: &ContrastiveSet, scores: &[Vec<f64>]) -> Self {
        assert_eq!(set.items.len(), scores.len(), "one list of scores per item");
        let mut report = Self {
            composition: Composition::new(set),
            total: Accuracy::default(),
            mean: None,
            by_pronoun: Vec::new(),
            by_distance: Vec::new(),
            by_category: Vec::new(),
            by_pronoun_and_distance: Vec::new(),
        };
        let right: Vec<bool> = scores.iter().map(|scores| is_preferred(scores)).collect();
        let classes = classes(set);
        report.by_pronoun_and_distance = crossed(&classes, &right);
        for (class, items) in classes {
            let accuracy = Accuracy::of(items, &right);
            match class {
                Class::All => report.total = accuracy,
                Class::Distance(name) => report.by_distance.push((name.to_owned(), accuracy)),
                Class::Pronoun(name) => report.by_pronoun.push((name, accuracy)),
                Class::Category(name) => report.by_category.push((name, accuracy)),
            }
        }
        let pronouns: Vec<Accuracy> = report.by_pronoun.iter().map(|row| row.1).collect();
        report.mean = MeanAccuracy::new(&pronouns);
        report
    }

    /// The mean over pronouns, or the total if there are not several.
    pub fn share(&self) -> f64 {
        self.mean.map_or_else(|| self.total.share(), |mean| mean.share)
    }
}

/// The accuracy of each pronoun at each distance.
fn crossed(classes: &[(Class, Vec<usize>)], right: &[bool]) -> Vec<(String, Vec<Accuracy>)> {
    let distances: Vec<BTreeSet<usize>> = classes
        .iter()
        .filter(|(class, _)| matches!(class, Class::Distance(_)))
        .map(|(_, items)| items.iter().copied().collect())
        .collect();
    let rows: Vec<(String, Vec<Accuracy>)> = classes
        .iter()
        .filter_map(|(class, items)| match class {
            Class::Pronoun(name) => Some((name.clone(), items)),
            _ => None,
        })
        .map(|(name, items)| {
            let at = |distance: &BTreeSet<usize>| {
                Accuracy::of(items.iter().copied().filter(|item| distance.contains(item)), right)
            };
            (name, distances.iter().map(at).collect())
        })
        .collect();
    if rows.len() > 1 && !distances.is_empty() { rows } else { Vec::new() }
}

/// A class of items that are counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Class {
    All,
    /// By the distance of the antecedent.
    Distance(&'static str),
    /// By the reference's pronoun.
    Pronoun(String),
    /// By the kind of example.
    Category(String),
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Distance(name) => write!(f, "distance {name}"),
            Self::Pronoun(name) | Self::Category(name) => f.write_str(name),
        }
    }
}

/// The paper's classes of distance.
const DISTANCES: [&str; 5] = ["0", "1", "2", "3", ">3"];

/// A word gets its own row if at least one in this many items has it.
const RARE: usize = 100;

/// The classes that occur, each with its items: all, by distance, by pronoun, by category.
pub(super) fn classes(set: &ContrastiveSet) -> Vec<(Class, Vec<usize>)> {
    let mut by_distance: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut by_pronoun: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut by_category: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, item) in set.items.iter().enumerate() {
        if let Some(distance) = item.antecedent_distance {
            let class = (distance as usize).min(DISTANCES.len() - 1);
            by_distance.entry(class).or_default().push(index);
        }
        if let Some(pronoun) = &item.pronoun {
            by_pronoun.entry(pronoun).or_default().push(index);
        }
        if let Some(category) = &item.category {
            by_category.entry(category).or_default().push(index);
        }
    }
    if by_category.len() < 2 {
        by_category.clear();
    }
    let (rare, frequent): (Vec<_>, Vec<_>) =
        by_pronoun.into_iter().partition(|(_, items)| items.len() * RARE < set.items.len());
    let all = std::iter::once((Class::All, (0..set.items.len()).collect()));
    let distances =
        by_distance.into_iter().map(|(class, items)| (Class::Distance(DISTANCES[class]), items));
    let pronouns =
        frequent.into_iter().map(|(word, items)| (Class::Pronoun(word.to_owned()), items));
    let others = (!rare.is_empty()).then(|| {
        let name = format!("{} others", rare.len());
        (Class::Pronoun(name), rare.into_iter().flat_map(|(_, items)| items).collect())
    });
    let categories =
        by_category.into_iter().map(|(name, items)| (Class::Category(name.to_owned()), items));
    all.chain(distances).chain(pronouns).chain(others).chain(categories).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use abridge_corpus::ContrastiveItem;

    fn item(pronoun: &str, distance: u32) -> ContrastiveItem {
        ContrastiveItem {
            pronoun: Some(pronoun.into()),
            antecedent_distance: Some(distance),
            ..ContrastiveItem::default()
        }
    }

    #[test]
    fn counts_by_pronoun_and_distance() {
        let items = vec![item("sie", 1), item("er", 0), item("er", 7), item("er", 1)];
        let set = ContrastiveSet { items, notes: Vec::new() };
        let scores = [vec![-1.0, -2.0], vec![-1.0, -1.0], vec![-1.0, -2.0, -3.0], vec![-2.0, -1.0]];
        let report = ContrastiveReport::new(&set, &scores);
        assert_eq!(report.total, Accuracy { correct: 2, items: 4 });
        let names: Vec<&str> = report.by_distance.iter().map(|row| row.0.as_str()).collect();
        assert_eq!(names, ["0", "1", ">3"]);
        assert_eq!(report.by_pronoun[0], ("er".into(), Accuracy { correct: 1, items: 3 }));
        let mean = report.mean.unwrap();
        assert!((mean.share - f64::midpoint(1.0 / 3.0, 1.0)).abs() < 1e-12, "{mean:?}");
        let crossed = &report.by_pronoun_and_distance;
        assert_eq!(crossed[0].0, "er");
        let counts: Vec<_> = crossed.iter().flat_map(|row| &row.1).map(|a| a.items).collect();
        assert_eq!(counts, [1, 1, 1, 0, 1, 0]);
    }

    #[test]
    fn rare_words_are_counted_together_and_categories_apart() {
        let mut items = vec![item("der", 0); 250];
        items.push(item("Arzt", 0));
        items.push(item("Autorin", 0));
        items[0].category = Some("gender".into());
        let mut set = ContrastiveSet { items, notes: Vec::new() };
        let scores = vec![vec![-1.0, -2.0]; 252];
        let report = ContrastiveReport::new(&set, &scores);
        let names: Vec<&str> = report.by_pronoun.iter().map(|row| row.0.as_str()).collect();
        assert_eq!(names, ["der", "2 others"]);
        assert_eq!(report.by_pronoun[1].1.items, 2);
        assert!(report.by_category.is_empty(), "there is only one kind");
        set.items[1].category = Some("number".into());
        let report = ContrastiveReport::new(&set, &scores);
        assert_eq!(report.by_category.len(), 2);
    }

    #[test]
    fn a_tie_is_not_a_preference() {
        assert!(!is_preferred(&[-1.0, -1.0]) && !is_preferred(&[f64::NAN, -1.0]));
        assert!(is_preferred(&[-1.0, -1.5]));
    }

    #[test]
    fn the_interval_is_wilsons() {
        // 15 of 20, a textbook example: 0.5313 to 0.8881.
        let (low, high) = Accuracy { correct: 15, items: 20 }.interval();
        assert!((low - 0.5313).abs() < 1e-4 && (high - 0.8881).abs() < 1e-4, "{low} {high}");
        assert!(Accuracy { correct: 0, items: 5 }.interval().0 < 1e-12);
    }
}
