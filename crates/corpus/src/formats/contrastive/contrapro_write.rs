//! Writes ContraPro's JSON and the documents it points into.

use std::io::Write;
use std::path::Path;

use super::contrapro_json::{Example, WrongTranslation};
use super::{ContrastiveItem, ContrastiveSet};
use crate::{Document, Error, Result};

/// What ContraPro's JSON contains besides the examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContraProOutput {
    /// The name of the corpus that the sentences come from.
    pub corpus: String,
    /// The suffix of target files: a document's id is the name of its target file.
    pub target_language: String,
    /// Whether each example includes its context, so that the set can be read without its
    /// documents. ContraPro's own scripts ignore it.
    pub contexts: bool,
}

impl ContrastiveSet {
    /// Writes the set as ContraPro's JSON, which its own scripts can read. Segments are counted
    /// from 1 in the file.
    pub fn write_contrapro(&self, output: &ContraProOutput, mut out: impl Write) -> Result<()> {
        let examples: Vec<_> =
            self.items.iter().map(|item| example(item, output)).collect::<Result<_>>()?;
        let failed = |error: std::io::Error| {
            Error::new(format!("cannot write the contrastive set: {error}")).caused_by(error)
        };
        serde_json::to_writer_pretty(&mut out, &examples).map_err(|error| failed(error.into()))?;
        out.write_all(b"\n").and_then(|()| out.flush()).map_err(failed)
    }
}

fn example(item: &ContrastiveItem, output: &ContraProOutput) -> Result<Example> {
    let Some((reference, wrong)) =
        item.candidates.split_first().filter(|(_, wrong)| !wrong.is_empty())
    else {
        return Err(Error::new(format!(
            "item `{}` has {} candidates; it needs a reference and a wrong translation",
            item.id,
            item.candidates.len()
        )));
    };
    let errors = wrong.iter().enumerate().map(|(index, text)| WrongTranslation {
        text: text.clone(),
        replacement: item.replacements.get(index).cloned(),
        kind: item.category.clone(),
    });
    let context =
        |sentences: &[String]| if output.contexts { sentences.to_vec() } else { Vec::new() };
    Ok(Example {
        source: item.source.clone(),
        reference: reference.clone(),
        // The set's evaluation script lower-cases these and would fail on null.
        source_pronoun: Some(item.source_pronoun.clone().unwrap_or_default()),
        pronoun: Some(item.pronoun.clone().unwrap_or_default()),
        antecedent_distance: item.antecedent_distance.map(i64::from),
        intrasegmental: item.antecedent_distance.map(|distance| distance == 0),
        source_antecedent: item.source_antecedent.clone(),
        target_antecedent: item.target_antecedent.clone(),
        document: item.document.as_ref().map(|name| format!("{name}.{}", output.target_language)),
        segment: item.segment.map(|segment| segment + 1),
        corpus: Some(output.corpus.clone()),
        context: context(&item.context),
        target_context: context(&item.target_context),
        errors: errors.collect(),
    })
}

/// Writes documents as ContraPro's scripts expect them: `directory/YEAR/ID.LANGUAGE`, one sentence
/// per line, where the year is the id up to its first underscore (`documents` when it has none).
pub fn write_documents(
    documents: &[Document],
    directory: &Path,
    source_language: &str,
    target_language: &str,
) -> Result<()> {
    for document in documents {
        let id = &document.id;
        if id.is_empty() || id.starts_with('.') || id.contains(['/', '\\', '\0']) {
            return Err(Error::new(format!("`{id}` cannot be the name of a file"))
                .remedy("give the document an id of letters, digits, `_`, `-` and `.`"));
        }
        let folder = directory.join(id.split_once('_').map_or("documents", |(year, _)| year));
        std::fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, error))?;
        let mut sides = [String::new(), String::new()];
        for (index, segment) in document.segments.iter().enumerate() {
            let target = segment.target.as_ref().ok_or_else(|| {
                Error::new(format!("segment {index} of document `{id}` has no translation"))
            })?;
            for (side, text) in sides.iter_mut().zip([&segment.source, target]) {
                side.push_str(&text.replace(['\n', '\r'], " "));
                side.push('\n');
            }
        }
        for (side, language) in sides.iter().zip([source_language, target_language]) {
            let path = folder.join(format!("{id}.{language}"));
            abridge_base::files::replace(&path, side.as_bytes())?;
        }
    }
    Ok(())
}
