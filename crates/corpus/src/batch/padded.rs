//! A padded view, for devices that cannot work on packed tokens: sentences sorted by length and
//! grouped so that little of each group is padding.

use std::cmp::Reverse;

use super::Packed;
use crate::tokenizer::special::PAD;

/// Sentences of similar length as the rows of a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaddedGroup {
    /// For each row, the index of its sentence in the packed list.
    pub rows: Vec<usize>,
    /// The number of tokens in each row before the padding.
    pub lengths: Vec<usize>,
    /// Tokens per row, padding included.
    pub width: usize,
    /// The rows one after the other, filled up with `<pad>` at the right.
    pub tokens: Vec<u32>,
}

/// Groups the sentences so that less than `waste` (between 0 and 1) of every group is padding.
///
/// Sentences are sorted by length, the longest first; each sentence is in exactly one group.
pub fn padded_groups(packed: &Packed, waste: f64) -> Vec<PaddedGroup> {
    let length = |row: usize| packed.sentence(row).len();
    let mut order: Vec<usize> = (0..packed.len()).collect();
    order.sort_by_key(|&row| Reverse(length(row)));
    let mut groups = Vec::new();
    let mut start = 0;
    while start < order.len() {
        let width = length(order[start]);
        let mut tokens = width;
        let mut end = start + 1;
        while end < order.len() {
            let (filled, area) = (tokens + length(order[end]), width * (end + 1 - start));
            if (area - filled) as f64 >= waste * area as f64 && area > filled {
                break;
            }
            tokens = filled;
            end += 1;
        }
        groups.push(group(packed, &order[start..end], width));
        start = end;
    }
    groups
}

fn group(packed: &Packed, rows: &[usize], width: usize) -> PaddedGroup {
    let mut tokens = Vec::with_capacity(rows.len() * width);
    for (index, &row) in rows.iter().enumerate() {
        tokens.extend_from_slice(packed.sentence(row));
        tokens.resize((index + 1) * width, PAD);
    }
    PaddedGroup {
        rows: rows.to_vec(),
        lengths: rows.iter().map(|&row| packed.sentence(row).len()).collect(),
        width,
        tokens,
    }
}
