//! Bawden's sets as text: `anaphora.current.en` and `.fr` with alternating correct and wrong
//! translations, and `anaphora.prev.en` and `.fr` with the previous sentence of each.

use super::input::SetFiles;
use super::parallel_lines::{ContextFile, LineFile};
use super::{ContrastiveItem, ContrastiveSet};
use crate::{Error, Result};

/// Reads the set.
pub(super) fn read(files: &SetFiles<'_>) -> Result<ContrastiveSet> {
    let (from, to) = (&files.input.source_language, &files.input.target_language);
    let source = LineFile::read(&files.path(&format!(".current.{from}")))?;
    let target = LineFile::read(&files.path(&format!(".current.{to}")))?;
    source.same_length_as(&target)?;
    let previous = LineFile::read(&files.path(&format!(".prev.{from}")))?;
    previous.same_length_as(&source)?;
    let previous_target = LineFile::read(&files.path(&format!(".prev.{to}")))?;
    previous_target.same_length_as(&source)?;
    if source.len() % 2 == 1 {
        let problem = format!("{} lines, which is odd", source.len());
        let remedy = "the set has alternating correct and wrong translations";
        return Err(Error::new(problem).in_file(&target.file.path).remedy(remedy));
    }
    for (file, wrong) in [&source, &previous, &previous_target]
        .into_iter()
        .flat_map(|file| (1..file.len()).step_by(2).map(move |wrong| (file, wrong)))
    {
        if file.get(wrong) != file.get(wrong - 1) {
            return Err(file
                .file
                .error(wrong + 1, "not the same sentence as the line before it")
                .remedy("both lines of a pair have the same source and context"));
        }
    }
    let context = ContextFile::new(previous, &source)?;
    let target_context = ContextFile::new(previous_target, &source)?;
    let limit = files.input.context;
    let items = (0..source.len() / 2).map(|pair| {
        let right = 2 * pair;
        let mut item = ContrastiveItem {
            id: pair.to_string(),
            source: source.get(right).to_owned(),
            context: context.of_line(right, limit),
            target_context: target_context.of_line(right, limit),
            candidates: [right, right + 1].map(|line| target.get(line).to_owned()).to_vec(),
            ..ContrastiveItem::default()
        };
        item.find_pronouns();
        item
    });
    Ok(ContrastiveSet { items: items.collect(), notes: Vec::new() })
}
