//! A decoder layer on plain slices: the same order of sublayers as on tensors, with buffers that
//! are reused from step to step.

use super::fixed::FixedRows;
use super::packing::Packing;
use super::{Norm, values};
use crate::attention::Attention;
use crate::config::Activation;
use crate::decoder::DecoderLayer;
use crate::linear::Linear;
use crate::ops::kernels::activation::{self, sigmoid};
use crate::ops::kernels::int8_product::Int8Rows;
use crate::ops::kernels::recurrence::next_cell;
use crate::ops::kernels::softmax::softmax;
use crate::ops::kernels::weight_matrix::WeightMatrix;
use crate::ops::kernels::{add_weighted, sum_of_pairs, vectorised};
use crate::sublayers::{Stage, Sublayer};

/// The weights of a layer, packed.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    own: Own,
    own_norm: Norm,
    cross: FixedAttention,
    cross_norm: Norm,
    context: Option<ContextAttention>,
    hidden: WeightMatrix,
    activation: Activation,
    output: WeightMatrix,
    norm: Norm,
}

/// How a word sees those before it.
#[derive(Clone, Debug)]
enum Own {
    Attention {
        /// Query, key and value side by side.
        projections: WeightMatrix,
        output: WeightMatrix,
    },
    Recurrence {
        /// Candidate and forget gate side by side.
        projections: WeightMatrix,
    },
}

/// An attention over keys and values that are already projected.
#[derive(Clone, Debug)]
struct FixedAttention {
    query: WeightMatrix,
    output: WeightMatrix,
}

#[derive(Clone, Debug)]
struct ContextAttention {
    attention: FixedAttention,
    norm: Option<Norm>,
    /// Weight and bias.
    gate: Option<(Vec<f32>, f32)>,
}

impl Layer {
    pub fn new(layer: &DecoderLayer, packing: &Packing<'_>) -> Self {
        let pack = |layer: &Linear| packing.linear(layer);
        let fixed = |attention: &Attention| FixedAttention {
            query: pack(&attention.query),
            output: pack(&attention.output),
        };
        let own = match (&layer.self_attention, &layer.recurrence) {
            (Some(own), _) => {
                let projections = [&own.query, &own.key, &own.value]
                    .map(|layer| (&layer.weight, Some(&layer.bias)));
                let projections = packing.side_by_side(&projections);
                Own::Attention { projections, output: pack(&own.output) }
            }
            (None, Some(unit)) => {
                let Linear { weight, bias, .. } = &unit.forget;
                let projections = [(&unit.candidate, None), (weight, Some(bias))];
                Own::Recurrence { projections: packing.side_by_side(&projections) }
            }
            (None, None) => unreachable!("a layer has self-attention or a recurrent unit"),
        };
        let context = layer.context.as_ref().map(|context| ContextAttention {
            attention: fixed(&context.attention),
            norm: context.norm.as_ref().map(Norm::new),
            gate: context
                .gate
                .as_ref()
                .map(|gate| (values(gate.weight.val()), values(gate.bias.val())[0])),
        });
        Self {
            own,
            own_norm: Norm::new(&layer.self_attention_norm),
            cross: fixed(&layer.cross_attention),
            cross_norm: Norm::new(&layer.cross_attention_norm),
            context,
            hidden: pack(&layer.feed_forward.hidden),
            activation: layer.feed_forward.activation(),
            output: pack(&layer.feed_forward.output),
            norm: Norm::new(&layer.feed_forward_norm),
        }
    }

    fn norm(&self, sublayer: Sublayer) -> &Norm {
        let of_context = || self.context.as_ref().and_then(|context| context.norm.as_ref());
        match sublayer {
            Sublayer::Own => &self.own_norm,
            Sublayer::Source => &self.cross_norm,
            Sublayer::Context => of_context().expect("the context attention has a norm"),
            Sublayer::FeedForward => &self.norm,
        }
    }
}

/// The caches of a layer.
#[derive(Debug)]
pub(super) struct LayerState {
    pub cross: FixedRows,
    pub context: Option<FixedRows>,
    /// The keys and values of all words written so far, `[rows, 2 * width]`, or the cells of a
    /// recurrent unit, `[rows, width]`.
    pub own: Vec<f32>,
}

