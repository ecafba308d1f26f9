//! The large English-French pronoun set: `current.src` and `.trg` with alternating correct and
//! wrong translations, `cN.context.src` and `.trg` with N preceding sentences per line, oldest
//! first, and `pronouns.txt` with one pronoun per pair.

use super::input::SetFiles;
use super::parallel_lines::{ContextFile, LineFile};
use super::{ContrastiveItem, ContrastiveSet};
use crate::{Error, Result};

/// More sentences of context than any published version of the set has.
const LONGEST_CONTEXT: usize = 20;

/// Reads the set.
pub(super) fn read(files: &SetFiles<'_>) -> Result<ContrastiveSet> {
    let source = LineFile::read(&files.path("current.src"))?;
    let target = LineFile::read(&files.path("current.trg"))?;
    source.same_length_as(&target)?;
    if source.len() % 2 == 1 {
        let problem = format!("{} lines, which is odd", source.len());
        let remedy = "the set has alternating correct and wrong translations";
        return Err(Error::new(problem).in_file(&target.file.path).remedy(remedy));
    }
    let mut contexts = Vec::new();
    for length in (1..=LONGEST_CONTEXT).rev() {
        let name = |side: &str| format!("c{length}.context.{side}");
        if let Some(path) = files.optional(&name("src")) {
            let context = ContextFile::new(LineFile::read(&path)?, &source)?;
            let target_context = ContextFile::read(files.optional(&name("trg")), &source)?;
            contexts.push((context, target_context));
        }
    }
    let pronouns = files
        .optional("pronouns.txt")
        .or_else(|| files.beside("pronouns.txt"))
        .map(|path| LineFile::read(&path))
        .transpose()?;
    if let Some(pronouns) = pronouns.as_ref().filter(|list| list.len() * 2 != source.len()) {
        let problem = format!("{} pronouns for {} pairs", pronouns.len(), source.len() / 2);
        return Err(Error::new(problem).in_file(&pronouns.file.path).remedy("fetch the set again"));
    }
    let mut set = ContrastiveSet::default();
    for pair in 0..source.len() / 2 {
        let (right, wrong) = (2 * pair, 2 * pair + 1);
        if source.get(right) != source.get(wrong) {
            return Err(source
                .file
                .error(wrong + 1, "not the same source as the line before it")
                .remedy("both lines of a pair have the same source; fetch the set again"));
        }
        // Near the start of a film, the longer contexts of this set are empty, the shorter are not.
        let (context, target_context) = contexts
            .iter()
            .map(|(context, target)| {
                let limit = files.input.context;
                let target = target.as_ref().map(|file| file.of_line(right, limit));
                (context.of_line(right, limit), target.unwrap_or_default())
            })
            .max_by_key(|(context, _)| context.len())
            .unwrap_or_default();
        let mut item = ContrastiveItem {
            id: pair.to_string(),
            source: source.get(right).to_owned(),
            context,
            target_context,
            candidates: [right, wrong].map(|line| target.get(line).to_owned()).to_vec(),
            pronoun: pronouns.as_ref().map(|list| list.get(pair).to_lowercase()),
            ..ContrastiveItem::default()
        };
        item.find_pronouns();
        set.items.push(item);
    }
    Ok(set)
}
