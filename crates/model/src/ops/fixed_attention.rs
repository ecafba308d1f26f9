//! Attention of a few query rows per sentence over keys that stay the same for many steps.
//!
//! While a sentence is translated token by token, its source and its memory do not change, and all
//! hypotheses of its beam share them. Their keys and values are arranged once; a step only brings
//! new queries.

use burn::tensor::{Bool, Device, Tensor};

use super::plain::attend;
use super::{Block, KeyValue, indices, upload};

/// Keys and values of some sentences, arranged for many steps.
#[derive(Clone, Debug)]
pub struct FixedKeys {
    /// `[sentences, heads, head width, keys]`, ready to multiply.
    key: Tensor<4>,
    /// `[sentences, heads, keys, head width]`; zero where a sentence has fewer keys.
    value: Tensor<4>,
    /// `[sentences, 1, 1, keys]`, true where a sentence has fewer keys.
    hidden: Option<Tensor<4, Bool>>,
}

impl FixedKeys {
    /// Arranges the rows that each sentence sees.
    pub fn new(
        keys: &KeyValue,
        shifts: Option<&KeyValue>,
        seen: &[Vec<Block>],
        heads: usize,
        device: &Device,
    ) -> Self {
        let [rows, width] = keys.key.dims();
        let lengths: Vec<usize> =
            seen.iter().map(|blocks| blocks.iter().map(|block| block.rows.len()).sum()).collect();
        // At least one (hidden) key, so that a sentence that sees nothing gets zeros.
        let longest = lengths.iter().copied().max().unwrap_or(0).max(1);
        let mut key_rows = Vec::with_capacity(seen.len() * longest);
        let mut shift_rows = Vec::with_capacity(seen.len() * longest);
        for (sentence, blocks) in seen.iter().enumerate() {
            for block in blocks {
                key_rows.extend(block.rows.clone());
                shift_rows.resize(key_rows.len(), block.slot.map_or(0, |slot| slot + 1));
            }
            key_rows.resize((sentence + 1) * longest, rows);
            shift_rows.resize((sentence + 1) * longest, 0);
        }
        let key_rows = indices(key_rows, device);
        let shift_rows = indices(shift_rows, device);
        let arrange = |rows: &Tensor<2>, shifts: Option<&Tensor<2>>| {
            let zero = || Tensor::zeros([1, width], device);
            let mut chosen = Tensor::cat(vec![rows.clone(), zero()], 0).select(0, key_rows.clone());
            if let Some(shifts) = shifts {
                let shifts = Tensor::cat(vec![zero(), shifts.clone()], 0);
                chosen = chosen + shifts.select(0, shift_rows.clone());
            }
            chosen.reshape([seen.len(), longest, heads, width / heads])
        };
        let key = arrange(&keys.key, shifts.map(|shifts| &shifts.key));
        let value = arrange(&keys.value, shifts.map(|shifts| &shifts.value));
        let hidden = lengths.iter().any(|&length| length < longest).then(|| {
            let hidden: Vec<bool> = lengths
                .iter()
                .flat_map(|&length| (0..longest).map(move |key| key >= length))
                .collect();
            upload(hidden, [seen.len(), 1, 1, longest], device)
        });
        Self { key: key.permute([0, 2, 3, 1]), value: value.swap_dims(1, 2), hidden }
    }

    /// Keeps the given sentences, in the given order.
    #[must_use]
    pub fn select(&self, sentences: &[usize]) -> Self {
        let rows = indices(sentences.iter().copied(), &self.key.device());
        Self {
            key: self.key.clone().select(0, rows.clone()),
            value: self.value.clone().select(0, rows.clone()),
            hidden: self.hidden.clone().map(|hidden| hidden.select(0, rows)),
        }
    }
}

/// Attends from the queries of each sentence to its fixed keys.
///
/// # Shapes
/// - query: `[sentences, queries, width]`
/// - result: `[sentences, queries, width]`
pub fn fixed_attention(query: Tensor<3>, keys: &FixedKeys) -> Tensor<3> {
    let [sentences, queries, width] = query.dims();
    let heads = keys.key.dims()[1];
    let head_width = width / heads;
    let query = query.reshape([sentences, queries, heads, head_width]).swap_dims(1, 2);
    let (attended, _) = attend(query, keys.key.clone(), keys.value.clone(), keys.hidden.as_ref());
    attended.swap_dims(1, 2).reshape([sentences, queries, width])
}
