//! The contextual part of MT-GenEval: `…-2to1-test.en_de.en` with `context <sep> sentence`, and the
//! references with the gender of the context (`…-original-test.en_de.de`) and with the other gender
//! (`…-flipped-test.en_de.de`).

use super::input::SetFiles;
use super::parallel_lines::LineFile;
use super::{ContrastiveItem, ContrastiveSet};
use crate::{Error, Result};

const SEPARATOR: &str = "<sep>";

/// Reads the set.
pub(super) fn read(files: &SetFiles<'_>) -> Result<ContrastiveSet> {
    let (from, to) = (&files.input.source_language, &files.input.target_language);
    let source = LineFile::read(&files.path(&format!(".{from}_{to}.{from}")))?;
    let side = |kind: &str| {
        let name = files.prefix.replacen("2to1", kind, 1) + &format!(".{from}_{to}.{to}");
        files.beside(&name).ok_or_else(|| {
            let path = files.directory.join(&name);
            Error::new("no such file").in_file(&path).remedy("it belongs beside the source")
        })
    };
    let reference = LineFile::read(&side("original")?)?;
    let flipped = LineFile::read(&side("flipped")?)?;
    reference.same_length_as(&source)?;
    flipped.same_length_as(&source)?;
    let mut set = ContrastiveSet::default();
    for line in 0..source.len() {
        let Some((context, sentence)) = source.get(line).rsplit_once(SEPARATOR) else {
            let remedy = "a line is `context <sep> sentence`";
            return Err(source.file.error(line + 1, format!("no {SEPARATOR}")).remedy(remedy));
        };
        let sentences = context.split(SEPARATOR).map(str::trim).filter(|text| !text.is_empty());
        let mut context: Vec<String> = sentences.map(str::to_owned).collect();
        context.drain(..context.len().saturating_sub(files.input.context));
        let mut item = ContrastiveItem {
            id: line.to_string(),
            source: sentence.trim().to_owned(),
            context,
            candidates: vec![reference.get(line).to_owned(), flipped.get(line).to_owned()],
            ..ContrastiveItem::default()
        };
        item.find_pronouns();
        set.items.push(item);
    }
    Ok(set)
}
