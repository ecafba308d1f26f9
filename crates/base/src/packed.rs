//! Sequences of different lengths, concatenated without padding.
//!
//! Activations are `[tokens, width]`: the tokens of all sentences of a batch in one matrix.
//! [`Segments`] says which rows belong to which sentence. Only attention and the shorteners need
//! to know.

use std::ops::Range;

/// Which rows of a packed tensor belong to which segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Segment `i` is `offsets[i]..offsets[i + 1]`.
    offsets: Vec<usize>,
}

impl Default for Segments {
    /// No segments.
    fn default() -> Self {
        Self::from_lengths([])
    }
}

impl Segments {
    /// Segments of the given lengths, one after the other. A length may be 0.
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Self {
        let mut offsets = vec![0];
        let mut end = 0;
        offsets.extend(lengths.into_iter().map(|length| {
            end += length;
            end
        }));
        Self { offsets }
    }

    /// Adds a segment of the given length.
    pub fn push(&mut self, length: usize) {
        self.offsets.push(self.rows() + length);
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows of all segments together.
    pub fn rows(&self) -> usize {
        self.offsets[self.len()]
    }

    /// The rows of segment `index`.
    pub fn range(&self, index: usize) -> Range<usize> {
        self.offsets[index]..self.offsets[index + 1]
    }

    /// The number of rows of segment `index`.
    pub fn length(&self, index: usize) -> usize {
        self.offsets[index + 1] - self.offsets[index]
    }

    /// The row ranges of all segments, in order.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.offsets.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// The lengths of all segments, in order.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.ranges().map(|range| range.len())
    }
}

/// Token sequences, packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    tokens: Vec<u32>,
    segments: Segments,
}

impl Packed {
    /// Packs the given sequences.
    pub fn new<S: AsRef<[u32]>>(sequences: impl IntoIterator<Item = S>) -> Self {
        let mut tokens = Vec::new();
        let mut lengths = Vec::new();
        for sequence in sequences {
            tokens.extend_from_slice(sequence.as_ref());
            lengths.push(sequence.as_ref().len());
        }
        Self { tokens, segments: Segments::from_lengths(lengths) }
    }

    /// Adds a sequence.
    pub fn push(&mut self, sequence: &[u32]) {
        self.push_with(|tokens| tokens.extend_from_slice(sequence));
    }

    /// Adds a sequence: the tokens that `append` appends.
    pub fn push_with(&mut self, append: impl FnOnce(&mut Vec<u32>)) {
        let before = self.tokens.len();
        append(&mut self.tokens);
        self.segments.push(self.tokens.len() - before);
    }

    /// All tokens, in order.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Which tokens belong to which sequence.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The number of sequences.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The tokens of sequence `index`.
    pub fn get(&self, index: usize) -> &[u32] {
        &self.tokens[self.segments.range(index)]
    }

    /// All sequences, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> + '_ {
        self.segments.ranges().map(|range| &self.tokens[range])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_empty_and_full_sequences() {
        let packed = Packed::new([&[7, 8, 9][..], &[], &[5]]);
        assert_eq!(packed.tokens(), [7, 8, 9, 5]);
        assert_eq!(packed.segments().lengths().collect::<Vec<_>>(), [3, 0, 1]);
        assert_eq!(packed.get(1), [0u32; 0]);
        assert_eq!(packed.iter().last(), Some(&[5][..]));
        assert_eq!(packed.segments().rows(), 4);
        let mut pushed = Packed::default();
        pushed.push(&[7, 8, 9]);
        pushed.push(&[]);
        pushed.push_with(|tokens| tokens.push(5));
        assert_eq!(pushed, packed);
    }
}
