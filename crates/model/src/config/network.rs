//! How layers are built: the settings in which networks of other toolkits differ.
//!
//! The defaults are those of the paper. OPUS-MT, Marian and Firefox models use other values.

use serde::{Deserialize, Serialize};

use crate::tokens::END;

/// The non-linearity of the feed-forward sublayers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `max(0, x)`
    #[default]
    Relu,
    /// `x sigmoid(x)`, also called swish.
    Silu,
    /// `x Φ(x)`, where Φ is the distribution function of the standard normal distribution.
    Gelu,
    /// `x sigmoid(1.702 x)`: what Marian calls GELU.
    QuickGelu,
}

/// Where a layer normalises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormPosition {
    /// `LayerNorm(x + f(x))` (post-norm).
    #[default]
    After,
    /// `x + f(LayerNorm(x))` (pre-norm), and one more normalisation after the last layer.
    Before,
}

/// How a decoder layer sees the preceding words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Autoregression {
    /// Each word attends to those before it.
    #[default]
    SelfAttention,
    /// A simpler simple recurrent unit (Kim et al., 2019). With `f_t = sigmoid(W_f x_t + b_f)` its
    /// cell is `c_t = f_t c_{t-1} + (1 - f_t) W x_t` and its output `max(0, c_t)`.
    Ssru,
}

/// The word that every translation starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub enum FirstWord {
    /// A word of the target vocabulary: the end of a sentence in the paper, padding in OPUS-MT.
    Word(u32),
    /// No word, but a zero vector in place of its embedding: Marian. Written `"zero"`.
    Zero,
}

impl Default for FirstWord {
    fn default() -> Self {
        Self::Word(END)
    }
}

impl TryFrom<toml::Value> for FirstWord {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let word = value.as_integer().and_then(|number| u32::try_from(number).ok());
        match word {
            Some(word) => Ok(Self::Word(word)),
            None if value.as_str() == Some("zero") => Ok(Self::Zero),
            None => Err(format!("first_word is {value}, but must be a token id or \"zero\"")),
        }
    }
}

impl From<FirstWord> for toml::Value {
    fn from(word: FirstWord) -> Self {
        match word {
            FirstWord::Word(word) => Self::Integer(word.into()),
            FirstWord::Zero => Self::String("zero".into()),
        }
    }
}

/// The sinusoidal positions that are added to embeddings.
///
/// Channel pair `i` of `n` turns by `10000^(-i / (n - 1))` per position, or by `10000^(-i / n)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Positions {
    /// The number of the first position: 2 in fairseq, 0 in Marian.
    pub first: usize,
    /// Which channels are sines and which cosines.
    pub layout: PositionLayout,
    /// Whether the slowest pair turns by 1 / 10000 (fairseq, Marian), or stops short of it (the
    /// Marian models of transformers).
    pub endpoint: bool,
}

/// Which channels are sines and which cosines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PositionLayout {
    /// Sines in the first half, cosines in the second.
    #[default]
    Halves,
    /// Alternating sines and cosines.
    Interleaved,
}

impl Default for Positions {
    fn default() -> Self {
        // fairseq's tables start after the index of padding, which is 1.
        Self { first: 2, layout: PositionLayout::Halves, endpoint: true }
    }
}

impl Positions {
    /// The vectors of the first positions.
    ///
    /// # Shapes
    /// - result: `[positions, width]`
    pub(crate) fn table(self, positions: usize, width: usize) -> Vec<f32> {
        let half = width / 2;
        let last = if self.endpoint { half as f64 - 1.0 } else { half as f64 };
        let step = 10_000f64.ln() / last.max(1.0);
        let mut table = Vec::with_capacity(positions * width);
        for position in self.first..self.first + positions {
            let angle = |i: usize| position as f64 * (-(i as f64) * step).exp();
            match self.layout {
                PositionLayout::Halves => {
                    table.extend((0..half).map(|i| angle(i).sin() as f32));
                    table.extend((0..half).map(|i| angle(i).cos() as f32));
                }
                PositionLayout::Interleaved => table
                    .extend((0..half).flat_map(|i| [angle(i).sin() as f32, angle(i).cos() as f32])),
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_three_toolkits() {
        let close = |table: &[f32], expected: &[f64]| {
            assert_eq!(table.len(), expected.len());
            for (ours, expected) in table.iter().zip(expected) {
                assert!((f64::from(*ours) - expected).abs() < 1e-7, "{table:?}");
            }
        };
        let (sin, cos) = (f64::sin, f64::cos);
        let fairseq = Positions::default().table(1, 4);
        close(&fairseq, &[sin(2.0), sin(2e-4), cos(2.0), cos(2e-4)]);
        let marian = Positions { first: 0, ..Positions::default() };
        close(&marian.table(2, 4)[4..], &[sin(1.0), sin(1e-4), cos(1.0), cos(1e-4)]);
        let marian_mt = Positions { endpoint: false, ..marian };
        close(&marian_mt.table(2, 4)[4..], &[sin(1.0), sin(1e-2), cos(1.0), cos(1e-2)]);
        let woven = Positions { layout: PositionLayout::Interleaved, ..marian_mt };
        close(&woven.table(2, 4)[4..], &[sin(1.0), cos(1.0), sin(1e-2), cos(1e-2)]);
    }
}
