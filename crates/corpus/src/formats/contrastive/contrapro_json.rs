//! ContraPro's JSON: examples that point into documents of OpenSubtitles.
//!
//! As in the set's own script, sentences and contexts come from the documents, and only the wrong
//! translations from the JSON. The German set counts a document's lines from 1, the large
//! English-French set from 0; the sentences themselves tell which one it is.

use serde::{Deserialize, Serialize};

use super::super::file::TextFile;
use super::documents::DocumentDirectory;
use super::{ContrastiveInput, ContrastiveItem, ContrastiveSet};
use crate::{Error, Result};

/// An example with the field names of the set. Fields without influence on the score are ignored.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Example {
    #[serde(rename = "src segment")]
    pub source: String,
    #[serde(rename = "ref segment")]
    pub reference: String,
    #[serde(rename = "src pronoun", default)]
    pub source_pronoun: Option<String>,
    #[serde(rename = "ref pronoun", default)]
    pub pronoun: Option<String>,
    #[serde(rename = "ante distance", default)]
    pub antecedent_distance: Option<i64>,
    #[serde(default)]
    pub intrasegmental: Option<bool>,
    #[serde(rename = "src ante phrase", default)]
    pub source_antecedent: Option<String>,
    #[serde(rename = "ref ante phrase", default)]
    pub target_antecedent: Option<String>,
    #[serde(rename = "document id", default)]
    pub document: Option<String>,
    #[serde(rename = "segment id", default)]
    pub segment: Option<usize>,
    #[serde(default)]
    pub corpus: Option<String>,
    /// Not a field of the published sets: with the context in the example, a set needs no
    /// documents.
    #[serde(rename = "src context", default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
    #[serde(rename = "ref context", default, skip_serializing_if = "Vec::is_empty")]
    pub target_context: Vec<String>,
    pub errors: Vec<WrongTranslation>,
}

/// A wrong translation.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct WrongTranslation {
    #[serde(rename = "contrastive")]
    pub text: String,
    #[serde(default)]
    pub replacement: Option<String>,
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
}

/// Reads the set from its JSON, with the documents if they are given.
pub(super) fn read(file: &TextFile, input: &ContrastiveInput) -> Result<ContrastiveSet> {
    let examples = parse(file)?;
    let Some(directory) = &input.documents else {
        return Ok(without_documents(&examples, input, file));
    };
    let mut documents =
        DocumentDirectory::open(directory, &input.source_language, &input.target_language)?;
    let first = first_segment_id(&examples, input, &mut documents, file)?;
    let mut set = ContrastiveSet::default();
    let mut differing = 0;
    for (index, example) in examples.iter().enumerate() {
        let mut item = item(index, example, input);
        let (name, segment) = place(index, example, input, file)?;
        let document = documents.get(&name).map_err(|error| error.in_file(&file.path))?;
        let line = segment.checked_sub(first).filter(|line| *line < document.source.len());
        let Some(line) = line else {
            let problem = format!(
                "example {index}: segment {segment} of document {name}, which has {} lines",
                document.source.len()
            );
            return Err(Error::new(problem).in_file(&file.path).remedy(OTHER_DOCUMENTS));
        };
        differing += usize::from(!same_text(document.source.get(line), &example.source));
        document.source.get(line).clone_into(&mut item.source);
        document.target.get(line).clone_into(&mut item.candidates[0]);
        let before = line.saturating_sub(input.context)..line;
        item.context = before.clone().map(|line| document.source.get(line).to_owned()).collect();
        item.target_context = before.map(|line| document.target.get(line).to_owned()).collect();
        item.document = Some(name);
        item.segment = Some(line);
        set.items.push(item);
    }
    if differing > 0 {
        let total = examples.len();
        set.notes.push(format!(
            "{differing} of {total} source sentences differ between {} and the documents; \
             those of the documents are used",
            file.path.display()
        ));
    }
    Ok(set)
}

const OTHER_DOCUMENTS: &str =
    "use the documents of the release for which the set was made (OpenSubtitles2018)";

fn parse(file: &TextFile) -> Result<Vec<Example>> {
    let examples: Vec<Example> =
        serde_json::from_str(&file.text[file.start()..]).map_err(|error| {
            file.error(error.line().max(1), format!("not a ContraPro set: {error}")).remedy(
                "give a JSON list of examples with `src segment`, `ref segment` and `errors`",
            )
        })?;
    for (index, example) in examples.iter().enumerate() {
        if example.errors.is_empty() {
            let problem = format!("example {index} has no wrong translation");
            return Err(Error::new(problem).in_file(&file.path).remedy("remove the example"));
        }
    }
    Ok(examples)
}

