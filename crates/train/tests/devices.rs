//! A run may change its device: what one saved, the other continues, and both compute the same.
//!
//! The other device is that of `ABRIDGE_TEST_DEVICE`; without it both are the CPU.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use abridge_model::DeviceKind;
use abridge_train::{Event, GradientWorkers};
use common::{data, go_on, one_worker, open_on, recipe};

/// Trains 10 updates on the first device and 10 more on the second; returns both validation losses.
fn losses(devices: [DeviceKind; 2], run: &Path) -> Vec<f64> {
    let mut losses = Vec::new();
    for (part, device) in devices.into_iter().enumerate() {
        let limit = format!("stop.max_updates={}", 10 * (part + 1));
        let recipe = recipe(&[limit.as_str()]);
        let mut training = open_on(device, recipe, data(), run, one_worker()).unwrap();
        let (_, events) = go_on(&mut training);
        let resumed = events.iter().any(|event| matches!(event, Event::Resumed { update: 10, .. }));
        assert_eq!(resumed, part == 1, "{events:?}");
        losses.extend(events.iter().filter_map(|event| match event {
            Event::Validated { loss, .. } => Some(*loss),
            _ => None,
        }));
    }
    losses
}

#[test]
fn a_run_continues_on_another_device() {
    let folder = tempfile::tempdir().unwrap();
    let (cpu, other) = (DeviceKind::Cpu, DeviceKind::under_test());
    let expected = losses([cpu, cpu], &folder.path().join("cpu"));
    assert_eq!(expected.len(), 2);
    assert!(expected[1] < expected[0] - 0.1, "the runs must move for this to show: {expected:?}");
    for (name, devices) in [("there", [cpu, other]), ("back", [other, cpu])] {
        let ours = losses(devices, &folder.path().join(name));
        for (ours, expected) in ours.iter().zip(&expected) {
            let off = (ours - expected).abs() / expected;
            assert!(off < 1e-4, "{name}: {ours} against {expected}, off by {off:e}");
        }
    }
}

#[test]
fn a_device_has_one_worker_and_the_processor_one_per_core() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let under_test = DeviceKind::under_test();
    let expected = if under_test == DeviceKind::Cpu { cores } else { 1 };
    let device = under_test.open().unwrap();
    for device in [device.clone(), device.autodiff()] {
        assert_eq!(GradientWorkers::new(None, &device).unwrap().count(), expected);
        assert_eq!(GradientWorkers::new(Some(3), &device).unwrap().count(), 3);
    }
}
