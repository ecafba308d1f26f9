//! Attention between packed segments via padded rectangles, one for each range of lengths.

use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Device, Int, Tensor};

use crate::ops::buckets::{Size, in_buckets, rectangle};
use crate::ops::{
    AttentionInput, AttentionLayout, Block, KeyValue, Weighed, indices, read, upload,
};
use crate::packed::Segments;

/// Which rows see which, as index tensors of padded rectangles.
#[derive(Clone, Debug)]
pub struct PaddedLayout {
    buckets: Vec<Bucket>,
    /// For each packed query row its row in the buckets' outputs, one after the other.
    restore: Tensor<1, Int>,
    /// Some segment sees nothing; its rows are read from one more row, which is zero.
    has_blind_segments: bool,
}

/// Segments of similar length, padded to the longest.
#[derive(Clone, Debug)]
struct Bucket {
    /// The number of each segment.
    members: Vec<usize>,
    size: usize,
    query_length: usize,
    key_length: usize,
    /// `[size * query_length]` rows of the queries; padding repeats row 0.
    query_rows: Tensor<1, Int>,
    /// `[size * key_length]` rows of the keys; padding repeats row 0.
    key_rows: Tensor<1, Int>,
    /// `[size * key_length]` rows of the shifts, after a zero row for "no slot".
    shift_rows: Option<Tensor<1, Int>>,
    /// `[size, 1, query_length or 1, key_length]`, true for what is not seen.
    hidden: Option<Tensor<4, Bool>>,
}

impl PaddedLayout {
    pub fn new(layout: &AttentionLayout, device: &Device) -> Self {
        let (queries, keys, causal) = (layout.queries(), layout.keys(), layout.is_causal());
        let sizes = layout.sizes();
        let mut buckets = Vec::new();
        let mut restore = vec![usize::MAX; queries.rows()];
        let mut padded_rows = 0;
        for members in in_buckets(&sizes) {
            let bucket = Bucket::new(&members, queries, keys, &sizes, causal, device);
            for (member, &segment) in members.iter().enumerate() {
                for (place, row) in queries.range(segment).enumerate() {
                    restore[row] = padded_rows + member * bucket.query_length + place;
                }
            }
            padded_rows += bucket.size * bucket.query_length;
            buckets.push(bucket);
        }
        let has_blind_segments = restore.contains(&usize::MAX);
        let restore = indices(restore.into_iter().map(|row| row.min(padded_rows)), device);
        Self { buckets, restore, has_blind_segments }
    }
}

impl Bucket {
    fn new(
        members: &[usize],
        queries: &Segments,
        keys: &[Vec<Block>],
        sizes: &[Size],
        causal: bool,
        device: &Device,
    ) -> Self {
        let size = members.len();
        let Size { queries: query_length, keys: key_length } = rectangle(members, sizes);
        let mut query_rows = Vec::with_capacity(size * query_length);
        let mut key_rows = Vec::with_capacity(size * key_length);
        let mut shift_rows = Vec::with_capacity(size * key_length);
        for &segment in members {
            query_rows.extend(queries.range(segment));
            query_rows.resize(query_rows.len().next_multiple_of(query_length), 0);
            for block in &keys[segment] {
                key_rows.extend(block.rows.clone());
                shift_rows.resize(key_rows.len(), block.slot.map_or(0, |slot| slot + 1));
            }
            key_rows.resize(key_rows.len().next_multiple_of(key_length), 0);
            shift_rows.resize(key_rows.len(), 0);
        }
        let padded = members.iter().any(|&i| sizes[i].keys < key_length);
        let has_slots = members.iter().any(|&i| keys[i].iter().any(|block| block.slot.is_some()));
        let visible: Vec<usize> = members.iter().map(|&i| sizes[i].keys).collect();
        let hidden = (causal || padded).then(|| {
            let rows = if causal { query_length } else { 1 };
            hidden_keys(&visible, rows, key_length, causal, device)
        });
        Self {
            members: members.to_vec(),
            size,
            query_length,
            key_length,
            query_rows: indices(query_rows, device),
            key_rows: indices(key_rows, device),
            shift_rows: has_slots.then(|| indices(shift_rows, device)),
            hidden,
        }
    }
}

/// True where a key is beyond the segment's own, or later than the query.
fn hidden_keys(
    visible: &[usize],
    query_rows: usize,
    key_length: usize,
    causal: bool,
    device: &Device,
) -> Tensor<4, Bool> {
    let hidden: Vec<bool> = visible
        .iter()
        .flat_map(|&visible| {
            (0..query_rows).flat_map(move |query| {
                (0..key_length).map(move |key| key >= visible || (causal && key > query))
            })
        })
        .collect();
    let shape = [visible.len(), 1, query_rows, key_length];
    upload(hidden, shape, device)
}

