//! Checkpoints: damaged ones are named and skipped; changed settings and data are rejected by name.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use abridge_model::random;
use abridge_model::weights::ModelDirectory;
use abridge_train::{Adam, AdamConfig, CheckpointRecipe, Checkpoints, Event, Options, RunState};

use common::{data, go_on, one_worker, open, open_with, prepare, recipe, train};

const FILES: [&str; 5] =
    ["model.safetensors", "optimizer.safetensors", "state.json", "config.toml", "MANIFEST.json"];

fn checkpoint(run: &Path, update: u64) -> PathBuf {
    run.join(format!("checkpoints/update-{update:08}"))
}

fn names(run: &Path) -> Vec<String> {
    let entries = fs::read_dir(run.join("checkpoints")).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Which checkpoint is found, and the report about newer ones.
fn found(run: &Path) -> (u64, String) {
    let found = Checkpoints::new(run.join("checkpoints")).newest().unwrap().unwrap();
    (found.state.update, found.passed_over.join("; "))
}

#[test]
fn damaged_checkpoints_are_skipped_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path();
    train(&["stop.max_updates=20"], run);
    for (number, name) in FILES.into_iter().enumerate() {
        let file = checkpoint(run, 20).join(name);
        let whole = fs::read(&file).unwrap();
        let is_skipped = |content: &[u8], how: &str| {
            fs::write(&file, content).unwrap();
            let (update, said) = found(run);
            assert_eq!(update, 10, "{name} {how}");
            assert!(said.contains("update-00000020") && said.contains(name), "{how}: {said}");
        };
        for length in [0, 1, 7, 8, 9, whole.len() / 2, whole.len() - 1] {
            is_skipped(&whole[..length], &format!("cut to {length} bytes"));
        }
        for flip in 0..40 {
            let bit = random::value(number as u64, flip) as usize % (whole.len() * 8);
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            is_skipped(&flipped, &format!("with bit {bit} flipped"));
        }
        fs::remove_file(&file).unwrap();
        assert_eq!(found(run).0, 10, "{name} removed");
        fs::write(&file, &whole).unwrap();
    }
    assert_eq!(found(run), (20, String::new()));
}

#[test]
fn a_resume_reports_skipped_checkpoints_and_rewrites_them() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path();
    train(&["stop.max_updates=20"], run);
    fs::write(checkpoint(run, 20).join("state.json"), "{}").unwrap();
    let (_, events, _) = train(&["stop.max_updates=20"], run);
    let Event::Resumed { update: 10, passed_over, .. } = &events[0] else {
        panic!("{:?}", events[0])
    };
    assert!(passed_over[0].contains("state.json"), "{passed_over:?}");
    assert_eq!(found(run), (20, String::new()));

    for update in [10, 20] {
        fs::remove_file(checkpoint(run, update).join("MANIFEST.json")).unwrap();
    }
    let error = open(recipe(&[]), run).err().unwrap().to_string();
    assert!(error.contains("no checkpoint") && error.contains("MANIFEST.json"), "{error}");
}

#[test]
fn the_newest_and_the_best_are_kept_and_have_pointers() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, training) = train(&["stop.max_updates=1"], &folder.path().join("run"));
    let adam = Adam::new(AdamConfig::default());
    let kept = |name: &str, keep: CheckpointRecipe| {
        let run = folder.path().join(name);
        let checkpoints = Checkpoints::new(run.join("checkpoints"));
        // The second of six validations is the best, the first the second best.
        for (index, loss) in [2.0, 1.0, 5.0, 6.0, 4.0, 3.0].into_iter().enumerate() {
            let update = 10 * (index as u64 + 1);
            let best_update = update.min(20);
            let best_loss = Some(if index == 0 { 2.0 } else { 1.0 });
            let valid_loss = Some(loss);
            let state = training.state().clone();
            let state = RunState { update, valid_loss, best_loss, best_update, ..state };
            checkpoints.save(training.model(), &adam, &state).unwrap();
            checkpoints.prune(keep, best_update);
        }
        let pointer = |name: &str| fs::read_to_string(run.join("checkpoints").join(name)).unwrap();
        assert_eq!(
            (pointer("last").as_str(), pointer("best").as_str()),
            ("update-00000060", "update-00000020",)
        );
        let updates = names(&run).into_iter().filter_map(|name| {
            name.strip_prefix("update-").map(|update| update.parse::<u64>().unwrap())
        });
        updates.collect::<Vec<_>>()
    };
    assert_eq!(kept("default", CheckpointRecipe::default()), [20, 50, 60]);
    // At least two, whatever the recipe says.
    assert_eq!(kept("few", CheckpointRecipe { keep: 0, keep_best: 0 }), [20, 50, 60]);
    assert_eq!(kept("many", CheckpointRecipe { keep: 3, keep_best: 2 }), [10, 20, 40, 50, 60]);
}

