//! From Marian's options to the configuration of a network.

use std::path::Path;

use super::yaml::Yaml;
use crate::config::{Activation, Autoregression, FirstWord, NormPosition, Positions};
use crate::weights::broken;
use crate::{ModelConfig, ModelSize, Preset, Result};

/// What Marian adds to the variance in layer normalisations.
const NORM_EPSILON: f64 = 1e-6;
/// Sinusoidal positions have no limit, but a configuration does.
const LONGEST_SENTENCE: usize = 1024;

/// Options that change nothing in a network that is not being trained, or that are read below.
const KNOWN: &[&str] = &[
    "transformer-aan-activation",
    "transformer-aan-depth",
    "transformer-aan-nogate",
    "transformer-decoder-autoreg",
    "transformer-decoder-dim-ffn",
    "transformer-decoder-ffn-depth",
    "transformer-depth-scaling",
    "transformer-dim-aan",
    "transformer-dim-ffn",
    "transformer-dropout",
    "transformer-dropout-attention",
    "transformer-dropout-ffn",
    "transformer-ffn-activation",
    "transformer-ffn-depth",
    "transformer-guided-alignment-layer",
    "transformer-heads",
    "transformer-postprocess",
    "transformer-postprocess-emb",
    "transformer-postprocess-top",
    "transformer-preprocess",
];

/// Parts of Marian's networks that this model does not have.
const ABSENT: &[&str] =
    &["right-left", "ulr", "lemma-dim-emb", "factors-dim-emb", "output-approx-knn", "lsh"];

/// Options of a Marian model, and the file that errors name.
pub(super) struct Options<'a> {
    pub yaml: &'a Yaml,
    pub path: &'a Path,
}

/// Which embedding tables a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    /// One for source, target and output.
    One,
    /// One for the source, and one for target and output.
    Two,
}

