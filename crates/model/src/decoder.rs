//! The decoder: self-, cross- and context-attention over packed translations.

mod words;

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use crate::ModelConfig;
use crate::attention::{Attention, AttentionKeys, FeedForward};
use crate::config::{Autoregression, Context, FirstWord, Integration, NormPosition};
use crate::context_rows::ContextRows;
use crate::dropout::Dropout;
use crate::embedding::{LearnedPositions, TokenEmbedding};
use crate::init::{Init, Values};
use crate::linear::{Linear, ResidualNorm};
use crate::ops::{self, AttentionLayout, Block, KeyValue, Products};
use crate::packed::Packed;
use crate::recurrence::Ssru;
use crate::sublayers::{OnTensors, Order, Sublayer};

pub(crate) use words::{LayerWeights, Words};

use words::{AllWords, LayerOf};

/// A stack of decoder layers with the target embedding, which is also the output projection.
#[derive(Module, Debug)]
pub struct Decoder {
    /// Target words in, target words out.
    pub embedding: TokenEmbedding,
    /// What the output projection adds to each word's score, `[vocabulary]`.
    pub output_bias: Option<Param<Tensor<1>>>,
    /// Embeddings of the memory slots.
    pub segments: Option<LearnedPositions>,
    /// From the embedding upwards.
    pub layers: Vec<DecoderLayer>,
    /// After the last layer, if layers normalise before their sublayers.
    pub norm: Option<ResidualNorm>,
    slots: usize,
    #[module(skip)]
    integration: Option<Integration>,
    #[module(skip)]
    order: Order,
    #[module(skip)]
    first_word: FirstWord,
    #[module(skip)]
    products: Products,
}

/// Self-attention or a recurrent unit, cross-attention, context attention if there is one,
/// feed-forward. `Order` defines their order.
#[derive(Module, Debug)]
pub struct DecoderLayer {
    /// Each word attends to those before it.
    pub self_attention: Option<Attention>,
    /// Replaces the self-attention.
    pub recurrence: Option<Ssru>,
    /// Of the self-attention, or of the recurrent unit.
    pub self_attention_norm: ResidualNorm,
    /// Each word attends to the source.
    pub cross_attention: Attention,
    /// Of the cross-attention.
    pub cross_attention_norm: ResidualNorm,
    /// Each word attends to the context.
    pub context: Option<ContextAttention>,
    /// Applied to each word separately.
    pub feed_forward: FeedForward,
    /// Of the feed-forward.
    pub feed_forward_norm: ResidualNorm,
}

/// The attention to the memory, serial or parallel, with or without the gate of equation (5).
#[derive(Module, Debug)]
pub struct ContextAttention {
    /// Each word attends to the memory.
    pub attention: Attention,
    /// Of the context attention, if it has one.
    pub norm: Option<ResidualNorm>,
    /// One number per word that scales what the attention returns.
    pub gate: Option<Linear>,
}

/// Which rows of the source and of the context a translation sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisibleRows {
    /// Rows of the source states.
    pub source: Vec<Block>,
    /// Rows of the memory, or of the second encoder's states.
    pub context: Vec<Block>,
}

/// What the decoder attends to, projected for every layer.
#[derive(Clone, Debug)]
pub struct Sources {
    pub(crate) layers: Vec<LayerSources>,
    /// The rows that each translation sees.
    pub(crate) visible: Vec<VisibleRows>,
    /// For each translation the slots and lengths of the sentences that were joined into one text;
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

/// What one decoder layer attends to.
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

impl Decoder {
    pub(crate) fn new(config: &ModelConfig, init: &mut Init<'_>) -> Self {
        let (width, epsilon) = (config.width, config.norm_epsilon);
        let embedding = TokenEmbedding::new(config.target_vocabulary, config, init);
        let segments = (config.context == Context::Memory)
            .then(|| LearnedPositions::new(config.max_positions, width, init));
        let order = Order::of_decoder(config);
        let recurs = config.autoregression == Autoregression::Ssru;
        let mut layer = || DecoderLayer {
            self_attention: (!recurs).then(|| Attention::new(width, config.heads, init)),
            recurrence: recurs.then(|| Ssru::new(width, init)),
            self_attention_norm: ResidualNorm::new(width, epsilon, init),
            cross_attention: Attention::new(width, config.heads, init),
            cross_attention_norm: ResidualNorm::new(width, epsilon, init),
            context: config.has_context_attention().then(|| ContextAttention {
                attention: Attention::new(width, config.heads, init),
                norm: order.norms_context().then(|| ResidualNorm::new(width, epsilon, init)),
                gate: config.gate.then(|| init.linear(width, 1)),
            }),
            feed_forward: FeedForward::new(
                [width, config.decoder_hidden(), width],
                config.activation,
                init,
            ),
            feed_forward_norm: ResidualNorm::new(width, epsilon, init),
        };
        let layers = (0..config.decoder_layers).map(|_| layer()).collect();
        let norm =
            (config.norm == NormPosition::Before).then(|| ResidualNorm::new(width, epsilon, init));
        let output_bias = config
            .output_bias
            .then(|| init.parameter([config.target_vocabulary], Values::Constant(0.0)));
        Self {
            embedding,
            output_bias,
            segments,
            layers,
            norm,
            slots: config.memory_slots(),
            integration: config.integration,
            order,
            first_word: config.first_word,
            products: init.products.clone(),
        }
    }

