//! The book's index and its map of equations are complete, and its examples match the compiled
//! files; links are checked in `docs.rs`.
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
        assert!(exists, "docs/equations.md: {file} does not exist");
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

/// The chapter on extending shows a file, and the line of a table that registers it.
#[test]
fn the_book_shows_the_files_that_are_compiled() {
    let book = fs::read_to_string(root().join("docs/extending.md")).unwrap();
    for (file, table, line) in [
        (
            "model/src/shortener/first.rs",
            "model/src/shortener/table.rs",
            "\"The first tokens alone.\" First(settings: FirstConfig) => FirstTokens,",
        ),
        (
            "corpus/src/formats/tsv.rs",
            "corpus/src/formats/mod.rs",
            "\"A document and a sentence per line, with a tab between.\" Tsv => tsv::TSV,",
        ),
        (
            "evaluate/src/metrics/exact_match.rs",
            "evaluate/src/metrics/mod.rs",
            "metric(\"exact-match\", |_| Arc::new(exact_match::ExactMatch)),",
        ),
    ] {
        let read = |name: &str| fs::read_to_string(root().join("crates").join(name)).unwrap();
        assert!(book.contains(read(file).trim_end()), "docs/extending.md shows an old {file}");
        assert!(book.contains(line) && read(table).contains(line), "{table}");
    }
}
