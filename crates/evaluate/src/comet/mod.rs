//! COMET (Rei et al., 2020 and 2022): a learned metric of source, translation and reference.
//!
//! An XLM-RoBERTa encoder embeds each of the three texts: layer-wise attention mixes the states of
//! its layers, and their mean over the tokens is the embedding. The input of a feed-forward
//! estimator is the embeddings of translation and reference, and the products and differences of
//! the translation's embedding with those of source and reference.
//!
//! With context (`DocCOMET`, Vernikos et al., 2022), the previous sentences are prepended to each
//! text with separators, and the mean leaves them out. The translation's context is that of the
//! reference, so that an earlier mistake is not counted again.

mod encoder;
mod hparams;
mod metric;
mod tokens;
mod weights;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abridge_base::files::read_regular;
use abridge_model::{Error, Result};
use burn::tensor::activation::{sigmoid, tanh};
use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::documents::Documents;
use encoder::{Encoder, FIRST_POSITION};
use hparams::{Activation, HyperParameters, Layer, broken};
use tokens::{Input, Tokens};
use weights::{Linear, Weights};

pub use metric::CometMetric;

/// Segments embedded and scored at once.
const CHUNK: usize = 512;
/// The default number of tokens per batch.
const BATCH_TOKENS: usize = 4096;

/// A COMET model.
#[derive(Debug)]
pub struct Comet {
    tokens: Tokens,
    encoder: Encoder,
    estimator: Vec<Linear>,
    activation: Activation,
    final_activation: Option<Activation>,
    name: String,
    hash: String,
    batch_tokens: usize,
    device: Device,
}

/// The texts to score.
#[derive(Clone, Copy, Debug)]
pub struct CometTexts<'a> {
    /// The source, line by line.
    pub sources: &'a [String],
    /// The reference.
    pub references: &'a [String],
    /// The translations of one or several systems.
    pub systems: &'a [&'a [String]],
    /// The documents and the context size.
    pub context: Option<(&'a Documents, usize)>,
}

/// The score of every line.
#[derive(Clone, Debug, PartialEq)]
pub struct CometScores {
    /// The scores of each system's lines.
    pub systems: Vec<Vec<f64>>,
    /// The texts that were too long for the model and were truncated.
    pub cut: Vec<CutText>,
}

/// A text that was too long for the model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CutText {
    /// The line, counted from 1.
    pub line: usize,
    /// Which of the texts.
    pub side: Side,
    /// The number of its tokens, including its context.
    pub tokens: usize,
    /// The number of tokens that the model reads.
    pub read: usize,
}

/// One of the texts of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The source.
    Source,
    /// The reference.
    Reference,
    /// The translation of a system, counted from 0.
    System(usize),
}

impl Comet {
    /// Opens a directory with `hparams.yaml`, the weights (`checkpoints/model.ckpt`, `model.ckpt`
    /// or `model.safetensors`) and `sentencepiece.bpe.model`. The encoder's `config.json` gives its
    /// number of attention heads, which cannot be read from the weights; it is optional for
    /// published encoders.
    pub fn open(directory: &Path, device: &Device) -> Result<Self> {
        let weights_file = find(
            directory,
            &["model.safetensors", "checkpoints/model.ckpt", "model.ckpt"],
            "give the directory of a COMET model, such as the files of Unbabel/wmt22-comet-da",
        )?;
        let settings = directory.join("hparams.yaml");
        let settings = if settings.is_file() {
            HyperParameters::from_yaml(&settings)?
        } else if weights_file.extension().is_some_and(|ending| ending == "ckpt") {
            HyperParameters::from_checkpoint(&weights_file)?
        } else {
            return Err(broken(&settings, "missing; copy it from the original model".to_owned()));
        };
        let pieces_file = find(
            directory,
            &["sentencepiece.bpe.model"],
            "copy it from the encoder's files, for instance those of xlm-roberta-large",
        )?;
        let weights = Weights::open(&weights_file, settings.layer, device)?;
        let heads = heads(directory, &settings.encoder, weights.sizes.width)?;
        if let Layer::One(layer) = settings.layer
            && layer > weights.sizes.layers
        {
            let problem = format!("layer is {layer}, but there are {}", weights.sizes.layers);
            return Err(broken(&weights_file, problem));
        }
        // As in COMET, two fewer than there are positions.
        let longest = weights.sizes.positions - FIRST_POSITION - 2;
        let tokens = Tokens::open(&pieces_file, longest)
            .map_err(|error| broken(&pieces_file, error.to_string()))?;
        if tokens.vocabulary_size() > weights.sizes.vocabulary {
            return Err(broken(
                &pieces_file,
                format!(
                    "it has {} ids, but the weights have {}; use the one of the encoder",
                    tokens.vocabulary_size(),
                    weights.sizes.vocabulary
                ),
            ));
        }
        let folder = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
        Ok(Self {
            tokens,
            encoder: Encoder::load(&weights, settings.layer, heads, device)?,
            estimator: weights.estimator()?,
            activation: settings.activation,
            final_activation: settings.final_activation,
            name: folder
                .file_name()
                .map_or_else(|| "comet".to_owned(), |name| name.to_string_lossy().into_owned()),
            hash: crate::hash::of_file(&weights_file)
                .map_err(|error| broken(&weights_file, format!("cannot read it: {error}")))?,
            batch_tokens: BATCH_TOKENS,
            device: device.clone(),
        })
    }

