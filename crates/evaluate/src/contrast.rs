//! Contrastive accuracy: how often a model prefers the reference to its wrong alternatives.

use abridge_corpus::{ContrastiveItem, ContrastiveSet};
use serde::Serialize;

/// Accuracy on a contrastive set, in total and by what the items say about themselves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContrastiveReport {
    /// All items.
    pub total: Accuracy,
    /// By the reference's pronoun, in alphabetical order.
    pub by_pronoun: Vec<(String, Accuracy)>,
    /// By the distance of the antecedent: 0, 1, 2, 3, more; only those that occur.
    pub by_distance: Vec<(String, Accuracy)>,
}

/// How many of how many were right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accuracy {
    /// Items whose reference scored higher than every alternative.
    pub correct: usize,
    /// All items.
    pub items: usize,
}

impl Accuracy {
    /// The share that was right; 0 of none.
    pub fn share(&self) -> f64 {
        self.correct as f64 / self.items.max(1) as f64
    }

    /// The 95 % interval of the share (Wilson's, which holds near 0 and 1, too).
    pub fn interval(&self) -> (f64, f64) {
        const Z: f64 = 1.959_963_984_540_054;
        let n = self.items.max(1) as f64;
        let p = self.share();
        let centre = p + Z * Z / (2.0 * n);
        let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + Z * Z / n;
        (((centre - spread) / scale).max(0.0), ((centre + spread) / scale).min(1.0))
    }

    fn count(&mut self, correct: bool) {
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
        let mut report =
            Self { total: Accuracy::default(), by_pronoun: Vec::new(), by_distance: Vec::new() };
        for (item, scores) in set.items.iter().zip(scores) {
            let correct = is_preferred(scores);
            report.total.count(correct);
            if let Some(pronoun) = &item.pronoun {
                row(&mut report.by_pronoun, pronoun).count(correct);
            }
            if let Some(distance) = distance(item) {
                row(&mut report.by_distance, distance).count(correct);
            }
        }
        report.by_pronoun.sort_by(|a, b| a.0.cmp(&b.0));
        report
            .by_distance
            .sort_by(|a, b| a.0.starts_with('>').cmp(&b.0.starts_with('>')).then(a.0.cmp(&b.0)));
        report
    }
}

/// The paper's classes of distance.
fn distance(item: &ContrastiveItem) -> Option<&'static str> {
    Some(match item.antecedent_distance? {
        0 => "0",
        1 => "1",
        2 => "2",
        3 => "3",
        _ => ">3",
    })
}

fn row<'a>(rows: &'a mut Vec<(String, Accuracy)>, name: &str) -> &'a mut Accuracy {
    let place = rows.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        rows.push((name.to_owned(), Accuracy::default()));
        rows.len() - 1
    });
    &mut rows[place].1
}

#[cfg(test)]
mod tests {
    use super::*;

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
