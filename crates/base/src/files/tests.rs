//! Which outputs may be written, and what is left behind after failures.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::*;
use crate::error::{HasKind, Kind};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn refuses(result: crate::Result<impl std::fmt::Debug>, words: &str) {
    let error = result.unwrap_err();
    assert!(error.to_string().contains(words), "{error}");
    assert_eq!(error.kind(), Kind::Usage, "{error}");
}

#[test]
fn inputs_are_never_overwritten() {
    let folder = folder();
    let [input, linked, other] = ["a", "b", "c"].map(|name| folder.path().join(name));
    fs::write(&input, "text").unwrap();
    fs::hard_link(&input, &linked).unwrap();
    let model = folder.path().join("model");
    fs::create_dir(&model).unwrap();
    fs::write(model.join("weights"), "w").unwrap();
    let mut outputs = Outputs::new();
    let archive = folder.path().join("d.tar");
    fs::write(&archive, "members").unwrap();
    outputs.reading(&input).reading(&model).reading(&archive.join("train/a.en"));
    outputs.reading(&folder.path().join("missing/a.en"));
    refuses(outputs.file(&input), "is being read and would be overwritten");
    refuses(outputs.file(&folder.path().join("./a")), "is being read");
    refuses(outputs.file(&linked), "which is being read");
    refuses(outputs.file(&archive), "is being read and would be overwritten");
    refuses(outputs.file(&model.join("weights")), "is part of ");
    refuses(outputs.directory(&model, |_| Some(vec!["weights".into()])), "is being read");
    outputs.file(&other).unwrap().write(b"new").unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"new");
    assert_eq!(fs::read(&input).unwrap(), b"text");
    assert_eq!(names(folder.path()), ["a", "b", "c", "d.tar", "model"]);
}

#[test]
fn unwritable_outputs_are_detected_up_front() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "x").unwrap();
    fs::create_dir(at("made")).unwrap();
    let mut outputs = Outputs::new();
    refuses(outputs.file(&at("missing/out")), "does not exist");
    refuses(outputs.file(&at("file/out")), "is not a directory");
    refuses(outputs.file(&at("new/")), "is not a directory");
    refuses(outputs.file(&at("made")), "is a directory");
    refuses(outputs.derived(&at("file"), false, "move it"), "already exists");
    outputs.file(&at("out")).unwrap();
    refuses(outputs.file(&at("made/../out")), "two outputs");
    assert_eq!(names(folder.path()), ["file", "made"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_modes_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("precious"), "kept").unwrap();
    symlink(at("precious"), at("link")).unwrap();
    symlink(at("nowhere"), at("dangling")).unwrap();
    refuses(Outputs::new().file(&at("link")), "is a symbolic link to ");
    refuses(Outputs::new().file(&at("dangling")), "is a symbolic link to ");
    refuses(Outputs::new().directory(&at("link"), |_| None), "is a symbolic link to ");

    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
    fs::write(at("secret"), "old").unwrap();
    fs::set_permissions(at("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    Outputs::new().file(&at("secret")).unwrap().write(b"new").unwrap();
    assert_eq!((mode("secret"), fs::read(at("secret")).unwrap()), (0o600, b"new".to_vec()));
    replace(&at("secret"), b"newer").unwrap();
    assert_eq!(mode("secret"), 0o600);
    Outputs::new().file(&at("plain")).unwrap().write(b"new").unwrap();
    fs::write(at("usual"), "").unwrap();
    assert_eq!(mode("plain"), mode("usual"));
    assert_eq!(fs::read(at("precious")).unwrap(), b"kept");
}

#[test]
fn an_output_appears_complete_or_not_at_all() {
    let folder = folder();
    let path = folder.path().join("out");
    fs::write(&path, "before").unwrap();
    let output = Outputs::new().file(&path).unwrap();
    let mut writer = output.open().unwrap();
    writer.write_all(b"half").unwrap();
    drop(writer);
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(names(folder.path()), ["out"]);
    let mut writer = output.open().unwrap();
    writer.write_all(b"whole").unwrap();
    writer.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"whole");

    let path = folder.path().join("growing");
    let mut writer = Outputs::new().file(&path).unwrap().open_growing().unwrap();
    writer.write_all(b"line\n").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"line\n");
}

#[test]
fn only_leftovers_of_killed_processes_are_removed() {
    let folder = folder();
    let path = folder.path().join("out");
    let left = folder.path().join(format!(".out.{}.part", "0f".repeat(16)));
    fs::create_dir(&left).unwrap();
    fs::write(left.join("x"), "half").unwrap();
    let others = [".out.part", ".out.0f.part", "out.part", ".other.part"];
    for name in others {
        fs::write(folder.path().join(name), "mine").unwrap();
    }
    let busy = Outputs::new().file(&path).unwrap().open().unwrap();
    Outputs::new().file(&path).unwrap().write(b"done").unwrap();
    assert!(!left.exists());
    busy.finish().unwrap();
    assert_eq!(
        names(folder.path()),
        [".other.part", ".out.0f.part", ".out.part", "out", "out.part"]
    );
}

