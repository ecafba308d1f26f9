//! A memory on top of a trained network: at first it changes nothing, and it can be trained alone.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_model::config::Context;
use abridge_model::weights::{TensorFile, WeightPrecision};
use abridge_model::{Dropout, Model, Part, Preset};
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor};
use common::{batch, config, device, document, values};

fn memories() -> impl Iterator<Item = Preset> {
    let is_memory =
        |preset: &Preset| preset.config(abridge_model::ModelSize::Tiny, 9, 9, 1).context;
    Preset::ALL.into_iter().filter(move |preset| is_memory(preset) == Context::Memory)
}

/// A sentence-level network, and the same with a memory on top.
fn with_memory(
    kind: fn(&mut abridge_model::ModelConfig),
    preset: Preset,
    device: &Device,
) -> (Model, Model) {
    let mut base = config(Preset::Sentence, 0);
    kind(&mut base);
    let model = base.init(7, device).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("base.safetensors");
    model.save(&file).unwrap();
    let with_memory = base.with_context_of(&config(preset, 3)).init(9, device).unwrap();
    let (with_memory, taken) = with_memory.take_over(&TensorFile::open(&file).unwrap()).unwrap();
    assert!(taken.unused.is_empty() && !taken.new.is_empty(), "{preset}: {taken:?}");
    (model, with_memory.with_silent_context())
}

#[test]
fn the_output_is_exactly_that_of_the_network_below() {
    let device = device();
    for (kind, change) in common::KINDS {
        for preset in memories() {
            let (base, with_memory) = with_memory(change, preset, &device);
            let document = document(3, 5);
            let batches = [&base, &with_memory]
                .map(|model| batch(std::slice::from_ref(&document), model.config()));
            let logits =
                |model: &Model, batch| values(&model.forward(batch, &mut Dropout::off()).unwrap());
            let (plain, added) = (logits(&base, &batches[0]), logits(&with_memory, &batches[1]));
            assert!(plain == added, "{preset} on {kind}");

            for precision in [WeightPrecision::Single, WeightPrecision::Int8] {
                let step = |model: &Model, batch: &abridge_model::Batch| {
                    let lean = model.lean_decoder_in(precision).unwrap();
                    let sources = model.sources(&batch.source).unwrap();
                    let mut decoding = lean.decode(&sources);
                    decoding.step(&[model.config().start_word(); 5]);
                    decoding.step(&[9, 8, 7, 6, 5]).to_vec()
                };
                let (plain, added) = (step(&base, &batches[0]), step(&with_memory, &batches[1]));
                assert!(plain == added, "{preset} on {kind}, {precision}");
            }
        }
    }
}

/// Whether each parameter has a gradient, and whether it is zero.
fn gradients(model: &Model, gradients: &Gradients) -> Vec<Option<bool>> {
    struct Collect<'a>(&'a Gradients, Vec<Option<bool>>);
    impl ModuleVisitor for Collect<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = param.val().grad(self.0);
            self.1.push(gradient.map(|gradient| values(&gradient).iter().all(|&x| x == 0.0)));
        }
    }
    let mut collect = Collect(gradients, Vec::new());
    model.visit(&mut collect);
    collect.1
}

#[test]
fn a_frozen_base_has_no_gradient_and_the_memory_has_one() {
    let device = device().autodiff();
    for (kind, change) in common::KINDS {
        for preset in memories() {
            let (_, model) = with_memory(change, preset, &device);
            let model = model.with_frozen_base().with_own_leaves();
            let batch = batch(&[document(3, 5)], model.config());
            let loss = model.loss(&batch, 0.1, &mut Dropout::new(0.3, 5)).unwrap();
            let gradients = gradients(&model, &loss.smoothed.backward());
            for (parameter, gradient) in model.parameters().iter().zip(gradients) {
                let name = &parameter.name;
                match parameter.part {
                    Part::Base => assert_eq!(gradient, None, "{preset} on {kind}: {name}"),
                    // The only one before the zeros in the backward pass.
                    Part::Context if name.contains("context.attention.output.") => {
                        assert_eq!(gradient, Some(false), "{preset} on {kind}: {name}");
                    }
                    Part::Context => {}
                }
            }
        }
    }
}
