//! Weights of models that were trained with the published, fairseq-based implementation.

use std::path::Path;

use burn::tensor::Device;

use super::{Parameter, ParameterKind, TensorFile, Wanted, broken, fill};
use crate::config::{CategoriserConfig, Pooling, PoolingConfig, ShortenerConfig};
use crate::{Model, ModelConfig, ModelSize, Preset, Result};

/// A checkpoint with fairseq's parameter names: `.safetensors`, or `.pt` (whose pickle is read,
/// never run).
#[derive(Debug)]
pub struct FairseqCheckpoint {
    file: TensorFile,
}

/// Our names and theirs. The first match from the left of what remains is replaced.
const NAMES: &[(&str, &str)] = &[
    ("source_embedding.", "encoder.embed_tokens."),
    ("context_encoder.layers.", "encoder.context_layers."),
    ("decoder.embedding.", "decoder.embed_tokens."),
    ("decoder.segments.", "decoder.sentence_positions."),
    ("shortener.reduction.linear.", "encoder.linear_pooler."),
    ("shortener.reduction.categoriser.scores.hidden.", "encoder.shortening_cat.0."),
    ("shortener.reduction.categoriser.scores.output.", "encoder.shortening_cat.2."),
    ("shortener.refinement.positions.", "encoder.group_positions."),
    ("shortener.refinement.norm.", "encoder.shortening_layer_norm."),
    ("shortener.refinement.attention.", "encoder.shortening_attn."),
    (".self_attention_norm.", ".self_attn_layer_norm."),
    (".self_attention.", ".self_attn."),
    (".cross_attention_norm.", ".encoder_attn_layer_norm."),
    (".cross_attention.", ".encoder_attn."),
    (".context.attention.", ".context_attn."),
    (".context.norm.", ".context_attn_layer_norm."),
    (".context.gate.", ".context_gate.0."),
    (".feed_forward_norm.", ".final_layer_norm."),
    (".feed_forward.hidden.", ".fc1."),
    (".feed_forward.output.", ".fc2."),
    ("attn.query.", "attn.q_proj."),
    ("attn.key.", "attn.k_proj."),
    ("attn.value.", "attn.v_proj."),
    ("attn.output.", "attn.out_proj."),
    (".gain", ".weight"),
];

/// Parameters of a fairseq encoder layer that its fast path duplicates and training never touches.
const UNUSED_IN_LAYERS: &[&str] = &[
    "in_proj_weight",
    "in_proj_bias",
    "out_proj_weight",
    "out_proj_bias",
    "fc1_weight",
    "fc1_bias",
    "fc2_weight",
    "fc2_bias",
];

/// The output projection, which must be the target embedding.
const OUTPUT_PROJECTION: &str = "decoder.output_projection.weight";
const TARGET_EMBEDDING: &str = "decoder.embed_tokens.weight";

pub(super) fn fairseq_name(name: &str) -> String {
    NAMES.iter().fold(name.to_owned(), |name, (ours, theirs)| name.replacen(ours, theirs, 1))
}

impl FairseqCheckpoint {
    /// The name of one of our parameters in the published implementation.
    pub fn name_of(parameter: &Parameter) -> String {
        fairseq_name(&parameter.name)
    }

    /// Whether checkpoints store the parameter transposed: linear layers are, tables are not.
    pub fn is_transposed(parameter: &Parameter) -> bool {
        parameter.kind == ParameterKind::Matrix
    }

    /// Opens a checkpoint; only names and shapes are read.
    pub fn open(file: &Path) -> Result<Self> {
        Ok(Self { file: TensorFile::open(file)? })
    }