#[test]
fn leftovers_of_many_outputs_in_one_folder_are_removed() {
    let folder = folder();
    let [a, b, c] = ["a", "b", "c"].map(|name| folder.path().join(name));
    let left = |name: &str| folder.path().join(format!(".{name}.{}.part", "0f".repeat(16)));
    for name in ["a", "b", "c"] {
        fs::write(left(name), "half").unwrap();
    }
    let mut outputs = Outputs::new();
    outputs.file(&a).unwrap();
    let busy = fs::File::open(left("b")).unwrap();
    busy.lock().unwrap();
    outputs.file(&b).unwrap();
    outputs.file(&c).unwrap();
    assert_eq!(names(folder.path()), [left("b").file_name().unwrap().to_str().unwrap()]);
}

fn own(directory: &Path) -> Option<Vec<String>> {
    directory.join("sub/b").is_file().then(|| ["a", "sub/b"].map(str::to_owned).to_vec())
}

fn write_directory(target: &Path, content: &str) -> crate::Result<()> {
    let directory = OutputDirectory::begin(target, own)?;
    fs::create_dir(directory.path().join("sub")).unwrap();
    fs::write(directory.path().join("a"), content).unwrap();
    fs::write(directory.path().join("sub/b"), content).unwrap();
    directory.finish()
}

#[test]
fn a_directory_is_replaced_only_if_all_of_it_is_ours() {
    let folder = folder();
    let target = folder.path().join("above/d");
    write_directory(&target, "one").unwrap();
    write_directory(&target, "two").unwrap();
    assert_eq!(fs::read(target.join("sub/b")).unwrap(), b"two");
    assert_eq!(names(target.parent().unwrap()), ["d"]);

    fs::write(target.join("sub/thesis.txt"), "years").unwrap();
    refuses(write_directory(&target, "three"), "holds sub/thesis.txt");
    fs::remove_file(target.join("sub/thesis.txt")).unwrap();
    fs::create_dir_all(target.join("sub/plans/2027")).unwrap();
    refuses(write_directory(&target, "three"), "holds sub/plans/2027/, which this command");
    fs::remove_dir_all(target.join("sub/plans")).unwrap();
    // A file is added while the new directory is being written.
    let directory = OutputDirectory::begin(&target, own).unwrap();
    fs::write(target.join("thesis.txt"), "years").unwrap();
    refuses(directory.finish(), "holds thesis.txt");
    assert_eq!(fs::read(target.join("a")).unwrap(), b"two");
    refuses(OutputDirectory::begin(&target, |_| None), "did not write");
    refuses(OutputDirectory::begin(&target.join("a"), own), "is not a directory");
    refuses(OutputDirectory::begin(&target.join("a/b"), own), "is not a directory");
    assert_eq!(names(target.parent().unwrap()), ["d"]);
}

#[test]
fn a_kill_while_replacing_loses_nothing() {
    let folder = folder();
    let target = folder.path().join("d");
    write_directory(&target, "one").unwrap();
    let aside = folder.path().join(format!(".d.{}.old", "0f".repeat(16)));
    fs::rename(&target, &aside).unwrap();
    drop(OutputDirectory::begin(&target, own).unwrap());
    assert_eq!(fs::read(target.join("a")).unwrap(), b"one");
    assert_eq!(names(folder.path()), ["d"]);
}

#[test]
fn concurrent_writers_of_one_directory_do_not_conflict() {
    let folder = folder();
    let target = folder.path().join("d");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let target = &target;
            scope.spawn(move || {
                for _ in 0..10 {
                    write_directory(target, &number.to_string()).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read(target.join("a")).unwrap(), fs::read(target.join("sub/b")).unwrap());
    assert_eq!(names(folder.path()), ["d"]);
}

#[cfg(unix)]
#[test]
fn a_replaced_directory_stays_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let target = folder.path().join("d");
    write_directory(&target, "one").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(target.join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    write_directory(&target, "two").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&target), mode(&target.join("a"))), (0o700, 0o600));
}

#[cfg(unix)]
#[test]
fn devices_and_fifos_are_not_read() {
    for device in ["/dev/zero", "/dev/null"] {
        let error = read_regular(Path::new(device), 1 << 20).unwrap_err().to_string();
        assert!(error.contains("is a device, not a file"), "{error}");
    }
    let folder = folder();
    let fifo = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let error = crate::hash::of_file(&fifo).unwrap_err().to_string();
    assert!(error.contains("is a FIFO, not a file"), "{error}");
    let large = folder.path().join("large");
    fs::write(&large, vec![0; 3 << 20]).unwrap();
    let error = read_regular(&large, 2 << 20).unwrap_err().to_string();
    assert!(error.contains("larger than 2 MiB"), "{error}");
}
