//! Which rows see which in an attention over packed rows.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use burn::tensor::Device;

use super::buckets::{Size, waste};
use super::plain::PaddedLayout;
use crate::packed::Segments;

/// A range of key rows that a query segment sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The rows in the tensor of keys and values.
    pub rows: Range<usize>,
    /// The row of the shifts that is added to each of them: the memory slot that they occupy.
    pub slot: Option<usize>,
}

impl Block {
    /// Rows that are not in a memory slot.
    pub fn plain(rows: Range<usize>) -> Self {
        Self { rows, slot: None }
    }
}

/// Which key rows each query segment sees. Made once per batch, used by every layer.
#[derive(Clone, Debug)]
pub struct AttentionLayout {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    queries: Segments,
    keys: Vec<Vec<Block>>,
    causal: bool,
    /// Index tensors for devices that attend over padded rectangles.
    padded: OnceLock<PaddedLayout>,
}

impl AttentionLayout {
    /// Query segment `i` sees the rows of all `keys[i]`.
    pub fn new(queries: &Segments, keys: Vec<Vec<Block>>) -> Self {
        assert_eq!(queries.len(), keys.len(), "one list of key blocks per query segment");
        Self::build(queries, keys, false)
    }

    /// Every segment sees itself.
    pub fn within(segments: &Segments) -> Self {
        Self::build(segments, own_rows(segments), false)
    }

    /// Every segment sees itself, each row only up to its own position.
    pub fn causal(segments: &Segments) -> Self {
        Self::build(segments, own_rows(segments), true)
    }

    fn build(queries: &Segments, keys: Vec<Vec<Block>>, causal: bool) -> Self {
        let queries = queries.clone();
        Self { inner: Arc::new(Inner { queries, keys, causal, padded: OnceLock::new() }) }
    }

    /// The segments of the queries.
    pub fn queries(&self) -> &Segments {
        &self.inner.queries
    }

    /// What each of them sees.
    pub fn keys(&self) -> &[Vec<Block>] {
        &self.inner.keys
    }

    /// Whether each query sees its segment only up to its own position.
    pub fn is_causal(&self) -> bool {
        self.inner.causal
    }

    /// The share of padding in the rectangles of devices that attend over them.
    pub fn waste(&self) -> f64 {
        waste(&self.sizes())
    }

    pub(super) fn sizes(&self) -> Vec<Size> {
        let keys = |blocks: &[Block]| blocks.iter().map(|block| block.rows.len()).sum();
        let sizes = self.queries().lengths().zip(self.keys());
        sizes.map(|(queries, blocks)| Size { queries, keys: keys(blocks) }).collect()
    }

    pub(super) fn padded(&self, device: &Device) -> &PaddedLayout {
        self.inner.padded.get_or_init(|| PaddedLayout::new(self, device))
    }
}

fn own_rows(segments: &Segments) -> Vec<Vec<Block>> {
    segments.ranges().map(|rows| vec![Block::plain(rows)]).collect()
}
