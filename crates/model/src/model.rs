//! The network as a whole.

use std::any::Any;
use std::collections::VecDeque;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};

use crate::batch::{Batch, Example, SourceBatch};
use crate::checks::check_sequences;
use crate::config::{Context, FirstWord, ModelConfig};
use crate::decoder::{Decoder, JoinedSentence, Sources};
use crate::decoding::Decoding;
use crate::dropout::Dropout;
use crate::embedding::TokenEmbedding;
use crate::encoder::Encoder;
use crate::init::Init;
use crate::ops::{self, Loss, Products};
use crate::packed::Packed;
use crate::shortener::Shortener;
use crate::tokens::END;
use crate::{Error, Result};

/// A context-aware translation model: any of the ten of the paper, and their combinations.
#[derive(Module, Debug)]
pub struct Model {
    /// Source words, shared by both encoders if there are two; `None` if the decoder's embedding
    /// serves both languages.
    pub source_embedding: Option<TokenEmbedding>,
    /// Reads sentences (or the joined text of the single-encoder model).
    pub encoder: Encoder,
    /// Reads the joined context of the multi-encoder model.
    pub context_encoder: Option<Encoder>,
    /// Makes memory entries.
    pub shortener: Option<Shortener>,
    /// Writes translations.
    pub decoder: Decoder,
    #[module(skip)]
    config: ModelConfig,
}

impl ModelConfig {
    /// Builds the network with initial weights drawn from `seed`.
    ///
    /// The weights are drawn when they are first used; until then only names and shapes exist.
    pub fn init(&self, seed: u64, device: &Device) -> Result<Model> {
        self.check()?;
        Ok(self.build(Init::new(seed, device, &Products::default())))
    }

    fn build(&self, mut init: Init<'_>) -> Model {
        let source_embedding = (!self.shared_embeddings)
            .then(|| TokenEmbedding::new(self.source_vocabulary, self, &mut init));
        let encoder = Encoder::new(self, &mut init);
        let context_encoder =
            (self.context == Context::MultiEncoder).then(|| Encoder::new(self, &mut init));
        let shortener = self.shortener.map(|shortener| Shortener::new(shortener, self, &mut init));
        let decoder = Decoder::new(self, &mut init);
        let config = self.clone();
        Model { source_embedding, encoder, context_encoder, shortener, decoder, config }
    }

    /// The word that every translation starts with; a placeholder if that is a zero vector.
    pub fn start_word(&self) -> u32 {
        match self.first_word {
            FirstWord::Word(word) => word,
            FirstWord::Zero => END,
        }
    }

    /// How many such words start a translation.
    ///
    /// One; but the published single-encoder model also puts the end of an empty target context
    /// before the translation, and ignores what is predicted there.
    pub(crate) fn start_words(&self) -> usize {
        if self.as_published && self.context == Context::SingleEncoder { 2 } else { 1 }
    }

    /// The longest translation that there are positions for, not counting the end.
    pub fn longest_translation(&self) -> usize {
        self.max_positions - self.start_words()
    }
}

impl Model {
    /// The configuration that it was built from.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The device that its weights are on.
    pub fn device(&self) -> Device {
        self.decoder.embedding.weight.lazy_device()
    }

    /// Embeds source words.
    pub fn source_embedding(&self) -> &TokenEmbedding {
        self.source_embedding.as_ref().unwrap_or(&self.decoder.embedding)
    }

