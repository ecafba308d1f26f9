//! XLM-RoBERTa (Conneau et al., 2020) on packed tokens, and the mixture of its layers.

use abridge_model::ops::{
    AttentionInput, AttentionLayout, KeyValue, Products, attention, normalise_rows, weighted_sums,
};
use abridge_model::{Packed, Result, Segments};
use burn::tensor::activation::gelu;
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::hparams::Layer;
use super::tokens::Input;
use super::weights::{Linear, Norm, Weights};

/// Positions start after the padding id.
pub const FIRST_POSITION: usize = 2;
/// Added to the variance of a sentence's states, as in COMET.
const MIXTURE_EPSILON: f64 = 1e-12;

/// The encoder, up to one embedding per input.
#[derive(Debug)]
pub struct Encoder {
    words: Tensor<2>,
    positions: Tensor<2>,
    norm: Norm,
    layers: Vec<EncoderLayer>,
    heads: usize,
    choice: LayerChoice,
    device: Device,
}

#[derive(Debug)]
struct EncoderLayer {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    attention_norm: Norm,
    hidden: Linear,
    feed_forward: Linear,
    norm: Norm,
}

#[derive(Debug)]
enum LayerChoice {
    One(usize),
    /// The weight of every layer, and whether its states are normalised.
    Mix(Vec<f64>, bool),
}

