//! What the decoder looks at besides the source, projected once however far the gradient goes.

use burn::tensor::Tensor;

use crate::attention::Attention;
use crate::ops::{KeyValue, indices};

/// Rows of the context, before they are projected.
///
/// In training an entry may stand in slots whose gradient goes different ways: all the way into
/// the encoder, into the shortener, or nowhere. Such an entry has rows of several kinds with
/// equal values; each value is projected once all the same, and only the gradients part.
#[derive(Clone, Debug)]
pub struct ContextRows {
    kinds: Vec<Kind>,
    /// Each distinct value once, without gradient; needed only if there are several kinds.
    distinct: Option<Tensor<2>>,
}

/// Rows from which the gradient goes the same way.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// `[rows, width]`
    pub rows: Tensor<2>,
    /// For each row its row among the distinct values.
    pub values: Vec<usize>,
    /// Whether a gradient goes back from here at all.
    pub is_open: bool,
}

impl ContextRows {
    /// Rows of one kind.
    pub(crate) fn new(rows: Tensor<2>) -> Self {
        let kind = Kind { rows, values: Vec::new(), is_open: true };
        Self { kinds: vec![kind], distinct: None }
    }

    /// Rows of several kinds, one kind after the other.
    pub(crate) fn of_kinds(kinds: Vec<Kind>, distinct: Tensor<2>) -> Self {
        Self { kinds, distinct: Some(distinct) }
    }

    /// All rows, `[rows, width]`: what a segment's blocks count.
    pub fn rows(&self) -> Tensor<2> {
        Tensor::cat(self.kinds.iter().map(|kind| kind.rows.clone()).collect(), 0)
    }

    /// Keys and values of all rows for one attention.
    pub(crate) fn project(&self, attention: &Attention) -> KeyValue {
        let Some(distinct) = &self.distinct else { return attention.project(self.rows()) };
        let known = attention.project(distinct.clone());
        let kinds = self.kinds.iter().map(|kind| {
            let pick = |rows: &Tensor<2>| {
                if kind.values.iter().copied().eq(0..rows.dims()[0]) {
                    return rows.clone();
                }
                let values = indices(kind.values.iter().copied(), &rows.device());
                rows.clone().select(0, values)
            };
            let known = KeyValue { key: pick(&known.key), value: pick(&known.value) };
            if kind.is_open { attention.project_again(known, kind.rows.clone()) } else { known }
        });
        kinds.reduce(KeyValue::followed_by).expect("there are several kinds")
    }
}
