//! The order of a layer's sublayers: written once, for tensors and for the slices of the lean
//! decoder alike.
//!
//! Every sublayer is an update of the words' states with a residual around it and a normalisation
//! after (or before) it. What computes the updates is a [`Stage`].

mod tensors;
#[cfg(test)]
mod tests;

use crate::addition::Part;
use crate::config::{Integration, ModelConfig, NormPosition};

pub(crate) use tensors::{OnTensors, TensorLayer};

/// A sublayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sublayer {
    /// Each word attends to its neighbours: in the encoder to all, in the decoder to those before
    /// it.
    Own,
    /// Each word attends to the source.
    Source,
    /// Each word attends to the context.
    Context,
    /// Applied to each word separately.
    FeedForward,
}

impl Sublayer {
    /// The part of the network that it belongs to: the context attention belongs to the context.
    fn part(self) -> Part {
        if self == Self::Context { Part::Context } else { Part::Base }
    }
}

/// Carries out the steps of one layer.
pub(crate) trait Stage {
    /// The states of all words, `[words, width]`.
    type Rows;

    /// The output of a sublayer for the states.
    fn update(&mut self, sublayer: Sublayer, x: &Self::Rows) -> Self::Rows;

    /// Equation (5): scales each row of what the context attention returned, if there is a gate.
    fn gate(&mut self, rows: Self::Rows) -> Self::Rows;

    /// `LayerNorm(x)` with the normalisation of a sublayer.
    fn norm(&mut self, sublayer: Sublayer, x: &Self::Rows) -> Self::Rows;

    /// `x + Dropout(update)`, of a sublayer.
    fn add(&mut self, sublayer: Sublayer, x: Self::Rows, update: Self::Rows) -> Self::Rows;

    /// `LayerNorm(x + Dropout(update))` with the normalisation of a sublayer.
    fn add_and_norm(&mut self, sublayer: Sublayer, x: Self::Rows, update: Self::Rows)
    -> Self::Rows;

    /// `x + y`
    fn sum(&mut self, x: Self::Rows, y: Self::Rows) -> Self::Rows;

    /// Another copy of the states.
    fn copy(&mut self, x: &Self::Rows) -> Self::Rows;

    /// Takes back rows that are no longer needed.
    fn release(&mut self, _rows: Self::Rows) {}
}

/// The order of the sublayers of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    norm: NormPosition,
    context: Option<ContextOrder>,
}

/// The position of the context attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ContextOrder {
    /// Its position relative to the cross-attention.
    integration: Integration,
    /// Whether it ends in its own normalisation.
    is_normed_after: bool,
    /// Whether the gate comes after that, as in the published implementation.
    is_gated_after_norm: bool,
}

impl Order {
    /// The order of encoder layers.
    pub fn of_encoder(config: &ModelConfig) -> Self {
        Self { norm: config.norm, context: None }
    }

    /// The order of decoder layers.
    pub fn of_decoder(config: &ModelConfig) -> Self {
        let integration = config.integration.filter(|_| config.has_context_attention());
        let context = integration.map(|integration| {
            let is_normed_after = config.norm == NormPosition::After && config.context_norm;
            ContextOrder {
                integration,
                is_normed_after,
                is_gated_after_norm: is_normed_after && config.as_published,
            }
        });
        Self { norm: config.norm, context }
    }

    /// Whether the context attention has a normalisation, before or after it.
    pub fn norms_context(self) -> bool {
        self.context
            .is_some_and(|context| context.is_normed_after || self.norm == NormPosition::Before)
    }

    /// Self-attention, then feed-forward.
    pub fn encode<S: Stage>(self, stage: &mut S, x: S::Rows) -> S::Rows {
        let x = self.sublayer(stage, Sublayer::Own, x);
        self.sublayer(stage, Sublayer::FeedForward, x)
    }

    /// Self-attention, source, context, feed-forward.
    pub fn decode<S: Stage>(self, stage: &mut S, x: S::Rows) -> S::Rows {
        let own = self.sublayer(stage, Sublayer::Own, x);
        let x = match self.context {
            None => self.sublayer(stage, Sublayer::Source, own),
            Some(context) => match context.integration {
                Integration::Joined => self.sublayer(stage, Sublayer::Source, own),
                Integration::Serial => {
                    let cross = self.sublayer(stage, Sublayer::Source, own);
                    self.context(stage, context, cross)
                }
                Integration::Parallel => {
                    let before = stage.copy(&own);
                    let cross = self.sublayer(stage, Sublayer::Source, own);
                    if context.is_normed_after {
                        let beside = context.with_norm(stage, before);
                        stage.sum(cross, beside)
                    } else {
                        let update = self.context_update(stage, &before);
                        stage.release(before);
                        stage.add(Sublayer::Context, cross, update)
                    }
                }
                #[cfg(test)]
                Integration::ContextFirst => {
                    let context = self.context(stage, context, own);
                    self.sublayer(stage, Sublayer::Source, context)
                }
            },
        };
        self.sublayer(stage, Sublayer::FeedForward, x)
    }

    /// The context attention with its residual and, if it has one, its normalisation.
    fn context<S: Stage>(self, stage: &mut S, context: ContextOrder, x: S::Rows) -> S::Rows {
        if context.is_normed_after {
            return context.with_norm(stage, x);
        }
        let update = self.context_update(stage, &x);
        stage.add(Sublayer::Context, x, update)
    }

    /// A sublayer with its residual and its normalisation.
    fn sublayer<S: Stage>(self, stage: &mut S, sublayer: Sublayer, x: S::Rows) -> S::Rows {
        let update = self.update(stage, sublayer, &x);
        match self.norm {
            NormPosition::After => stage.add_and_norm(sublayer, x, update),
            NormPosition::Before => stage.add(sublayer, x, update),
        }
    }

    /// The output of a sublayer for the states, which are normalised first in pre-norm layers.
    fn update<S: Stage>(self, stage: &mut S, sublayer: Sublayer, x: &S::Rows) -> S::Rows {
        match self.norm {
            NormPosition::After => stage.update(sublayer, x),
            NormPosition::Before => {
                let normed = stage.norm(sublayer, x);
                let update = stage.update(sublayer, &normed);
                stage.release(normed);
                update
            }
        }
    }

    /// What the context adds to the states.
    fn context_update<S: Stage>(self, stage: &mut S, x: &S::Rows) -> S::Rows {
        let update = self.update(stage, Sublayer::Context, x);
        stage.gate(update)
    }
}

impl ContextOrder {
    /// The context attention with its own normalisation.
    ///
    /// The paper gates what the attention returns; the published implementation gates what comes
    /// out of the normalisation.
    fn with_norm<S: Stage>(self, stage: &mut S, x: S::Rows) -> S::Rows {
        let mut update = stage.update(Sublayer::Context, &x);
        if !self.is_gated_after_norm {
            update = stage.gate(update);
        }
        let normed = stage.add_and_norm(Sublayer::Context, x, update);
        if self.is_gated_after_norm { stage.gate(normed) } else { normed }
    }
}
