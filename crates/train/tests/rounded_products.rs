//! A training step with operands rounded to bfloat16 is close to one in `f32`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use abridge_model::ops::{ProductPrecision, check_precision};
use abridge_model::tokens::{END, SPECIAL_TOKENS};
use abridge_model::{Batch, Example, Model, ModelSize, Packed, Preset, Purpose, SourceBatch};
use abridge_train::{Accumulated, GradientWorkers, TrainRecipe, Trained, UpdateSettings};
use burn::tensor::Device;

const SENTENCES: usize = 40;

fn model() -> Model {
    let config = Preset::Grouping.config(ModelSize::Small, 300, 300, 1);
    config.init(3, &Device::flex().autodiff()).unwrap()
}

/// Large enough that products are rounded.
fn batch(model: &Model) -> Batch {
    let sentence = |seed: usize| -> Vec<u32> {
        let word = |i: usize| (SPECIAL_TOKENS + (seed * 31 + i * 17) % 250) as u32;
        (0..7 + seed % 9).map(word).chain([END]).collect()
    };
    let example = |position| Example {
        source: position,
        context: model.config().layout(Purpose::Training).positions(position),
    };
    let source = SourceBatch {
        sentences: Packed::new((0..SENTENCES).map(sentence).collect::<Vec<_>>()),
        translations: Packed::default(),
        examples: (0..SENTENCES).map(example).collect(),
    };
    let targets = (0..SENTENCES).map(|i| sentence(i + 100)).collect::<Vec<_>>();
    Batch { source, targets: Packed::new(targets) }
}

fn gradients(model: &Model, batch: &Batch, precision: ProductPrecision) -> Accumulated {
    scaled_gradients(model, batch, precision, 1.0)
}

fn scaled_gradients(
    model: &Model,
    batch: &Batch,
    precision: ProductPrecision,
    loss_scale: f64,
) -> Accumulated {
    let (train, smoothing, dropout) = (Trained::All, 0.1, 0.1);
    let settings =
        UpdateSettings { smoothing, dropout, train, seed: 1, update: 1, precision, loss_scale };
    GradientWorkers::new(Some(1), &Device::flex())
        .unwrap()
        .accumulate(model, std::slice::from_ref(batch), settings)
        .unwrap()
}

/// The relative norm of the difference.
fn distance(mut one: Accumulated, other: &Accumulated) -> f64 {
    let mut negative = other.gradients.clone();
    negative.scale(-1.0);
    one.gradients.add(negative);
    one.gradients.norm().unwrap() / other.gradients.norm().unwrap()
}

#[test]
fn rounding_hardly_changes_the_gradient() {
    let model = model();
    let batch = batch(&model);
    let exact = gradients(&model, &batch, ProductPrecision::F32);
    let rounded = gradients(&model, &batch, ProductPrecision::Bf16);
    assert!((rounded.loss / exact.loss - 1.0).abs() < 1e-3, "{} {}", rounded.loss, exact.loss);
    let distance = distance(rounded.clone(), &exact);
    assert!(distance < 0.02, "{distance}");
    assert!(distance > 1e-5, "something was rounded: {distance}");
    // Results are reproducible bit for bit, and the precision of one call does not affect the next.
    let again = gradients(&model, &batch, ProductPrecision::Bf16);
    let bits = |sum: &Accumulated| [sum.loss, sum.gradients.norm().unwrap()].map(f64::to_bits);
    assert_eq!(bits(&again), bits(&rounded));
    assert_eq!(bits(&gradients(&model, &batch, ProductPrecision::F32)), bits(&exact));
}

/// The fused operations of the CPU have no half precision; the engine's have.
#[test]
fn half_precision_with_a_scaled_loss_hardly_changes_the_gradient() {
    if let Err(error) = check_precision(ProductPrecision::F16, &Device::flex()) {
        assert!(error.to_string().contains("f16"), "{error}");
        return;
    }
    let model = model();
    let batch = batch(&model);
    let exact = gradients(&model, &batch, ProductPrecision::F32);
    let mut distances = Vec::new();
    for scale in [1.0, 64.0] {
        let rounded = scaled_gradients(&model, &batch, ProductPrecision::F16, scale);
        assert!((rounded.loss / exact.loss - 1.0).abs() < 1e-3, "{} {}", rounded.loss, exact.loss);
        distances.push(distance(rounded, &exact));
    }
    println!("distances without and with a scale: {distances:?}");
    assert!(distances[1] < 0.02 && distances[1] > 1e-6, "{distances:?}");
    // Gradients that are too small for half precision are lost without a scale.
    assert!(distances[1] <= distances[0], "{distances:?}");
    let overflowing = scaled_gradients(&model, &batch, ProductPrecision::F16, 1e9);
    assert!(!overflowing.gradients.norm().unwrap().is_finite());
}

#[test]
fn a_recipe_names_the_precision_only_if_it_is_not_the_default() {
    let usual = TrainRecipe::parse("", &[]).unwrap();
    assert!(!usual.to_toml().contains("precision"));
    let setting = ["optimisation.precision=bf16".to_owned()];
    let rounded = TrainRecipe::parse("", &setting).unwrap();
    assert_eq!(rounded.optimisation.precision, ProductPrecision::Bf16);
    assert_eq!(TrainRecipe::parse(&rounded.to_toml(), &[]).unwrap(), rounded);
    assert_ne!(usual.what_is_learned(), rounded.what_is_learned());
    let wrong = TrainRecipe::parse("", &["optimisation.precision=fp8".to_owned()]).unwrap_err();
    assert!(wrong.to_string().contains("bf16"), "{wrong}");
}
