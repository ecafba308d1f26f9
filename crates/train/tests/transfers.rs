//! What an update moves to and from its device. The only test of this file: transfers are counted per
//! process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use abridge_model::ops::{ProductPrecision, Transfers};
use abridge_model::{DeviceKind, ModelSize, Preset, synthetic};
use abridge_train::{Adam, AdamConfig, GradientWorkers, Trained, UpdateSettings};

#[test]
fn an_update_reads_once() {
    let device = DeviceKind::under_test().open().unwrap().autodiff();
    for (preset, context) in [(Preset::Sentence, 0), (Preset::Grouping, 1), (Preset::Grouping, 10)]
    {
        let config = preset.config(ModelSize::Tiny, 300, 300, context);
        let mut model = config.init(1, &device).unwrap();
        let batches = [1, 2].map(|seed| synthetic::batch(&config, 12, seed));
        let workers = GradientWorkers::new(Some(1), &device).unwrap();
        let mut adam = Adam::new(AdamConfig::default());
        for update in 1..=3 {
            let settings = UpdateSettings {
                smoothing: 0.1,
                dropout: config.dropout,
                train: Trained::All,
                seed: 1,
                update,
                precision: ProductPrecision::F32,
                loss_scale: 1.0,
            };
            let before = Transfers::so_far();
            let mut sum = workers.accumulate(&model, &batches, settings).unwrap();
            sum.gradients.clip(0.1).unwrap();
            model = adam.step(model, sum.gradients, 1e-4);
            let moved = Transfers::so_far().since(before);
            println!("{preset}, C = {context}, update {update}: {moved:?}");
            // The losses of both micro-batches and, on a device, the norm of the gradient.
            assert_eq!(moved.reads, 1, "{preset}, C = {context}, update {update}");
            assert!(moved.read_bytes <= 5 * 4, "{moved:?}");
        }
    }
}
