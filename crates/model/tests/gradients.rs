//! Gradients: against central differences in double precision, and where they must and must not
//! reach.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_model::config::{
    Activation, CategoriserConfig, Integration, Normaliser, Pooling, PoolingConfig, ShortenerConfig,
};
use abridge_model::{Batch, Dropout, Model, ModelConfig, Preset, random};
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, FloatDType, Gradients, Tensor, TensorData};
use common::{batch, config, document, values};

/// The device of this test binary computes in double precision throughout.
fn device() -> Device {
    static ONCE: std::sync::OnceLock<Device> = std::sync::OnceLock::new();
    ONCE.get_or_init(|| {
        let mut device = Device::flex();
        device.configure(FloatDType::F64).unwrap();
        device
    })
    .clone()
    .autodiff()
}

fn loss(model: &Model, batch: &Batch) -> Tensor<1> {
    model.loss(batch, 0.1, &mut Dropout::off()).unwrap().smoothed
}

/// Every gradient by name; absent ones are empty.
fn gradients(model: &Model, gradients: &Gradients) -> Vec<(String, Vec<f64>)> {
    struct Collect<'a> {
        gradients: &'a Gradients,
        all: Vec<Vec<f64>>,
    }
    impl ModuleVisitor for Collect<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = param.val().grad(self.gradients);
            self.all.push(gradient.map(|gradient| values(&gradient)).unwrap_or_default());
        }
    }
    let mut collect = Collect { gradients, all: Vec::new() };
    model.visit(&mut collect);
    let names = model.parameters().into_iter().map(|parameter| parameter.name);
    names.zip(collect.all).collect()
}

/// Adds `step` to one value of the parameter with the given number.
struct Nudge {
    parameter: usize,
    place: usize,
    step: f64,
    seen: usize,
}

impl ModuleMapper for Nudge {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        self.seen += 1;
        if self.seen - 1 != self.parameter {
            return param;
        }
        param.map(|value| {
            let shape = value.dims();
            let mut values = values(&value);
            values[self.place] += self.step;
            Tensor::from_data(TensorData::new(values, shape), &value.device()).require_grad()
        })
    }
}

/// Compares some entries of every parameter whose name passes with central differences.
fn check_against_differences(config: &ModelConfig, wanted: impl Fn(&str) -> bool) {
    let device = device();
    let model = config.init(11, &device).unwrap();
    let batch = batch(&[document(21, 4), document(22, 2)], config);
    let computed = gradients(&model, &loss(&model, &batch).backward());
    let mut compared = 0;
    for (number, (name, gradient)) in computed.iter().enumerate().filter(|(_, (n, _))| wanted(n)) {
        assert!(!gradient.is_empty(), "{name} has no gradient");
        for probe in 0..4 {
            let place = random::value(number as u64, probe) as usize % gradient.len();
            let step = 1e-5;
            let nudged = |step| {
                let mut nudge = Nudge { parameter: number, place, step, seen: 0 };
                loss(&model.clone().map(&mut nudge), &batch).into_scalar::<f64>()
            };
            let expected = (nudged(step) - nudged(-step)) / (2.0 * step);
            let off = (gradient[place] - expected).abs();
            assert!(
                off < 1e-6 * expected.abs().max(1.0),
                "{name}[{place}]: {} against {expected}",
                gradient[place]
            );
            compared += 1;
        }
    }
    assert!(compared > 0, "nothing was compared");
}

/// A memory whose gradient goes everywhere, so that finite differences cover all of it.
fn open_memory(shortener: ShortenerConfig) -> ModelConfig {
    let mut config = config(Preset::Grouping, 2);
    config.shortener = Some(shortener);
    config.gradient_sentences = None;
    config
}

#[test]
fn grouping_and_selecting_with_both_normalisers() {
    for normaliser in [Normaliser::Sparsemax, Normaliser::Softmax] {
        let categoriser = CategoriserConfig { groups: 3, hidden: 5, normaliser };
        for shortener in
            [ShortenerConfig::Grouping(categoriser), ShortenerConfig::Selecting(categoriser)]
        {
            check_against_differences(&open_memory(shortener), |name| {
                name.starts_with("shortener.") || name.starts_with("encoder.layers.1")
            });
        }
    }
}

#[test]
fn every_pooling_and_the_mean() {
    for as_published in [false, true] {
        for operation in [Pooling::Average, Pooling::Max, Pooling::Linear] {
            let mut config =
                open_memory(ShortenerConfig::Pooling(PoolingConfig { operation, window: 3 }));
            config.as_published = as_published;
            check_against_differences(&config, |name| {
                name.starts_with("shortener.") || name.starts_with("encoder.layers.1")
            });
        }
        let mut config = open_memory(ShortenerConfig::Mean);
        config.as_published = as_published;
        check_against_differences(&config, |name| name.starts_with("encoder.layers.1"));
    }
}

#[test]
fn every_integration_and_the_gate() {
    for as_published in [false, true] {
        for integration in [Integration::Joined, Integration::Serial, Integration::Parallel] {
            for gate in [false, true] {
                if gate && integration == Integration::Joined {
                    continue;
                }
                let mut config = open_memory(ShortenerConfig::Tokens);
                config.integration = Some(integration);
                config.gate = gate;
                config.as_published = as_published;
                check_against_differences(&config, |name| {
                    name.starts_with("decoder.layers.0.") || name == "decoder.segments.weight"
                });
            }
        }
    }
}

