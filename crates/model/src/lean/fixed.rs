//! Keys and values of source and memory, arranged once for all steps and hypotheses.

use std::ops::Range;

use abridge_machine::{AHEAD, prefetch};
use burn::tensor::Tensor;

use super::values;
use crate::decoder::Projected;
use crate::ops::kernels::softmax::softmax_in_lanes;
use crate::ops::kernels::{LANES, add_weighted, vectorised};
use crate::ops::{Block, KeyValue};

/// The keys and values that each sentence attends to.
#[derive(Debug)]
pub struct FixedRows {
    /// For each sentence its first row; one more at the end.
    offsets: Vec<usize>,
    /// `[heads, rows / 16, head width, 16]` per sentence, the last rows padded with the last key: a
    /// query is multiplied with sixteen keys at once, channel by channel.
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
        projected: Projected,
        seen: impl Iterator<Item = &'a [Block]>,
        width: usize,
        heads: usize,
    ) -> Self {
        let (KeyValue { key, value }, shifts) = (projected.keys, projected.shifts);
        let (of_keys, of_values) = shifts.map(|shifts| (shifts.key, shifts.value)).unzip();
        let keys = ShiftedRows::new(width, key, of_keys);
        let values = ShiftedRows::new(width, value, of_values);
        let head_width = width / heads;
        // The row and the slot of each key.
        let rows = |blocks: &[Block]| -> Vec<(usize, Option<usize>)> {
            blocks
                .iter()
                .flat_map(|block| block.rows.clone().map(|row| (row, block.slot)))
                .collect()
        };
        let seen: Vec<_> = seen.map(rows).collect();
        let mut fixed = Self {
            offsets: vec![0],
            key: Vec::with_capacity(seen.iter().map(|rows| padded(rows.len()) * width).sum()),
            key_offsets: vec![0],
            value: Vec::with_capacity(seen.iter().map(|rows| rows.len() * width).sum()),
            heads,
            width,
        };
        let mut one = Vec::new();
        for rows in seen {
            let heads = (0..width).step_by(head_width);
            for channels in heads.map(|first| first..first + head_width) {
                for rows in rows.chunks(LANES) {
                    let first = fixed.key.len();
                    fixed.key.resize(first + head_width * LANES, 0.0);
                    let places = fixed.key[first..].as_chunks_mut::<LANES>().0;
                    let missing = rows.last().into_iter().cycle();
                    for (lane, &row) in (0..LANES).zip(rows.iter().chain(missing)) {
                        one.clear();
                        keys.append(row, &channels, &mut one);
                        for (place, key) in places.iter_mut().zip(&one) {
                            place[lane] = *key;
                        }
                    }
                }
                for &row in &rows {
                    values.append(row, &channels, &mut fixed.value);
                }
            }
            fixed.key_offsets.push(fixed.key.len());
            fixed.offsets.push(fixed.offsets[fixed.offsets.len() - 1] + rows.len());
        }
        fixed
    }

    /// Attends from each query row to the rows of its sentence; zeros if there are none.
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
        out.clear();
        out.resize(query.len(), 0.0);
        vectorised(
            #[inline(always)]
            || {
                let (mut query, mut out) = (query, &mut out[..]);
                for hypotheses in sentence_of.chunk_by(|a, b| a == b) {
                    let values = hypotheses.len() * self.width;
                    let (own, others) = query.split_at(values);
                    let (place, places) = out.split_at_mut(values);
                    (query, out) = (others, places);
                    self.attend_to(hypotheses[0], own, place, weights);
                }
            },
        );
    }

    /// All hypotheses of a sentence.
    #[inline(always)]
    fn attend_to(&self, sentence: usize, query: &[f32], out: &mut [f32], weights: &mut Vec<f32>) {
        let head_width = self.width / self.heads;
        let scale = (head_width as f32).powf(-0.5);
        let (first, last) = (self.offsets[sentence], self.offsets[sentence + 1]);
        let count = last - first;
        if count == 0 {
            return;
        }
        let keys = &self.key[self.key_offsets[sentence]..self.key_offsets[sentence + 1]];
        let values = &self.value[first * self.width..last * self.width];
        weights.resize(padded(count), 0.0);
        let weights = weights.as_chunks_mut::<LANES>().0;
        // One head at a time: its keys and values stay in the nearest cache for all hypotheses.
        let heads = keys.chunks_exact(head_width * padded(count));
        let heads = heads.zip(values.chunks_exact(head_width * count));
        for (head, (keys, values)) in heads.enumerate() {
            let channels = head * head_width..(head + 1) * head_width;
            let rows = query.chunks_exact(self.width).zip(out.chunks_exact_mut(self.width));
            for (number, (query, out)) in rows.enumerate() {
                // Prefetches what comes next: keys with the first hypothesis, values with the
                // second.
                let next = [keys, values].get(number).copied();
                let query = &query[channels.clone()];
                let keys = keys.as_chunks::<LANES>().0.chunks_exact(head_width).zip(0..);
                for ((keys, chunk), weights) in keys.zip(&mut *weights) {
                    let place = AHEAD / size_of::<f32>() + chunk * head_width * LANES;
                    *weights = match next {
                        Some(next) => scores(
                            keys,
                            query,
                            #[inline(always)]
                            |channel| prefetch(next, place + channel * LANES),
                        ),
                        None => scores(
                            keys,
                            query,
                            #[inline(always)]
                            |_| (),
                        ),
                    };
                    for weight in weights {
                        *weight *= scale;
                    }
                }
                softmax_in_lanes(weights, count);
                let weights = weights.as_flattened().iter().copied();
                let rows = values.chunks_exact(head_width).zip(weights);
                add_weighted(&mut out[channels.clone()], rows);
            }
        }
    }
}

/// Rows of keys or of values, and what is added to those of a slot.
struct ShiftedRows {
    width: usize,
    rows: Vec<f32>,
    shifts: Vec<f32>,
}

impl ShiftedRows {
    fn new(width: usize, rows: Tensor<2>, shifts: Option<Tensor<2>>) -> Self {
        Self { width, rows: values(rows), shifts: shifts.map_or_else(Vec::new, values) }
    }

    /// Appends some channels of a row, which may be in a slot.
    fn append(
        &self,
        (row, slot): (usize, Option<usize>),
        channels: &Range<usize>,
        to: &mut Vec<f32>,
    ) {
        let first = to.len();
        to.extend_from_slice(&self.rows[row * self.width..][channels.clone()]);
        if let Some(slot) = slot.filter(|_| !self.shifts.is_empty()) {
            let shift = &self.shifts[slot * self.width..][channels.clone()];
            for (value, shift) in to[first..].iter_mut().zip(shift) {
                *value += shift;
            }
        }
    }
}

/// The products of a query with [`LANES`] keys, stored channel by channel; `meanwhile` gets each
/// channel's number.
#[inline(always)]
fn scores(keys: &[[f32; LANES]], query: &[f32], meanwhile: impl Fn(usize)) -> [f32; LANES] {
    // Four independent sums, so that additions need not wait for each other.
    let mut sums = [[0.0; LANES]; 4];
    let (keys, last_keys) = keys.as_chunks::<4>();
    let (query, last_query) = query.as_chunks::<4>();
    for ((keys, query), channel) in keys.iter().zip(query).zip((0..).step_by(4)) {
        for i in 0..4 {
            meanwhile(channel + i);
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

/// The number of rows, rounded up to whole lanes.
fn padded(rows: usize) -> usize {
    rows.next_multiple_of(LANES)
}
