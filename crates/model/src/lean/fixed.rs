//! Keys and values of source and memory, arranged once for all steps and hypotheses.

use super::values;
use crate::decoder::Projected;
use crate::ops::Block;
use crate::ops::kernels::softmax::softmax;
use crate::ops::kernels::vectorised;

/// What each sentence sees.
#[derive(Debug)]
pub struct FixedRows {
    /// For each sentence its first row; one more at the end.
    offsets: Vec<usize>,
    /// `[heads, head width, rows]` per sentence: queries meet all keys of a channel at once.
    key: Vec<f32>,
    /// `[heads, rows, head width]` per sentence.
    value: Vec<f32>,
    heads: usize,
    width: usize,
}

impl FixedRows {
    pub fn new<'a>(
        projected: &Projected,
        seen: impl Iterator<Item = &'a [Block]>,
        width: usize,
        heads: usize,
    ) -> Self {
        let (key_rows, value_rows) =
            (values(projected.keys.key.clone()), values(projected.keys.value.clone()));
        let shifts = projected
            .shifts
            .as_ref()
            .map(|shifts| (values(shifts.key.clone()), values(shifts.value.clone())));
        let head_width = width / heads;
        let mut fixed = Self { offsets: vec![0], key: Vec::new(), value: Vec::new(), heads, width };
        for blocks in seen {
            // The row and the slot of each key.
            let rows: Vec<(usize, Option<usize>)> = blocks
                .iter()
                .flat_map(|block| block.rows.clone().map(|row| (row, block.slot)))
                .collect();
            let at =
                |all: &[f32], shift: Option<&Vec<f32>>, row: (usize, Option<usize>), i: usize| {
                    let shift =
                        row.1.zip(shift).map_or(0.0, |(slot, shift)| shift[slot * width + i]);
                    all[row.0 * width + i] + shift
                };
            let shift = shifts.as_ref().map(|(key, _)| key);
            for channel in 0..width {
                fixed.key.extend(rows.iter().map(|&row| at(&key_rows, shift, row, channel)));
            }
            let shift = shifts.as_ref().map(|(_, value)| value);
            for head in 0..heads {
                for &row in &rows {
                    let channels = head * head_width..(head + 1) * head_width;
                    fixed.value.extend(channels.map(|i| at(&value_rows, shift, row, i)));
                }
            }
            fixed.offsets.push(fixed.offsets[fixed.offsets.len() - 1] + rows.len());
        }
        fixed
    }

    /// Attends from each query row to the rows of its sentence; zeros where there are none.
    ///
    /// # Shapes
    /// - query and out: `[hypotheses, width]`
    pub fn attend(
        &self,
        query: &[f32],
        sentence_of: &[usize],
        out: &mut Vec<f32>,
        weights: &mut Vec<f32>,
    ) {
        let head_width = self.width / self.heads;
        let scale = (head_width as f32).powf(-0.5);
        out.clear();
        out.resize(query.len(), 0.0);
        vectorised(
            #[inline(always)]
            || {
                let rows = query.chunks_exact(self.width).zip(out.chunks_exact_mut(self.width));
                for ((query, out), &sentence) in rows.zip(sentence_of) {
                    let (first, last) = (self.offsets[sentence], self.offsets[sentence + 1]);
                    let count = last - first;
                    if count == 0 {
                        continue;
                    }
                    let range = first * self.width..last * self.width;
                    let keys = self.key[range.clone()].chunks_exact(head_width * count);
                    let heads = keys.zip(self.value[range].chunks_exact(head_width * count));
                    let heads = heads
                        .zip(query.chunks_exact(head_width).zip(out.chunks_exact_mut(head_width)));
                    for ((keys, values), (query, out)) in heads {
                        weights.clear();
                        weights.resize(count, 0.0);
                        for (keys, query) in keys.chunks_exact(count).zip(query) {
                            let query = query * scale;
                            for (weight, key) in weights.iter_mut().zip(keys) {
                                *weight += query * key;
                            }
                        }
                        softmax(weights);
                        for (values, weight) in values.chunks_exact(head_width).zip(&*weights) {
                            for (out, value) in out.iter_mut().zip(values) {
                                *out += weight * value;
                            }
                        }
                    }
                }
            },
        );
    }
}
