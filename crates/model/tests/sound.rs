//! The sound defaults, compared with an independent computation in PyTorch.
//!
//! `fixtures/sound/make.py` computes the same networks from the paper's equations, sentence by
//! sentence and in double precision; see there for what the cases are.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_model::config::{
    CategoriserConfig, Integration, Normaliser, Pooling, PoolingConfig, ShortenerConfig,
};
use abridge_model::{AttentionWeights, Dropout, Model, ModelConfig, Preset};
use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Tensor, TensorData};
use common::{batch, config};
use serde_json::Value;

/// Gives every parameter the values that `make.py` gives it.
#[derive(Default)]
struct Formula {
    path: Vec<String>,
}

impl ModuleMapper for Formula {
    fn enter_module(&mut self, name: &str, container: &str) {
        if !container.starts_with("Enum:") {
            self.path.push(name.to_owned());
        }
    }

    fn exit_module(&mut self, _name: &str, container: &str) {
        if !container.starts_with("Enum:") {
            self.path.pop();
        }
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.join(".");
        let key: usize = name.bytes().enumerate().map(|(i, b)| (i + 1) * usize::from(b)).sum();
        let wave = |place: usize| (place as f64 * 1.7 + (key % 1000) as f64).sin();
        let is_gain = name.ends_with("gain");
        let value = |place| if is_gain { 1.0 + 0.2 * wave(place) } else { 0.45 * wave(place) };
        param.map(|old| {
            let values: Vec<f32> =
                (0..old.dims().iter().product()).map(|i| value(i) as f32).collect();
            Tensor::from_data(TensorData::new(values, old.shape()), &old.device())
        })
    }
}

fn shortener(case: &Value) -> ShortenerConfig {
    let size = |name: &str| case[name].as_u64().unwrap() as usize;
    let categoriser = || CategoriserConfig {
        groups: size("groups"),
        hidden: size("hidden"),
        normaliser: Normaliser::Sparsemax,
    };
    let pooling =
        |operation| ShortenerConfig::Pooling(PoolingConfig { operation, window: size("window") });
    match case["shortener"].as_str().unwrap() {
        "tokens" => ShortenerConfig::Tokens,
        "mean" => ShortenerConfig::Mean,
        "pooling-avg" => pooling(Pooling::Average),
        "pooling-max" => pooling(Pooling::Max),
        "pooling-linear" => pooling(Pooling::Linear),
        "grouping" => ShortenerConfig::Grouping(categoriser()),
        "selecting" => ShortenerConfig::Selecting(categoriser()),
        other => panic!("{other} is not a shortener"),
    }
}

fn network(case: &Value) -> Model {
    let config = ModelConfig {
        shortener: Some(shortener(case)),
        integration: Some(match case["integration"].as_str().unwrap() {
            "joined" => Integration::Joined,
            "serial" => Integration::Serial,
            _ => Integration::Parallel,
        }),
        gate: case["gate"].as_bool().unwrap(),
        current_in_memory: case["current_in_memory"].as_bool().unwrap(),
        ..config(Preset::CachingTokens, case["context_size"].as_u64().unwrap() as usize)
    };
    assert!(!config.as_published);
    config.init(1, &Device::flex()).unwrap().map(&mut Formula::default())
}

fn tokens(value: &Value) -> Vec<Vec<u32>> {
    serde_json::from_value(value.clone()).unwrap()
}

fn rows(weights: AttentionWeights) -> Vec<Vec<f32>> {
    let join = |(mut source, memory): (Vec<f32>, Vec<f32>)| {
        source.extend(memory);
        source
    };
    weights.source.into_iter().zip(weights.memory).map(join).collect()
}

#[test]
fn scores_and_attention_equal_those_of_an_independent_computation() {
    let all: Value = serde_json::from_str(include_str!("fixtures/sound/cases.json")).unwrap();
    let cases = all["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 9);
    let document = (tokens(&all["sources"]), tokens(&all["targets"]));
    for case in cases {
        let name = format!("{} {} gate {}", case["shortener"], case["integration"], case["gate"]);
        let model = network(case);
        let batch = batch(std::slice::from_ref(&document), model.config());
        let logits = model.forward(&batch, &mut Dropout::off()).unwrap();
        let vocabulary = logits.dims()[1];
        let scores: Vec<f64> = log_softmax(logits, 1).into_data().iter::<f64>().collect();
        let sources = model.sources(&batch.source).unwrap();
        let looks = model.attended(&sources, &batch.targets).unwrap();
        let mut row = 0;
        for ((target, look), expected) in
            document.1.iter().zip(looks).zip(case["translations"].as_array().unwrap())
        {
            let expected_scores: Vec<f64> =
                serde_json::from_value(expected["scores"].clone()).unwrap();
            assert_eq!(expected_scores.len(), target.len());
            for (&word, expected) in target.iter().zip(expected_scores) {
                let ours = scores[row * vocabulary + word as usize];
                assert!((ours - expected).abs() < 1e-4, "{name}: {ours}, not {expected}");
                row += 1;
            }
            let attention: Vec<Vec<f32>> =
                serde_json::from_value(expected["attention"].clone()).unwrap();
            let ours = rows(look.mean());
            assert_eq!(ours.len(), attention.len(), "{name}");
            for (ours, expected) in ours.iter().zip(&attention) {
                assert_eq!(ours.len(), expected.len(), "{name}: what is seen");
                for (ours, expected) in ours.iter().zip(expected) {
                    assert!((ours - expected).abs() < 1e-5, "{name}: {ours}, not {expected}");
                }
            }
        }
    }
}