impl Encoder {
    /// Reads all weights.
    pub fn load(
        weights: &Weights<'_>,
        layer: Layer,
        heads: usize,
        device: &Device,
    ) -> Result<Self> {
        let (words, positions, norm) = weights.embeddings()?;
        let choice = match layer {
            Layer::One(layer) => LayerChoice::One(layer),
            Layer::Mix { transformation, layer_norm } => {
                let (scalars, gamma) = weights.mixture()?;
                let shares = normalise_rows(scalars, transformation).into_data();
                let shares = shares.iter::<f32>().map(|share| gamma * f64::from(share));
                LayerChoice::Mix(shares.collect(), layer_norm)
            }
        };
        let layers = (0..weights.sizes.layers)
            .map(|layer| {
                let linear = |name: &str| weights.layer_linear(layer, name);
                let norm = |name: &str| weights.layer_norm(layer, name);
                Ok(EncoderLayer {
                    query: linear("attention.self.query")?,
                    key: linear("attention.self.key")?,
                    value: linear("attention.self.value")?,
                    output: linear("attention.output.dense")?,
                    attention_norm: norm("attention.output.LayerNorm")?,
                    hidden: linear("intermediate.dense")?,
                    feed_forward: linear("output.dense")?,
                    norm: norm("output.LayerNorm")?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self { words, positions, norm, layers, heads, choice, device: device.clone() })
    }

    /// One embedding per input: the mean of the mixed layers over its tokens.
    ///
    /// # Shapes
    /// - result: `[inputs, width]`
    pub fn embed(&self, inputs: &[&Input]) -> Tensor<2> {
        let packed = Packed::new(inputs.iter().map(|input| &input.ids));
        let segments = packed.segments();
        let places = segments.lengths().flat_map(|length| 0..length);
        let ids = packed.tokens().iter().map(|&id| id as usize);
        let words = self.words.clone().select(0, self.rows(ids));
        let positions = self.rows(places.map(|place| place + FIRST_POSITION));
        let mut states = self.norm.forward(words, self.positions.clone().select(0, positions));

        let layout = AttentionLayout::within(segments);
        let sentences = Sentences::new(segments, self);
        let mut mixture = Mixture { choice: &self.choice, sentences: &sentences, sum: None };
        mixture.add(0, &states);
        for (index, layer) in self.layers.iter().enumerate() {
            states = layer.forward(states, &layout, self.heads);
            mixture.add(index + 1, &states);
        }
        // Nonexistent layers were rejected when the model was opened.
        let mixed = mixture.sum.unwrap_or(states);
        let mut means = vec![0.0f32; segments.rows()];
        for (input, range) in inputs.iter().zip(segments.ranges()) {
            let pooled: Vec<usize> = input.pooled().collect();
            for &place in &pooled {
                means[range.start + place] = 1.0 / pooled.len() as f32;
            }
        }
        let means = TensorData::new(means, [segments.rows(), 1]);
        let means = Tensor::from_data(means, &self.device);
        weighted_sums(mixed, means, segments, &Products::default())
    }

    fn rows(&self, rows: impl Iterator<Item = usize>) -> Tensor<1, Int> {
        let rows: Vec<i64> = rows.map(|row| row as i64).collect();
        let count = rows.len();
        Tensor::from_data(TensorData::new(rows, [count]), &self.device)
    }
}

impl EncoderLayer {
    /// # Shapes
    /// - states and result: `[tokens, width]`
    fn forward(&self, states: Tensor<2>, layout: &AttentionLayout, heads: usize) -> Tensor<2> {
        let keys = KeyValue {
            key: self.key.forward(states.clone()),
            value: self.value.forward(states.clone()),
        };
        let query = self.query.forward(states.clone());
        let (keys, products) = (&keys, &Products::default());
        let attended =
            attention(AttentionInput { query, keys, shifts: None, layout, heads, products });
        let states = self.attention_norm.forward(states, self.output.forward(attended));
        let hidden = gelu(self.hidden.forward(states.clone()));
        self.norm.forward(states, self.feed_forward.forward(hidden))
    }
}

/// Computes means over sentences, and maps them back to tokens.
struct Sentences<'a> {
    segments: &'a Segments,
    /// `[tokens, 1]`, the inverse length of each token's sentence.
    shares: Tensor<2>,
    /// `[tokens]`, the index of each token's sentence.
    of_token: Tensor<1, Int>,
}

impl<'a> Sentences<'a> {
    fn new(segments: &'a Segments, encoder: &Encoder) -> Self {
        let shares: Vec<f32> = segments
            .lengths()
            .flat_map(|length| std::iter::repeat_n(1.0 / length as f32, length))
            .collect();
        let numbers =
            segments.lengths().enumerate().flat_map(|(n, length)| std::iter::repeat_n(n, length));
        let shares = TensorData::new(shares, [segments.rows(), 1]);
        Self {
            segments,
            shares: Tensor::from_data(shares, &encoder.device),
            of_token: encoder.rows(numbers),
        }
    }

    /// The mean over all channels of all tokens of the sentence, for each token, `[tokens, 1]`.
    fn mean(&self, states: Tensor<2>) -> Tensor<2> {
        let of_sentence = weighted_sums(
            states.mean_dim(1),
            self.shares.clone(),
            self.segments,
            &Products::default(),
        );
        of_sentence.select(0, self.of_token.clone())
    }
}

/// The layers so far: `gamma * sum of share * layer` (layer-wise attention of COMET).
struct Mixture<'a> {
    choice: &'a LayerChoice,
    sentences: &'a Sentences<'a>,
    sum: Option<Tensor<2>>,
}

impl Mixture<'_> {
    fn add(&mut self, layer: usize, states: &Tensor<2>) {
        let part = match self.choice {
            LayerChoice::One(wanted) if *wanted == layer => states.clone(),
            LayerChoice::One(_) => return,
            LayerChoice::Mix(shares, _) if shares[layer] == 0.0 => return,
            LayerChoice::Mix(shares, false) => states.clone() * shares[layer],
            LayerChoice::Mix(shares, true) => {
                let centred = states.clone() - self.sentences.mean(states.clone());
                let variance = self.sentences.mean(centred.clone().square());
                centred / (variance + MIXTURE_EPSILON).sqrt() * shares[layer]
            }
        };
        self.sum = Some(match self.sum.take() {
            Some(sum) => sum + part,
            None => part,
        });
    }
}
