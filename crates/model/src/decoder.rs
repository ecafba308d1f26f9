//! The decoder: self-, cross- and context-attention over packed translations.

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;

use crate::ModelConfig;
use crate::attention::{Attention, FeedForward, Looked};
use crate::config::{Context, Integration};
use crate::context_rows::ContextRows;
use crate::dropout::Dropout;
use crate::embedding::{LearnedPositions, TokenEmbedding};
use crate::init::Init;
use crate::linear::{Linear, ResidualNorm};
use crate::ops::{AttentionLayout, Block, KeyValue};
use crate::packed::Packed;

/// A stack of decoder layers with the target embedding, which is the output projection, too.
#[derive(Module, Debug)]
pub struct Decoder {
    /// Target words in, target words out.
    pub embedding: TokenEmbedding,
    /// The slot of a memory entry.
    pub segments: Option<LearnedPositions>,
    /// From the embedding upwards.
    pub layers: Vec<DecoderLayer>,
    slots: usize,
    #[module(skip)]
    integration: Option<Integration>,
}

/// Self-attention, cross-attention, context attention where there is one, feed-forward.
#[derive(Module, Debug)]
pub struct DecoderLayer {
    /// Each word looks at those before it.
    pub self_attention: Attention,
    /// After the self-attention.
    pub self_attention_norm: ResidualNorm,
    /// Each word looks at the source.
    pub cross_attention: Attention,
    /// After the cross-attention.
    pub cross_attention_norm: ResidualNorm,
    /// Each word looks at the context.
    pub context: Option<ContextAttention>,
    /// Each word for itself.
    pub feed_forward: FeedForward,
    /// After the feed-forward.
    pub feed_forward_norm: ResidualNorm,
}

/// The attention to the memory, serial or parallel, with or without the gate of equation (5).
#[derive(Module, Debug)]
pub struct ContextAttention {
    /// Each word looks at the memory.
    pub attention: Attention,
    /// After the context attention.
    pub norm: ResidualNorm,
    /// One number per word that scales what it brought back.
    pub gate: Option<Linear>,
    parallel: bool,
    gate_after_norm: bool,
}

/// Which rows of the source and of the context a translation sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Rows of the source states.
    pub source: Vec<Block>,
    /// Rows of the memory, or of the second encoder's states.
    pub context: Vec<Block>,
}

/// What the decoder looks at, projected for every layer.
#[derive(Clone, Debug)]
pub struct Sources {
    pub(crate) layers: Vec<LayerSources>,
    /// What each translation sees of it.
    pub(crate) seen: Vec<Seen>,
    /// For each translation the slots and lengths of the sentences that were joined to one text;
    /// empty in models that join none.
    pub(crate) joined: Vec<Vec<JoinedSentence>>,
}

/// A context sentence of models that join texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinedSentence {
    pub slot: usize,
    /// Tokens, with the break or end that follows them.
    pub tokens: usize,
}

/// What one decoder layer looks at.
#[derive(Clone, Debug)]
pub(crate) struct LayerSources {
    /// Of the cross-attention.
    pub cross: Projected,
    /// Of the context attention.
    pub context: Option<Projected>,
}

/// Keys and values with what is added to them per slot.
#[derive(Clone, Debug)]
pub(crate) struct Projected {
    pub keys: KeyValue,
    pub shifts: Option<KeyValue>,
}