/// Buffers that are reused from step to step.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// The left operand of a product, in the precision of the weights.
    pub rows: Int8Rows,
    projected: Vec<f32>,
    attended: Vec<f32>,
    weights: Vec<f32>,
    /// Buffers that are not in use.
    spare: Vec<Vec<f32>>,
}

impl Buffers {
    pub fn take(&mut self) -> Vec<f32> {
        self.spare.pop().unwrap_or_default()
    }

    pub fn give_back(&mut self, rows: Vec<f32>) {
        self.spare.push(rows);
    }
}

/// One more word per hypothesis through one layer.
pub(super) struct OneWord<'a> {
    pub layer: &'a Layer,
    pub state: &'a mut LayerState,
    pub buffers: &'a mut Buffers,
    /// For each hypothesis the rows of its words in the caches of the layers, the new one last.
    pub words: &'a [Vec<u32>],
    /// For each hypothesis its sentence.
    pub sentence_of: &'a [usize],
    pub width: usize,
    pub heads: usize,
}

impl Stage for OneWord<'_> {
    type Rows = Vec<f32>;

    fn update(&mut self, sublayer: Sublayer, x: &Vec<f32>) -> Vec<f32> {
        let mut update = self.buffers.take();
        match sublayer {
            Sublayer::Own => self.own(x, &mut update),
            Sublayer::Source => {
                let (cross, seen) = (&self.layer.cross, &self.state.cross);
                attend_fixed(cross, Some(seen), x, self.sentence_of, self.buffers, &mut update);
            }
            Sublayer::Context => {
                let context =
                    self.layer.context.as_ref().expect("the layer has a context attention");
                let seen = self.state.context.as_ref();
                attend_fixed(
                    &context.attention,
                    seen,
                    x,
                    self.sentence_of,
                    self.buffers,
                    &mut update,
                );
            }
            Sublayer::FeedForward => {
                let Buffers { rows, projected, .. } = &mut *self.buffers;
                self.layer.hidden.multiply(x, rows, projected);
                activation::apply(self.layer.activation, projected);
                self.layer.output.multiply(projected, rows, &mut update);
            }
        }
        update
    }

    fn gate(&mut self, mut rows: Vec<f32>) -> Vec<f32> {
        let gate = self.layer.context.as_ref().and_then(|context| context.gate.as_ref());
        let Some((weight, bias)) = gate else { return rows };
        for row in rows.chunks_exact_mut(self.width) {
            let open = sigmoid(bias + sum_of_pairs(row, weight, |x, w| x * w));
            for value in row {
                *value *= open;
            }
        }
        rows
    }

    fn norm(&mut self, sublayer: Sublayer, x: &Vec<f32>) -> Vec<f32> {
        let mut normed = self.copy(x);
        self.layer.norm(sublayer).apply(&mut normed, &[]);
        normed
    }

    fn add(&mut self, _: Sublayer, x: Vec<f32>, update: Vec<f32>) -> Vec<f32> {
        self.sum(x, update)
    }

    fn add_and_norm(&mut self, sublayer: Sublayer, mut x: Vec<f32>, update: Vec<f32>) -> Vec<f32> {
        self.layer.norm(sublayer).apply(&mut x, &update);
        self.release(update);
        x
    }

    fn sum(&mut self, mut x: Vec<f32>, y: Vec<f32>) -> Vec<f32> {
        for (x, y) in x.iter_mut().zip(&y) {
            *x += y;
        }
        self.release(y);
        x
    }

    fn copy(&mut self, x: &Vec<f32>) -> Vec<f32> {
        let mut copy = self.buffers.take();
        copy.clone_from(x);
        copy
    }

    fn release(&mut self, rows: Vec<f32>) {
        self.buffers.give_back(rows);
    }
}

