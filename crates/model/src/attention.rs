//! Multi-head attention with its four projections.

use burn::module::Module;
use burn::tensor::Tensor;

use crate::config::Activation;
use crate::init::{Init, Values, xavier};
use crate::linear::Linear;
use crate::ops::{self, AttentionInput, AttentionLayout, KeyValue, Products, Weighed};

/// Queries attend to keys and return values.
#[derive(Module, Debug)]
pub struct Attention {
    /// Projects queries.
    pub query: Linear,
    /// Projects keys.
    pub key: Linear,
    /// Projects values.
    pub value: Linear,
    /// Projects the output of the heads.
    pub output: Linear,
    heads: usize,
    #[module(skip)]
    products: Products,
}

/// What packed queries attend to.
#[derive(Clone, Copy, Debug)]
pub struct AttentionKeys<'a> {
    /// Projected keys and values.
    pub keys: &'a KeyValue,
    /// What is added to them for each memory slot.
    pub shifts: Option<&'a KeyValue>,
    /// Which rows each query segment sees.
    pub layout: &'a AttentionLayout,
}

impl Attention {
    pub(crate) fn new(width: usize, heads: usize, init: &mut Init<'_>) -> Self {
        // Query, key and value projections are initialised as one stacked matrix would be.
        let inner = xavier(width, width, 0.5f64.sqrt());
        let bias = Values::Uniform((width as f64).powf(-0.5));
        let products = init.products.clone();
        let mut projection = |weight, bias| init.linear_of([width, width], weight, bias);
        Self {
            query: projection(inner, bias),
            key: projection(inner, bias),
            value: projection(inner, bias),
            output: projection(xavier(width, width, 1.0), Values::Constant(0.0)),
            heads,
            products,
        }
    }

    /// The number of heads.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// Projects attended states to keys and values.
    ///
    /// # Shapes
    /// - states: `[rows, width]`
    pub fn project(&self, states: Tensor<2>) -> KeyValue {
        KeyValue { key: self.key.forward(states.clone()), value: self.value.forward(states) }
    }

    /// [`Self::project`] for states whose projections are known: only the gradient is new.
    pub(crate) fn project_again(&self, known: KeyValue, states: Tensor<2>) -> KeyValue {
        KeyValue {
            key: self.key.forward_again(known.key, states.clone()),
            value: self.value.forward_again(known.value, states),
        }
    }

    /// Projects what is added to states that are already projected.
    ///
    /// Keys and values are linear, so `project(x + e)` is `project(x) + project_shift(e)`: the
    /// entry of a sentence is projected once, whichever slots it will occupy.
    pub fn project_shift(&self, shifts: Tensor<2>) -> KeyValue {
        KeyValue {
            key: self.key.forward_without_bias(shifts.clone()),
            value: self.value.forward_without_bias(shifts),
        }
    }

    /// Attends from packed queries.
    ///
    /// # Shapes
    /// - states and result: `[query rows, width]`
    pub fn forward(&self, states: Tensor<2>, keys: AttentionKeys<'_>) -> Tensor<2> {
        self.output.forward(ops::attention(self.input(states, keys)))
    }

    /// [`Self::forward`], with the attention weights.
    pub fn forward_weighed(&self, states: Tensor<2>, keys: AttentionKeys<'_>) -> Weighed {
        let Weighed { rows, weights } = ops::weighed_attention(self.input(states, keys));
        Weighed { rows: self.output.forward(rows), weights }
    }

    fn input<'a>(&'a self, states: Tensor<2>, keys: AttentionKeys<'a>) -> AttentionInput<'a> {
        AttentionInput {
            query: self.query.forward(states),
            keys: keys.keys,
            shifts: keys.shifts,
            layout: keys.layout,
            heads: self.heads,
            products: &self.products,
        }
    }

    /// The output if there is nothing to attend to: projected zeros.
    ///
    /// # Shapes
    /// - states and result: `[rows, width]`
    pub fn output_of_nothing(&self, states: Tensor<2>) -> Tensor<2> {
        self.output.forward(states.zeros_like())
    }
}

/// Two linear layers with a non-linearity between.
#[derive(Module, Debug)]
pub struct FeedForward {
    /// Width to hidden.
    pub hidden: Linear,
    /// Hidden to outputs.
    pub output: Linear,
    #[module(skip)]
    activation: Activation,
}

impl FeedForward {
    pub(crate) fn new(
        [width, hidden, outputs]: [usize; 3],
        activation: Activation,
        init: &mut Init<'_>,
    ) -> Self {
        let (hidden, output) = (init.linear(width, hidden), init.linear(hidden, outputs));
        Self { hidden, output, activation }
    }

    /// The non-linearity.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// # Shapes
    /// - x: `[rows, width]`
    /// - result: `[rows, outputs]`
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.output.forward(self.hidden.forward_activated(x, self.activation))
    }
}
