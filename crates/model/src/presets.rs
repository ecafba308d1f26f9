//! The ten rows of the paper's tables, as values of [`ModelConfig`].

use std::fmt;
use std::str::FromStr;

use crate::config::{
    Activation, Autoregression, CategoriserConfig, Context, FirstWord, Integration, ModelConfig,
    NormPosition, Normaliser, Pooling, PoolingConfig, Positions, ShortenerConfig,
};
use crate::{Error, Result};

/// A model of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Preset {
    /// The Transformer that ignores context.
    Sentence,
    /// Context sentences are put before the source.
    SingleEncoder,
    /// A second encoder reads the context.
    MultiEncoder,
    /// The memory keeps every token's state.
    CachingTokens,
    /// The memory keeps one mean vector per sentence.
    CachingSentence,
    /// The memory keeps means of neighbouring tokens.
    PoolingAvg,
    /// The memory keeps maxima of neighbouring tokens.
    PoolingMax,
    /// The memory keeps learned linear maps of neighbouring tokens.
    PoolingLinear,
    /// Latent Grouping.
    Grouping,
    /// Latent Selecting.
    Selecting,
}

/// A preset of widths, heads and layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelSize {
    /// Width 512, 6+6 layers, 8 heads, feed-forward 2048: the paper's (Transformer base).
    Base,
    /// Width 256, 3+3 layers, 4 heads, feed-forward 1024: trains on a laptop.
    Small,
    /// Width 64, 2+2 layers, 4 heads, feed-forward 128: for tests and the demo.
    Tiny,
}

impl Preset {
    /// All ten, in the order of the paper's tables.
    pub const ALL: [Self; 10] = [
        Self::Sentence,
        Self::SingleEncoder,
        Self::MultiEncoder,
        Self::CachingTokens,
        Self::CachingSentence,
        Self::PoolingMax,
        Self::PoolingAvg,
        Self::PoolingLinear,
        Self::Grouping,
        Self::Selecting,
    ];

    /// The name on the command line and in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sentence => "sentence",
            Self::SingleEncoder => "single-encoder",
            Self::MultiEncoder => "multi-encoder",
            Self::CachingTokens => "caching-tokens",
            Self::CachingSentence => "caching-sentence",
            Self::PoolingAvg => "pooling-avg",
            Self::PoolingMax => "pooling-max",
            Self::PoolingLinear => "pooling-linear",
            Self::Grouping => "grouping",
            Self::Selecting => "selecting",
        }
    }

    /// The name in the paper's tables.
    pub fn paper_name(self) -> &'static str {
        match self {
            Self::Sentence => "Sentence-level",
            Self::SingleEncoder => "Single-encoder",
            Self::MultiEncoder => "Multi-encoder",
            Self::CachingTokens => "Caching Tokens",
            Self::CachingSentence => "Caching Sentence",
            Self::PoolingAvg => "Shortening - Avg Pooling",
            Self::PoolingMax => "Shortening - Max Pooling",
            Self::PoolingLinear => "Shortening - Linear Pooling",
            Self::Grouping => "Shortening - Grouping",
            Self::Selecting => "Shortening - Selecting",
        }
    }

    /// The number of parameters in the paper's table, in millions to two decimals.
    pub fn paper_parameters(self) -> f64 {
        match self {
            Self::Sentence | Self::SingleEncoder => 64.42,
            Self::MultiEncoder => 83.33,
            Self::CachingTokens => 71.25,
            Self::CachingSentence => 71.26,
            Self::PoolingAvg | Self::PoolingMax => 72.83,
            Self::PoolingLinear => 73.35,
            Self::Grouping | Self::Selecting => 72.58,
        }
    }

    /// The smallest context size that makes sense for the model.
    pub fn default_context_size(self) -> usize {
        usize::from(self != Self::Sentence)
    }

    /// The configuration with the paper's hyper-parameters for English-German.
    ///
    /// A `context_size` has no meaning for [`Preset::Sentence`] and is ignored there.
    pub fn config(
        self,
        size: ModelSize,
        source_vocabulary: usize,
        target_vocabulary: usize,
        context_size: usize,
    ) -> ModelConfig {
        let plain = ModelConfig {
            context_size,
            ..size.sentence_level(source_vocabulary, target_vocabulary)
        };
        let memory = |shortener| ModelConfig {
            context: Context::Memory,
            shortener: Some(shortener),
            integration: Some(Integration::Serial),
            current_in_memory: true,
            ..plain.clone()
        };
        let pooling = |operation| ModelConfig {
            context_encoder_gradient: false,
            ..memory(ShortenerConfig::Pooling(PoolingConfig { operation, window: 2 }))
        };
        let categoriser =
            |groups| CategoriserConfig { groups, hidden: 512, normaliser: Normaliser::Sparsemax };
        match self {
            Self::Sentence => ModelConfig { context_size: 0, ..plain },
            Self::SingleEncoder => ModelConfig { context: Context::SingleEncoder, ..plain },
            Self::MultiEncoder => ModelConfig {
                context: Context::MultiEncoder,
                integration: Some(Integration::Joined),
                ..plain
            },
            Self::CachingTokens => ModelConfig {
                current_in_memory: false,
                context_encoder_gradient: false,
                ..memory(ShortenerConfig::Tokens)
            },
            Self::CachingSentence => ModelConfig {
                integration: Some(Integration::Parallel),
                gate: true,
                context_encoder_gradient: false,
                ..memory(ShortenerConfig::Mean)
            },
            Self::PoolingAvg => pooling(Pooling::Average),
            Self::PoolingMax => pooling(Pooling::Max),
            Self::PoolingLinear => pooling(Pooling::Linear),
            Self::Grouping => ModelConfig {
                gradient_sentences: Some(2),
                ..memory(ShortenerConfig::Grouping(categoriser(9)))
            },
            Self::Selecting => ModelConfig {
                gradient_sentences: Some(1),
                ..memory(ShortenerConfig::Selecting(categoriser(10)))
            },
        }
    }
}

