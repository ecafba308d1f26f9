//! A memory on top of a trained network.
//!
//! The network and its configuration are kept; a shortener, segment embeddings and context
//! attentions are added. The attentions start with an output projection of zeros and have no
//! normalisation of their own, so that at first they add exactly nothing: the output is that of the
//! network below, and training can only add to it.

use std::collections::HashSet;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::Tensor;

use crate::config::{Context, ModelConfig};
use crate::linear::Linear;
use crate::model::Model;

/// The part of the network that a parameter belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The sentence-level network.
    Base,
    /// What a network with context adds: shortener, segment embeddings, context attentions, the
    /// second encoder.
    Context,
}

impl Model {
    /// The parameters of [`Part::Context`].
    pub(crate) fn context_parameters(&self) -> HashSet<ParamId> {
        let mut ids = Ids::default();
        self.shortener.visit(&mut ids);
        self.context_encoder.visit(&mut ids);
        self.decoder.segments.visit(&mut ids);
        for layer in &self.decoder.layers {
            layer.context.visit(&mut ids);
        }
        ids.0
    }
}

#[derive(Default)]
struct Ids(HashSet<ParamId>);

impl ModuleVisitor for Ids {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.insert(param.id);
    }
}

impl ModelConfig {
    /// This network with the context of another: the base network is kept, and where context
    /// enters, what the memory keeps and how the decoder uses it come from `other`.
    ///
    /// On a network without context, context attentions only add (`context_norm = false`).
    #[must_use]
    pub fn with_context_of(&self, other: &Self) -> Self {
        let mut config = Self {
            context: other.context,
            context_size: other.context_size,
            shortener: other.shortener,
            integration: other.integration,
            gate: other.gate,
            current_in_memory: other.current_in_memory,
            context_encoder_gradient: other.context_encoder_gradient,
            gradient_sentences: other.gradient_sentences,
            target_context: other.target_context,
            ..self.clone()
        };
        if self.context == Context::None && config.has_context_attention() {
            config.context_norm = false;
        }
        config
    }
}

impl Model {
    /// The same network, but its context attentions return zeros: the output is that of the network
    /// without them, unless they are followed by a normalisation.
    #[must_use]
    pub fn with_silent_context(mut self) -> Self {
        fn silent(output: Linear) -> Linear {
            fn zeros<const D: usize>(param: Param<Tensor<D>>) -> Param<Tensor<D>> {
                param.map(|value| {
                    let zeros = Tensor::zeros(value.dims(), &value.device());
                    zeros.set_require_grad(value.is_require_grad())
                })
            }
            let (weight, bias) = (zeros(output.weight), zeros(output.bias));
            Linear { weight, bias, ..output }
        }
        for layer in &mut self.decoder.layers {
            if let Some(mut context) = layer.context.take() {
                context.attention.output = silent(context.attention.output);
                layer.context = Some(context);
            }
        }
        self
    }

    /// The same network with only the context part trainable: the rest has no gradient, and nothing
    /// is stored for one.
    #[must_use]
    pub fn with_frozen_base(self) -> Self {
        struct Freeze {
            parts: std::vec::IntoIter<Part>,
        }
        impl ModuleMapper for Freeze {
            fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
                match self.parts.next() {
                    Some(Part::Base) => param.set_require_grad(false),
                    _ => param,
                }
            }
        }
        let parts: Vec<Part> = self.parameters().iter().map(|parameter| parameter.part).collect();
        self.map(&mut Freeze { parts: parts.into_iter() })
    }
}
