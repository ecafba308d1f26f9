//! Which files are translated, and where each translation goes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use abridge_base::files::{OutputFile, Outputs};
use abridge_base::{Error, Result};
use abridge_corpus::Input;
use anyhow::bail;

use super::finished::{self, record_of};
use super::partial;
use super::{Mode, Translate};

/// A file to translate.
#[derive(Debug)]
pub struct Listed {
    pub input: PathBuf,
    /// `None` is standard output.
    pub output: Option<OutputFile>,
    /// The record that the output is finished, if there are many outputs.
    pub record: Option<PathBuf>,
}

/// A file that was named, or found in a named directory.
pub struct Found {
    path: PathBuf,
    /// Its place below the output directory.
    below: PathBuf,
}

/// Extensions that do not name a language: the language code goes before them.
const NEUTRAL: [&str; 6] = ["srt", "vtt", "jsonl", "json", "xml", "txt"];

/// Lists all inputs, those in directories sorted by name, and chooses every output.
pub fn list(arguments: &Translate, inputs: &[PathBuf]) -> anyhow::Result<Vec<Listed>> {
    let mut found = Vec::new();
    for input in inputs {
        if input.is_dir() {
            let before = found.len();
            walk(input, Path::new(""), &mut found)?;
            if found.len() == before {
                return Err(Error::new("holds no file to translate").in_file(input).into());
            }
        } else {
            let below = input.file_name().map(PathBuf::from).unwrap_or_default();
            found.push(Found { path: input.clone(), below });
        }
    }
    let has_directory = inputs.iter().any(|input| input.is_dir());
    if let Some(language) = &arguments.beside {
        return beside(arguments, found, language, has_directory);
    }
    let Some(output) = &arguments.output else {
        let listed = |found: Found| Listed { input: found.path, output: None, record: None };
        return Ok(found.into_iter().map(listed).collect());
    };
    if (has_directory || found.len() > 1) && !output.exists() {
        make_folder(output)?;
    }
    let is_folder = output.is_dir();
    if found.len() > 1 && !is_folder {
        bail!(
            "{} inputs, but --output {} is a file; name a directory, or translate the files one by \
             one",
            found.len(),
            output.display()
        );
    }
    let mut outputs = reading(arguments, &found)?;
    if is_folder {
        let target = |found: &Found| output.join(uncompressed(&found.below));
        return found
            .into_iter()
            .map(|f| derived(arguments, &mut outputs, target(&f), f))
            .collect();
    }
    let mut listed = Vec::with_capacity(1);
    for file in found {
        let output = outputs.file(output)?;
        if output.is_file() {
            partial::check(output.path(), &mut outputs)?;
        }
        listed.push(Listed { input: file.path, output: Some(output), record: None });
    }
    Ok(listed)
}

/// Registers everything that is read, so that no translation overwrites it.
pub fn reading(arguments: &Translate, found: &[Found]) -> anyhow::Result<Outputs> {
    let mut outputs = Outputs::new();
    outputs.reading_standard_input();
    arguments.model.reading(&mut outputs)?;
    for path in found.iter().flat_map(|found| input(arguments, &found.path).files()) {
        outputs.reading(&path);
    }
    Ok(outputs)
}

/// A file, with the settings of how it is read.
pub fn input(arguments: &Translate, path: &Path) -> Input {
    Input { docids: arguments.docids.clone(), format: arguments.format, ..Input::new(path) }
}

/// Translations beside their sources.
fn beside(
    arguments: &Translate,
    mut found: Vec<Found>,
    language: &str,
    has_directory: bool,
) -> anyhow::Result<Vec<Listed>> {
    let target = |path: &Path| name_beside(&uncompressed(path), language);
    if has_directory {
        // The outputs of an earlier run are not translated again.
        let targets: BTreeSet<PathBuf> = found.iter().map(|found| target(&found.path)).collect();
        found.retain(|found| !targets.contains(&found.path));
    }
    let mut outputs = reading(arguments, &found)?;
    found
        .into_iter()
        .map(|found| derived(arguments, &mut outputs, target(&found.path), found))
        .collect()
}

