//! Translation edit rate (Snover et al., 2006), with the search for shifts that sacreBLEU shares
//! with Tercom.

use std::cmp::Reverse;
use std::ops::Range;

use crate::edit_distance::EditDistance;
use crate::metric::{Metric, ResampleScore, TextMetric};
use crate::ngram::WordNumbers;
use crate::real::Real;
use crate::signature::Field;
use crate::tokenize::tercom;
use crate::whitespace;

/// The longest phrase that is shifted.
const MAX_SHIFT_LENGTH: usize = 10;
/// How far apart a phrase may be in hypothesis and reference.
const MAX_SHIFT_DISTANCE: usize = 50;
/// The most shifts tried per segment before the search gives up.
const MAX_SHIFTS_TRIED: usize = 1000;

/// The configuration of TER. A lower score is better.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
// Tercom has four independent switches.
#[allow(clippy::struct_excessive_bools)]
pub struct Ter {
    /// Whether punctuation is split from words and entities are resolved; default no.
    pub normalized: bool,
    /// Whether punctuation is removed; default no.
    pub no_punctuation: bool,
    /// Whether the two settings above also treat Chinese and Japanese characters; default no.
    pub asian_support: bool,
    /// Whether case matters; default no.
    pub case_sensitive: bool,
}

impl Ter {
    fn prepare(&self, line: &str) -> String {
        tercom::tokenize(self, whitespace::trim_end(line))
    }

    /// sacreBLEU prepares references twice. The second pass mostly changes nothing, but the result
    /// of the first may match a rule: `it's.` becomes `it's .`, then `it 's .`.
    fn prepare_reference(&self, line: &str) -> String {
        let once = self.prepare(line);
        if !self.normalized {
            return once;
        }
        let words: Vec<&str> = whitespace::words(&once).collect();
        self.prepare(&words.join(" "))
    }

    fn rate<T: Real>(sums: &[T]) -> T {
        let zero = T::of(0.0);
        let (edits, length) = (sums[0], sums[1]);
        if length > zero {
            T::of(100.0) * (edits / length)
        } else if edits > zero {
            T::of(100.0)
        } else {
            zero
        }
    }
}

impl Metric for Ter {
    fn name(&self) -> String {
        "TER".to_owned()
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            Field::new("case", "c", if self.case_sensitive { "mixed" } else { "lc" }),
            Field::new("tok", "t", "tercom"),
            Field::flag("norm", "nr", self.normalized),
            Field::flag("punct", "pn", !self.no_punctuation),
            Field::flag("asian", "as", self.asian_support),
        ]
    }

    /// The number of edits, and the mean length of the references.
    fn counts(&self) -> usize {
        2
    }

    fn score(&self, sums: &[f64]) -> f64 {
        Self::rate(sums)
    }

    fn resample_score(&self, sums: &[f32]) -> ResampleScore {
        ResampleScore::Single(Self::rate(sums))
    }

    fn higher_is_better(&self) -> bool {
        false
    }
}

impl TextMetric for Ter {
    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let hypothesis = self.prepare(hypothesis);
        let references: Vec<String> =
            references.iter().map(|line| self.prepare_reference(line)).collect();
        let mut numbers = WordNumbers::default();
        let hypothesis = numbers.number(whitespace::words(&hypothesis));
        let mut fewest = usize::MAX;
        let mut length = 0;
        for reference in &references {
            let reference = numbers.number(whitespace::words(reference));
            length += reference.len();
            fewest = fewest.min(edits(&hypothesis, &reference));
        }
        vec![fewest as f64, length as f64 / references.len() as f64]
    }
}

/// The number of edits and shifts that turn the hypothesis into the reference, greedily.
fn edits(hypothesis: &[u32], reference: &[u32]) -> usize {
    if reference.is_empty() {
        return hypothesis.len();
    }
    let mut distance = EditDistance::new(reference, hypothesis.len());
    let mut words = hypothesis.to_vec();
    let mut shifts = 0;
    let mut tried = 0;
    loop {
        let before = distance.set(&words);
        let best = best_shift(&words, reference, &mut distance, &mut tried);
        match best {
            // A search that gave up does not use the last shift it found.
            Some((after, shift)) if tried < MAX_SHIFTS_TRIED && after < before => {
                shift.apply(&mut words);
                shifts += 1;
            }
            _ => return shifts + before as usize,
        }
    }
}

/// Moves `length` words from `start` to before the word at `target` or, if the target is inside the
/// phrase, that many words further on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shift {
    start: usize,
    length: usize,
    target: usize,
}

impl Shift {
    /// The range of words that move.
    fn changed(self, words: usize) -> Range<usize> {
        let end = self.start + self.length;
        if self.target < self.start {
            self.target..end
        } else if self.target > end {
            self.start..self.target
        } else {
            self.start..(self.target + self.length).min(words)
        }
    }

