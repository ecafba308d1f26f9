//! Keys and values of source and memory, arranged once for all steps and hypotheses.

use super::values;
use crate::decoder::Projected;
use crate::ops::Block;
use crate::ops::kernels::softmax::softmax;
use crate::ops::kernels::{LANES, add_weighted, vectorised};

/// What each sentence sees.
#[derive(Debug)]
pub struct FixedRows {
    /// For each sentence its first row; one more at the end.
    offsets: Vec<usize>,
    /// `[heads, rows / 16, head width, 16]` per sentence, the last rows filled up with zeros: a
    /// query meets sixteen keys at once, channel by channel.
    key: Vec<f32>,
    /// For each sentence where its keys begin; one more at the end.
    key_offsets: Vec<usize>,
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
        let mut fixed = Self {
            offsets: vec![0],
            key: Vec::new(),
            key_offsets: vec![0],
            value: Vec::new(),
            heads,
            width,
        };
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
            for head in 0..heads {
                for rows in rows.chunks(LANES) {
                    for channel in head * head_width..(head + 1) * head_width {
                        let missing = std::iter::repeat_n(0.0, LANES - rows.len());
                        let keys = rows.iter().map(|&row| at(&key_rows, shift, row, channel));
                        fixed.key.extend(keys.chain(missing));
                    }
                }
            }
            fixed.key_offsets.push(fixed.key.len());
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
                    let keys = self.key_offsets[sentence]..self.key_offsets[sentence + 1];
                    let keys = self.key[keys].chunks_exact(head_width * padded(count));
                    let values = &self.value[first * self.width..last * self.width];
                    let heads = keys.zip(values.chunks_exact(head_width * count));
                    let heads = heads
                        .zip(query.chunks_exact(head_width).zip(out.chunks_exact_mut(head_width)));
                    for ((keys, values), (query, out)) in heads {
                        weights.resize(padded(count), 0.0);
                        let keys = keys.chunks_exact(head_width * LANES);
                        for (keys, weights) in keys.zip(weights.chunks_exact_mut(LANES)) {
                            let scores = scores(keys.as_chunks::<LANES>().0, query);
                            for (weight, score) in weights.iter_mut().zip(scores) {
                                *weight = score * scale;
                            }
                        }
                        weights.truncate(count);
                        softmax(weights);
                        let rows = values.chunks_exact(head_width).zip(weights.iter().copied());
                        add_weighted(out, rows);
                    }
                }
            },
        );
    }
}

/// The products of a query with [`LANES`] keys, which lie channel by channel.
#[inline(always)]
fn scores(keys: &[[f32; LANES]], query: &[f32]) -> [f32; LANES] {
    // One sum waits for the one before; four at a time do not wait.
    let mut sums = [[0.0; LANES]; 4];
    let (keys, last_keys) = keys.as_chunks::<4>();
    let (query, last_query) = query.as_chunks::<4>();
    for (keys, query) in keys.iter().zip(query) {
        for i in 0..4 {
            for lane in 0..LANES {
                sums[i][lane] += query[i] * keys[i][lane];
            }
        }
    }
    let mut scores = [0.0; LANES];
    for lane in 0..LANES {
        scores[lane] = (sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane]);
    }
    for (keys, query) in last_keys.iter().zip(last_query) {
        for (score, key) in scores.iter_mut().zip(keys) {
            *score += query * key;
        }
    }
    scores
}

/// Rows in whole lanes.
fn padded(rows: usize) -> usize {
    rows.next_multiple_of(LANES)
}