    /// The configuration of the preset, with all sizes taken from the checkpoint, except those
    /// that it does not show: the number of heads and the context size.
    ///
    /// It has `as_published` set, because such weights were trained with those quirks.
    pub fn infer(&self, preset: Preset, heads: usize, context_size: usize) -> Result<ModelConfig> {
        let (source_vocabulary, width) = self.matrix("encoder.embed_tokens.weight")?;
        let (target_vocabulary, _) = self.matrix(TARGET_EMBEDDING)?;
        let (feed_forward, _) = self.matrix("encoder.layers.0.fc1.weight")?;
        let mut config =
            preset.config(ModelSize::Base, source_vocabulary, target_vocabulary, context_size);
        config.width = width;
        config.heads = heads;
        config.feed_forward = feed_forward;
        config.encoder_layers = self.layers("encoder.layers.");
        config.decoder_layers = self.layers("decoder.layers.");
        config.as_published = true;
        if let Some(&[rows, _]) = self.file.shape("decoder.sentence_positions.weight") {
            config.max_positions = rows.saturating_sub(1);
        }
        config.shortener = match config.shortener {
            Some(ShortenerConfig::Grouping(categoriser)) => {
                Some(ShortenerConfig::Grouping(self.categoriser(categoriser)?))
            }
            Some(ShortenerConfig::Selecting(categoriser)) => {
                Some(ShortenerConfig::Selecting(self.categoriser(categoriser)?))
            }
            Some(ShortenerConfig::Pooling(pooling)) if pooling.operation == Pooling::Linear => {
                let (_, inputs) = self.matrix("encoder.linear_pooler.weight")?;
                let window = inputs / width.max(1);
                Some(ShortenerConfig::Pooling(PoolingConfig { window, ..pooling }))
            }
            other => other,
        };
        config.check()?;
        Ok(config)
    }

    /// Builds the network with these weights.
    pub fn load(&self, config: &ModelConfig, device: &Device) -> Result<Model> {
        let model = config.init(0, device)?;
        let wanted = model.parameters().into_iter().map(|parameter| Wanted {
            stored_name: Self::name_of(&parameter),
            transposed: Self::is_transposed(&parameter),
            parameter,
        });
        self.check_tied()?;
        fill(model, &self.file, wanted.collect(), &self.ignored(), None)
    }

    /// Tensors of such checkpoints that are not used.
    fn ignored(&self) -> Vec<String> {
        let is_ignored = |name: &&str| {
            let last = name.rsplit('.').next().unwrap_or_default();
            *name == OUTPUT_PROJECTION
                || *name == "encoder.version"
                || *name == "decoder.version"
                || last == "_float_tensor"
                || (name.starts_with("encoder.") && UNUSED_IN_LAYERS.contains(&last))
        };
        self.file.names().filter(is_ignored).map(str::to_owned).collect()
    }

    fn check_tied(&self) -> Result<()> {
        if self.file.shape(OUTPUT_PROJECTION).is_some()
            && self.file.read(OUTPUT_PROJECTION)? != self.file.read(TARGET_EMBEDDING)?
        {
            return Err(broken(
                self.file.path(),
                format!(
                    "{OUTPUT_PROJECTION} differs from {TARGET_EMBEDDING}, but the two are tied in \
                     all models of the paper"
                ),
            ));
        }
        Ok(())
    }

    fn matrix(&self, name: &str) -> Result<(usize, usize)> {
        match self.file.shape(name) {
            Some(&[rows, columns]) => Ok((rows, columns)),
            Some(shape) => Err(broken(
                self.file.path(),
                format!("tensor {name} has shape {shape:?}, but must be a matrix"),
            )),
            None => Err(broken(
                self.file.path(),
                format!("tensor {name} is missing; is this a checkpoint of that model?"),
            )),
        }
    }

    fn layers(&self, prefix: &str) -> usize {
        let numbers = self
            .file
            .names()
            .filter_map(|name| name.strip_prefix(prefix)?.split('.').next()?.parse::<usize>().ok());
        numbers.max().map_or(0, |last| last + 1)
    }

    fn categoriser(&self, preset: CategoriserConfig) -> Result<CategoriserConfig> {
        let (groups, hidden) = self.matrix("encoder.shortening_cat.2.weight")?;
        Ok(CategoriserConfig { groups, hidden, ..preset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_translate() {
        for (ours, theirs) in [
            ("source_embedding.weight", "encoder.embed_tokens.weight"),
            (
                "encoder.layers.11.self_attention.query.weight",
                "encoder.layers.11.self_attn.q_proj.weight",
            ),
            (
                "decoder.layers.0.self_attention_norm.gain",
                "decoder.layers.0.self_attn_layer_norm.weight",
            ),
            ("decoder.layers.0.context.gate.bias", "decoder.layers.0.context_gate.0.bias"),
            (
                "decoder.layers.0.context.attention.output.bias",
                "decoder.layers.0.context_attn.out_proj.bias",
            ),
            ("shortener.refinement.attention.value.bias", "encoder.shortening_attn.v_proj.bias"),
            ("decoder.layers.5.feed_forward.output.bias", "decoder.layers.5.fc2.bias"),
            (
                "context_encoder.layers.2.feed_forward_norm.bias",
                "encoder.context_layers.2.final_layer_norm.bias",
            ),
        ] {
            assert_eq!(fairseq_name(ours), theirs);
        }
    }
}