fn without_documents(
    examples: &[Example],
    input: &ContrastiveInput,
    file: &TextFile,
) -> ContrastiveSet {
    let mut set = ContrastiveSet::default();
    for (index, example) in examples.iter().enumerate() {
        let mut item = item(index, example, input);
        item.context = nearest(&example.context, input.context);
        item.target_context = nearest(&example.target_context, input.context);
        item.document = example.document.as_deref().map(|name| stem(name, input));
        // ContraPro counts from 1; without its documents this cannot be verified.
        item.segment = example.segment.and_then(|segment| segment.checked_sub(1));
        set.items.push(item);
    }
    if set.items.iter().all(|item| item.context.is_empty()) && input.context > 0 {
        set.notes.push(format!("{} has no context without its documents", file.path.display()));
    }
    set
}

fn nearest(context: &[String], limit: usize) -> Vec<String> {
    context[context.len().saturating_sub(limit)..].to_vec()
}

/// An item as far as the JSON alone determines it.
fn item(index: usize, example: &Example, input: &ContrastiveInput) -> ContrastiveItem {
    let lower = |word: &Option<String>| {
        word.as_ref().filter(|word| !word.is_empty()).map(|word| word.to_lowercase())
    };
    let wrong = example.errors.iter().map(|error| error.text.trim().to_owned());
    let replacements: Option<Vec<_>> =
        example.errors.iter().map(|error| lower(&error.replacement)).collect();
    let mut item = ContrastiveItem {
        id: index.to_string(),
        source: example.source.trim().to_owned(),
        candidates: std::iter::once(example.reference.trim().to_owned()).chain(wrong).collect(),
        pronoun: lower(&example.pronoun),
        replacements: replacements.unwrap_or_default(),
        source_pronoun: lower(&example.source_pronoun),
        antecedent_distance: example.antecedent_distance.and_then(|n| u32::try_from(n).ok()),
        source_antecedent: example.source_antecedent.clone(),
        target_antecedent: example.target_antecedent.clone(),
        document: example.document.as_deref().map(|name| stem(name, input)),
        category: example.errors[0].kind.clone(),
        ..ContrastiveItem::default()
    };
    item.find_pronouns();
    item
}

/// A document's name without its language suffix.
fn stem(name: &str, input: &ContrastiveInput) -> String {
    [&input.target_language, &input.source_language]
        .into_iter()
        .find_map(|language| name.strip_suffix(language.as_str())?.strip_suffix('.'))
        .unwrap_or(name)
        .to_owned()
}

fn place(
    index: usize,
    example: &Example,
    input: &ContrastiveInput,
    file: &TextFile,
) -> Result<(String, usize)> {
    match (&example.document, example.segment) {
        (Some(document), Some(segment)) => Ok((stem(document, input), segment)),
        _ => Err(Error::new(format!("example {index} has no `document id` or no `segment id`"))
            .in_file(&file.path)
            .remedy("read the set without documents")),
    }
}

/// The number of a document's first line, 0 or 1: whichever makes more sentences match.
fn first_segment_id(
    examples: &[Example],
    input: &ContrastiveInput,
    documents: &mut DocumentDirectory,
    file: &TextFile,
) -> Result<usize> {
    let mut agreeing = [0, 0];
    for (index, example) in examples.iter().enumerate() {
        let (name, segment) = place(index, example, input, file)?;
        let document = documents.get(&name)?;
        for (first, count) in agreeing.iter_mut().enumerate() {
            let line = segment.checked_sub(first).filter(|line| *line < document.source.len());
            let same = |line| same_text(document.source.get(line), &example.source);
            *count += usize::from(line.is_some_and(same));
        }
    }
    let first = usize::from(agreeing[1] >= agreeing[0]);
    if agreeing[first] * 2 < examples.len() {
        let problem = format!(
            "only {} of {} source sentences are found in the documents",
            agreeing[first],
            examples.len()
        );
        return Err(Error::new(problem).in_file(&file.path).remedy(OTHER_DOCUMENTS));
    }
    Ok(first)
}

/// Whether two sentences are equal except for whitespace.
fn same_text(left: &str, right: &str) -> bool {
    left.chars().filter(|c| !c.is_whitespace()).eq(right.chars().filter(|c| !c.is_whitespace()))
}
