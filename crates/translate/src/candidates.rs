//! The best continuations of a sentence's hypotheses.

use std::cmp::Ordering;

/// A hypothesis with one more word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// The index of the hypothesis that it continues.
    pub parent: usize,
    /// The word.
    pub word: u32,
    /// The log-probability of all words so far.
    pub score: f32,
}

/// The possible continuations of one hypothesis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Continuations<'a> {
    /// The most probable words and their logits.
    pub words: &'a [(u32, f32)],
    /// The log-sum-exp of all logits, including forbidden words.
    pub total: f32,
    /// The log-probability of the hypothesis so far.
    pub so_far: f32,
}

impl Continuations<'_> {
    /// The hypothesis with each of the words.
    fn candidates(&self, parent: usize) -> impl Iterator<Item = Candidate> {
        self.words.iter().map(move |&(word, logit)| {
            let score = self.so_far + (logit - self.total);
            Candidate { parent, word, score }
        })
    }

    /// The hypothesis with the first of the words.
    pub fn first(&self, parent: usize) -> Option<Candidate> {
        self.candidates(parent).next()
    }
}

/// The `count` best of all continuations, best first.
///
/// Ties are broken by the earlier parent, then the smaller word, so that the result is
/// deterministic.
pub(crate) fn best(rows: &[Continuations<'_>], count: usize) -> Vec<Candidate> {
    let mut best: Vec<Candidate> =
        rows.iter().enumerate().flat_map(|(parent, row)| row.candidates(parent)).collect();
    best.sort_unstable_by(order);
    best.truncate(count);
    best
}

fn order(a: &Candidate, b: &Candidate) -> Ordering {
    b.score.total_cmp(&a.score).then(a.parent.cmp(&b.parent)).then(a.word.cmp(&b.word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_best_over_all_hypotheses() {
        let row = |words, so_far| Continuations { words, total: 0.0, so_far };
        let (a, b) = ([(0, -1.0), (2, -2.0), (1, -5.0)], [(0, -0.5), (2, -4.0), (9, -4.0)]);
        let best = best(&[row(&a, 0.0), row(&b, -1.0)], 5);
        let found: Vec<_> = best.iter().map(|c| (c.parent, c.word, c.score)).collect();
        assert_eq!(found, [(0, 0, -1.0), (1, 0, -1.5), (0, 2, -2.0), (0, 1, -5.0), (1, 2, -5.0)]);
    }
}