#[test]
fn leftovers_of_a_killed_save_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path();
    train(&["stop.max_updates=10"], run);
    let digits = "0f".repeat(16);
    let left = run.join(format!("checkpoints/.update-00000020.{digits}.part"));
    fs::create_dir(&left).unwrap();
    fs::write(left.join("state.json"), "{").unwrap();
    fs::write(run.join(format!("checkpoints/.best.{digits}.part")), "upd").unwrap();
    // These are not names that this program gives.
    let others = [".best.txt", ".update-notes"];
    for name in others {
        fs::write(run.join("checkpoints").join(name), "mine").unwrap();
    }
    drop(open(recipe(&[]), run).unwrap());
    assert_eq!(names(run), [".best.txt", ".update-notes", "best", "last", "update-00000010"]);
}

#[test]
fn a_run_takes_over_no_files_that_are_not_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let refused = |options: Options, words: &str| {
        let error =
            open_with(recipe(&["stop.max_updates=1"]), data(), &run, options).err().unwrap();
        assert!(error.to_string().contains(words), "{error}");
    };
    for name in ["recipe.toml", "metrics.jsonl", "tokenizers"] {
        fs::write(run.join(name), "# mine\n").unwrap();
        refused(one_worker(), &format!("{name}: was not written by a run"));
        assert_eq!(fs::read_to_string(run.join(name)).unwrap(), "# mine\n");
        fs::remove_file(run.join(name)).unwrap();
    }
    #[cfg(unix)]
    {
        let thesis = folder.path().join("thesis.txt");
        fs::write(&thesis, "years").unwrap();
        std::os::unix::fs::symlink("../thesis.txt", run.join(".lock")).unwrap();
        refused(one_worker(), ".lock: is not a file");
        assert_eq!(fs::read(thesis).unwrap(), b"years");
        fs::remove_file(run.join(".lock")).unwrap();
    }
    drop(open(recipe(&["stop.max_updates=1"]), &run).unwrap());
    // The recipe of the run itself may be given, and is not changed while it is read.
    let kept = run.join("recipe.toml");
    let reading = || Options { recipe: vec![kept.clone()], ..one_worker() };
    drop(open_with(recipe(&["stop.max_updates=1"]), data(), &run, reading()).unwrap());
    let commented = format!("# mine\n{}", fs::read_to_string(&kept).unwrap());
    fs::write(&kept, &commented).unwrap();
    refused(reading(), "is being read and would be overwritten");
    assert_eq!(fs::read_to_string(&kept).unwrap(), commented);
}

#[test]
fn only_the_model_of_a_run_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, training) = train(&["stop.max_updates=1"], &folder.path().join("run"));
    let model = folder.path().join("model");
    training.write_model(&model).unwrap();
    training.write_model(&model).unwrap();
    let imported = folder.path().join("imported");
    let tokenizers = folder.path().join("run/tokenizers");
    let of = [("from".to_owned(), "elsewhere".to_owned())].into();
    ModelDirectory::write(&imported, training.model(), of, |folder| {
        for name in fs::read_dir(&tokenizers).unwrap() {
            let path = name.unwrap().path();
            fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
        Ok::<(), abridge_model::Error>(())
    })
    .unwrap();
    let before = fs::read(imported.join("MANIFEST.json")).unwrap();
    let error = training.write_model(&imported).unwrap_err().to_string();
    assert!(error.contains("did not write"), "{error}");
    assert_eq!(fs::read(imported.join("MANIFEST.json")).unwrap(), before);
}

