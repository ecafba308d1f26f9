//! How much of an order is translated in one turn, and the cost of a turn.
//!
//! Cost is tokens × beam, to which the decoder's work and cache are proportional. A turn is limited
//! so that decoder steps stay short and the cache fits the memory of a batch.

use abridge_translate::{BeamSettings, Translator};

use super::schedule::BATCH_COST;

/// Sentences per batch of one order.
const SENTENCES: usize = 16;
/// The same for a streamed order.
const STREAMED: usize = 4;
/// Hypotheses per batch; they determine how long a step takes, and so how long others wait.
pub(super) const ROWS: usize = 80;
/// Source tokens encoded at once.
pub(super) const TOKENS: usize = 512;

/// The costs of an order's sentences.
#[derive(Debug)]
pub(super) struct Costs {
    /// The number of tokens of each.
    lengths: Vec<usize>,
    beam: usize,
    /// The most source tokens translated at once; longer sentences are split into parts.
    part: usize,
    /// The most tokens in a translation.
    longest: usize,
    /// The most sentences in a turn.
    most: usize,
}

/// The sentences translated in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub from: usize,
    pub to: usize,
    /// An upper bound on tokens × beam.
    pub cost: usize,
    /// An upper bound on the number of hypotheses.
    pub rows: usize,
    /// The length of the longest sentence, rounded up. Shares of different sizes are not batched,
    /// so that short sentences do not wait for long ones.
    pub size: usize,
}

impl Costs {
    pub fn new(
        translator: &Translator,
        settings: &BeamSettings,
        lengths: Vec<usize>,
        attention: bool,
        is_streamed: bool,
    ) -> Self {
        let longest = translator.model().config().longest_translation();
        Self {
            lengths,
            beam: settings.beam,
            part: translator.longest_part(settings),
            longest: settings.max_length.min(longest) + 1,
            // Attention takes source × target weights per sentence.
            most: if attention {
                1
            } else if is_streamed {
                STREAMED
            } else {
                SENTENCES
            },
        }
    }

    /// The sentences of the next turn: at least one, if any is left.
    pub fn share(&self, from: usize) -> Share {
        let mut share = Share { from, to: from, cost: 0, rows: 0, size: 0 };
        let mut tokens = 0;
        for length in self.lengths.iter().skip(from).take(self.most) {
            let rows = (length + 1).div_ceil(self.part).saturating_mul(self.beam);
            let cost = rows.saturating_mul(self.longest);
            let is_full = share.rows + rows > ROWS
                || share.cost.saturating_add(cost) > BATCH_COST
                || tokens + length > 2 * TOKENS;
            if share.to > from && is_full {
                break;
            }
            share.to += 1;
            share.rows += rows;
            share.cost = share.cost.saturating_add(cost);
            share.size =
                share.size.max(length.checked_next_power_of_two().unwrap_or(usize::MAX).max(32));
            tokens += length;
        }
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(lengths: Vec<usize>, beam: usize, longest: usize) -> Costs {
        Costs { lengths, beam, part: 1024, longest, most: SENTENCES }
    }

    #[test]
    fn turns_are_cut_by_cost() {
        let plain = costs(vec![20; 256], 5, 201).share(0);
        assert_eq!((plain.to, plain.rows, plain.size), (16, 80, 32));
        let last = costs(vec![20; 18], 5, 201).share(16);
        assert_eq!((last.from, last.to), (16, 18));
        // The largest sentences allowed: one at a time.
        let large = costs(vec![996; 256], 16, 1025).share(3);
        assert_eq!((large.to, large.rows, large.cost, large.size), (4, 16, 16_400, 1024));
        assert_eq!(costs(Vec::new(), 5, 201).share(0).cost, 0);
        let beyond = costs(vec![usize::MAX - 1], usize::MAX, usize::MAX).share(0);
        assert_eq!((beyond.to, beyond.cost), (1, usize::MAX));
    }
}
