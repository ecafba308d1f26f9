//! Work on items of different lengths, in parallel and in batches of similar length.

use abridge_model::{Packed, Reading};

use crate::Result;
use crate::translator::Translator;
use crate::turns::Control;

/// Sentences per batch.
pub const BATCH_SENTENCES: usize = 32;
/// Tokens per batch.
pub(crate) const BATCH_TOKENS: usize = 3000;
/// Tokens that a thread of the CPU encodes at once. The products are as fast as with more, their
/// results stay in the cache and need little memory, and all threads have something to do.
const READING_TOKENS: usize = 256;

/// How large a batch may be.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The most items in it; at least one.
    pub count: usize,
    /// The most tokens; a longer item is a batch by itself.
    pub tokens: usize,
}

impl Control<'_> {
    pub(crate) fn limits(&self) -> Limits {
        Limits { count: self.batch, tokens: self.batch_tokens }
    }
}

impl Translator {
    /// Processes the items at the given places, which must ascend, in batches. The results are in
    /// the order of the places.
    pub(crate) fn in_batches<R: Send>(
        &self,
        places: impl IntoIterator<Item = usize>,
        length: impl Fn(usize) -> usize,
        limits: Limits,
        act: impl Fn(&[usize]) -> Result<Vec<R>> + Sync,
    ) -> Result<Vec<R>> {
        let batches = by_length(places, length, limits);
        let results = self.workers().run(batches.clone(), |batch: Vec<usize>| act(&batch))?;
        let places = batches.into_iter().flatten();
        let mut all: Vec<(usize, R)> = places.zip(results.into_iter().flatten()).collect();
        all.sort_by_key(|(place, _)| *place);
        Ok(all.into_iter().map(|(_, result)| result).collect())
    }

    /// Encodes each of the sentences once.
    pub(crate) fn read_all(
        &self,
        sentences: &[Vec<u32>],
        control: &Control<'_>,
    ) -> Result<Vec<Reading>> {
        let length = |place: usize| sentences[place].len();
        let mut limits = control.limits();
        if self.lean().is_some() {
            limits.tokens = limits.tokens.min(READING_TOKENS);
        }
        self.in_batches(0..sentences.len(), length, limits, |batch| {
            let tokens = batch.iter().map(|&place| &sentences[place]);
            (control.before_step)(tokens.clone().map(Vec::len).sum());
            Ok(self.model().read(&Packed::new(tokens))?)
        })
    }
}

/// Places in batches, the longest first.
fn by_length(
    places: impl IntoIterator<Item = usize>,
    length: impl Fn(usize) -> usize,
    limits: Limits,
) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = places.into_iter().collect();
    order.sort_by_key(|&place| std::cmp::Reverse(length(place)));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut filled = 0;
    for place in order {
        let tokens = length(place);
        match batches.last_mut() {
            Some(batch)
                if batch.len() < limits.count.max(1) && filled + tokens <= limits.tokens =>
            {
                batch.push(place);
                filled += tokens;
            }
            _ => {
                batches.push(vec![place]);
                filled = tokens;
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_everything_once_and_respect_their_limits() {
        let lengths = [10, 2990, 1, 5000, 2, 2998, 1];
        let batches = |count| {
            let limits = Limits { count, tokens: 3000 };
            by_length(0..lengths.len(), |place| lengths[place], limits)
        };
        assert_eq!(batches(9), [vec![3], vec![5], vec![1, 0], vec![4, 2, 6]]);
        assert_eq!(batches(2), [vec![3], vec![5], vec![1, 0], vec![4, 2], vec![6]]);
        assert_eq!(batches(0).len(), lengths.len());
        assert!(by_length([], |_| 1, Limits { count: 9, tokens: 9 }).is_empty());
    }
}
