//! Marian's names of parameters.

use crate::ModelConfig;
use crate::config::{Autoregression, NormPosition};

/// Parts of a layer: our name and Marian's.
const PARTS: &[(&str, &str)] = &[
    ("feed_forward.hidden.weight", "ffn_W1"),
    ("feed_forward.hidden.bias", "ffn_b1"),
    ("feed_forward.output.weight", "ffn_W2"),
    ("feed_forward.output.bias", "ffn_b2"),
    ("recurrence.candidate", "rnn_W"),
    ("recurrence.forget.weight", "rnn_Wf"),
    ("recurrence.forget.bias", "rnn_bf"),
];

/// Sublayers: our name, Marian's, and what its normalisation is called there.
const SUBLAYERS: &[(&str, &str, &str)] = &[
    ("self_attention", "self", "self_Wo"),
    ("cross_attention", "context", "context_Wo"),
    ("feed_forward", "ffn", "ffn_ffn"),
];

const PROJECTIONS: &[(&str, &str)] =
    &[("query", "q"), ("key", "k"), ("value", "v"), ("output", "o")];

/// Marian's name of a parameter that is not a table of words.
pub(super) fn marian_name(name: &str, config: &ModelConfig) -> Option<String> {
    let norm = config.norm;
    let (side, rest) =
        name.split_once('.').filter(|(side, _)| matches!(*side, "encoder" | "decoder"))?;
    if let Some(part) = rest.strip_prefix("norm.") {
        return Some(format!("{side}_top_ln_{}", norm_part(part)?));
    }
    let (layer, part) = rest.strip_prefix("layers.")?.split_once('.')?;
    let layer = layer.parse::<usize>().ok()? + 1;
    let known = PARTS.iter().find(|(ours, _)| *ours == part);
    let theirs = match known {
        Some((_, theirs)) => (*theirs).to_owned(),
        None => sublayer_part(part, norm)?,
    };
    // The recurrent unit takes over the normalisation of the decoder's self-attention.
    let is_recurrent = side == "decoder" && config.autoregression == Autoregression::Ssru;
    let theirs = if is_recurrent { theirs.replace("self_Wo", "rnn_ffn") } else { theirs };
    Some(format!("{side}_l{layer}_{theirs}"))
}

fn sublayer_part(part: &str, norm: NormPosition) -> Option<String> {
    let (first, rest) = part.split_once('.')?;
    if let Some(sublayer) = first.strip_suffix("_norm") {
        let (.., normed) = SUBLAYERS.iter().find(|(ours, ..)| *ours == sublayer)?;
        let place = if norm == NormPosition::Before { "_pre" } else { "" };
        return Some(format!("{normed}_ln_{}{place}", norm_part(rest)?));
    }
    let (_, theirs, _) = SUBLAYERS.iter().find(|(ours, ..)| *ours == first)?;
    let (projection, kind) = rest.split_once('.')?;
    let (_, letter) = PROJECTIONS.iter().find(|(ours, _)| *ours == projection)?;
    let kind = match kind {
        "weight" => 'W',
        "bias" => 'b',
        _ => return None,
    };
    Some(format!("{theirs}_{kind}{letter}"))
}

fn norm_part(part: &str) -> Option<&'static str> {
    match part {
        "gain" => Some("scale"),
        "bias" => Some("bias"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelSize, Preset};

    #[test]
    fn names_translate() {
        let config = Preset::Sentence.config(ModelSize::Tiny, 9, 9, 0);
        let student = ModelConfig { autoregression: Autoregression::Ssru, ..config.clone() };
        let teacher = ModelConfig { norm: NormPosition::Before, ..config };
        for (ours, theirs) in [
            ("encoder.layers.0.self_attention.query.weight", "encoder_l1_self_Wq"),
            ("encoder.layers.5.self_attention.output.bias", "encoder_l6_self_bo"),
            ("encoder.layers.5.self_attention_norm.gain", "encoder_l6_self_Wo_ln_scale"),
            ("decoder.layers.1.cross_attention.key.bias", "decoder_l2_context_bk"),
            ("decoder.layers.1.cross_attention_norm.bias", "decoder_l2_context_Wo_ln_bias"),
            ("decoder.layers.0.feed_forward.output.weight", "decoder_l1_ffn_W2"),
            ("decoder.layers.0.feed_forward_norm.gain", "decoder_l1_ffn_ffn_ln_scale"),
            ("decoder.layers.0.recurrence.candidate", "decoder_l1_rnn_W"),
            ("decoder.layers.0.recurrence.forget.bias", "decoder_l1_rnn_bf"),
            ("decoder.layers.0.self_attention_norm.gain", "decoder_l1_rnn_ffn_ln_scale"),
        ] {
            assert_eq!(marian_name(ours, &student).as_deref(), Some(theirs), "{ours}");
        }
        for (ours, theirs) in [
            ("encoder.layers.0.self_attention_norm.gain", "encoder_l1_self_Wo_ln_scale_pre"),
            ("decoder.layers.0.self_attention_norm.bias", "decoder_l1_self_Wo_ln_bias_pre"),
            ("decoder.norm.bias", "decoder_top_ln_bias"),
        ] {
            assert_eq!(marian_name(ours, &teacher).as_deref(), Some(theirs), "{ours}");
        }
        assert_eq!(marian_name("shortener.norm.gain", &student), None);
    }
}
