//! The context rows that the decoder attends to, projected once however far the gradient goes.

use burn::tensor::Tensor;

use crate::attention::Attention;
use crate::ops::{KeyValue, indices};

/// Rows of the context, before they are projected.
///
/// In training an entry may occupy slots whose gradients reach differently far: into the encoder,
/// into the shortener, or nowhere. Such an entry has rows of several kinds with equal values; each
/// value is still projected only once, and only the gradients differ.
#[derive(Clone, Debug)]
pub struct ContextRows {
    kinds: Vec<Kind>,
    /// Each distinct value once, without gradient; needed only if there are several kinds.
    distinct: Option<Tensor<2>>,
}

/// Rows whose gradient reaches equally far.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// `[rows, width]`
    pub rows: Tensor<2>,
    /// For each row its row among the distinct values.
    pub values: Vec<usize>,
    /// Whether these rows have a gradient at all.
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

    /// All rows, `[rows, width]`, as the blocks of a segment count them.
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
