//! The table of shorteners. A new one needs its own file and a line in this table.

use burn::module::Module;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use super::first::{FirstConfig, FirstTokens};
use super::grouping::Grouping;
use super::mean::Mean;
use super::pooling::{PoolingConfig, WindowPooling};
use super::selecting::Selecting;
use super::tokens::EveryToken;
use super::{Shortened, ShortenerInput, Shortening, Weighs};
use crate::ModelConfig;
use crate::config::CategoriserConfig;
use crate::init::Init;

/// Settings, or none.
macro_rules! settings {
    () => {
        ()
    };
    ($settings:ident) => {
        $settings
    };
}

macro_rules! shorteners {
    ($($(#[cfg($test:meta)])? $doc:literal $kind:ident $(($settings:ident: $config:ty))? => $network:ty,)*) => {
        /// How a sentence's states are shortened before the memory keeps them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum ShortenerConfig {
            $($(#[cfg($test)])? #[doc = $doc] $kind $(($config))?,)*
        }

        /// How the tokens of a sentence are reduced to fewer vectors.
        #[derive(Module, Debug)]
        pub enum Reduction {
            $($(#[cfg($test)])? #[doc = $doc] $kind($network),)*
        }

        impl ShortenerConfig {
            pub(super) fn init(self, config: &ModelConfig, init: &mut Init<'_>) -> Reduction {
                match self {
                    $($(#[cfg($test)])? Self::$kind $(($settings))? => Reduction::$kind(
                        <$network>::new(settings!($($settings)?), config, init),
                    ),)*
                }
            }

            /// What is invalid about its settings, if anything.
            pub(crate) fn problem(self) -> Option<&'static str> {
                match self {
                    $($(#[cfg($test)])? Self::$kind $(($settings))? => {
                        <$network>::problem(settings!($($settings)?))
                    })*
                }
            }

            /// The rows of the entry of a sentence with the given number of tokens.
            pub fn rows(self, tokens: usize) -> usize {
                match self {
                    $($(#[cfg($test)])? Self::$kind $(($settings))? => {
                        <$network>::rows(settings!($($settings)?), tokens)
                    })*
                }
            }

            /// The most rows that an entry can have, if they are refined: equation (2).
            pub(super) fn places(self, config: &ModelConfig) -> Option<usize> {
                match self {
                    $($(#[cfg($test)])? Self::$kind $(($settings))? => {
                        <$network>::places(settings!($($settings)?), config)
                    })*
                }
            }

            /// How many consecutive tokens each row is made from; `None` if weights determine it.
            pub fn tokens_per_row(self, tokens: usize) -> Option<usize> {
                match self {
                    $($(#[cfg($test)])? Self::$kind $(($settings))? => {
                        <$network>::tokens_per_row(settings!($($settings)?), tokens)
                    })*
                }
            }

            /// Whose weights add up to one, if there are weights.
            pub fn weighs(self) -> Option<Weighs> {
                match self {
                    $($(#[cfg($test)])? Self::$kind { .. } => <$network>::WEIGHS,)*
                }
            }

            /// What the memory keeps of one sentence, for a picture of it.
            pub fn keeps_of(self, tokens: usize) -> String {
                match self {
                    $($(#[cfg($test)])? Self::$kind $(($settings))? => {
                        <$network>::keeps_of(settings!($($settings)?), tokens)
                    })*
                }
            }

            /// What the memory keeps of a sentence of `tokens` tokens, for display.
            pub fn keeps(self, tokens: &str) -> String {
                match self {
                    $($(#[cfg($test)])? Self::$kind $(($settings))? => {
                        <$network>::keeps(settings!($($settings)?), tokens)
                    })*
                }
            }
        }

        impl Reduction {
            pub(super) fn forward(&self, input: &ShortenerInput<'_>) -> Shortened {
                match self {
                    $($(#[cfg($test)])? Self::$kind(network) => network.forward(input),)*
                }
            }
        }
    };
}

shorteners! {
    "Every token is kept: *Caching Tokens*." Tokens => EveryToken,
    "The mean over the sentence: *Caching Sentence*." Mean => Mean,
    "Neighbouring tokens are pooled, equation (1)." Pooling(settings: PoolingConfig) => WindowPooling,
    "Latent Grouping: each token is distributed over the groups, equations (3) and (4)."
    Grouping(settings: CategoriserConfig) => Grouping,
    "Latent Selecting: each group picks its tokens."
    Selecting(settings: CategoriserConfig) => Selecting,
    #[cfg(test)] "The first tokens alone." First(settings: FirstConfig) => FirstTokens,
}
