//! The configuration: ten models are one model with four choices.
//!
//! A [`ModelConfig`] is plain data. It is read from and written to TOML, checked by
//! [`ModelConfig::check`], and built by [`ModelConfig::init`](crate::ModelConfig::init).

mod network;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

pub use crate::shortener::{PoolingConfig, ShortenerConfig};
pub use network::{Activation, Autoregression, FirstWord, NormPosition, PositionLayout, Positions};

/// Everything that determines the shape and the behaviour of a network.
///
/// The ten models of the paper are values of this type: see [`Preset`](crate::Preset).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Rows of the source embedding, special tokens included.
    pub source_vocabulary: usize,
    /// Rows of the target embedding, special tokens included.
    pub target_vocabulary: usize,
    /// Channels of every token's representation.
    pub width: usize,
    /// Attention heads, everywhere; divides `width`.
    pub heads: usize,
    /// Hidden channels of the feed-forward sublayers.
    pub feed_forward: usize,
    /// The same in the decoder, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoder_feed_forward: Option<usize>,
    /// Layers of the encoder, and of the second encoder where there is one.
    pub encoder_layers: usize,
    /// Layers of the decoder.
    pub decoder_layers: usize,
    /// Probability of zeroing a channel of an embedding or of a sublayer's output in training.
    #[serde(default = "default_dropout")]
    pub dropout: f64,
    /// The longest sentence, and the size of the learned position tables (plus their unused row 0).
    #[serde(default = "default_max_positions")]
    pub max_positions: usize,

    /// Whether source, target and output share one embedding, which is stored once as
    /// `decoder.embedding`. The vocabularies must be the same.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_embeddings: bool,

    /// The non-linearity of the feed-forward sublayers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub activation: Activation,
    /// Whether layers normalise after or before each sublayer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub norm: NormPosition,
    /// What layer normalisations add to the variance.
    #[serde(default = "default_norm_epsilon", skip_serializing_if = "is_default_norm_epsilon")]
    pub norm_epsilon: f64,
    /// The sinusoidal positions that are added to embeddings.
    #[serde(default, skip_serializing_if = "is_default")]
    pub positions: Positions,
    /// What embeddings are multiplied by before positions are added; `sqrt(width)` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding_scale: Option<f64>,
    /// What every translation starts with: a word, or `"zero"` for a zero vector.
    #[serde(default, skip_serializing_if = "is_default")]
    pub first_word: FirstWord,
    /// Whether the output projection adds a bias to each word's score.
    #[serde(default, skip_serializing_if = "is_default")]
    pub output_bias: bool,
    /// How a decoder layer sees the preceding words.
    #[serde(default, skip_serializing_if = "is_default")]
    pub autoregression: Autoregression,

    /// Where context enters the network.
    #[serde(default)]
    pub context: Context,
    /// How many sentences before the current one are context (C in the paper).
    #[serde(default)]
    pub context_size: usize,
    /// How a sentence's states are shortened before the memory keeps them. Memory only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortener: Option<ShortenerConfig>,
    /// How the decoder uses the memory or the second encoder. Memory and multi-encoder only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integration: Option<Integration>,
    /// Whether a gate scales what the context attention returns, equation (5).
    #[serde(default)]
    pub gate: bool,
    /// Whether a context attention has a normalisation of its own. Without one it only adds to what
    /// a layer computes: a memory on top of a trained network then starts as that network.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub context_norm: bool,
    /// Whether the memory holds the current sentence's own entry too. Memory only.
    #[serde(default)]
    pub current_in_memory: bool,
    /// Whether the gradient reaches the encoder through the entries of earlier sentences. Where it
    /// does not, it still trains the shortener. Memory only.
    #[serde(default = "yes")]
    pub context_encoder_gradient: bool,
    /// From how many of the nearest context sentences the gradient reaches the shortener (and the
    /// encoder, if allowed above); from all of them if absent. Memory only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_sentences: Option<usize>,
    /// Whether the memory also holds the translations of the context sentences: beyond the paper.
    /// They are embedded by the target embedding, then read by the same encoder and shortener.
    /// Memory only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub target_context: bool,

    /// Reproduces the quirks of the published implementation, so that its weights give its
    /// numbers. See the crate's documentation for the list.
    #[serde(default)]
    pub as_published: bool,
}

