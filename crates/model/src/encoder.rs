//! The Transformer encoder over packed sentences.

use burn::module::Module;
use burn::tensor::Tensor;

use crate::ModelConfig;
use crate::attention::{Attention, AttentionKeys, FeedForward};
use crate::config::NormPosition;
use crate::dropout::Dropout;
use crate::init::Init;
use crate::linear::ResidualNorm;
use crate::ops::AttentionLayout;
use crate::packed::Segments;
use crate::sublayers::{OnTensors, Order, Sublayer, TensorLayer};

/// A stack of encoder layers. Sentences of a batch do not see each other.
#[derive(Module, Debug)]
pub struct Encoder {
    /// From the embedding upwards.
    pub layers: Vec<EncoderLayer>,
    /// After the last layer, if layers normalise before their sublayers.
    pub norm: Option<ResidualNorm>,
    #[module(skip)]
    order: Order,
}

/// Self-attention, then feed-forward.
#[derive(Module, Debug)]
pub struct EncoderLayer {
    /// Tokens of a sentence attend to each other.
    pub self_attention: Attention,
    /// Of the self-attention.
    pub self_attention_norm: ResidualNorm,
    /// Applied to each token separately.
    pub feed_forward: FeedForward,
    /// Of the feed-forward.
    pub feed_forward_norm: ResidualNorm,
}

impl Encoder {
    pub(crate) fn new(config: &ModelConfig, init: &mut Init<'_>) -> Self {
        let (width, epsilon) = (config.width, config.norm_epsilon);
        let mut layer = || EncoderLayer {
            self_attention: Attention::new(width, config.heads, init),
            self_attention_norm: ResidualNorm::new(width, epsilon, init),
            feed_forward: FeedForward::new(
                [width, config.feed_forward, width],
                config.activation,
                init,
            ),
            feed_forward_norm: ResidualNorm::new(width, epsilon, init),
        };
        Self {
            layers: (0..config.encoder_layers).map(|_| layer()).collect(),
            norm: (config.norm == NormPosition::Before)
                .then(|| ResidualNorm::new(width, epsilon, init)),
            order: Order::of_encoder(config),
        }
    }

    /// # Shapes
    /// - embedded and result: `[tokens, width]`
    pub fn forward(
        &self,
        embedded: Tensor<2>,
        segments: &Segments,
        dropout: &mut Dropout,
    ) -> Tensor<2> {
        let layout = AttentionLayout::within(segments);
        let x = self.layers.iter().fold(embedded, |x, layer| {
            let layer = AllTokens { layer, layout: &layout };
            self.order.encode(&mut OnTensors { layer, dropout }, x)
        });
        match &self.norm {
            Some(norm) => norm.forward_alone(x),
            None => x,
        }
    }
}

/// One layer over all tokens.
struct AllTokens<'a> {
    layer: &'a EncoderLayer,
    layout: &'a AttentionLayout,
}

impl TensorLayer for AllTokens<'_> {
    fn update(&mut self, sublayer: Sublayer, x: Tensor<2>) -> Tensor<2> {
        if sublayer == Sublayer::FeedForward {
            return self.layer.feed_forward.forward(x);
        }
        let attention = &self.layer.self_attention;
        let keys = attention.project(x.clone());
        attention.forward(x, AttentionKeys { keys: &keys, shifts: None, layout: self.layout })
    }

    fn norm(&self, sublayer: Sublayer) -> &ResidualNorm {
        match sublayer {
            Sublayer::FeedForward => &self.layer.feed_forward_norm,
            _ => &self.layer.self_attention_norm,
        }
    }
}
