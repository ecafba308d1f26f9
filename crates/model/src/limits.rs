//! Sizes that a configuration may ask for.
//!
//! A configuration is a small file that anybody can write, and the sizes in it are allocated.
//! Within these limits no product of sizes overflows, and all of them are far beyond any existing
//! model.

use crate::config::{Context, ModelConfig, ShortenerConfig};
use crate::{Error, Result};

const LAYERS: usize = 512;
const WIDTH: usize = 1 << 15;
const FEED_FORWARD: usize = 1 << 18;
const VOCABULARY: usize = 1 << 23;
const POSITIONS: usize = 1 << 20;
const GROUPS: usize = 1 << 16;
/// Of all weights together: 256 GB in single precision.
const PARAMETERS: u128 = 1 << 36;
/// Of the table of positions: 1 GB.
const POSITION_VALUES: u128 = 1 << 28;

impl ModelConfig {
    /// Rejects unreasonable sizes.
    pub(crate) fn check_limits(&self) -> Result<()> {
        let (groups, hidden, window) = self.shortener_sizes();
        for (name, value, most) in [
            ("source_vocabulary", self.source_vocabulary, VOCABULARY),
            ("target_vocabulary", self.target_vocabulary, VOCABULARY),
            ("width", self.width, WIDTH),
            ("heads", self.heads, WIDTH),
            ("feed_forward", self.feed_forward, FEED_FORWARD),
            ("decoder_feed_forward", self.decoder_hidden(), FEED_FORWARD),
            ("encoder_layers", self.encoder_layers, LAYERS),
            ("decoder_layers", self.decoder_layers, LAYERS),
            ("max_positions", self.max_positions, POSITIONS),
            ("context_size", self.context_size, POSITIONS),
            ("groups", groups, GROUPS),
            ("hidden", hidden, FEED_FORWARD),
            ("window", window, POSITIONS),
        ] {
            if value > most {
                return Err(Error::Config(format!(
                    "{name} is {value}, but at most {most} is possible"
                )));
            }
        }
        let positions = self.max_positions as u128 * self.width as u128;
        if positions > POSITION_VALUES {
            return Err(Error::Config(format!(
                "max_positions {} at width {} makes a table of {} MB; reduce one of them",
                self.max_positions,
                self.width,
                positions * 4 / 1_000_000
            )));
        }
        let parameters = self.roughly_parameters();
        if parameters > PARAMETERS {
            return Err(Error::Config(format!(
                "the network would have about {} billion parameters; choose smaller sizes",
                parameters / 1_000_000_000
            )));
        }
        Ok(())
    }

    /// An estimate of the number of weights, without biases: enough to know whether they fit.
    pub fn roughly_parameters(&self) -> u128 {
        let width = self.width as u128;
        let words = (self.source_vocabulary as u128 + self.target_vocabulary as u128) * width;
        let attention = 4 * width * width;
        let feed_forward = |hidden: usize| 2 * width * hidden as u128;
        let attentions = if self.has_context_attention() { 3 } else { 2 };
        let encoders = if self.context == Context::MultiEncoder { 2 } else { 1 };
        let encoder = self.encoder_layers as u128 * (attention + feed_forward(self.feed_forward));
        let decoder = self.decoder_layers as u128
            * (attentions * attention + feed_forward(self.decoder_hidden()));
        let (groups, hidden, window) = self.shortener_sizes();
        let shortener = (width + groups as u128) * hidden as u128 + window as u128 * width * width;
        words + encoders * encoder + decoder + shortener
    }

    /// Groups and hidden units of a categoriser, and the window of a pooling.
    fn shortener_sizes(&self) -> (usize, usize, usize) {
        match self.shortener {
            Some(ShortenerConfig::Grouping(of) | ShortenerConfig::Selecting(of)) => {
                (of.groups, of.hidden, 0)
            }
            Some(ShortenerConfig::Pooling(pooling)) => (0, 0, pooling.window),
            _ => (0, 0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelSize, Preset};

    #[test]
    fn unreasonable_sizes_are_refused() {
        let grouping = || Preset::Grouping.config(ModelSize::Base, 20_000, 20_000, 3);
        assert!(grouping().check().is_ok());
        let reason = |change: &dyn Fn(&mut ModelConfig)| {
            let mut config = grouping();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        assert!(
            reason(&|c| c.encoder_layers = 1_000_000_000).contains("encoder_layers is 1000000000")
        );
        assert!(reason(&|c| c.decoder_layers = usize::MAX).contains("decoder_layers"));
        assert!(reason(&|c| c.width = usize::MAX - 1).contains("width"));
        assert!(reason(&|c| c.max_positions = usize::MAX).contains("max_positions"));
        assert!(reason(&|c| c.max_positions = 1 << 20).contains("makes a table of"));
        assert!(reason(&|c| c.context_size = usize::MAX).contains("context_size"));
        assert!(reason(&|c| c.source_vocabulary = usize::MAX).contains("source_vocabulary"));
        assert!(
            reason(&|c| {
                c.width = 1 << 15;
                c.encoder_layers = 512;
                c.max_positions = 1024;
            })
            .contains("billion parameters")
        );
        assert!(
            reason(&|c| {
                c.decoder_feed_forward = Some(1 << 18);
                c.decoder_layers = 512;
            })
            .contains("billion parameters")
        );
    }

    #[test]
    fn the_estimate_is_close() {
        for preset in Preset::ALL {
            let config =
                preset.config(ModelSize::Small, 20_000, 20_000, preset.default_context_size());
            let model = config.init(0, &burn::tensor::Device::flex()).unwrap();
            let exact: usize =
                model.parameters().iter().map(|p| p.shape.iter().product::<usize>()).sum();
            let ratio = config.roughly_parameters() as f64 / exact as f64;
            assert!((0.9..1.1).contains(&ratio), "{preset}: {ratio}");
        }
    }
}