/// Where context enters the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Context {
    /// Nowhere: the sentence-level Transformer.
    #[default]
    None,
    /// The context sentences are put before the source text, and one encoder reads it all.
    SingleEncoder,
    /// A second encoder reads the joined context sentences.
    MultiEncoder,
    /// The encoder reads each sentence once; its states are shortened and kept in a memory.
    Memory,
}

/// How a window of tokens becomes one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The mean of the window.
    Average,
    /// The largest value per channel.
    Max,
    /// A learned linear map of the concatenated window.
    Linear,
}

/// The network that scores every token for every group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoriserConfig {
    /// Number of groups (K).
    pub groups: usize,
    /// Units of the hidden layer.
    #[serde(default = "default_hidden")]
    pub hidden: usize,
    /// What turns scores into weights that add up to one.
    #[serde(default)]
    pub normaliser: Normaliser,
}

/// What turns scores into weights that add up to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normaliser {
    /// The Euclidean projection onto the simplex: most weights are exactly zero.
    #[default]
    Sparsemax,
    /// Every weight is positive.
    Softmax,
}

/// How the decoder uses the memory (or the states of the second encoder).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Integration {
    /// Joined to the source states: the cross-attention sees both.
    Joined,
    /// A context attention of its own, after the cross-attention.
    Serial,
    /// A context attention beside the cross-attention; their results are added.
    Parallel,
    /// A context attention before the cross-attention: the example of the book.
    #[cfg(test)]
    ContextFirst,
}

impl CategoriserConfig {
    /// What is invalid about it, if anything.
    pub(crate) fn problem(self) -> Option<&'static str> {
        let is_empty = self.groups == 0 || self.hidden == 0;
        is_empty.then_some("grouping and selecting need at least one group and one hidden unit")
    }
}

fn default_dropout() -> f64 {
    0.3
}

fn default_max_positions() -> usize {
    1024
}

