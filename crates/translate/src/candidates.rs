//! The best continuations of a sentence's hypotheses.

use std::cmp::Ordering;

/// A hypothesis with one more word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// Which of the sentence's hypotheses it continues.
    pub parent: usize,
    /// The word.
    pub word: u32,
    /// The log-probability of all words so far.
    pub score: f32,
}

/// What could follow one hypothesis.
#[derive(Debug)]
pub(crate) struct Continuations<'a> {
    /// The logit of every word; impossible ones are negative infinity.
    pub logits: &'a mut [f32],
    /// The logarithm of what the exponentials of all logits add up to, the impossible included.
    pub total: f32,
    /// The log-probability of the hypothesis so far.
    pub so_far: f32,
}

impl<'a> Continuations<'a> {
    pub fn new(logits: &'a mut [f32], so_far: f32) -> Self {
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        // Sums of a whole vocabulary in single precision would lose the fifth digit.
        let sum: f64 = logits
            .chunks(CHUNK)
            .map(|chunk| f64::from(chunk.iter().map(|logit| (logit - most).exp()).sum::<f32>()))
            .sum();
        Self { total: most + sum.ln() as f32, logits, so_far }
    }

    /// The hypothesis with this word, whatever its probability.
    pub fn with(&self, parent: usize, word: u32) -> Candidate {
        let score = self.so_far + (self.logits[word as usize] - self.total);
        Candidate { parent, word, score }
    }
}

/// Words that are looked at together.
const CHUNK: usize = 128;

/// The `count` best of all continuations, best first.
///
/// Impossible ones are never chosen. Of equal candidates the one with the earlier parent and the
/// smaller word comes first, so the result does not depend on anything else.
pub(crate) fn best(rows: &[Continuations<'_>], count: usize) -> Vec<Candidate> {
    let mut best: Vec<Candidate> = Vec::with_capacity(2 * count + 1);
    let mut threshold = f32::NEG_INFINITY;
    for (parent, row) in rows.iter().enumerate() {
        for (place, chunk) in row.logits.chunks(CHUNK).enumerate() {
            // Nearly every stretch of a vocabulary holds nothing of interest.
            let most = chunk.iter().fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a });
            if row.so_far + (most - row.total) <= threshold {
                continue;
            }
            for (word, &logit) in (place * CHUNK..).zip(chunk) {
                let score = row.so_far + (logit - row.total);
                if score > threshold {
                    best.push(Candidate { parent, word: word as u32, score });
                    if best.len() == 2 * count {
                        threshold = keep(&mut best, count);
                    }
                }
            }
        }
    }
    keep(&mut best, count);
    best
}

/// Sorts and cuts; returns the score of the last that is kept.
fn keep(candidates: &mut Vec<Candidate>, count: usize) -> f32 {
    candidates.sort_by(order);
    candidates.truncate(count);
    candidates.last().map_or(f32::NEG_INFINITY, |last| last.score)
}

fn order(a: &Candidate, b: &Candidate) -> Ordering {
    b.score.total_cmp(&a.score).then(a.parent.cmp(&b.parent)).then(a.word.cmp(&b.word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(logits: &mut [f32], so_far: f32) -> Continuations<'_> {
        Continuations { logits, total: 0.0, so_far }
    }

    #[test]
    fn finds_the_best_over_all_hypotheses() {
        let (mut a, mut b) = ([-1.0, -5.0, -2.0], [-0.5, f32::NEG_INFINITY, -4.0]);
        let best = best(&[row(&mut a, 0.0), row(&mut b, -1.0)], 3);
        let found: Vec<_> = best.iter().map(|c| (c.parent, c.word, c.score)).collect();
        assert_eq!(found, [(0, 0, -1.0), (1, 0, -1.5), (0, 2, -2.0)]);
    }

    #[test]
    fn stretches_that_are_passed_over_hold_nothing() {
        let random = |i: u64| abridge_model::random::uniform(9, i) as f32;
        for case in 0..20 {
            let logits =
                |row: u64| (0..1000).map(|i| random(case * 5000 + row * 1000 + i)).collect();
            let mut rows: Vec<Vec<f32>> = (0..3).map(logits).collect();
            let mut all: Vec<Candidate> = Vec::new();
            for (parent, row) in rows.iter().enumerate() {
                let score = |word: usize| parent as f32 * -0.001 + row[word];
                all.extend((0..1000).map(|word| Candidate {
                    parent,
                    word: word as u32,
                    score: score(word),
                }));
            }
            all.sort_by(order);
            let rows: Vec<Continuations<'_>> = rows
                .iter_mut()
                .enumerate()
                .map(|(parent, logits)| row(logits, parent as f32 * -0.001))
                .collect();
            assert_eq!(best(&rows, 10), all[..10]);
        }
    }

    #[test]
    fn never_chooses_the_impossible() {
        assert_eq!(best(&[row(&mut [f32::NEG_INFINITY, -1.0], 0.0)], 5).len(), 1);
    }

    #[test]
    fn logits_become_log_probabilities() {
        let mut logits = [3.0, 1.0, -2.0];
        let row = Continuations::new(&mut logits, 0.0);
        let sum: f32 = (0..3).map(|word| row.with(0, word).score.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-6);
    }
}