#[test]
fn two_processes_cannot_share_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let _first = open(recipe(&[]), folder.path()).unwrap();
    let error = open(recipe(&[]), folder.path()).err().unwrap().to_string();
    assert!(error.contains("another process"), "{error}");
}

#[test]
fn a_changed_recipe_is_rejected_by_name_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path();
    train(&["stop.max_updates=10"], run);
    let refused = |setting: &str| open(recipe(&[setting]), run).err().unwrap().to_string();
    let error = refused("optimisation.schedule.peak=1e-3");
    assert!(error.contains("optimisation.schedule.peak is 0.001, but was 0.002"), "{error}");
    assert!(error.contains("--force"), "{error}");
    assert!(refused("seed=7").contains("seed is 7, but was 42"));
    for harmless in ["stop.max_updates=11", "checkpoints.keep=9", "validation.sentences=1"] {
        assert!(open(recipe(&[harmless]), run).is_ok(), "{harmless}");
    }

    let forced = || Options { force: true, ..one_worker() };
    let other = recipe(&["seed=7", "stop.max_updates=11"]);
    let mut training = open_with(other, data(), run, forced()).unwrap();
    let (_, events) = go_on(&mut training);
    let Event::Resumed { changed, .. } = &events[0] else { panic!("{:?}", events[0]) };
    assert_eq!(changed, &["seed is 7, but was 42"]);
    drop(training);
    // The run now has the new settings.
    assert!(open(recipe(&["seed=7"]), run).is_ok());

    // Weights that do not fit cannot be forced.
    let wider = recipe(&["model.change.width=32"]);
    let error = open_with(wider, data(), run, forced()).err().unwrap().to_string();
    assert!(error.contains("[500, 16]") || error.contains("shape"), "{error}");
}

#[test]
fn changed_and_missing_data_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    train(&["stop.max_updates=10"], &run);
    let other = folder.path().join("other");
    prepare(7, &other);
    let resume = |data: &Path, options: Options| {
        open_with(recipe(&[]), data, &run, options).err().map(|error| error.to_string())
    };
    let error = resume(&other, one_worker()).unwrap();
    assert!(error.contains("the training data has a different hash"), "{error}");
    assert!(error.contains("the source vocabulary has a different hash"), "{error}");

    // The manifest is unchanged, but a file is not.
    fs::copy(other.join("valid.tokens"), other.join("train.tokens")).unwrap();
    let error = resume(&other, one_worker()).unwrap();
    assert!(error.contains("train.tokens") && error.contains("abridge prepare"), "{error}");
    fs::remove_file(other.join("train.tokens")).unwrap();
    assert!(resume(&other, one_worker()).unwrap().contains("train.tokens"));
    fs::remove_dir_all(&other).unwrap();
    assert!(resume(&other, one_worker()).unwrap().contains("manifest.json"));
}

#[test]
fn a_run_whose_data_is_deleted_still_writes_its_model() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    prepare(7, &data);
    let run = folder.path().join("run");
    let recipe = recipe(&["stop.max_updates=10"]);
    let mut training = open_with(recipe, &data, &run, one_worker()).unwrap();
    fs::remove_dir_all(&data).unwrap();
    go_on(&mut training);
    training.write_model(&run.join("model")).unwrap();
    assert!(run.join("model/tokenizer.source.json").is_file());
}

#[test]
fn limits_that_are_never_reached_do_not_overflow() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["stop.max_epochs=9223372036854775807", "stop.max_updates=1"];
    let (_, _, training) = train(&settings, &folder.path().join("run"));
    assert_eq!(training.horizon().1, Some(1));
}
