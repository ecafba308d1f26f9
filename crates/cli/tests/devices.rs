//! The commands give the same on another device as on the CPU.
//!
//! The other device is that of `ABRIDGE_TEST_DEVICE`; without it, the CPU is compared with itself, and
//! what is left is that files and sessions give the same.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use abridge_model::{DeviceKind, Preset};
use common::{SENTENCES, abridge, model};
use serde_json::Value;

fn run(folder: &Path, device: DeviceKind, arguments: &[&str], input: &str) -> String {
    let output = abridge(folder)
        .args(arguments)
        .args(["--device", device.name()])
        .write_stdin(input)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{device}: {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn documents_and_sessions_are_translated_alike() {
    let folder = tempfile::tempdir().unwrap();
    model(folder.path(), Preset::Grouping);
    let text = format!("{}\n\n{}\n", SENTENCES[..3].join("\n"), SENTENCES[3..].join("\n"));
    fs::write(folder.path().join("text.en"), &text).unwrap();
    let translate = ["translate", "--model", "model", "--max-length", "8", "--beam", "2"];
    let of_file = [&translate[..], &["text.en"]].concat();
    let expected = run(folder.path(), DeviceKind::Cpu, &of_file, "");
    assert_eq!(expected.lines().count(), 7);
    let device = DeviceKind::under_test();
    assert_eq!(run(folder.path(), device, &of_file, ""), expected, "in batches");
    assert_eq!(run(folder.path(), device, &translate, &text), expected, "in a session");
}

#[test]
fn training_scoring_and_contrast_agree() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, device) = (folder.path(), DeviceKind::under_test());
    let sizes = ["--train-documents", "60", "--valid-documents", "4", "--test-documents", "4"];
    let practice = [&["practice", "--output", "text"], &sizes[..]].concat();
    abridge(folder).args(practice).assert().success();
    let set: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("text/contrastive.json")).unwrap())
            .unwrap();
    let few = Value::from(set.as_array().unwrap()[..24].to_vec());
    fs::write(folder.join("set.json"), few.to_string()).unwrap();
    let texts =
        ["--train", "text/train.en,text/train.de", "--valid", "text/valid.en,text/valid.de"];
    let prepare =
        [&["prepare", "data", "--vocabulary-size", "300", "--quiet"], &texts[..]].concat();
    abridge(folder).args(prepare).assert().success();
    let train = "train --data data --run run --workers 1 --quiet --set model.preset=grouping --set \
                 model.size=tiny --set model.context_size=1 --set model.change.width=16 --set \
                 model.change.heads=2 --set batches.max_tokens=300 --set stop.max_updates=5 --set \
                 stop.validate_every=5 --set validation.sentences=0";
    run(folder, device, &train.split(' ').collect::<Vec<_>>(), "");

    let contrast = ["contrast", "--model", "run/model", "--set", "set.json", "--scores"];
    let scores = |device: DeviceKind| -> Vec<f64> {
        let file = format!("{device}.scores");
        run(folder, device, &[&contrast[..], &[&file]].concat(), "");
        let text = fs::read_to_string(folder.join(&file)).unwrap();
        // A signature, then one score per line.
        text.lines().skip(1).map(|line| line.parse().unwrap()).collect()
    };
    let (ours, expected) = (scores(device), scores(DeviceKind::Cpu));
    assert!(expected.len() >= 48, "{} scores", expected.len());
    assert_eq!(ours.len(), expected.len());
    for (ours, expected) in ours.iter().zip(&expected) {
        assert!((ours - expected).abs() < 1e-4, "{ours} against {expected}");
    }
}

#[test]
fn a_missing_device_is_named_with_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    model(folder.path(), Preset::Grouping);
    for kind in DeviceKind::ALL {
        // No driver of this kind is found, whatever the machine has.
        let output = abridge(folder.path())
            .args(["translate", "--model", "model", "--device", kind.name()])
            .env("VK_DRIVER_FILES", "/nonexistent")
            .env("VK_ICD_FILENAMES", "/nonexistent")
            .env("LIBGL_DRIVERS_PATH", "/nonexistent")
            .write_stdin("The old lamp.\n")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if kind == DeviceKind::Cpu {
            assert!(output.status.success(), "{said}");
        } else if !kind.is_built_in() {
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains(&format!("--features {kind}")), "{said}");
        } else if kind == DeviceKind::Vulkan {
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains("this machine has no vulkan device"), "{said}");
            assert!(said.contains("another --device of this build: cpu"), "{said}");
        }
    }
}
