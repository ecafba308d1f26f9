//! What the words of a decoder layer see, on tensors: each other, the source and the context.

use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;

use super::{DecoderLayer, LayerSources};
use crate::attention::{Attention, AttentionKeys};
use crate::linear::ResidualNorm;
use crate::ops::{self, AttentionLayout};
use crate::recurrence::Ssru;
use crate::sublayers::{Sublayer, TensorLayer};

/// How the words of one layer attend to each other, the source and the context: all words at once,
/// or step by step.
pub(crate) trait Words {
    /// The attention of each word to the words before it.
    fn own(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2>;
    /// The output of a recurrent unit for each word and those before it.
    fn recur(&mut self, unit: &Ssru, x: Tensor<2>) -> Tensor<2>;
    /// The attention of each word to the source.
    fn source(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2>;
    /// The attention of each word to the context.
    fn context(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2>;
}

/// The attention weights of one layer: for each translation and word a row of weights.
#[derive(Debug, Default)]
pub(crate) struct LayerWeights {
    pub source: Vec<Vec<Vec<f32>>>,
    pub context: Vec<Vec<Vec<f32>>>,
}

/// A layer, and how its words attend.
pub(super) struct LayerOf<'a, W> {
    pub layer: &'a DecoderLayer,
    pub words: W,
}

impl<W: Words> TensorLayer for LayerOf<'_, W> {
    fn update(&mut self, sublayer: Sublayer, x: Tensor<2>) -> Tensor<2> {
        let layer = self.layer;
        match sublayer {
            Sublayer::Own => match (&layer.self_attention, &layer.recurrence) {
                (Some(attention), _) => self.words.own(attention, x),
                (None, Some(unit)) => self.words.recur(unit, x),
                (None, None) => unreachable!("a layer has self-attention or a recurrent unit"),
            },
            Sublayer::Source => self.words.source(&layer.cross_attention, x),
            Sublayer::Context => {
                let context = layer.context.as_ref().expect("the layer has a context attention");
                self.words.context(&context.attention, x)
            }
            Sublayer::FeedForward => layer.feed_forward.forward(x),
        }
    }

    fn norm(&self, sublayer: Sublayer) -> &ResidualNorm {
        self.layer.norm(sublayer)
    }

    /// Equation (5): `sigmoid(w h + b) h`, or `h` where there is no gate.
    fn gate(&self, h: Tensor<2>) -> Tensor<2> {
        match self.layer.context.as_ref().and_then(|context| context.gate.as_ref()) {
            Some(gate) => sigmoid(gate.forward(h.clone())) * h,
            None => h,
        }
    }
}

/// All words of all translations at once.
pub(super) struct AllWords<'a> {
    pub own: &'a AttentionLayout,
    pub source: &'a AttentionLayout,
    pub context: &'a AttentionLayout,
    pub sources: &'a LayerSources,
    /// Recorded on request.
    pub weights: Option<LayerWeights>,
}

impl Words for AllWords<'_> {
    fn own(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        let keys = attention.project(x.clone());
        attention.forward(x, AttentionKeys { keys: &keys, shifts: None, layout: self.own })
    }

    fn recur(&mut self, unit: &Ssru, x: Tensor<2>) -> Tensor<2> {
        unit.forward(x, self.own.queries())
    }

    fn source(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        let keys = self.sources.cross.in_layout(self.source);
        attend(attention, x, keys, self.weights.as_mut().map(|weights| &mut weights.source))
    }

    fn context(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        let Some(context) = &self.sources.context else { return attention.output_of_nothing(x) };
        let keys = context.in_layout(self.context);
        attend(attention, x, keys, self.weights.as_mut().map(|weights| &mut weights.context))
    }
}

fn attend(
    attention: &Attention,
    x: Tensor<2>,
    keys: AttentionKeys<'_>,
    watched: Option<&mut Vec<Vec<Vec<f32>>>>,
) -> Tensor<2> {
    let Some(watched) = watched else { return attention.forward(x, keys) };
    let ops::Weighed { rows, weights } = attention.forward_weighed(x, keys);
    *watched = weights;
    rows
}