    /// The same network with its own leaves in the autodiff graph; the weights are shared.
    ///
    /// Threads whose graphs share leaves would build one common graph, and the engine's bookkeeping
    /// fails if one thread walks it backwards while another is still adding to it.
    #[must_use]
    pub fn with_own_leaves(&self) -> Self {
        struct OwnLeaves;
        impl ModuleMapper for OwnLeaves {
            fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
                param.map(|value| {
                    let is_trained = value.is_require_grad();
                    Tensor::from_inner(value.inner()).set_require_grad(is_trained)
                })
            }
        }
        self.clone().map(&mut OwnLeaves)
    }

    /// The same network, with the same parameters, that computes products differently.
    #[must_use]
    pub fn with_products(&self, products: &Products) -> Self {
        struct Parameters(VecDeque<Box<dyn Any>>);
        impl ModuleVisitor for Parameters {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                self.0.push_back(Box::new(param.clone()));
            }
        }
        impl ModuleMapper for Parameters {
            fn map_float<const D: usize>(&mut self, _: Param<Tensor<D>>) -> Param<Tensor<D>> {
                let known = self.0.pop_front().and_then(|param| param.downcast().ok());
                *known.expect("both networks have the same configuration")
            }
        }
        let mut parameters = Parameters(VecDeque::new());
        self.visit(&mut parameters);
        let network = self.config.build(Init::new(0, &self.device(), products));
        network.map(&mut parameters)
    }

    /// Scores every next word of given translations (teacher forcing).
    ///
    /// # Shapes
    /// - result: `[target tokens, vocabulary]`, logits, packed as `batch.targets`
    pub fn forward(&self, batch: &Batch, dropout: &mut Dropout) -> Result<Tensor<2>> {
        self.config.check_batch(batch)?;
        let sources = self.encoded_sources(&batch.source, dropout);
        Ok(self.score(&batch.targets, &sources, dropout))
    }

    /// The label-smoothed loss of given translations.
    pub fn loss(&self, batch: &Batch, smoothing: f64, dropout: &mut Dropout) -> Result<Loss> {
        self.config.check_batch(batch)?;
        let sources = self.encoded_sources(&batch.source, dropout);
        let states = self.states_of_targets(&batch.targets, &sources, dropout);
        let projection = self.decoder.projection();
        Ok(ops::projected_loss(states, projection, batch.targets.tokens(), smoothing))
    }

    /// Encodes source sentences, and projects them for the decoder.
    pub fn sources(&self, batch: &SourceBatch) -> Result<Sources> {
        self.config.check_sources(batch)?;
        Ok(self.encoded_sources(batch, &mut Dropout::off()))
    }

    /// Scores given translations of encoded sources, one per example.
    ///
    /// # Shapes
    /// - result: `[target tokens, vocabulary]`, logits
    pub fn score_targets(&self, targets: &Packed, sources: &Sources) -> Result<Tensor<2>> {
        check_count(targets, sources)?;
        Ok(self.score(targets, sources, &mut Dropout::off()))
    }

    /// The log-probability of every token of given translations of encoded sources, one translation
    /// per example, packed as `targets`. With fused operations, not all logits exist at once.
    pub fn log_probabilities(&self, targets: &Packed, sources: &Sources) -> Result<Vec<f32>> {
        check_sequences("translation", targets.iter(), self.config.target_vocabulary)?;
        check_count(targets, sources)?;
        let states = self.states_of_targets(targets, sources, &mut Dropout::off());
        let projection = self.decoder.projection();
        Ok(ops::projected_log_probabilities(states, projection, targets.tokens()))
    }

    /// Starts to translate encoded sources word by word.
    pub fn decode(&self, sources: &Sources) -> Decoding<'_> {
        Decoding::new(self, sources)
    }

    fn encoded_sources(&self, batch: &SourceBatch, dropout: &mut Dropout) -> Sources {
        let encoded = self.encode(batch, dropout);
        let mut sources =
            self.decoder.sources(encoded.states, encoded.context.as_ref(), encoded.visible);
        if matches!(self.config.context, Context::SingleEncoder | Context::MultiEncoder) {
            sources.joined = batch.examples.iter().map(|e| joined(e, &batch.sentences)).collect();
        }
        sources
    }

    fn score(&self, targets: &Packed, sources: &Sources, dropout: &mut Dropout) -> Tensor<2> {
        let states = self.states_of_targets(targets, sources, dropout);
        ops::logits(states, self.decoder.projection())
    }

    /// The decoder's state for each word that is to be predicted.
    ///
    /// # Shapes
    /// - result: `[target tokens, width]`
    fn states_of_targets(
        &self,
        targets: &Packed,
        sources: &Sources,
        dropout: &mut Dropout,
    ) -> Tensor<2> {
        let start = self.config.start_words();
        let words = self.words_before(targets);
        let states = self.decoder.forward(&words, sources, dropout, None);
        if start == 1 {
            return states;
        }
        let predictions = words.segments().ranges().flat_map(|range| range.skip(start - 1));
        let rows = ops::indices(predictions, &states.device());
        states.select(0, rows)
    }

    /// The input of the decoder: each translation shifted by one, after its start words.
    pub(crate) fn words_before(&self, targets: &Packed) -> Packed {
        let start = self.config.start_words();
        Packed::new(targets.iter().map(|target| {
            let mut words = vec![self.config.start_word(); start];
            words.extend_from_slice(&target[..target.len() - 1]);
            words
        }))
    }
}

fn check_count(targets: &Packed, sources: &Sources) -> Result<()> {
    let (targets, sources) = (targets.len(), sources.len());
    if targets != sources {
        return Err(Error::Input(format!("{targets} translations for {sources} sources")));
    }
    Ok(())
}

/// The context sentences of an example, in the order in which their texts are joined.
fn joined(example: &Example, sentences: &Packed) -> Vec<JoinedSentence> {
    let context = example.context.iter().enumerate();
    context
        .filter_map(|(slot, sentence)| {
            Some(JoinedSentence { slot, tokens: sentences.get((*sentence)?).len() })
        })
        .collect()
}

impl Sources {
    /// The number of translations that attend to it.
    pub fn len(&self) -> usize {
        self.visible.len()
    }

    /// Whether there is nothing to translate.
    pub fn is_empty(&self) -> bool {
        self.visible.is_empty()
    }
}
