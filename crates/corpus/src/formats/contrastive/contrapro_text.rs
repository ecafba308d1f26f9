//! ContraPro as text: `contrapro.text.en` and `.de` with one line per candidate, and
//! `contrapro.context.en` and `.de` with a fixed number of preceding sentences each, oldest first.
//!
//! `groups.tsv` tells which lines belong together; without it, lines with the same source and
//! context are one example, and a new one begins where the reference is repeated: a sentence with
//! two pronouns is two examples.

use std::ops::Range;

use super::input::SetFiles;
use super::parallel_lines::{ContextFile, LineFile};
use super::{ContrastiveItem, ContrastiveSet};
use crate::{Error, Result};

/// The lines of an example, and what is known about it.
#[derive(Debug, Default)]
struct Group {
    lines: Range<usize>,
    known: ContrastiveItem,
}

/// Reads the set.
pub(super) fn read(files: &SetFiles<'_>) -> Result<ContrastiveSet> {
    let (from, to) = (&files.input.source_language, &files.input.target_language);
    let text = TextFiles {
        source: LineFile::read(&files.path(&format!(".text.{from}")))?,
        target: LineFile::read(&files.path(&format!(".text.{to}")))?,
    };
    text.source.same_length_as(&text.target)?;
    let context = ContextFile::read(files.optional(&format!(".context.{from}")), &text.source)?;
    let target_context =
        ContextFile::read(files.optional(&format!(".context.{to}")), &text.source)?;
    let limit = files.input.context;
    let groups = match files.optional(".groups.tsv").or_else(|| files.beside("groups.tsv")) {
        Some(path) => listed_groups(&LineFile::read(&path)?, text.source.len(), to)?,
        None => found_groups(&text, context.as_ref()),
    };
    let of_line = |file: &Option<ContextFile>, line: usize| {
        file.as_ref().map(|file| file.of_line(line, limit)).unwrap_or_default()
    };
    let mut set = ContrastiveSet::default();
    for (index, group) in groups.into_iter().enumerate() {
        let first = group.lines.start;
        if group.lines.len() < 2 {
            return Err(text
                .target
                .file
                .error(first + 1, "an example with a reference but no wrong translation")
                .remedy("check the line, or add a groups.tsv"));
        }
        let mut item = ContrastiveItem {
            id: index.to_string(),
            source: text.source.get(first).to_owned(),
            context: of_line(&context, first),
            target_context: of_line(&target_context, first),
            candidates: group.lines.map(|line| text.target.get(line).to_owned()).collect(),
            ..group.known
        };
        item.find_pronouns();
        set.items.push(item);
    }
    Ok(set)
}

struct TextFiles {
    source: LineFile,
    target: LineFile,
}

fn found_groups(text: &TextFiles, context: Option<&ContextFile>) -> Vec<Group> {
    let key =
        |line: usize| (text.source.get(line), context.map(|file| file.of_line(line, usize::MAX)));
    let mut groups: Vec<Group> = Vec::new();
    for line in 0..text.source.len() {
        match groups.last_mut() {
            Some(group)
                if key(group.lines.start) == key(line)
                    && text.target.get(group.lines.start) != text.target.get(line) =>
            {
                group.lines.end = line + 1;
            }
            _ => groups.push(Group { lines: line..line + 1, ..Group::default() }),
        }
    }
    groups
}

/// Reads `groups.tsv`: its header names the columns `first_line`, `end_line`, and optionally
/// `ref_pronoun`, `ante_distance`, `document_id`, `segment_id`; `NA` means unknown.
fn listed_groups(file: &LineFile, lines: usize, target_language: &str) -> Result<Vec<Group>> {
    let header: Vec<_> = file.get(0).split('\t').collect();
    let column = |name: &str| header.iter().position(|field| *field == name);
    let remedy = "the file has tab-separated columns first_line and end_line, counted from 0";
    let (Some(first), Some(end)) = (column("first_line"), column("end_line")) else {
        return Err(file.file.error(1, "no columns first_line and end_line").remedy(remedy));
    };
    let known = ["ref_pronoun", "ante_distance", "document_id", "segment_id"].map(column);
    let mut groups: Vec<Group> = Vec::new();
    for index in 1..file.len() {
        let fields: Vec<_> = file.get(index).split('\t').collect();
        let number =
            |column: usize| fields.get(column).and_then(|field| field.parse::<usize>().ok());
        let expected = groups.last().map_or(0, |group| group.lines.end);
        let range = match (number(first), number(end)) {
            (Some(first), Some(end)) if first == expected && end > first && end <= lines => {
                first..end
            }
            _ => {
                let problem = format!("not a range of lines from {expected} to at most {lines}");
                return Err(file.file.error(index + 1, problem).remedy(remedy));
            }
        };
        let [pronoun, distance, document, segment] = known.map(|column| {
            column.and_then(|column| fields.get(column)).filter(|field| **field != "NA")
        });
        let suffix = format!(".{target_language}");
        groups.push(Group {
            lines: range,
            known: ContrastiveItem {
                pronoun: pronoun.map(|word| word.to_lowercase()),
                antecedent_distance: distance.and_then(|field| field.parse().ok()),
                document: document
                    .map(|name| name.strip_suffix(&suffix).unwrap_or(name).to_owned()),
                segment: segment.and_then(|field| field.parse::<usize>().ok()?.checked_sub(1)),
                ..ContrastiveItem::default()
            },
        });
    }
    let listed = groups.last().map_or(0, |group| group.lines.end);
    if listed != lines {
        let problem = format!("groups of {listed} lines for {lines} lines of text");
        return Err(Error::new(problem).in_file(&file.file.path).remedy("fetch the set again"));
    }
    Ok(groups)
}
