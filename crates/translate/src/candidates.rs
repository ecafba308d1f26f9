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

/// The `count` best of all continuations, best first.
///
/// `rows` has the scores of every word after each hypothesis; impossible ones are negative
/// infinity and never chosen. Of equal candidates the one with the earlier parent and the smaller
/// word comes first, so the result does not depend on anything else.
pub(crate) fn best(rows: &[&[f32]], so_far: &[f32], count: usize) -> Vec<Candidate> {
    let mut best: Vec<Candidate> = Vec::with_capacity(2 * count + 1);
    let mut threshold = f32::NEG_INFINITY;
    for (parent, (row, &sum)) in rows.iter().zip(so_far).enumerate() {
        for (word, &log_probability) in row.iter().enumerate() {
            let score = sum + log_probability;
            if score > threshold {
                best.push(Candidate { parent, word: word as u32, score });
                if best.len() == 2 * count {
                    threshold = keep(&mut best, count);
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

    #[test]
    fn finds_the_best_over_all_hypotheses() {
        let rows: [&[f32]; 2] = [&[-1.0, -5.0, -2.0], &[-0.5, f32::NEG_INFINITY, -4.0]];
        let best = best(&rows, &[0.0, -1.0], 3);
        let found: Vec<_> = best.iter().map(|c| (c.parent, c.word, c.score)).collect();
        assert_eq!(found, [(0, 0, -1.0), (1, 0, -1.5), (0, 2, -2.0)]);
    }

    #[test]
    fn never_chooses_the_impossible() {
        let rows: [&[f32]; 1] = [&[f32::NEG_INFINITY, -1.0]];
        assert_eq!(best(&rows, &[0.0], 5).len(), 1);
    }
}