/// See [`crate::ops::attention`].
pub fn attention(input: AttentionInput<'_>) -> Tensor<2> {
    over_buckets(input, |_, _| ())
}

/// See [`crate::ops::weighed_attention`].
pub fn weighed_attention(input: AttentionInput<'_>) -> Weighed {
    let layout = input.layout.clone();
    let seen = |segment: usize| layout.keys()[segment].iter().map(|block| block.rows.len()).sum();
    let mut weights: Vec<Vec<Vec<f32>>> =
        layout.queries().lengths().map(|queries| vec![Vec::new(); queries]).collect();
    let rows = over_buckets(input, |bucket, of_bucket| {
        let mean: Vec<f32> = read(of_bucket.mean_dim(1)).unwrap_or_else(|error| panic!("{error}"));
        let segments = mean.chunks_exact(bucket.query_length * bucket.key_length);
        for (&segment, mean) in bucket.members.iter().zip(segments) {
            let rows = mean.chunks_exact(bucket.key_length);
            for (weights, row) in weights[segment].iter_mut().zip(rows) {
                *weights = row[..seen(segment)].to_vec();
            }
        }
    });
    Weighed { rows, weights }
}

/// Attends in each bucket; `watch` gets the weights of each, `[size, heads, queries, keys]`.
fn over_buckets(input: AttentionInput<'_>, mut watch: impl FnMut(&Bucket, Tensor<4>)) -> Tensor<2> {
    let AttentionInput { query, keys, shifts, layout, heads, .. } = input;
    let width = query.dims()[1];
    let head_width = width / heads;
    let device = query.device();
    let layout = layout.padded(&device);
    let shifts = shifts.map(|shifts| KeyValue {
        key: after_zero_row(&shifts.key),
        value: after_zero_row(&shifts.value),
    });

    let mut outputs: Vec<Tensor<2>> = Vec::with_capacity(layout.buckets.len() + 1);
    for bucket in &layout.buckets {
        let split = |rows: Tensor<2>, length: usize| {
            rows.reshape([bucket.size, length, heads, head_width]).swap_dims(1, 2)
        };
        let gather = |rows: &Tensor<2>, shifts: Option<&Tensor<2>>| {
            let gathered = rows.clone().select(0, bucket.key_rows.clone());
            let shifted = match (shifts, &bucket.shift_rows) {
                (Some(shifts), Some(slots)) => gathered + shifts.clone().select(0, slots.clone()),
                _ => gathered,
            };
            split(shifted, bucket.key_length)
        };
        let queries =
            split(query.clone().select(0, bucket.query_rows.clone()), bucket.query_length);
        let keys_of = gather(&keys.key, shifts.as_ref().map(|shifts| &shifts.key));
        let values_of = gather(&keys.value, shifts.as_ref().map(|shifts| &shifts.value));
        let (attended, weights) =
            attend(queries, keys_of.transpose(), values_of, bucket.hidden.as_ref());
        watch(bucket, weights);
        outputs.push(attended.swap_dims(1, 2).reshape([bucket.size * bucket.query_length, width]));
    }
    if layout.has_blind_segments || outputs.is_empty() {
        outputs.push(Tensor::zeros([1, width], &device));
    }
    Tensor::cat(outputs, 0).select(0, layout.restore.clone())
}

/// Scaled dot-product attention of rectangles: the output, and the weights.
///
/// # Shapes
/// - query: `[size, heads, queries, head width]`, key: `[size, heads, head width, keys]`,
///   value: `[size, heads, keys, head width]`
/// - hidden: `[size, 1, queries or 1, keys]`, true for what is not seen
/// - result: as query, and `[size, heads, queries, keys]`
pub fn attend(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    hidden: Option<&Tensor<4, Bool>>,
) -> (Tensor<4>, Tensor<4>) {
    let scale = (query.dims()[3] as f64).powf(-0.5);
    let mut scores = (query * scale).matmul(key);
    if let Some(hidden) = hidden {
        // A finite value: a sentence without keys then averages zeros instead of giving NaN.
        let hidden = hidden.clone().expand(scores.shape());
        scores = scores.mask_fill(hidden, -1e9);
    }
    let weights = softmax(scores, 3);
    (weights.clone().matmul(value), weights)
}

/// The rows, after one more that is zero.
fn after_zero_row(rows: &Tensor<2>) -> Tensor<2> {
    let zero = Tensor::zeros([1, rows.dims()[1]], &rows.device());
    Tensor::cat(vec![zero, rows.clone()], 0)
}
