//! The post-norm Transformer encoder over packed sentences.

use burn::module::Module;
use burn::tensor::Tensor;

use crate::ModelConfig;
use crate::attention::{Attention, FeedForward, Looked};
use crate::dropout::Dropout;
use crate::init::Init;
use crate::linear::ResidualNorm;
use crate::ops::AttentionLayout;
use crate::packed::Segments;

/// A stack of encoder layers. Sentences of a batch do not see each other.
#[derive(Module, Debug)]
pub struct Encoder {
    /// From the embedding upwards.
    pub layers: Vec<EncoderLayer>,
}

/// Self-attention, then feed-forward.
#[derive(Module, Debug)]
pub struct EncoderLayer {
    /// Tokens of a sentence look at each other.
    pub self_attention: Attention,
    /// After the self-attention.
    pub self_attention_norm: ResidualNorm,
    /// Each token for itself.
    pub feed_forward: FeedForward,
    /// After the feed-forward.
    pub feed_forward_norm: ResidualNorm,
}

impl Encoder {
    pub(crate) fn new(config: &ModelConfig, init: &mut Init<'_>) -> Self {
        let mut layer = || EncoderLayer {
            self_attention: Attention::new(config.width, config.heads, init),
            self_attention_norm: ResidualNorm::new(config.width, init),
            feed_forward: FeedForward::new(config.width, config.feed_forward, config.width, init),
            feed_forward_norm: ResidualNorm::new(config.width, init),
        };
        Self { layers: (0..config.encoder_layers).map(|_| layer()).collect() }
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
        self.layers.iter().fold(embedded, |x, layer| layer.forward(x, &layout, dropout))
    }
}

impl EncoderLayer {
    fn forward(&self, x: Tensor<2>, layout: &AttentionLayout, dropout: &mut Dropout) -> Tensor<2> {
        let keys = self.self_attention.project(x.clone());
        let looked = Looked { keys: &keys, shifts: None, layout };
        let update = self.self_attention.forward(x.clone(), looked);
        let x = self.self_attention_norm.forward(x, update, dropout.next_mask());
        let update = self.feed_forward.forward(x.clone());
        self.feed_forward_norm.forward(x, update, dropout.next_mask())
    }
}
