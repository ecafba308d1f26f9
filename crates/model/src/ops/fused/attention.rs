//! Attention over packed segments.

use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::tensor::Tensor;
use burn_flex::FlexTensor;

use super::{Node, contiguous, from_values, record, register, take, values};
use crate::ops::kernels::attention::{Attention, AttentionGradients, Keys};
use crate::ops::{AttentionInput, AttentionLayout, KeyValue, Products, Weighed};

/// See [`crate::ops::attention`].
pub fn attention(input: AttentionInput<'_>) -> Tensor<2> {
    attend(input, None)
}

/// See [`crate::ops::weighed_attention`].
pub fn weighed_attention(input: AttentionInput<'_>) -> Weighed {
    let mut weights = Vec::new();
    let rows = attend(input, Some(&mut weights));
    Weighed { rows, weights }
}

fn attend(input: AttentionInput<'_>, watched: Option<&mut Vec<Vec<Vec<f32>>>>) -> Tensor<2> {
    let AttentionInput { query, keys, shifts, layout, heads, products } = input;
    let shape = query.dims();
    let (query, query_node) = take(query);
    let ((key, key_node), (value, value_node)) = both(keys);
    let operands = |shifts| Operands {
        query,
        keys: [key, value],
        shifts,
        layout: layout.clone(),
        width: shape[1],
        heads,
        products: products.clone(),
    };
    let run = |operands: Operands| {
        move |keep: bool| {
            let (out, weights) = operands.attention().forward(keep || watched.is_some());
            if let Some(watched) = watched {
                *watched = operands.attention().mean_over_heads(&weights);
            }
            let state = keep.then(|| State { operands, weights: Arc::new(weights) });
            (from_values(out, shape), state)
        }
    };
    let nodes = [query_node, key_node, value_node];
    match shifts {
        None => record(Plain, nodes, run(operands(None))),
        Some(shifts) => {
            let ((shift_key, key_node), (shift_value, value_node)) = both(shifts);
            let [query, key, value] = nodes;
            let nodes = [query, key, value, key_node, value_node];
            let shifts = Some([shift_key, shift_value]);
            record(Shifted, nodes, run(operands(shifts)))
        }
    }
}

fn both(keys: &KeyValue) -> ((FlexTensor, Node), (FlexTensor, Node)) {
    (take(keys.key.clone()), take(keys.value.clone()))
}

/// All inputs.
#[derive(Clone, Debug)]
struct Operands {
    query: FlexTensor,
    keys: [FlexTensor; 2],
    shifts: Option<[FlexTensor; 2]>,
    layout: AttentionLayout,
    width: usize,
    heads: usize,
    products: Products,
}

impl Operands {
    fn attention(&self) -> Attention<'_> {
        fn keys([key, value]: &[FlexTensor; 2]) -> Keys<'_> {
            Keys { key: values(key), value: values(value) }
        }
        Attention {
            query: values(&self.query),
            keys: keys(&self.keys),
            shifts: self.shifts.as_ref().map(keys),
            layout: &self.layout,
            width: self.width,
            heads: self.heads,
            products: &self.products,
        }
    }
}

#[derive(Clone, Debug)]
struct State {
    operands: Operands,
    weights: Arc<Vec<f32>>,
}

impl State {
    fn gradients(&self, gradient: FlexTensor, of_keys: bool) -> AttentionGradients {
        let attention = self.operands.attention();
        attention.backward(values(&contiguous(gradient)), &self.weights, of_keys)
    }
}

/// Without slots.
#[derive(Debug)]
struct Plain;

impl Backward<Flex, 3> for Plain {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let width = ops.state.operands.width;
        let of_keys = ops.parents[1..].iter().any(Option::is_some);
        let of = ops.state.gradients(gradients.consume::<Flex>(&ops.node), of_keys);
        let [key, value] = of.keys;
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        for (parent, values) in parents.into_iter().zip([of.query, key, value]) {
            let rows = values.len() / width;
            register(gradients, parent, || values, [rows, width]);
        }
    }
}

/// With shifts of keys and values by slot.
#[derive(Debug)]
struct Shifted;

impl Backward<Flex, 5> for Shifted {
    type State = State;

    fn backward(self, ops: Ops<State, 5>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let width = ops.state.operands.width;
        let of_keys = ops.parents[1..].iter().any(Option::is_some);
        let of = ops.state.gradients(gradients.consume::<Flex>(&ops.node), of_keys);
        let ([key, value], [shift_key, shift_value]) = (of.keys, of.shifts);
        let all = [of.query, key, value, shift_key, shift_value];
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        for (parent, values) in parents.into_iter().zip(all) {
            let rows = values.len() / width;
            register(gradients, parent, || values, [rows, width]);
        }
    }
}
