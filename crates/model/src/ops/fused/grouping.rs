//! The operations of grouping and selecting: normalised scores, and weighted sums.

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use super::{contiguous, from_values, record, register, take, values};
use crate::config::Normaliser;
use crate::ops::Products;
use crate::ops::kernels::normalise::{Lane, backward, forward};
use crate::ops::kernels::weighted_sums::WeightedRows;
use crate::packed::Segments;

/// See [`crate::ops::normalise_rows`] and, with segments, [`crate::ops::normalise_segments`].
pub fn normalise(
    scores: Tensor<2>,
    segments: Option<&Segments>,
    normaliser: Normaliser,
) -> Tensor<2> {
    let shape = scores.dims();
    let (scores, node) = take(scores);
    let over = Over { segments: segments.cloned(), shape, normaliser };
    let run = |keep: bool| {
        let weights = from_values(forward(values(&scores), over.lanes(), normaliser), shape);
        (weights.clone(), keep.then_some((weights, over)))
    };
    record(Normalise, [node], run)
}

/// What to normalise over.
#[derive(Clone, Debug)]
struct Over {
    /// Each of these, or each row.
    segments: Option<Segments>,
    shape: [usize; 2],
    normaliser: Normaliser,
}

impl Over {
    fn lanes(&self) -> Box<dyn Iterator<Item = Lane> + '_> {
        let [rows, columns] = self.shape;
        match &self.segments {
            None => Box::new((0..rows).map(move |row| Lane {
                first: row * columns,
                count: columns,
                stride: 1,
            })),
            Some(segments) => {
                let ranges = segments.ranges().filter(|range| !range.is_empty());
                Box::new(ranges.flat_map(move |range| {
                    (0..columns).map(move |column| Lane {
                        first: range.start * columns + column,
                        count: range.len(),
                        stride: columns,
                    })
                }))
            }
        }
    }
}

#[derive(Debug)]
struct Normalise;

impl Backward<Flex, 1> for Normalise {
    type State = (FlexTensor, Over);

    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let (weights, over) = ops.state;
        let gradient = contiguous(gradients.consume::<Flex>(&ops.node));
        let [to_scores] = ops.parents.map(|parent| parent.map(|node| node.id));
        let (gradient, weights) = (values(&gradient), values(&weights));
        let of_scores = || backward(gradient, weights, over.lanes(), over.normaliser);
        register(gradients, to_scores, of_scores, over.shape);
    }
}

/// See [`crate::ops::weighted_sums`].
pub fn weighted_sums(
    states: Tensor<2>,
    weights: Tensor<2>,
    segments: &Segments,
    products: &Products,
) -> Tensor<2> {
    let shapes = [states.dims(), weights.dims()];
    let ((states, states_node), (weights, weights_node)) = (take(states), take(weights));
    let (sums_of, products) = (segments.clone(), products.clone());
    let state = SumsState { states, weights, segments: sums_of, shapes, products };
    let run = |keep: bool| {
        let shape = [segments.len() * shapes[1][1], shapes[0][1]];
        (from_values(state.sums().forward(), shape), keep.then_some(state))
    };
    record(WeightedSums, [states_node, weights_node], run)
}

#[derive(Debug)]
struct WeightedSums;

#[derive(Clone, Debug)]
struct SumsState {
    states: FlexTensor,
    weights: FlexTensor,
    segments: Segments,
    shapes: [[usize; 2]; 2],
    products: Products,
}

impl SumsState {
    fn sums(&self) -> WeightedRows<'_> {
        WeightedRows {
            states: values(&self.states),
            weights: values(&self.weights),
            segments: &self.segments,
            width: self.shapes[0][1],
            sums: self.shapes[1][1],
            products: &self.products,
        }
    }
}

impl Backward<Flex, 2> for WeightedSums {
    type State = SumsState;

    fn backward(self, ops: Ops<SumsState, 2>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let state = ops.state;
        let gradient = contiguous(gradients.consume::<Flex>(&ops.node));
        let (of_states, of_weights) = state.sums().backward(values(&gradient));
        let [to_states, to_weights] = ops.parents.map(|parent| parent.map(|node| node.id));
        register(gradients, to_states, || of_states, state.shapes[0]);
        register(gradients, to_weights, || of_weights, state.shapes[1]);
    }
}