impl Options<'_> {
    /// The configuration and the embedding tables; the sizes of the vocabularies are Marian's.
    pub fn config(&self) -> Result<(ModelConfig, Tables)> {
        self.refuse_other_parts()?;
        let tables = self.tables()?;
        let [source, target] = self.vocabularies()?;
        let mut config = Preset::Sentence.config(ModelSize::Tiny, source, target, 0);
        config.width = self.needed("dim-emb")?;
        config.heads = self.needed("transformer-heads")?;
        config.feed_forward = self.needed("transformer-dim-ffn")?;
        let decoder = self.number("transformer-decoder-dim-ffn", 0)?;
        config.decoder_feed_forward =
            (decoder != 0 && decoder != config.feed_forward).then_some(decoder);
        config.encoder_layers = self.needed("enc-depth")?;
        config.decoder_layers = self.needed("dec-depth")?;
        config.dropout = self.dropout();
        config.max_positions = LONGEST_SENTENCE;
        config.shared_embeddings = tables == Tables::One;
        config.activation = self.activation()?;
        config.norm = self.norm()?;
        config.norm_epsilon = NORM_EPSILON;
        config.positions = Positions { first: 0, ..Positions::default() };
        config.first_word = FirstWord::Zero;
        config.output_bias = true;
        config.autoregression = self.autoregression()?;
        config.check().map_err(|error| self.refuse(error.to_string()))?;
        Ok((config, tables))
    }

    fn refuse_other_parts(&self) -> Result<()> {
        self.only("type", "transformer", &["transformer"])?;
        let Yaml::Map(entries) = self.yaml else {
            return Err(self.refuse("Marian's options are not a mapping of keys to values"));
        };
        let is_other = |key: &str| {
            (key.starts_with("transformer-") && !KNOWN.contains(&key)) || ABSENT.contains(&key)
        };
        for (key, value) in entries.iter().filter(|(key, _)| is_other(key)) {
            let is_off = match value {
                Yaml::Scalar(text) => matches!(text.as_str(), "" | "0" | "false" | "~" | "null"),
                Yaml::List(values) => values.is_empty(),
                Yaml::Map(entries) => entries.is_empty(),
            };
            if !is_off {
                return Err(self
                    .refuse(format!("its option {key} needs a part that abridge does not have")));
            }
        }
        for kind in self.yaml.get("input-types").map_or(&[][..], Yaml::list) {
            if kind.text() != Some("sequence") {
                return Err(self.refuse("its option input-types needs input other than text"));
            }
        }
        for depth in ["transformer-ffn-depth", "transformer-decoder-ffn-depth"] {
            self.only(depth, "2", &["2", "0"])?;
        }
        self.only("transformer-ffn-depth", "2", &["2"])
    }

    /// Dropout as in its training, usually none for a student. Only training uses it.
    fn dropout(&self) -> f64 {
        let option = self.yaml.get("transformer-dropout").and_then(Yaml::text);
        let rate = option.and_then(|text| text.parse().ok()).unwrap_or(0.0);
        if (0.0..1.0).contains(&rate) { rate } else { 0.0 }
    }

    fn tables(&self) -> Result<Tables> {
        if self.flag("tied-embeddings-all") {
            return Ok(Tables::One);
        }
        if self.flag("tied-embeddings") && !self.flag("tied-embeddings-src") {
            return Ok(Tables::Two);
        }
        Err(self.refuse(
            "its output projection is not tied to the embedding of the target words \
             (tied-embeddings or tied-embeddings-all)",
        ))
    }

    fn vocabularies(&self) -> Result<[usize; 2]> {
        let sizes = self.yaml.get("dim-vocabs").map_or(&[][..], Yaml::list);
        let sizes: Vec<Option<usize>> =
            sizes.iter().map(|size| size.text()?.parse().ok()).collect();
        match sizes[..] {
            [Some(source), Some(target)] => Ok([source, target]),
            _ => Err(self.refuse("its option dim-vocabs does not name two vocabularies")),
        }
    }

    fn activation(&self) -> Result<Activation> {
        let key = "transformer-ffn-activation";
        self.only(key, "swish", &["relu", "swish", "gelu"])?;
        Ok(match self.text(key, "swish") {
            "relu" => Activation::Relu,
            "gelu" => Activation::QuickGelu,
            _ => Activation::Silu,
        })
    }

    /// What a sublayer does before and after, in Marian's letters: `n`ormalise, `a`dd, `d`rop.
    fn norm(&self) -> Result<NormPosition> {
        let letters = |key, default| self.text(key, default).replace('d', "");
        let (before, after) =
            (letters("transformer-preprocess", ""), letters("transformer-postprocess", "dan"));
        let top = letters("transformer-postprocess-top", "");
        let embedding = letters("transformer-postprocess-emb", "d");
        match (before.as_str(), after.as_str(), top.as_str(), embedding.as_str()) {
            ("", "an", "", "") => Ok(NormPosition::After),
            ("n", "a", "n", "") => Ok(NormPosition::Before),
            _ => Err(self.refuse(format!(
                "its layers normalise in an unsupported order (transformer-preprocess \
                 {before:?}, transformer-postprocess {after:?}, transformer-postprocess-top \
                 {top:?}, transformer-postprocess-emb {embedding:?})"
            ))),
        }
    }

    fn autoregression(&self) -> Result<Autoregression> {
        let key = "transformer-decoder-autoreg";
        self.only(key, "self-attention", &["self-attention", "rnn"])?;
        if self.text(key, "self-attention") == "self-attention" {
            return Ok(Autoregression::SelfAttention);
        }
        self.only("dec-cell", "gru", &["ssru"])?;
        Ok(Autoregression::Ssru)
    }

    fn only(&self, key: &str, default: &'static str, known: &[&str]) -> Result<()> {
        let value = self.text(key, default);
        if known.contains(&value) {
            return Ok(());
        }
        let known = known.join(", ");
        Err(self
            .refuse(format!("its option {key} is {value:?}, but abridge supports only: {known}")))
    }

    fn text(&self, key: &str, default: &'static str) -> &str {
        self.yaml.get(key).and_then(Yaml::text).unwrap_or(default)
    }

    fn flag(&self, key: &str) -> bool {
        self.text(key, "false") == "true"
    }

    fn number(&self, key: &str, default: usize) -> Result<usize> {
        let Some(value) = self.yaml.get(key) else { return Ok(default) };
        let number = value.text().and_then(|text| text.parse().ok());
        number.ok_or_else(|| self.refuse(format!("its option {key} is not a number")))
    }

    fn needed(&self, key: &str) -> Result<usize> {
        match self.number(key, 0)? {
            0 => Err(self.refuse(format!("its option {key} is missing or 0"))),
            number => Ok(number),
        }
    }

    fn refuse(&self, problem: impl ToString) -> crate::Error {
        broken(self.path, problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDENT: &str = "type: transformer
dim-emb: 256
dim-vocabs: [32000, 32000]
enc-depth: 6
dec-depth: 2
dec-cell: ssru
input-types: []
tied-embeddings-all: true
transformer-decoder-autoreg: rnn
transformer-dim-ffn: 1536
transformer-ffn-activation: relu
transformer-heads: 8
transformer-no-projection: false
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-postprocess-top: \"\"
transformer-preprocess: \"\"
transformer-tied-layers: []
ulr: false
";

    fn config(text: &str) -> Result<(ModelConfig, Tables)> {
        let yaml = Yaml::parse(text).unwrap();
        Options { yaml: &yaml, path: Path::new("model.yml") }.config()
    }

    #[test]
    fn a_student_and_a_teacher() {
        let (student, tables) = config(STUDENT).unwrap();
        assert_eq!(tables, Tables::One);
        assert_eq!((student.encoder_layers, student.decoder_layers), (6, 2));
        assert_eq!(student.autoregression, Autoregression::Ssru);
        assert_eq!(student.activation, Activation::Relu);
        let teacher = STUDENT
            .replace("rnn", "self-attention")
            .replace("tied-embeddings-all", "tied-embeddings")
            .replace("postprocess: dan", "postprocess: da")
            .replace("postprocess-top: \"\"", "postprocess-top: n")
            .replace("preprocess: \"\"", "preprocess: n")
            .replace("activation: relu", "activation: swish");
        let (teacher, tables) = config(&teacher).unwrap();
        assert_eq!(tables, Tables::Two);
        assert_eq!(teacher.autoregression, Autoregression::SelfAttention);
        assert_eq!((teacher.norm, teacher.activation), (NormPosition::Before, Activation::Silu));
    }

    #[test]
    fn unsupported_options_are_refused_by_name() {
        for (from, to, named) in [
            ("type: transformer", "type: s2s", "\"s2s\""),
            ("no-projection: false", "no-projection: true", "transformer-no-projection"),
            ("tied-layers: []", "tied-layers: [1, 1]", "transformer-tied-layers"),
            ("ulr: false", "ulr: true", "ulr"),
            ("dec-cell: ssru", "dec-cell: lstm", "dec-cell is \"lstm\""),
            ("autoreg: rnn", "autoreg: average-attention", "average-attention"),
            ("activation: relu", "activation: tanh", "\"tanh\""),
            ("process: dan", "process: nda", "an unsupported order"),
            ("tied-embeddings-all: true", "skip: true", "tied"),
            ("[32000, 32000]", "[32000]", "dim-vocabs"),
            ("enc-depth: 6", "enc-depth: six", "enc-depth is not a number"),
            ("heads: 8", "heads: 7", "7 heads"),
            ("input-types: []", "input-types: [sequence, class]", "input-types"),
            ("ulr: false", "transformer-moe: 8", "transformer-moe"),
        ] {
            assert!(STUDENT.contains(from), "{from}");
            let error = config(&STUDENT.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(named) && error.starts_with("model.yml"), "{error}");
        }
    }
}