    fn apply(self, words: &mut [u32]) {
        let changed = self.changed(words.len());
        if self.target < self.start {
            words[changed].rotate_right(self.length);
        } else {
            words[changed].rotate_left(self.length);
        }
    }
}

/// The distance after a shift, then the tie-breakers; the least is best.
type ShiftRank = (u32, Reverse<usize>, usize, usize);

/// The best shift and the distance after it: the shortest distance, then the longest phrase, then
/// the earliest phrase, then the earliest target.
fn best_shift(
    words: &[u32],
    reference: &[u32],
    distance: &mut EditDistance<'_>,
    tried: &mut usize,
) -> Option<(u32, Shift)> {
    let alignment = distance.alignment();
    let mut best: Option<(ShiftRank, Shift)> = None;
    let mut variant = words.to_vec();
    for start in 0..words.len() {
        let nearest = start.saturating_sub(MAX_SHIFT_DISTANCE);
        let farthest = reference.len().min(start + MAX_SHIFT_DISTANCE + 1);
        for there in nearest..farthest {
            let (mut wrong, mut missing) = (false, false);
            for length in 1..=MAX_SHIFT_LENGTH {
                let (last, last_there) = (start + length - 1, there + length - 1);
                if last >= words.len()
                    || last_there >= reference.len()
                    || words[last] != reference[last_there]
                {
                    break;
                }
                // A phrase is moved only if something in it is wrong at its place and something is
                // missing at the target, and not into itself.
                wrong |= alignment.hypothesis_errors[last];
                missing |= alignment.reference_errors[last_there];
                let place = alignment.places[there];
                let inside = place >= start as isize && place < (start + length) as isize;
                if !wrong || !missing || inside {
                    continue;
                }
                let mut previous = None;
                for offset in 0..=length {
                    // The places after the counterparts of the word before the phrase and of each
                    // of its words.
                    let target = match (there + offset).checked_sub(1) {
                        None => 0,
                        Some(word) => (alignment.places[word] + 1) as usize,
                    };
                    if previous.replace(target) == Some(target) {
                        continue;
                    }
                    let shift = Shift { start, length, target };
                    let changed = shift.changed(words.len());
                    shift.apply(&mut variant);
                    let after = distance.of_variant(&variant, changed.clone());
                    variant[changed.clone()].copy_from_slice(&words[changed]);
                    *tried += 1;
                    let rank = (after, Reverse(length), start, target);
                    if best.as_ref().is_none_or(|(best_rank, _)| rank < *best_rank) {
                        best = Some((rank, shift));
                    }
                }
                if *tried >= MAX_SHIFTS_TRIED {
                    return best.map(|(rank, shift)| (rank.0, shift));
                }
            }
        }
    }
    best.map(|(rank, shift)| (rank.0, shift))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::sentence_score;

    #[test]
    fn a_moved_phrase_is_one_edit() {
        assert_eq!(edits(&[4, 5, 1, 2, 3], &[1, 2, 3, 4, 5]), 1);
        assert_eq!(edits(&[1, 2, 3], &[1, 2, 3]), 0);
        assert_eq!(edits(&[], &[1, 2]), 2);
        assert_eq!(edits(&[1, 2], &[]), 2);
    }

    #[test]
    fn shifts_rotate_the_words_between() {
        let apply = |start, length, target| {
            let mut words = [0, 1, 2, 3, 4, 5];
            Shift { start, length, target }.apply(&mut words);
            words
        };
        assert_eq!(apply(3, 2, 1), [0, 3, 4, 1, 2, 5]);
        assert_eq!(apply(1, 2, 5), [0, 3, 4, 1, 2, 5]);
        assert_eq!(apply(1, 2, 2), [0, 3, 1, 2, 4, 5]);
        assert_eq!(apply(3, 3, 5), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn case_is_ignored_unless_asked_for() {
        assert!(sentence_score(&Ter::default(), "Der Hund", &["der hund"]).abs() < 1e-9);
        let exact = Ter { case_sensitive: true, ..Ter::default() };
        assert!((sentence_score(&exact, "Der Hund", &["der hund"]) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn references_are_prepared_twice() {
        let ter = Ter { normalized: true, ..Ter::default() };
        assert_eq!(ter.count("it's.", &["it's."]), [2.0, 3.0]);
    }

    #[test]
    fn empty_references_score_100() {
        assert!((sentence_score(&Ter::default(), "ein Wort", &[""]) - 100.0).abs() < 1e-9);
        assert!(sentence_score(&Ter::default(), "", &[""]).abs() < 1e-9);
    }
}
