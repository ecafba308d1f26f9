//! Whether two systems differ in the F1 of a tag: approximate randomisation over sentences.

use abridge_model::random;

use super::Tag;
use super::report::{TagCounts, TagReport};

/// Trials of a test.
const TRIALS: u64 = 10_000;

/// The probability of a difference in F1 at least as large if each sentence's words came from
/// either system at random (two-sided).
pub fn tag_test(first: &TagReport, second: &TagReport, tag: Tag, seed: u64) -> f64 {
    let counts = |report: &TagReport, sentence: usize| {
        report.sentences[sentence].get(&tag).copied().unwrap_or_default()
    };
    let pairs: Vec<(TagCounts, TagCounts)> = (0..first.sentences.len())
        .map(|sentence| (counts(first, sentence), counts(second, sentence)))
        .filter(|(first, second)| first != second)
        .collect();
    let sum = |of: &dyn Fn(usize, &(TagCounts, TagCounts)) -> TagCounts, same: TagCounts| {
        let all = pairs.iter().enumerate();
        all.fold(same, |sum, (place, pair)| sum.plus(&of(place, pair)))
    };
    // Sentences with equal counts contribute to both systems alike.
    let total = |report: &TagReport| {
        report.tags.iter().find(|(own, _)| *own == tag).map_or_else(TagCounts::default, |t| t.1)
    };
    let same = total(first).minus(&sum(&|_, pair| pair.0, TagCounts::default()));
    let difference = (total(first).f_score() - total(second).f_score()).abs();
    let key = random::key(&[seed]);
    let mut as_large = 0u64;
    for trial in 0..TRIALS {
        let trial = random::key(&[key, trial]);
        let swapped = |place: usize| random::value(trial, place as u64) & 1 == 1;
        let left = sum(&|place, pair| if swapped(place) { pair.1 } else { pair.0 }, same);
        let right = sum(&|place, pair| if swapped(place) { pair.0 } else { pair.1 }, same);
        as_large += u64::from((left.f_score() - right.f_score()).abs() >= difference - 1e-9);
    }
    (as_large + 1) as f64 / (TRIALS + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tagger::{TagLanguage, tag_report};

    fn report(right: impl Fn(usize) -> bool) -> TagReport {
        let sources = vec!["I saw it.".to_owned(); 40];
        let references = vec!["Ich sah ihn.".to_owned(); 40];
        let hypothesis = |n| if right(n) { "Ich sah ihn." } else { "Ich sah es." };
        let hypotheses: Vec<String> = (0..40).map(|n| hypothesis(n).to_owned()).collect();
        tag_report(&sources, &hypotheses, &references, None, TagLanguage::German).unwrap()
    }

    #[test]
    fn only_a_clear_difference_is_significant() {
        let (half, more, all) = (report(|n| n < 20), report(|n| n < 22), report(|_| true));
        assert!(tag_test(&half, &all, Tag::Pronoun, 1) < 0.001);
        assert!(tag_test(&half, &more, Tag::Pronoun, 1) > 0.2);
        assert!((tag_test(&half, &half, Tag::Pronoun, 1) - 1.0).abs() < 1e-9);
        assert!(tag_test(&half, &all, Tag::Ellipsis, 1) > 0.99, "no such words");
    }
}