    /// The same, with batches of this many tokens. This affects speed and memory, not the scores.
    #[must_use]
    pub fn with_batch_tokens(self, batch_tokens: usize) -> Self {
        Self { batch_tokens, ..self }
    }

    /// The model's name in signatures: its directory and its hash.
    pub fn signature_name(&self) -> String {
        format!("{}@{}", self.name, crate::hash::short(&self.hash))
    }

    /// The ids of a text for the encoder.
    pub fn ids(&self, text: &str) -> Vec<u32> {
        self.tokens.encode(&[], text).ids
    }

    /// Scores every line of every system. `done` is called with the number of finished lines.
    ///
    /// All texts must have as many lines as the source.
    pub fn score(&self, texts: &CometTexts<'_>, done: &mut dyn FnMut(usize)) -> CometScores {
        let lines = texts.sources.len();
        let mut scores = CometScores {
            systems: vec![Vec::with_capacity(lines); texts.systems.len()],
            cut: Vec::new(),
        };
        for start in (0..lines).step_by(CHUNK) {
            let chunk = start..(start + CHUNK).min(lines);
            let mut sides: Vec<(Side, Vec<Input>)> = vec![
                (Side::Source, self.inputs(texts.sources, texts.sources, texts, chunk.clone())),
                (
                    Side::Reference,
                    self.inputs(texts.references, texts.references, texts, chunk.clone()),
                ),
            ];
            for (number, system) in texts.systems.iter().enumerate() {
                let inputs = self.inputs(system, texts.references, texts, chunk.clone());
                sides.push((Side::System(number), inputs));
            }
            for (side, inputs) in &sides {
                scores.cut.extend(cut_texts(*side, inputs, start));
            }
            let embedded = self.embed(sides.iter().flat_map(|(_, inputs)| inputs));
            let rows = |side: usize| embedded.of(&sides[side].1, &self.device);
            let (source, reference) = (rows(0), rows(1));
            for (system, scores) in scores.systems.iter_mut().enumerate() {
                let found = self.estimate(rows(system + 2), source.clone(), reference.clone());
                scores.extend(found.into_data().iter::<f32>().map(f64::from));
            }
            done(chunk.len());
        }
        scores.cut.sort();
        scores
    }

    fn inputs(
        &self,
        lines: &[String],
        context: &[String],
        texts: &CometTexts<'_>,
        chunk: std::ops::Range<usize>,
    ) -> Vec<Input> {
        chunk
            .map(|line| {
                let before = match texts.context {
                    Some((documents, size)) => documents.before(line, size),
                    None => line..line,
                };
                self.tokens.encode(&context[before], &lines[line])
            })
            .collect()
    }