#[test]
fn baselines() {
    for preset in [Preset::Sentence, Preset::SingleEncoder, Preset::MultiEncoder] {
        let config = config(preset, 2);
        check_against_differences(&config, |name| !name.contains("layers.1"));
    }
}

#[test]
fn every_kind_of_network() {
    for (_, change) in common::KINDS {
        let mut config = open_memory(ShortenerConfig::Mean);
        change(&mut config);
        check_against_differences(&config, |name| {
            let is_upper = name.contains("layers.") && !name.contains("layers.0.");
            !is_upper && !name.contains("attention") && !name.starts_with("shortener.")
        });
    }
    for activation in [Activation::Silu, Activation::QuickGelu] {
        let config = ModelConfig { activation, ..config(Preset::Sentence, 0) };
        check_against_differences(&config, |name| name.contains("layers.0.feed_forward"));
    }
}

#[test]
fn every_parameter_of_every_preset_is_trained() {
    let device = device();
    let all = Preset::ALL.iter().flat_map(|preset| common::KINDS.map(|kind| (preset, kind)));
    for (&preset, (kind, change)) in all {
        let mut config = config(preset, 2);
        change(&mut config);
        let model = config.init(5, &device).unwrap();
        let batch = batch(&[document(31, 6), document(32, 3)], &config);
        for (name, gradient) in gradients(&model, &loss(&model, &batch).backward()) {
            assert!(gradient.iter().all(|x| x.is_finite()), "{preset}, {kind}: {name}");
            let largest = gradient.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            // Adding a constant to all scores of a softmax or sparsemax changes nothing: there is
            // nothing to learn in a key's bias, nor in the bias of selecting's scores.
            let is_constant_shift = name.ends_with("key.bias")
                || (preset == Preset::Selecting && name.ends_with("scores.output.bias"));
            if is_constant_shift {
                assert!(largest < 1e-12, "{preset}, {kind}: {name}: {largest:e}");
            } else {
                assert!(largest > 1e-9, "{preset}, {kind}: {name} gets no gradient");
            }
        }
    }
}

/// Whether the gradient of the last sentence's loss reaches the encoder and the shortener through
/// the sentence at `position` of the document.
fn reaches(config: &ModelConfig, position: usize) -> (bool, bool) {
    let device = device();
    let model = config.init(5, &device).unwrap();
    let (sources, targets) = document(41, 4);
    let rare = common::VOCABULARY as u32 - 1;
    let mut sources: Vec<Vec<u32>> = sources
        .into_iter()
        .map(|sentence| sentence.into_iter().map(|token| token.min(rare - 1)).collect())
        .collect();
    // Only this sentence has the rare word: its embedding is trained only through this sentence.
    sources[position] = vec![rare, rare, 7, 2];
    let mut batch = batch(&[(sources, targets)], config);
    let keep = batch.source.examples.len() - 1;
    batch.source.examples = vec![batch.source.examples[keep].clone()];
    batch.targets = abridge_model::Packed::new([batch.targets.get(keep)]);
    let gradients = gradients(&model, &loss(&model, &batch).backward());
    let of = |wanted: &str| {
        &gradients.iter().find(|(name, _)| name == wanted).expect("there is such a parameter").1
    };
    let width = config.width;
    let row = rare as usize * width..(rare as usize + 1) * width;
    let encoder = of("source_embedding.weight")[row].iter().any(|&x| x != 0.0);
    // With the current sentence out of the memory, the shortener is trained through context only.
    let shortener = gradients
        .iter()
        .filter(|(name, _)| name.starts_with("shortener.") && !name.ends_with("key.bias"))
        .any(|(_, gradient)| gradient.iter().any(|&x| x != 0.0));
    (encoder, shortener)
}

#[test]
fn closed_slots_contribute_exactly_nothing() {
    let categoriser = CategoriserConfig { groups: 3, hidden: 5, normaliser: Normaliser::Softmax };
    let mut config = config(Preset::Grouping, 1);
    config.shortener = Some(ShortenerConfig::Grouping(categoriser));
    config.current_in_memory = false;
    for (encoder_gradient, sentences, expected) in [
        (true, None, (true, true)),
        (true, Some(1), (true, true)),
        (true, Some(0), (false, false)),
        (false, None, (false, true)),
        (false, Some(1), (false, true)),
        (false, Some(0), (false, false)),
    ] {
        config.context_encoder_gradient = encoder_gradient;
        config.gradient_sentences = sentences;
        assert_eq!(reaches(&config, 2), expected, "{encoder_gradient} {sentences:?}");
    }
}

#[test]
fn the_nearest_sentences_are_open_and_the_others_closed() {
    let mut config = config(Preset::Selecting, 3);
    for nearest in 0..=3 {
        config.gradient_sentences = Some(nearest);
        for position in 0..3 {
            let distance = 3 - position;
            let (encoder, _) = reaches(&config, position);
            assert_eq!(encoder, distance <= nearest, "distance {distance}, {nearest} open");
        }
    }
    // Pooling: no context sentence trains the encoder, all train the shortener.
    let pooling = common::config(Preset::PoolingLinear, 3);
    for position in 0..3 {
        assert!(!reaches(&pooling, position).0);
    }
    // Caching: nothing to train but the decoder.
    let caching = common::config(Preset::CachingTokens, 3);
    for position in 0..3 {
        assert!(!reaches(&caching, position).0);
    }
}
