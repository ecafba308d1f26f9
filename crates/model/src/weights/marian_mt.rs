//! MarianMT: Marian models in the format of Hugging Face's transformers (OPUS-MT).
//!
//! A directory with `config.json`, `model.safetensors` or `pytorch_model.bin` (whose pickle is read,
//! never run) and, in newer ones, `generation_config.json`.

use std::path::{Path, PathBuf};

use abridge_base::files::read_regular;
use serde_json::Value;

use super::fairseq::fairseq_name;
use super::foreign::{ForeignModel, TableNames};
use super::{TensorFile, WeightPrecision, broken};
use crate::config::{Activation, Positions};
use crate::{ModelConfig, ModelSize, Preset, Result};

const SHARED: &str = "model.shared.weight";
const ENCODER_TABLE: &str = "model.encoder.embed_tokens.weight";
const DECODER_TABLE: &str = "model.decoder.embed_tokens.weight";
const OUTPUT: &str = "lm_head.weight";
const BIAS: &str = "final_logits_bias";
/// The sinusoids that old versions stored.
const POSITIONS: [&str; 2] =
    ["model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"];
/// What transformers add to the variance in layer normalisations.
const NORM_EPSILON: f64 = 1e-5;

/// The model's own settings for the search, with words by their ids there.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// The id of the end of a sentence.
    pub end: u32,
    /// The beam size.
    pub beam: Option<usize>,
    /// The power of the length by which a score is divided.
    pub length_penalty: Option<f64>,
    /// The maximum number of words, including the first and the end.
    pub max_length: Option<usize>,
    /// Whether a search stops as soon as it has as many translations as its beam is wide.
    pub early_stopping: bool,
    /// Whether an end that is forced by the maximum length costs nothing.
    pub forced_end: bool,
    /// Words that are never written.
    pub forbidden: Vec<u32>,
    /// Whether probabilities are normalised over the other words only.
    pub renormalise: bool,
}

impl ForeignModel {
    /// Reads a MarianMT directory, and its settings for the search.
    pub fn marian_mt(directory: &Path) -> Result<(Self, Generation)> {
        let settings = Settings::read(directory.join("config.json"))?;
        let config = settings.config()?;
        let generation = settings.generation(directory)?;
        let file = ["model.safetensors", "pytorch_model.bin"].map(|name| directory.join(name));
        let Some(file) = file.iter().find(|file| file.is_file()) else {
            return Err(broken(
                directory,
                "neither model.safetensors nor pytorch_model.bin is in it (weights for TensorFlow \
                 or in several files cannot be read)",
            ));
        };
        let stored = TensorFile::open(file)?;
        let has = |name: &str| stored.shape(name).is_some();
        let first = |names: [&'static str; 2]| if has(names[0]) { names[0] } else { names[1] };
        let tables = if config.shared_embeddings {
            let one = if has(SHARED) { SHARED } else { first([DECODER_TABLE, ENCODER_TABLE]) };
            TableNames { source: one, target: one, bias: BIAS }
        } else {
            TableNames { source: ENCODER_TABLE, target: DECODER_TABLE, bias: BIAS }
        };
        let mut ignored: Vec<String> = POSITIONS.map(str::to_owned).to_vec();
        let copies: &[&str] = if config.shared_embeddings {
            &[SHARED, ENCODER_TABLE, DECODER_TABLE, OUTPUT]
        } else {
            &[OUTPUT]
        };
        for copy in copies.iter().filter(|copy| has(copy) && **copy != tables.target) {
            if stored.read(copy)? != stored.read(tables.target)? {
                return Err(broken(
                    file,
                    format!("{copy} differs from {}, but the two must be tied", tables.target),
                ));
            }
            ignored.push((*copy).to_owned());
        }
        let first_word = settings.number("decoder_start_token_id")? as u32;
        let precision = match stored.precision() {
            WeightPrecision::Int8 => {
                return Err(broken(file, "its weights are integers without scales"));
            }
            _ => WeightPrecision::Single,
        };
        let model = Self {
            config,
            first_word: Some(first_word),
            precision,
            stored: Box::new(stored),
            name_of: Box::new(|name| Some(format!("model.{}", fairseq_name(name)))),
            is_transposed: true,
            tables,
            ignored,
        };
        Ok((model, generation))
    }

    /// Whether a directory looks like one of transformers.
    pub fn is_marian_mt(directory: &Path) -> bool {
        directory.join("config.json").is_file()
    }
}

/// Files of settings are small.
const LARGEST_SETTINGS: u64 = 16 << 20;

/// A JSON file of settings.
struct Settings {
    path: PathBuf,
    values: Value,
}

impl Settings {
    fn read(path: PathBuf) -> Result<Self> {
        let fail = |problem: String| broken(&path, problem);
        let text = read_regular(&path, LARGEST_SETTINGS)?;
        let values: Value =
            serde_json::from_slice(&text).map_err(|error| fail(format!("not JSON: {error}")))?;
        if !values.is_object() {
            return Err(fail("not a JSON object of settings".into()));
        }
        Ok(Self { path, values })
    }