fn default_norm_epsilon() -> f64 {
    1e-5
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_default_norm_epsilon(epsilon: &f64) -> bool {
    epsilon.to_bits() == default_norm_epsilon().to_bits()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

fn default_hidden() -> usize {
    512
}

fn yes() -> bool {
    true
}

impl ModelConfig {
    /// Reads a configuration from TOML and checks it.
    pub fn from_toml(text: &str) -> Result<Self> {
        let config: Self =
            toml::from_str(text).map_err(|error| Error::Config(error.to_string()))?;
        config.check()?;
        Ok(config)
    }

    /// Writes the configuration as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration is always representable in TOML")
    }

    /// Channels per attention head.
    pub fn head_width(&self) -> usize {
        self.width / self.heads
    }

    /// What embeddings are multiplied by.
    pub(crate) fn embedding_factor(&self) -> f64 {
        self.embedding_scale.unwrap_or_else(|| (self.width as f64).sqrt())
    }

    /// Hidden channels of the decoder's feed-forward sublayers.
    pub(crate) fn decoder_hidden(&self) -> usize {
        self.decoder_feed_forward.unwrap_or(self.feed_forward)
    }

    /// Whether decoder layers have a separate attention for context.
    pub fn has_context_attention(&self) -> bool {
        self.integration.is_some_and(|integration| integration != Integration::Joined)
    }

    /// Slots of the memory: the context sentences, the current one if it is kept, and the
    /// translations of the context sentences if they are kept.
    pub fn memory_slots(&self) -> usize {
        self.layout(crate::Purpose::Training).slots()
    }

    /// Rejects an invalid configuration, with the reason.
    pub fn check(&self) -> Result<()> {
        self.check_sizes()?;
        self.check_choices()
    }

    fn check_sizes(&self) -> Result<()> {
        self.check_limits()?;
        for (name, value) in [
            ("source_vocabulary", self.source_vocabulary),
            ("target_vocabulary", self.target_vocabulary),
            ("width", self.width),
            ("heads", self.heads),
            ("feed_forward", self.feed_forward),
            ("decoder_feed_forward", self.decoder_hidden()),
            ("encoder_layers", self.encoder_layers),
            ("decoder_layers", self.decoder_layers),
            ("max_positions", self.max_positions),
        ] {
            refuse_if(value == 0, || format!("{name} is 0, but must be at least 1"))?;
        }
        let specials = crate::tokens::SPECIAL_TOKENS;
        for (name, size) in [
            ("source_vocabulary", self.source_vocabulary),
            ("target_vocabulary", self.target_vocabulary),
        ] {
            refuse_if(size < specials, || {
                format!("{name} is {size}, but there are {specials} special tokens")
            })?;
        }
        let (source, target) = (self.source_vocabulary, self.target_vocabulary);
        refuse_if(self.shared_embeddings && source != target, || {
            format!(
                "shared_embeddings needs one vocabulary for both languages, but \
                 source_vocabulary is {source} and target_vocabulary is {target}"
            )
        })?;
        refuse_if(!self.width.is_multiple_of(self.heads), || {
            format!("width {} cannot be divided among {} heads", self.width, self.heads)
        })?;
        refuse_if(!self.width.is_multiple_of(2) || self.width < 4, || {
            format!(
                "width {} is not an even number of at least 4, but positions are sines in one half \
                 of the channels and cosines in the other",
                self.width
            )
        })?;
        for (name, value) in
            [("norm_epsilon", self.norm_epsilon), ("embedding_scale", self.embedding_factor())]
        {
            refuse_if(!(value > 0.0 && value.is_finite()), || {
                format!("{name} is {value}, but must be finite and above 0")
            })?;
        }
        if let FirstWord::Word(word) = self.first_word {
            refuse_if(word as usize >= target, || {
                format!("first_word is {word}, but the target vocabulary ends at {}", target - 1)
            })?;
        }
        refuse_if(!(0.0..1.0).contains(&self.dropout), || {
            format!("dropout {} is not in [0, 1)", self.dropout)
        })?;
        refuse_if(self.memory_slots() > self.max_positions, || {
            format!(
                "context_size {} needs more segment embeddings than max_positions {} gives",
                self.context_size, self.max_positions
            )
        })?;
        match self.shortener.and_then(ShortenerConfig::problem) {
            Some(problem) => refuse(problem),
            None => Ok(()),
        }
    }

    fn check_choices(&self) -> Result<()> {
        let memory = self.context == Context::Memory;
        refuse_if(memory != self.shortener.is_some(), || {
            if memory {
                "context = \"memory\" needs a [shortener] that says what the memory keeps".into()
            } else {
                format!(
                    "a [shortener] makes memory entries, but context is {:?}; remove it or set \
                     context = \"memory\"",
                    self.context
                )
            }
        })?;
        let separate = matches!(self.context, Context::Memory | Context::MultiEncoder);
        refuse_if(separate != self.integration.is_some(), || {
            if separate {
                "integration must say how the decoder uses the context: \"joined\", \"serial\" or \
                 \"parallel\""
                    .into()
            } else {
                "integration says how the decoder uses a memory or a second encoder, but there is \
                 neither; remove it"
                    .into()
            }
        })?;
        refuse_if(self.gate && !self.has_context_attention(), || {
            "the gate scales what a context attention returns, but this decoder has none; set \
             integration to \"serial\" or \"parallel\", or gate = false"
                .into()
        })?;
        refuse_if(!self.context_norm && !self.has_context_attention(), || {
            "context_norm applies to a context attention, but this decoder has none; set integration \
             to \"serial\" or \"parallel\", or remove context_norm"
                .into()
        })?;
        refuse_if(self.context == Context::None && self.context_size > 0, || {
            format!(
                "context_size is {}, but context is \"none\": a sentence-level model ignores it; \
                 set it to 0",
                self.context_size
            )
        })?;
        if !memory {
            refuse_if(self.current_in_memory, || {
                "current_in_memory needs context = \"memory\", but there is no memory".into()
            })?;
            refuse_if(self.gradient_sentences.is_some() || !self.context_encoder_gradient, || {
                "context_encoder_gradient and gradient_sentences control the gradient through \
                 memory entries, but there is no memory; remove them"
                    .into()
            })?;
        }
        refuse_if(self.target_context && (!memory || self.context_size == 0), || {
            "target_context puts the translations of context sentences into the memory, but there \
             is no memory or no context; set it to false, or context_size to at least 1"
                .into()
        })?;
        refuse_if(self.target_context && self.as_published, || {
            "target_context is beyond the published implementation; set as_published = false".into()
        })?;
        refuse_if(memory && self.memory_slots() == 0, || {
            "the memory would always be empty: context_size is 0 and the current sentence is not \
             in it"
                .into()
        })
    }
}

fn refuse(reason: impl Into<String>) -> Result<()> {
    Err(Error::Config(reason.into()))
}

fn refuse_if(wrong: bool, reason: impl FnOnce() -> String) -> Result<()> {
    if wrong { refuse(reason()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelSize, Preset};

    fn grouping() -> ModelConfig {
        Preset::Grouping.config(ModelSize::Tiny, 100, 100, 2)
    }

    fn reason(change: impl FnOnce(&mut ModelConfig)) -> String {
        let mut config = grouping();
        change(&mut config);
        config.check().expect_err("must be refused").to_string()
    }

    #[test]
    fn toml_round_trip_keeps_every_preset() {
        for preset in Preset::ALL {
            let config =
                preset.config(ModelSize::Base, 19_804, 19_804, preset.default_context_size());
            assert_eq!(ModelConfig::from_toml(&config.to_toml()).unwrap(), config, "{preset}");
        }
    }

    #[test]
    fn networks_of_other_toolkits_round_trip() {
        let marian = ModelConfig {
            decoder_layers: 1,
            decoder_feed_forward: Some(96),
            shared_embeddings: true,
            activation: Activation::Silu,
            norm: NormPosition::Before,
            norm_epsilon: 1e-9,
            positions: Positions { first: 0, endpoint: false, ..Positions::default() },
            embedding_scale: Some(1.0),
            first_word: FirstWord::Zero,
            output_bias: true,
            autoregression: Autoregression::Ssru,
            context_norm: false,
            ..grouping()
        };
        assert_eq!(ModelConfig::from_toml(&marian.to_toml()).unwrap(), marian);
        let text = marian.to_toml();
        for part in ["\"silu\"", "\"before\"", "first_word = \"zero\"", "\"ssru\""] {
            assert!(text.contains(part), "{text}");
        }
        let unknown = text.replace("\"ssru\"", "\"lstm\"");
        let error = ModelConfig::from_toml(&unknown).unwrap_err().to_string();
        assert!(error.contains("lstm") && error.contains("ssru"), "{error}");
        let unknown = text.replace("\"zero\"", "\"one\"");
        let error = ModelConfig::from_toml(&unknown).unwrap_err().to_string();
        assert!(error.contains("must be a token id or \"zero\""), "{error}");
        let paper = grouping().to_toml();
        for field in ["activation", "norm =", "[positions]", "first_word", "autoregression"] {
            assert!(!paper.contains(field), "the paper's networks are written as before: {paper}");
        }
    }

    #[test]
    fn an_unknown_field_is_refused_by_name() {
        let text = format!("widht = 3\n{}", grouping().to_toml());
        assert!(ModelConfig::from_toml(&text).unwrap_err().to_string().contains("widht"));
    }

    #[test]
    fn invalid_configurations_are_refused_with_the_reason() {
        assert!(reason(|c| c.heads = 3).contains("cannot be divided among 3 heads"));
        assert!(reason(|c| c.shortener = None).contains("needs a [shortener]"));
        assert!(reason(|c| c.integration = None).contains("\"serial\""));
        assert!(reason(|c| c.dropout = 1.0).contains("not in [0, 1)"));
        assert!(reason(|c| c.context_size = 5_000).contains("segment embeddings"));
        assert!(
            reason(|c| {
                c.shared_embeddings = true;
                c.source_vocabulary = 99;
            })
            .contains("one vocabulary for both languages")
        );
        assert!(reason(|c| c.norm_epsilon = 0.0).contains("norm_epsilon is 0"));
        assert!(reason(|c| c.embedding_scale = Some(f64::NAN)).contains("embedding_scale is NaN"));
        assert!(reason(|c| c.first_word = FirstWord::Word(100)).contains("ends at 99"));
        assert!(
            reason(|c| {
                c.context_norm = false;
                c.integration = Some(Integration::Joined);
            })
            .contains("context_norm applies to")
        );
        assert!(reason(|c| c.source_vocabulary = 3).contains("special tokens"));
        assert!(
            reason(|c| {
                c.gate = true;
                c.integration = Some(Integration::Joined);
            })
            .contains("the gate scales")
        );
        assert!(
            reason(|c| {
                c.context_size = 0;
                c.current_in_memory = false;
            })
            .contains("always be empty")
        );
        assert!(reason(|c| c.context = Context::None).contains("remove it or set"));
        assert!(
            reason(|c| {
                c.target_context = true;
                c.context_size = 0;
            })
            .contains("there is no memory or no context")
        );
        assert!(
            reason(|c| {
                c.target_context = true;
                c.as_published = true;
            })
            .contains("beyond the published")
        );
    }
}
