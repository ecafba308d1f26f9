//! Finds the contrastive set at a path.

use std::path::{Path, PathBuf};

use super::super::file::{TextFile, without_compression};
use super::{
    ContrastiveSet, bawden, bawden_json, contrapro_json, contrapro_text, large_pronoun, mt_geneval,
};
use crate::{Error, Result};

/// Where a contrastive set is, and how much context is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContrastiveInput {
    /// A JSON file, a directory that holds one set, or the common prefix of a set's files
    /// (`test-sets/anaphora` for `test-sets/anaphora.current.en` and the others).
    pub path: PathBuf,
    /// The documents that ContraPro's JSON points into, in files like
    /// `1921/1921_12806_3712161.en`, one sentence per line.
    pub documents: Option<PathBuf>,
    /// The suffix of source files.
    pub source_language: String,
    /// The suffix of target files.
    pub target_language: String,
    /// The largest number of context sentences per example.
    pub context: usize,
}

impl ContrastiveInput {
    /// A set with up to ten sentences of context, the largest number in the paper.
    pub fn new(
        path: impl Into<PathBuf>,
        source_language: impl Into<String>,
        target_language: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            documents: None,
            source_language: source_language.into(),
            target_language: target_language.into(),
            context: 10,
        }
    }

    /// The files and folders that [`ContrastiveSet::read`] may read.
    pub fn files(&self) -> Vec<PathBuf> {
        let (directory, prefix) = self.place();
        let mut files: Vec<PathBuf> = self.documents.iter().cloned().collect();
        files.push(self.path.clone());
        let (source, target) = (&self.source_language, &self.target_language);
        let endings = [source.as_str(), target, "src", "trg", "groups.tsv", "pronouns.txt"];
        // MT-GenEval has several target files, with other words in place of this one.
        let beginning = prefix.and_then(|prefix| prefix.split("2to1").next());
        let entries = beginning.and_then(|_| std::fs::read_dir(directory).ok());
        files.extend(entries.into_iter().flatten().flatten().filter_map(|entry| {
            let name = entry.file_name();
            let name = without_compression(name.to_str()?);
            let of_set = || {
                let rest = name.strip_prefix(beginning?)?;
                endings.iter().any(|ending| rest.ends_with(ending)).then_some(())
            };
            let is_shared = matches!(name, "groups.tsv" | "pronouns.txt");
            (is_shared || of_set().is_some()).then(|| entry.path())
        }));
        files
    }

    /// The directory of a set of several files and, unless the path names the directory, their
    /// prefix.
    fn place(&self) -> (&Path, Option<&str>) {
        if self.path.is_dir() {
            return (&self.path, None);
        }
        let directory = self.path.parent().filter(|path| !path.as_os_str().is_empty());
        (directory.unwrap_or(Path::new(".")), self.path.file_name().and_then(|name| name.to_str()))
    }
}

/// The kinds of sets that consist of several files with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    ContraProText,
    LargePronoun,
    Bawden,
    MtGenEval,
}

impl ContrastiveSet {
    /// Reads the set at a path, whatever its kind.
    pub fn read(input: &ContrastiveInput) -> Result<Self> {
        let name = input.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_json =
            Path::new(without_compression(name)).extension().is_some_and(|ending| ending == "json");
        if input.path.is_file() || is_json {
            return read_json(input);
        }
        let (directory, prefix) = input.place();
        let found = sets_in(directory, input)?;
        let wanted = |set: &&(Kind, String)| {
            prefix.is_none_or(|prefix| set.1.trim_end_matches('.') == prefix)
        };
        let chosen: Vec<_> = found.iter().filter(wanted).collect();
        let [(kind, prefix)] = chosen[..] else { return Err(ambiguous(input, &found)) };
        let directory = directory.to_path_buf();
        let files = SetFiles { directory, prefix: prefix.clone(), input };
        match kind {
            Kind::ContraProText => contrapro_text::read(&files),
            Kind::LargePronoun => large_pronoun::read(&files),
            Kind::Bawden => bawden::read(&files),
            Kind::MtGenEval => mt_geneval::read(&files),
        }
    }
}

/// A list is ContraPro's, an object Bawden's.
fn read_json(input: &ContrastiveInput) -> Result<ContrastiveSet> {
    let file = TextFile::read(&input.path)?;
    if file.text[file.start()..].trim_start().starts_with('{') {
        bawden_json::read(&file)
    } else {
        contrapro_json::read(&file, input)
    }
}

/// The files of one set: a directory and a common prefix.
#[derive(Debug)]
pub(super) struct SetFiles<'a> {
    pub directory: PathBuf,
    pub prefix: String,
    pub input: &'a ContrastiveInput,
}

impl SetFiles<'_> {
    /// A file that the set must have.
    pub fn path(&self, rest: &str) -> PathBuf {
        self.optional(rest).unwrap_or_else(|| self.directory.join(format!("{}{rest}", self.prefix)))
    }

    /// A file that the set may have, compressed or not.
    pub fn optional(&self, rest: &str) -> Option<PathBuf> {
        self.beside(&format!("{}{rest}", self.prefix))
    }

    /// A file in the same directory without the prefix.
    pub fn beside(&self, name: &str) -> Option<PathBuf> {
        ["", ".gz", ".zst"]
            .into_iter()
            .map(|ending| self.directory.join(format!("{name}{ending}")))
            .find(|path| path.is_file())
    }
}

/// The sets in a directory, recognised by the file that each kind must have.
fn sets_in(directory: &Path, input: &ContrastiveInput) -> Result<Vec<(Kind, String)>> {
    let source = &input.source_language;
    let languages = format!("{source}_{}", input.target_language);
    let marks = [
        (Kind::ContraProText, format!(".text.{source}")),
        (Kind::LargePronoun, "current.src".to_owned()),
        (Kind::Bawden, format!(".current.{source}")),
        (Kind::MtGenEval, format!(".{languages}.{source}")),
    ];
    let mut sets = Vec::new();
    let failed = |error| Error::io("list", directory, error);
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str().map(without_compression) else {
            continue;
        };
        for (kind, mark) in &marks {
            if let Some(prefix) = name.strip_suffix(mark.as_str()) {
                sets.push((*kind, prefix.to_owned()));
            }
        }
    }
    sets.sort_by(|left, right| left.1.cmp(&right.1));
    Ok(sets)
}

fn ambiguous(input: &ContrastiveInput, found: &[(Kind, String)]) -> Error {
    let names: Vec<_> = found.iter().map(|(_, name)| name.trim_end_matches('.')).collect();
    if names.is_empty() {
        let problem = format!(
            "no contrastive set for {}-{} here",
            input.source_language, input.target_language
        );
        let remedy = "name a JSON file, a directory with the set's files, or the beginning of \
                      their names, and check the languages";
        Error::new(problem).in_file(&input.path).remedy(remedy)
    } else {
        Error::new(format!("{} contrastive sets here: {}", names.len(), names.join(", ")))
            .in_file(&input.path)
            .remedy("append the name of one to the directory")
    }
}