    /// The order of each layer's sublayers.
    pub(crate) fn order(&self) -> Order {
        self.order
    }

    /// The projection from the last layer's states to scores of words.
    pub(crate) fn projection(&self) -> ops::Projection {
        let bias = self.output_bias.as_ref().map(Param::val);
        let (weight, products) = (self.embedding.weight.val(), self.products.clone());
        ops::Projection { weight, bias, products }
    }

    /// Whether the word at a position of a translation is a zero vector instead of an embedding.
    pub(crate) fn starts_from_zero(&self, place: usize) -> bool {
        place == 0 && self.first_word == FirstWord::Zero
    }

    /// Embeds one word for each hypothesis, all at the same position.
    ///
    /// # Shapes
    /// - result: `[hypotheses, width]`
    pub(crate) fn embed_at(&self, words: &[u32], place: usize) -> Tensor<2> {
        let words = words.iter().map(|&word| (!self.starts_from_zero(place)).then_some(word));
        let places = vec![place; words.len()];
        self.embedding.embed(words, places, &mut Dropout::off())
    }

    /// The last layer's states, ready for the output projection.
    pub(crate) fn finish(&self, x: Tensor<2>) -> Tensor<2> {
        match &self.norm {
            Some(norm) => norm.forward_alone(x),
            None => x,
        }
    }

    /// Projects the source states, and the rows of the context, for every layer.
    ///
    /// # Shapes
    /// - source: `[source rows, width]`
    pub(crate) fn sources(
        &self,
        source: Tensor<2>,
        context: Option<&ContextRows>,
        visible: Vec<VisibleRows>,
    ) -> Sources {
        let context = context.map(|rows| self.project_context(rows));
        self.sources_with(source, context, visible)
    }

    /// Like [`Self::sources`], with context that is already projected, one pair per layer.
    pub(crate) fn sources_with(
        &self,
        source: Tensor<2>,
        context: Option<Vec<KeyValue>>,
        mut visible: Vec<VisibleRows>,
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
            for rows in &mut visible {
                let shifted = rows.context.drain(..).map(|block| Block {
                    rows: block.rows.start + source_rows..block.rows.end + source_rows,
                    slot: block.slot,
                });
                rows.source.extend(shifted);
            }
        }
        Sources { layers, visible, joined: Vec::new() }
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

    /// The last layer's states of all given words at once; their logits score the next words.
    /// `watched` receives the weights of each layer, if wanted.
    ///
    /// # Shapes
    /// - result: `[words, width]`
    pub(crate) fn forward(
        &self,
        words: &Packed,
        sources: &Sources,
        dropout: &mut Dropout,
        mut watched: Option<&mut Vec<LayerWeights>>,
    ) -> Tensor<2> {
        let places: Vec<usize> = words.segments().lengths().flat_map(|n| 0..n).collect();
        let tokens = words.tokens().iter().zip(&places);
        let tokens = tokens.map(|(&word, &place)| (!self.starts_from_zero(place)).then_some(word));
        let mut x = self.embedding.embed(tokens, places.clone(), dropout);
        let layout = |blocks: fn(&VisibleRows) -> &Vec<Block>| {
            let blocks: Vec<Vec<Block>> =
                sources.visible.iter().map(|rows| blocks(rows).clone()).collect();
            AttentionLayout::new(words.segments(), blocks)
        };
        let own = AttentionLayout::causal(words.segments());
        let source = layout(|rows| &rows.source);
        let context = layout(|rows| &rows.context);
        for (layer, sources) in self.layers.iter().zip(&sources.layers) {
            let weights = watched.is_some().then(LayerWeights::default);
            let words =
                AllWords { own: &own, source: &source, context: &context, sources, weights };
            let mut stage = OnTensors { layer: LayerOf { layer, words }, dropout };
            x = self.order.decode(&mut stage, x);
            if let (Some(watched), Some(weights)) = (&mut watched, stage.layer.words.weights) {
                watched.push(weights);
            }
        }
        self.finish(x)
    }

    /// Runs one more word of each hypothesis through the layer with the given number.
    pub(crate) fn step(&self, layer: usize, x: Tensor<2>, words: impl Words) -> Tensor<2> {
        let layer = LayerOf { layer: &self.layers[layer], words };
        self.order.decode(&mut OnTensors { layer, dropout: &mut Dropout::off() }, x)
    }
}

impl DecoderLayer {
    /// The attention that reads the context: its own, or the cross-attention.
    fn reads_context(&self) -> &Attention {
        self.context.as_ref().map_or(&self.cross_attention, |context| &context.attention)
    }

    /// The normalisation of a sublayer.
    pub(crate) fn norm(&self, sublayer: Sublayer) -> &ResidualNorm {
        let of_context = || self.context.as_ref().and_then(|context| context.norm.as_ref());
        match sublayer {
            Sublayer::Own => &self.self_attention_norm,
            Sublayer::Source => &self.cross_attention_norm,
            Sublayer::Context => of_context().expect("the context attention has a norm"),
            Sublayer::FeedForward => &self.feed_forward_norm,
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
    fn in_layout<'a>(&'a self, layout: &'a AttentionLayout) -> AttentionKeys<'a> {
        AttentionKeys { keys: &self.keys, shifts: self.shifts.as_ref(), layout }
    }
}
