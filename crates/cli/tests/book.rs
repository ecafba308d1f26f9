//! The book's index and its map of equations are complete; links are checked in `docs.rs`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn has_ending(path: impl AsRef<Path>, ending: &str) -> bool {
    path.as_ref().extension().is_some_and(|found| found == ending)
}

#[test]
fn the_map_of_equations_names_files_that_exist() {
    let text = fs::read_to_string(root().join("docs/equations.md")).unwrap();
    let folders = ["", "crates/model/src", "crates/train/src"];
    let names = text.split('`').skip(1).step_by(2);
    let files = names.filter(|name| {
        has_ending(name, "rs") || has_ending(name, "toml") || name.starts_with("crates/")
    });
    for file in files {
        let exists = folders.iter().any(|folder| root().join(folder).join(file).exists());
        assert!(exists, "docs/equations.md: {file} is not there");
    }
}

#[test]
fn every_page_of_the_book_is_in_its_index() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if has_ending(&name, "md") && name != "README.md" {
            assert!(index.contains(&format!("({name})")), "docs/README.md lacks {name}");
        }
    }
}