    fn config(&self) -> Result<ModelConfig> {
        self.only("model_type", "marian", &["marian"])?;
        // Settings of the first versions, which transformers now ignore.
        for (key, expected) in [
            ("normalize_before", false),
            ("normalize_embedding", false),
            ("add_final_layer_norm", false),
            ("static_position_embeddings", true),
            ("tie_word_embeddings", true),
        ] {
            if self.flag(key, expected)? != expected {
                return Err(self.refuse(format!(
                    "{key} is {}, but every MarianMT network has {expected}",
                    !expected
                )));
            }
        }
        let is_shared = self.flag("share_encoder_decoder_embeddings", true)?;
        let source = self.number("vocab_size")?;
        let target = match self.values.get("decoder_vocab_size") {
            None | Some(Value::Null) => source,
            Some(_) => self.number("decoder_vocab_size")?,
        };
        let mut config = Preset::Sentence.config(ModelSize::Tiny, source, target, 0);
        config.width = self.number("d_model")?;
        config.heads = self.number("encoder_attention_heads")?;
        let decoder_heads = self.number("decoder_attention_heads")?;
        if config.heads != decoder_heads {
            return Err(self.refuse(format!(
                "encoder_attention_heads is {} and decoder_attention_heads {decoder_heads}, but \
                 abridge has one number for both",
                config.heads
            )));
        }
        config.feed_forward = self.number("encoder_ffn_dim")?;
        let decoder = self.number("decoder_ffn_dim")?;
        config.decoder_feed_forward = (decoder != config.feed_forward).then_some(decoder);
        config.encoder_layers = self.number("encoder_layers")?;
        config.decoder_layers = self.number("decoder_layers")?;
        let dropout = self.values.get("dropout").and_then(Value::as_f64);
        config.dropout = dropout.filter(|rate| (0.0..1.0).contains(rate)).unwrap_or(0.0);
        config.max_positions = self.number("max_position_embeddings")?;
        config.shared_embeddings = is_shared;
        config.activation = self.activation()?;
        config.norm_epsilon = NORM_EPSILON;
        config.positions = Positions { first: 0, endpoint: false, ..Positions::default() };
        config.embedding_scale = (!self.flag("scale_embedding", false)?).then_some(1.0);
        config.output_bias = true;
        config.check().map_err(|error| self.refuse(error.to_string()))?;
        Ok(config)
    }

    fn activation(&self) -> Result<Activation> {
        let key = "activation_function";
        self.only(key, "gelu", &["relu", "swish", "silu", "gelu", "quick_gelu"])?;
        Ok(match self.text(key, "gelu") {
            "relu" => Activation::Relu,
            "gelu" => Activation::Gelu,
            "quick_gelu" => Activation::QuickGelu,
            _ => Activation::Silu,
        })
    }

    /// The settings in `generation_config.json`; those that it lacks come from `config.json`.
    fn generation(&self, directory: &Path) -> Result<Generation> {
        let path = directory.join("generation_config.json");
        let own = if path.exists() { Some(Self::read(path)?) } else { None };
        let find = |key: &str| {
            let own = own.as_ref().and_then(|own| Some((own, own.values.get(key)?)));
            let found = own.or_else(|| Some((self, self.values.get(key)?)));
            found.filter(|(_, value)| !value.is_null())
        };
        let number = |key: &str| {
            let Some((settings, value)) = find(key) else { return Ok(None) };
            let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
            number.map(Some).ok_or_else(|| settings.refuse(format!("{key} is not a number")))
        };
        let end = number("eos_token_id")?;
        let length_penalty = match find("length_penalty") {
            Some((settings, value)) => Some(
                value.as_f64().ok_or_else(|| settings.refuse("length_penalty is not a number"))?,
            ),
            None => None,
        };
        let flag = |key: &str| find(key).is_some_and(|(_, value)| value.as_bool() == Some(true));
        let mut forbidden = Vec::new();
        if let Some((settings, words)) = find("bad_words_ids") {
            for word in words.as_array().map_or(&[][..], Vec::as_slice) {
                let word = word.as_array().filter(|words| words.len() == 1);
                let word =
                    word.and_then(|words| words[0].as_u64()).and_then(|id| id.try_into().ok());
                forbidden.push(word.ok_or_else(|| {
                    settings.refuse(
                        "bad_words_ids has sequences of words, but only single ones are supported",
                    )
                })?);
            }
        }
        Ok(Generation {
            end: end.ok_or_else(|| self.refuse("eos_token_id is missing"))? as u32,
            beam: number("num_beams")?,
            length_penalty,
            max_length: number("max_length")?,
            early_stopping: flag("early_stopping"),
            forced_end: find("forced_eos_token_id").is_some(),
            forbidden,
            renormalise: flag("renormalize_logits"),
        })
    }

    fn only(&self, key: &str, default: &str, known: &[&str]) -> Result<()> {
        let value = self.text(key, default);
        if known.contains(&value) {
            return Ok(());
        }
        let known = known.join(", ");
        Err(self.refuse(format!("{key} is {value:?}, but abridge supports only: {known}")))
    }

    fn text<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.values.get(key).and_then(Value::as_str).unwrap_or(default)
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool> {
        match self.values.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| self.refuse(format!("{key} is neither true nor false"))),
        }
    }

    fn number(&self, key: &str) -> Result<usize> {
        let number = self.values.get(key).and_then(Value::as_u64);
        let number = number.and_then(|number| u32::try_from(number).ok());
        let problem = || self.refuse(format!("{key} is missing or not a number"));
        number.map(|number| number as usize).ok_or_else(problem)
    }

    fn refuse(&self, problem: impl ToString) -> crate::Error {
        broken(&self.path, problem)
    }
}