/// How the attentions of one layer find what they look at: for all words at once, or step by step.
///
/// The layer itself is written once, over this.
pub(crate) trait Sight {
    /// What each word brings back from the words before it.
    fn own(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2>;
    /// What each word brings back from the source.
    fn source(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2>;
    /// What each word brings back from the context.
    fn context(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2>;
}

impl Decoder {
    pub(crate) fn new(config: &ModelConfig, init: &mut Init<'_>) -> Self {
        let width = config.width;
        let embedding = TokenEmbedding::new(config.target_vocabulary, width, init);
        let segments = (config.context == Context::Memory)
            .then(|| LearnedPositions::new(config.max_positions, width, init));
        let mut layer = || DecoderLayer {
            self_attention: Attention::new(width, config.heads, init),
            self_attention_norm: ResidualNorm::new(width, init),
            cross_attention: Attention::new(width, config.heads, init),
            cross_attention_norm: ResidualNorm::new(width, init),
            context: config.has_context_attention().then(|| ContextAttention {
                attention: Attention::new(width, config.heads, init),
                norm: ResidualNorm::new(width, init),
                gate: config.gate.then(|| init.linear(width, 1)),
                parallel: config.integration == Some(Integration::Parallel),
                gate_after_norm: config.as_published,
            }),
            feed_forward: FeedForward::new(width, config.feed_forward, width, init),
            feed_forward_norm: ResidualNorm::new(width, init),
        };
        let layers = (0..config.decoder_layers).map(|_| layer()).collect();
        let (slots, integration) = (config.memory_slots(), config.integration);
        Self { embedding, segments, layers, slots, integration }
    }

    /// Projects the source states, and the rows of the context, for every layer.
    ///
    /// # Shapes
    /// - source: `[source rows, width]`
    pub(crate) fn look_at(
        &self,
        source: Tensor<2>,
        context: Option<&ContextRows>,
        seen: Vec<Seen>,
    ) -> Sources {
        let context = context.map(|rows| self.project_context(rows));
        self.look_at_projected(source, context, seen)
    }

    /// As [`Self::look_at`], with context that is projected already, one pair per layer.
    pub(crate) fn look_at_projected(
        &self,
        source: Tensor<2>,
        context: Option<Vec<KeyValue>>,
        mut seen: Vec<Seen>,
    ) -> Sources {
        let joined = self.integration == Some(Integration::Joined) && context.is_some();
        let source_rows = source.dims()[0];
        let mut context = context.map(Vec::into_iter);
        let layers = self.layers.iter().map(|layer| {
            let mut cross =
                Projected { keys: layer.cross_attention.project(source.clone()), shifts: None };
            let context = context
                .as_mut()
                .and_then(Iterator::next)
                .map(|keys| Projected { keys, shifts: self.project_segments(layer) });
            if !joined {
                return LayerSources { cross, context };
            }
            if let Some(context) = context {
                cross.keys = cross.keys.followed_by(context.keys);
                cross.shifts = context.shifts;
            }
            LayerSources { cross, context: None }
        });
        let layers = layers.collect();
        if joined {
            for seen in &mut seen {
                let shifted = seen.context.drain(..).map(|block| Block {
                    rows: block.rows.start + source_rows..block.rows.end + source_rows,
                    slot: block.slot,
                });
                seen.source.extend(shifted);
            }
        }
        Sources { layers, seen, joined: Vec::new() }
    }

    /// Projects rows of the context for every layer.
    pub(crate) fn project_context(&self, rows: &ContextRows) -> Vec<KeyValue> {
        self.layers.iter().map(|layer| rows.project(layer.reads_context())).collect()
    }

    /// What a slot adds to the keys and values of the entry in it.
    fn project_segments(&self, layer: &DecoderLayer) -> Option<KeyValue> {
        let segments = self.segments.as_ref()?.forward(0..self.slots);
        Some(layer.reads_context().project_shift(segments))
    }

    /// The last layer's states of all given words at once; [`TokenEmbedding::logits`] of them
    /// scores the next words.
    ///
    /// # Shapes
    /// - result: `[words, width]`
    pub(crate) fn forward(
        &self,
        words: &Packed,
        sources: &Sources,
        dropout: &mut Dropout,
    ) -> Tensor<2> {
        let mut x = self.embedding.forward(words, dropout);
        let layout = |blocks: fn(&Seen) -> &Vec<Block>| {
            let blocks: Vec<Vec<Block>> =
                sources.seen.iter().map(|seen| blocks(seen).clone()).collect();
            AttentionLayout::new(words.segments(), blocks)
        };
        let own = AttentionLayout::causal(words.segments());
        let source = layout(|seen| &seen.source);
        let context = layout(|seen| &seen.context);
        for (layer, looked) in self.layers.iter().zip(&sources.layers) {
            let mut sight = AllWords { own: &own, source: &source, context: &context, looked };
            x = layer.forward(x, &mut sight, dropout);
        }
        x
    }
}

impl DecoderLayer {
    /// The attention that looks at the context: its own, or the one that the source shares.
    fn reads_context(&self) -> &Attention {
        self.context.as_ref().map_or(&self.cross_attention, |context| &context.attention)
    }

    /// # Shapes
    /// - x and result: `[words, width]`
    pub(crate) fn forward(
        &self,
        x: Tensor<2>,
        sight: &mut impl Sight,
        dropout: &mut Dropout,
    ) -> Tensor<2> {
        let update = sight.own(&self.self_attention, x.clone());
        let own = self.self_attention_norm.forward(x, update, dropout.next_mask());
        let update = sight.source(&self.cross_attention, own.clone());
        let cross = self.cross_attention_norm.forward(own.clone(), update, dropout.next_mask());
        let x = match &self.context {
            None => cross,
            Some(context) if context.parallel => cross + context.forward(own, sight, dropout),
            Some(context) => context.forward(cross, sight, dropout),
        };
        let update = self.feed_forward.forward(x.clone());
        self.feed_forward_norm.forward(x, update, dropout.next_mask())
    }
}

impl ContextAttention {
    /// Whether it looks from where the cross-attention looks, instead of from what that returned.
    pub fn is_parallel(&self) -> bool {
        self.parallel
    }

    /// Whether the gate stands where the published implementation has it.
    pub fn is_gated_after_norm(&self) -> bool {
        self.gate_after_norm
    }

    /// # Shapes
    /// - x and result: `[words, width]`
    fn forward(&self, x: Tensor<2>, sight: &mut impl Sight, dropout: &mut Dropout) -> Tensor<2> {
        let mut update = sight.context(&self.attention, x.clone());
        if !self.gate_after_norm {
            update = self.gated(update);
        }
        let normed = self.norm.forward(x, update, dropout.next_mask());
        if self.gate_after_norm { self.gated(normed) } else { normed }
    }

    /// Equation (5): `sigmoid(w h + b) h`, or `h` where there is no gate.
    ///
    /// The paper gates what the attention returns; the published implementation gates what comes
    /// out of the normalisation.
    fn gated(&self, h: Tensor<2>) -> Tensor<2> {
        match &self.gate {
            Some(gate) => sigmoid(gate.forward(h.clone())) * h,
            None => h,
        }
    }
}

impl KeyValue {
    pub(crate) fn followed_by(self, other: Self) -> Self {
        Self {
            key: Tensor::cat(vec![self.key, other.key], 0),
            value: Tensor::cat(vec![self.value, other.value], 0),
        }
    }
}

impl Projected {
    fn looked<'a>(&'a self, layout: &'a AttentionLayout) -> Looked<'a> {
        Looked { keys: &self.keys, shifts: self.shifts.as_ref(), layout }
    }
}

/// All words of all translations at once.
struct AllWords<'a> {
    own: &'a AttentionLayout,
    source: &'a AttentionLayout,
    context: &'a AttentionLayout,
    looked: &'a LayerSources,
}

impl Sight for AllWords<'_> {
    fn own(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        let keys = attention.project(x.clone());
        attention.forward(x, Looked { keys: &keys, shifts: None, layout: self.own })
    }

    fn source(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        attention.forward(x, self.looked.cross.looked(self.source))
    }

    fn context(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        match &self.looked.context {
            Some(context) => attention.forward(x, context.looked(self.context)),
            None => attention.output_of_nothing(x),
        }
    }
}
