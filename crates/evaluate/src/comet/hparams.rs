//! The settings of a COMET model: `hparams.yaml`, or the `hyper_parameters` of its checkpoint.

use std::collections::BTreeMap;
use std::path::Path;

use abridge_base::files::read_text;
use abridge_model::Error;
use abridge_model::config::Normaliser;
use pytorch_reader::{PickleValue, PytorchReader};

/// What the scores depend on, besides the weights.
#[derive(Clone, Debug, PartialEq)]
pub struct HyperParameters {
    /// Which encoder was fine-tuned, such as `xlm-roberta-large`.
    pub encoder: String,
    /// Which states of the encoder make an embedding.
    pub layer: Layer,
    /// The activation of the estimator's hidden layers.
    pub activation: Activation,
    /// The activation after its last layer.
    pub final_activation: Option<Activation>,
}

/// Which states of the encoder make an embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// A learned mixture of all layers.
    Mix {
        /// Turns the learned scalars into weights.
        transformation: Normaliser,
        /// Whether each layer's states are normalised over the sentence first.
        layer_norm: bool,
    },
    /// One layer; 0 is the embeddings.
    One(usize),
}

/// An elementwise activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// The hyperbolic tangent.
    Tanh,
    /// The logistic function.
    Sigmoid,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Text(String),
    Nothing,
    /// A list or nested value, which is not used.
    Other,
}

impl HyperParameters {
    /// Reads `hparams.yaml`.
    pub fn from_yaml(file: &Path) -> Result<Self, Error> {
        let text = read_text(file, super::LARGEST_SETTINGS)?;
        Self::new(&flat_yaml(&text), file)
    }

    /// Reads the `hyper_parameters` that Lightning stores in a checkpoint. The pickle is parsed,
    /// never executed: only strings, numbers, booleans and None are read.
    pub fn from_checkpoint(file: &Path) -> Result<Self, Error> {
        let value = PytorchReader::read_pickle_data(file, Some("hyper_parameters"));
        let value = value.map_err(|error| {
            broken(
                file,
                format!(
                    "it has no readable hyper_parameters ({error}); put hparams.yaml beside it"
                ),
            )
        })?;
        let PickleValue::Dict(dictionary) = value else {
            return Err(broken(file, "its hyper_parameters are not a dictionary".to_owned()));
        };
        let values = dictionary.into_iter().map(|(key, value)| {
            let value = match value {
                PickleValue::None => Value::Nothing,
                PickleValue::Bool(value) => Value::Text(value.to_string()),
                PickleValue::Int(value) => Value::Text(value.to_string()),
                PickleValue::Float(value) => Value::Text(value.to_string()),
                PickleValue::String(value) => Value::Text(value),
                _ => Value::Other,
            };
            (key, value)
        });
        Self::new(&values.collect(), file)
    }

    fn new(values: &BTreeMap<String, Value>, file: &Path) -> Result<Self, Error> {
        // The defaults are those of the package.
        let text = |key: &str, default: &str| match values.get(key) {
            Some(Value::Text(text)) => text.clone(),
            _ => default.to_owned(),
        };
        let must_be = |key: &str, default: &str, only: &str, what: &str| {
            let found = text(key, default);
            if found == only {
                Ok(())
            } else {
                Err(broken(file, format!("{key} is {found}, but only {only} is supported: {what}")))
            }
        };
        let kind = "a metric that reads source, translation and reference, as wmt22-comet-da";
        must_be("class_identifier", "regression_metric", "regression_metric", kind)?;
        must_be("encoder_model", "XLM-RoBERTa", "XLM-RoBERTa", kind)?;
        must_be("pool", "avg", "avg", "the mean of a sentence's tokens")?;
        let layer = match text("layer", "mix").as_str() {
            "mix" => Layer::Mix {
                transformation: match text("layer_transformation", "softmax").as_str() {
                    "sparsemax" => Normaliser::Sparsemax,
                    // In published settings, this name means that the model uses softmax, whatever
                    // its checkpoint claims.
                    "softmax" | "sparsemax_patch" => Normaliser::Softmax,
                    other => {
                        let problem = format!("layer_transformation is {other}");
                        return Err(broken(file, problem + ", not softmax or sparsemax"));
                    }
                },
                layer_norm: text("layer_norm", "true") == "true",
            },
            number => Layer::One(number.parse().map_err(|_| {
                broken(file, format!("layer is {number}, neither mix nor a number"))
            })?),
        };
        let activation = |name: &str| match name.to_lowercase().as_str() {
            "tanh" => Ok(Activation::Tanh),
            "sigmoid" => Ok(Activation::Sigmoid),
            other => Err(broken(file, format!("activation {other} is not tanh or sigmoid"))),
        };
        Ok(Self {
            encoder: text("pretrained_model", "xlm-roberta-large"),
            layer,
            activation: activation(&text("activations", "Tanh"))?,
            final_activation: match values.get("final_activation") {
                Some(Value::Text(name)) => Some(activation(name)?),
                _ => None,
            },
        })
    }
}

/// The `key: value` lines of a YAML file. Lists and nested values, which are indented or begin with
/// a dash, are not needed and skipped.
fn flat_yaml(text: &str) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    for line in text.lines() {
        if line.starts_with([' ', '-', '#', '\t']) {
            continue;
        }
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = match value.trim().trim_matches(['"', '\'']) {
            "null" | "~" => Value::Nothing,
            "" => Value::Other,
            value if value.starts_with(['[', '{', '!', '&']) => Value::Other,
            value => Value::Text(value.to_owned()),
        };
        values.insert(key.trim().to_owned(), value);
    }
    values
}

/// An error about a file of the model.
pub(super) fn broken(file: &Path, problem: String) -> Error {
    Error::Weights { file: file.to_path_buf(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<HyperParameters, String> {
        HyperParameters::new(&flat_yaml(text), Path::new("hparams.yaml"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_settings_of_a_published_model_are_read() {
        let text = "activations: Tanh\nclass_identifier: regression_metric\n\
                    encoder_model: XLM-RoBERTa\nfinal_activation: null\nhidden_sizes:\n- 3072\n\
                    - 1024\nlayer: mix\nlayer_norm: false\nlayer_transformation: sparsemax\n\
                    pool: avg\npretrained_model: xlm-roberta-large\ntrain_data: []\n";
        let found = read(text).unwrap();
        let layer = Layer::Mix { transformation: Normaliser::Sparsemax, layer_norm: false };
        assert_eq!(found.layer, layer);
        assert_eq!((found.activation, found.final_activation), (Activation::Tanh, None));
        assert_eq!(found.encoder, "xlm-roberta-large");
        let patched = read(&text.replace("sparsemax", "sparsemax_patch")).unwrap();
        let layer = Layer::Mix { transformation: Normaliser::Softmax, layer_norm: false };
        assert_eq!(patched.layer, layer);
    }

    #[test]
    fn unsupported_settings_are_refused_by_name() {
        for (text, wanted) in [
            ("class_identifier: unified_metric", "class_identifier is unified_metric"),
            ("encoder_model: BERT", "encoder_model is BERT"),
            ("pool: cls", "pool is cls"),
            ("layer: top", "layer is top"),
            ("activations: Hardshrink", "activation hardshrink"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with("hparams.yaml: ") && error.contains(wanted), "{error}");
        }
    }
}
