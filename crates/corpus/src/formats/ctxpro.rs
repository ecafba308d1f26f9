//! ctxPro's sets (Wicks and Post, 2023): sentences whose translation must contain a certain word,
//! which depends on the preceding sentences.
//!
//! A set is two files: `NAME.input`, whose lines hold up to nine sentences of context and the
//! sentence, oldest first, separated by `<eos>`; and `NAME.json`, a list with an object per line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{TextFile, without_compression};
use crate::{Error, Result};

/// Separates the sentences of a line.
const SEPARATOR: &str = "<eos>";

/// A set of ctxPro.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CtxProSet {
    /// The examples in the order of the files.
    pub items: Vec<CtxProItem>,
}

/// One example.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CtxProItem {
    /// The source sentence.
    pub source: String,
    /// The preceding source sentences, oldest first.
    pub context: Vec<String>,
    /// A human translation.
    pub reference: String,
    /// The word that a correct translation contains.
    pub expected: String,
    /// The rule that the example tests, such as `NOM.FORM+PLUR`.
    pub rule: String,
    /// The document that it comes from.
    pub document: Option<String>,
}

/// An object of the JSON file.
#[derive(Debug, Deserialize)]
struct Example {
    #[serde(rename = "src segment")]
    source: String,
    #[serde(rename = "ref segment", default)]
    reference: String,
    expected: String,
    rule: String,
    #[serde(rename = "document id", default)]
    document: Option<String>,
}

impl CtxProSet {
    /// The two files of a set, given either of them or their common prefix.
    pub fn files(path: &Path) -> [PathBuf; 2] {
        ["input", "json"].map(|ending| part(path, ending))
    }

    /// Reads a set, given either of its two files or their common prefix.
    pub fn read(path: &Path) -> Result<Self> {
        let [input, json] = Self::files(path);
        let (input, json) = (TextFile::read(&input)?, TextFile::read(&json)?);
        let examples: Vec<Example> =
            serde_json::from_str(&json.text[json.start()..]).map_err(|error| {
                json.error(error.line().max(1), format!("not a set of ctxPro: {error}"))
                    .remedy("give NAME.json beside NAME.input, as ctxPro publishes them")
            })?;
        let lines: Vec<&str> = input.text[input.start()..].lines().collect();
        if lines.len() != examples.len() {
            return Err(Error::new(format!(
                "{} lines, but {} has {} examples",
                lines.len(),
                json.path.display(),
                examples.len()
            ))
            .in_file(&input.path)
            .remedy("give the two files of one set"));
        }
        let mut items = Vec::with_capacity(lines.len());
        for (number, (line, example)) in lines.into_iter().zip(examples).enumerate() {
            let mut sentences: Vec<String> =
                line.split(SEPARATOR).map(|sentence| sentence.trim().to_owned()).collect();
            let source = sentences.pop().unwrap_or_default();
            if source != example.source.trim() {
                return Err(Error::new(format!(
                    "the last sentence is `{source}`, but the example has `{}`",
                    example.source
                ))
                .in_file(&input.path)
                .at_line(number + 1)
                .remedy("give the two files of one set"));
            }
            items.push(CtxProItem {
                source,
                context: sentences,
                reference: example.reference,
                expected: example.expected,
                rule: example.rule,
                document: example.document,
            });
        }
        if items.is_empty() {
            return Err(Error::new("the set has no examples").in_file(&input.path));
        }
        Ok(Self { items })
    }
}

impl CtxProSet {
    /// Keeps the first `most` examples of each rule.
    pub fn keep_per_rule(&mut self, most: usize) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        self.items.retain(|item| {
            let count = counts.entry(item.rule.clone()).or_default();
            *count += 1;
            *count <= most
        });
    }
}

/// One of the two files of a set, compressed or not.
fn part(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = without_compression(name);
    let start = [".input", ".json"].iter().find_map(|known| name.strip_suffix(known));
    let plain = format!("{}.{ending}", start.unwrap_or(name));
    ["", ".gz", ".zst"]
        .iter()
        .map(|compression| path.with_file_name(format!("{plain}{compression}")))
        .find(|path| path.is_file())
        .unwrap_or_else(|| path.with_file_name(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(input: &str, json: &str) -> Result<CtxProSet> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("own.en-de.input"), input).unwrap();
        std::fs::write(folder.path().join("own.en-de.json"), json).unwrap();
        let names = ["own.en-de", "own.en-de.input", "own.en-de.json"];
        let mut found = names.map(|name| CtxProSet::read(&folder.path().join(name)));
        assert!(found.iter().all(|set| set.is_ok() == found[0].is_ok()));
        std::mem::replace(&mut found[0], Ok(CtxProSet::default()))
    }

    const ONE: &str = r#"[{"src segment": "Will you come?", "ref segment": "Kommst du?",
        "expected": "du", "rule": "NOM.INFORM.SING", "document id": "film", "segment id": 7}]"#;

    #[test]
    fn both_files_make_a_set() {
        let set = written("Hello, Anna.<eos> I wait.<eos> Will you come?\n", ONE).unwrap();
        assert_eq!(
            set.items,
            [CtxProItem {
                source: "Will you come?".into(),
                context: vec!["Hello, Anna.".into(), "I wait.".into()],
                reference: "Kommst du?".into(),
                expected: "du".into(),
                rule: "NOM.INFORM.SING".into(),
                document: Some("film".into()),
            }]
        );
        assert!(written("Will you come?", ONE).unwrap().items[0].context.is_empty());
    }

    #[test]
    fn rejects_files_that_do_not_belong_together() {
        let message = |input: &str, json: &str| written(input, json).unwrap_err().to_string();
        assert!(message("a\nb\n", ONE).contains("2 lines, but"));
        assert!(message("a<eos> Will he come?", ONE).contains("input:1: the last sentence is"));
        assert!(message("a", "{}").contains("not a set of ctxPro"));
        assert!(message("", "[]").contains("no examples"));
        let error = CtxProSet::read(Path::new("nowhere/x.en-de")).unwrap_err().to_string();
        assert!(error.contains("x.en-de.input"), "{error}");
    }
}