    /// Embeds every distinct input once.
    fn embed<'a>(&self, inputs: impl Iterator<Item = &'a Input>) -> Embedded<'a> {
        let mut places: BTreeMap<&Input, usize> = inputs.map(|input| (input, 0)).collect();
        // Sorted by length, so that attention needs little padding.
        let mut order: Vec<&Input> = places.keys().copied().collect();
        order.sort_by_key(|input| input.ids.len());
        for (place, input) in order.iter().enumerate() {
            places.insert(input, place);
        }
        let mut rows = Vec::new();
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let mut tokens = 0;
            let fitting = rest.iter().take_while(|input| {
                tokens += input.ids.len();
                tokens <= self.batch_tokens
            });
            let count = fitting.count().max(1);
            let (batch, later) = rest.split_at(count);
            rows.push(self.encoder.embed(batch));
            rest = later;
        }
        Embedded { places, rows: Tensor::cat(rows, 0) }
    }

    /// # Shapes
    /// - each of the three: `[segments, width]`
    /// - result: `[segments, 1]`
    fn estimate(
        &self,
        translation: Tensor<2>,
        source: Tensor<2>,
        reference: Tensor<2>,
    ) -> Tensor<2> {
        let features = Tensor::cat(
            vec![
                translation.clone(),
                reference.clone(),
                translation.clone() * reference.clone(),
                (translation.clone() - reference).abs(),
                translation.clone() * source.clone(),
                (translation - source).abs(),
            ],
            1,
        );
        let last = self.estimator.len() - 1;
        self.estimator.iter().enumerate().fold(features, |x, (index, layer)| {
            let x = layer.forward(x);
            let activation =
                if index < last { Some(self.activation) } else { self.final_activation };
            match activation {
                Some(Activation::Tanh) => tanh(x),
                Some(Activation::Sigmoid) => sigmoid(x),
                None => x,
            }
        })
    }
}

/// The embeddings of distinct inputs.
struct Embedded<'a> {
    places: BTreeMap<&'a Input, usize>,
    /// `[distinct inputs, width]`
    rows: Tensor<2>,
}

impl Embedded<'_> {
    /// `[inputs, width]`
    fn of(&self, inputs: &[Input], device: &Device) -> Tensor<2> {
        let rows: Vec<i64> = inputs.iter().map(|input| self.places[input] as i64).collect();
        let rows = TensorData::new(rows, [inputs.len()]);
        self.rows.clone().select(0, Tensor::<1, Int>::from_data(rows, device))
    }
}

fn cut_texts(side: Side, inputs: &[Input], start: usize) -> impl Iterator<Item = CutText> + '_ {
    inputs.iter().enumerate().filter(|(_, input)| input.full_length > input.ids.len()).map(
        move |(index, input)| CutText {
            line: start + index + 1,
            side,
            tokens: input.full_length,
            read: input.ids.len(),
        },
    )
}

fn find(directory: &Path, names: &[&str], remedy: &str) -> Result<PathBuf> {
    let found = names.iter().map(|name| directory.join(name)).find(|file| file.is_file());
    found.ok_or_else(|| broken(directory, format!("no {} here; {remedy}", names.join(", "))))
}

/// Files of settings are small.
const LARGEST_SETTINGS: u64 = 16 << 20;

/// The number of attention heads: from `config.json`, or by the name of the encoder.
fn heads(directory: &Path, encoder: &str, width: usize) -> Result<usize, Error> {
    let file = directory.join("config.json");
    let found = match read_regular(&file, LARGEST_SETTINGS) {
        Ok(bytes) => {
            let config: serde_json::Value = serde_json::from_slice(&bytes)
                .map_err(|error| broken(&file, format!("not JSON: {error}")))?;
            config["num_attention_heads"].as_u64()
        }
        // A file that is there must be right.
        Err(error) if file.symlink_metadata().is_ok() => return Err(error.into()),
        Err(_) => match encoder.rsplit('/').next().unwrap_or_default() {
            "xlm-roberta-base" => Some(12),
            "xlm-roberta-large" => Some(16),
            _ => None,
        },
    };
    match found {
        Some(heads) if heads > 0 && width.is_multiple_of(heads as usize) => Ok(heads as usize),
        Some(heads) => {
            Err(broken(&file, format!("{heads} attention heads do not divide a width of {width}")))
        }
        None => Err(broken(
            &file,
            format!(
                "it does not give the attention heads of {encoder}; copy the config.json of \
                 that encoder"
            ),
        )),
    }
}