/// An output whose name follows from its input, with the record that it is finished.
fn derived(
    arguments: &Translate,
    outputs: &mut Outputs,
    target: PathBuf,
    found: Found,
) -> anyhow::Result<Listed> {
    if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_folder(folder)?;
    }
    let record = record_of(&target);
    let is_ours = finished::is_ours(&record)? || partial::partial_of(&target).exists();
    let replace = arguments.force || arguments.resume && is_ours;
    let remedy = if arguments.resume {
        "it was not made with --resume; move it away, or replace it with --force"
    } else {
        "move it away, replace it with --force, or continue an interrupted run with --resume"
    };
    let output = outputs.derived(&target, replace, remedy)?;
    partial::check(output.path(), outputs)?;
    Ok(Listed { input: found.path, output: Some(output), record: Some(record) })
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Error::io("create", folder, error).of_kind(abridge_base::Kind::Usage))
}

/// The files below a directory, except hidden ones, lists of document names, and the partial files
/// of interrupted jobs. Links to directories are not followed.
fn walk(folder: &Path, below: &Path, found: &mut Vec<Found>) -> Result<()> {
    let failed = |error| Error::io("read", folder, error);
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(failed)?.file_name());
    }
    names.sort();
    for name in names {
        let path = folder.join(&name);
        let text = name.to_string_lossy();
        let plain = text.strip_suffix(".gz").or(text.strip_suffix(".zst")).unwrap_or(&text);
        if text.starts_with('.') || plain.ends_with(".docids") || plain.ends_with(".partial") {
            continue;
        }
        let kind = std::fs::symlink_metadata(&path).map_err(|e| Error::io("read", &path, e))?;
        if kind.is_dir() {
            walk(&path, &below.join(&name), found)?;
        } else if path.is_file() {
            found.push(Found { below: below.join(&name), path });
        }
    }
    Ok(())
}

/// The path without a compression extension: translations are not compressed.
fn uncompressed(path: &Path) -> PathBuf {
    let ending = path.extension();
    if ending == Some(OsStr::new("gz")) || ending == Some(OsStr::new("zst")) {
        path.with_extension("")
    } else {
        path.to_path_buf()
    }
}

/// The name of the translation of a file: `talk.de` of `talk.en`, `film.de.srt` of `film.srt`.
fn name_beside(path: &Path, language: &str) -> PathBuf {
    let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned());
    match ending {
        Some(ending) if NEUTRAL.contains(&ending.to_lowercase().as_str()) => {
            path.with_extension(format!("{language}.{ending}"))
        }
        Some(_) => path.with_extension(language),
        None => {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{language}"));
            path.with_file_name(name)
        }
    }
}

/// The settings that finished sentences and outputs depend on, besides the input and the model.
pub fn settings_key(arguments: &Translate, search: &str, mode: Mode) -> String {
    let prose = if arguments.segment { " segment" } else { "" };
    format!("{search} context {:?} {mode:?}{prose}", arguments.context_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beside_contain_the_language() {
        for (source, target) in [
            ("a/talk.en", "a/talk.de"),
            ("a/film.srt", "a/film.de.srt"),
            ("book.TXT", "book.de.TXT"),
            ("notes", "notes.de"),
            ("b.c/notes", "b.c/notes.de"),
        ] {
            assert_eq!(name_beside(Path::new(source), "de"), Path::new(target));
        }
        assert_eq!(uncompressed(Path::new("a/talk.en.gz")), Path::new("a/talk.en"));
    }

    #[test]
    fn directories_are_listed_in_order_and_without_auxiliary_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        let names = ["b/2.en", "b/1.en", "a.srt", "a.docids", ".git/x", "b/.abridge/1.en.json"];
        names.into_iter().chain(["c.en.partial", "d.docids.gz"]).for_each(write);
        let mut found = Vec::new();
        walk(folder.path(), Path::new(""), &mut found).unwrap();
        let below: Vec<_> = found.iter().map(|found| found.below.to_str().unwrap()).collect();
        assert_eq!(below, ["a.srt", "b/1.en", "b/2.en"]);
    }
}
