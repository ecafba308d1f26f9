//! Applying byte-pair merges: the earliest learned merge comes first, then the leftmost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

/// A merge: its rank, and the id of the joined piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Merge {
    rank: u32,
    joined: u32,
}

/// Merges by the pair of pieces that they join.
#[derive(Clone, Debug, Default)]
pub struct Merges {
    /// Looked up, never iterated.
    by_pair: FxHashMap<(u32, u32), Merge>,
    /// Pairs in the order in which they were learned.
    pairs: Vec<(u32, u32)>,
}

/// One piece of a word during merging, in a doubly linked list.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    id: u32,
    previous: usize,
    next: usize,
}

/// No neighbour.
const NONE: usize = usize::MAX;

impl Merges {
    /// Appends a merge, which applies after all existing ones.
    pub fn push(&mut self, pair: (u32, u32), joined: u32) {
        let rank = self.pairs.len() as u32;
        self.pairs.push(pair);
        self.by_pair.insert(pair, Merge { rank, joined });
    }

    /// Pairs in the order in which they apply.
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// Merges the pieces of one word, in `O(n log n)`, and appends the result.
    pub fn apply(&self, characters: &[u32], output: &mut Vec<u32>) {
        let last = characters.len().wrapping_sub(1);
        let mut symbols: Vec<Symbol> = characters
            .iter()
            .enumerate()
            .map(|(place, &id)| Symbol {
                id,
                previous: place.checked_sub(1).unwrap_or(NONE),
                next: if place == last { NONE } else { place + 1 },
            })
            .collect();
        let mut waiting = BinaryHeap::new();
        for place in 0..symbols.len() {
            self.consider(&symbols, place, &mut waiting);
        }
        while let Some(Reverse((rank, place))) = waiting.pop() {
            // Either side may have been merged with something else meanwhile.
            let Some(merge) = self.at(&symbols, place).filter(|merge| merge.rank == rank) else {
                continue;
            };
            let next = symbols[place].next;
            let after = symbols[next].next;
            symbols[next] = Symbol { id: symbols[next].id, previous: NONE, next: NONE };
            symbols[place] = Symbol { id: merge.joined, next: after, ..symbols[place] };
            if after != NONE {
                symbols[after].previous = place;
            }
            if symbols[place].previous != NONE {
                self.consider(&symbols, symbols[place].previous, &mut waiting);
            }
            self.consider(&symbols, place, &mut waiting);
        }
        let mut place = if symbols.is_empty() { NONE } else { 0 };
        while place != NONE {
            output.push(symbols[place].id);
            place = symbols[place].next;
        }
    }

    /// The merge of the symbol at `place` with the one after it.
    fn at(&self, symbols: &[Symbol], place: usize) -> Option<Merge> {
        let symbol = symbols[place];
        let next = symbols.get(symbol.next)?;
        self.by_pair.get(&(symbol.id, next.id)).copied()
    }

    fn consider(
        &self,
        symbols: &[Symbol],
        place: usize,
        waiting: &mut BinaryHeap<Reverse<(u32, usize)>>,
    ) {
        waiting.extend(self.at(symbols, place).map(|merge| Reverse((merge.rank, place))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_merges_come_first_then_the_leftmost() {
        let mut merges = Merges::default();
        merges.push((1, 2), 10);
        merges.push((2, 3), 11);
        merges.push((10, 3), 12);
        merges.push((1, 1), 13);
        let apply = |word: &[u32]| {
            let mut output = Vec::new();
            merges.apply(word, &mut output);
            output
        };
        assert_eq!(apply(&[]), [0; 0]);
        assert_eq!(apply(&[1]), [1]);
        assert_eq!(apply(&[1, 2, 3]), [12]);
        assert_eq!(apply(&[2, 3, 1, 2]), [11, 10]);
        assert_eq!(apply(&[1, 1, 1]), [13, 1]);
        assert_eq!(apply(&[1, 1, 2]), [1, 10]);
    }
}
