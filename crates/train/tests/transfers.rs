//! What an update moves to and from its device. The only test of this file: it listens to the whole
//! process, because workers have threads of their own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use abridge_model::ops::{ProductPrecision, TRANSFERS};
use abridge_model::{DeviceKind, ModelSize, Preset, synthetic};
use abridge_train::{Adam, AdamConfig, GradientWorkers, Trained, UpdateSettings};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

/// The transfers since they were last taken.
#[derive(Debug, Default)]
struct Transfers {
    uploads: u64,
    uploaded_bytes: u64,
    reads: u64,
    read_bytes: u64,
}

impl Visit for Transfers {
    fn record_u64(&mut self, field: &Field, bytes: u64) {
        match field.name() {
            "uploaded" => {
                (self.uploads, self.uploaded_bytes) =
                    (self.uploads + 1, self.uploaded_bytes + bytes);
            }
            "read" => (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + bytes),
            other => panic!("a transfer has no field {other}"),
        }
    }

    fn record_debug(&mut self, field: &Field, _value: &dyn Debug) {
        panic!("{field} is no number of bytes");
    }
}

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Transfers>>);

impl Listener {
    fn take(&self) -> Transfers {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl<S: Subscriber> Layer<S> for Listener {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if event.metadata().target() == TRANSFERS {
            event.record(&mut *self.0.lock().unwrap());
        }
    }
}

#[test]
fn an_update_reads_once() {
    let listener = Listener::default();
    let subscriber = tracing_subscriber::registry().with(listener.clone());
    tracing::subscriber::set_global_default(subscriber).unwrap();
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
            listener.take();
            let mut sum = workers.accumulate(&model, &batches, settings).unwrap();
            sum.gradients.clip(0.1).unwrap();
            model = adam.step(model, sum.gradients, 1e-4);
            let moved = listener.take();
            println!("{preset}, C = {context}, update {update}: {moved:?}");
            // The losses of both micro-batches and, on a device, the norm of the gradient.
            assert!(moved.uploads > 0 && moved.uploaded_bytes > 0, "{moved:?}");
            assert_eq!(moved.reads, 1, "{preset}, C = {context}, update {update}");
            assert!(moved.read_bytes <= 5 * 4, "{moved:?}");
        }
    }
}