impl ModelSize {
    /// All sizes, largest first.
    pub const ALL: [Self; 3] = [Self::Base, Self::Small, Self::Tiny];

    /// The name on the command line and in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Small => "small",
            Self::Tiny => "tiny",
        }
    }

    fn sentence_level(self, source_vocabulary: usize, target_vocabulary: usize) -> ModelConfig {
        let (width, heads, feed_forward, layers) = match self {
            Self::Base => (512, 8, 2048, 6),
            Self::Small => (256, 4, 1024, 3),
            Self::Tiny => (64, 4, 128, 2),
        };
        ModelConfig {
            source_vocabulary,
            target_vocabulary,
            width,
            heads,
            feed_forward,
            decoder_feed_forward: None,
            encoder_layers: layers,
            decoder_layers: layers,
            dropout: 0.3,
            max_positions: 1024,
            shared_embeddings: false,
            activation: Activation::Relu,
            norm: NormPosition::After,
            norm_epsilon: 1e-5,
            positions: Positions::default(),
            embedding_scale: None,
            first_word: FirstWord::default(),
            output_bias: false,
            autoregression: Autoregression::SelfAttention,
            context: Context::None,
            context_size: 0,
            shortener: None,
            integration: None,
            gate: false,
            context_norm: true,
            current_in_memory: false,
            context_encoder_gradient: true,
            gradient_sentences: None,
            target_context: false,
            as_published: false,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for ModelSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name).ok_or_else(|| {
            Error::Config(format!(
                "there is no preset \"{name}\"; choose one of {}",
                Self::ALL.map(Self::name).join(", ")
            ))
        })
    }
}

impl FromStr for ModelSize {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|size| size.name() == name).ok_or_else(|| {
            Error::Config(format!("there is no size \"{name}\"; choose base, small or tiny"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_valid_in_every_size() {
        for preset in Preset::ALL {
            for size in ModelSize::ALL {
                for context_size in preset.default_context_size()..4 {
                    preset.config(size, 100, 100, context_size).check().unwrap();
                }
            }
        }
    }

    #[test]
    fn parameter_counts_equal_the_paper() {
        use burn::module::Module;
        for preset in Preset::ALL {
            let config =
                preset.config(ModelSize::Base, 19_804, 19_804, preset.default_context_size());
            let model = config.init(0, &burn::tensor::Device::flex()).unwrap();
            let millions = format!("{:.2}", model.num_params() as f64 / 1e6);
            assert_eq!(millions, format!("{:.2}", preset.paper_parameters()), "{preset}");
        }
    }

    #[test]
    fn names_parse_back() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
        }
        let error = "gruoping".parse::<Preset>().unwrap_err().to_string();
        assert!(error.contains("gruoping") && error.contains("grouping"));
    }
}