impl OneWord<'_> {
    /// Self-attention or recurrence of each hypothesis over its own words.
    fn own(&mut self, x: &[f32], update: &mut Vec<f32>) {
        let width = self.width;
        let Buffers { rows, projected, attended, weights, .. } = &mut *self.buffers;
        match &self.layer.own {
            Own::Attention { projections, output } => {
                projections.multiply(x, rows, projected);
                for row in projected.chunks_exact(3 * width) {
                    self.state.own.extend_from_slice(&row[width..]);
                }
                let sizes = [width, self.heads];
                attend_own(projected, &self.state.own, self.words, sizes, attended, weights);
                output.multiply(attended, rows, update);
            }
            Own::Recurrence { projections } => {
                projections.multiply(x, rows, projected);
                recur(projected, &mut self.state.own, self.words, width, update);
            }
        }
    }
}

/// Each hypothesis attends to the rows of its sentence; projected zeros if there are none.
fn attend_fixed(
    attention: &FixedAttention,
    seen: Option<&FixedRows>,
    x: &[f32],
    sentence_of: &[usize],
    buffers: &mut Buffers,
    update: &mut Vec<f32>,
) {
    let Buffers { rows, projected, attended, weights, .. } = buffers;
    if let Some(seen) = seen {
        attention.query.multiply(x, rows, projected);
        seen.attend(projected, sentence_of, attended, weights);
    } else {
        attended.clear();
        attended.resize(x.len(), 0.0);
    }
    attention.output.multiply(attended, rows, update);
}

/// Each hypothesis attends to its own words.
///
/// # Shapes
/// - projected: `[hypotheses, 3 * width]`, of which the queries come first
fn attend_own(
    projected: &[f32],
    own: &[f32],
    words: &[Vec<u32>],
    [width, heads]: [usize; 2],
    attended: &mut Vec<f32>,
    weights: &mut Vec<f32>,
) {
    let head_width = width / heads;
    let scale = (head_width as f32).powf(-0.5);
    attended.clear();
    attended.resize(words.len() * width, 0.0);
    vectorised(
        #[inline(always)]
        || {
            let queries = projected.chunks_exact(3 * width).zip(attended.chunks_exact_mut(width));
            for ((query, out), rows) in queries.zip(words) {
                for head in 0..heads {
                    let channels = head * head_width..(head + 1) * head_width;
                    let query = &query[channels.clone()];
                    weights.resize(rows.len(), 0.0);
                    for (weight, &row) in weights.iter_mut().zip(rows) {
                        let key = &own[row as usize * 2 * width..][channels.clone()];
                        *weight = scale * sum_of_pairs(query, key, |q, k| q * k);
                    }
                    softmax(weights);
                    let values = rows.iter().map(
                        #[inline(always)]
                        |&row| &own[row as usize * 2 * width + width..][channels.clone()],
                    );
                    add_weighted(&mut out[channels.clone()], values.zip(weights.iter().copied()));
                }
            }
        },
    );
}

/// The next cell of each hypothesis, and its positive part.
///
/// # Shapes
/// - projected: `[hypotheses, 2 * width]`: candidates, then forget gates
fn recur(
    projected: &[f32],
    cells: &mut Vec<f32>,
    words: &[Vec<u32>],
    width: usize,
    update: &mut Vec<f32>,
) {
    let first = cells.len();
    cells.resize(first + words.len() * width, 0.0);
    update.resize(words.len() * width, 0.0);
    let (past, now) = cells.split_at_mut(first);
    vectorised(
        #[inline(always)]
        || {
            let now = now.chunks_exact_mut(width).zip(update.chunks_exact_mut(width));
            let rows = projected.chunks_exact(2 * width).zip(words).zip(now);
            for ((projected, words), (now, update)) in rows {
                if let [.., before, _] = words[..] {
                    now.copy_from_slice(&past[before as usize * width..][..width]);
                }
                let (candidate, forget) = projected.split_at(width);
                let channels = now.iter_mut().zip(update).zip(candidate.iter().zip(forget));
                for ((cell, update), (candidate, forget)) in channels {
                    *cell = next_cell(*cell, *candidate, *forget);
                    *update = cell.max(0.0);
                }
            }
        },
    );
}
