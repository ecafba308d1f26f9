//! The practice corpus as files, for other tools and for inspection.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use abridge_base::Kind;
use abridge_base::files::{OutputDirectory, write_new};

use super::{Practice, PracticeLanguage};
use crate::formats::contrastive::ContraProOutput;
use crate::{ContrastiveSet, Document, Error, Result};

impl Practice {
    /// Writes the corpus into a directory, which is created if it does not exist:
    ///
    /// - `train`, `valid` and `test`, each with `.en`, `.de` or `.fr`, and `.docids`;
    /// - `contrastive.json`, the contrastive set in ContraPro's format with contexts;
    /// - `contrastive.text.*`, `contrastive.context.*` and `contrastive.groups.tsv`, the same as
    ///   lines, with empty lines for sentences before the start of a document.
    ///
    /// Everything is first written beside the directory and appears there at once, or not at all.
    /// Returns the files.
    pub fn write(&self, language: PracticeLanguage, directory: &Path) -> Result<Vec<PathBuf>> {
        let files = self.files(language)?;
        let occupied = fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some());
        if occupied {
            return Err(Error::new("the directory exists and is not empty")
                .in_file(directory)
                .remedy("name a new one, or empty it")
                .of_kind(Kind::Usage));
        }
        let output = OutputDirectory::begin(directory, |_| None)?;
        self.write_into(language, output.path())?;
        output.finish()?;
        Ok(files.into_iter().map(|(name, _)| directory.join(name)).collect())
    }

    /// Writes the same files into a directory that is being written.
    pub(crate) fn write_into(&self, language: PracticeLanguage, directory: &Path) -> Result<()> {
        for (name, content) in self.files(language)? {
            write_new(&directory.join(name), content.as_bytes())?;
        }
        Ok(())
    }

    /// Names and contents of the files.
    fn files(&self, language: PracticeLanguage) -> Result<Vec<(String, String)>> {
        let code = language.code();
        let mut files = Vec::new();
        for (name, documents) in
            [("train", &self.train), ("valid", &self.valid), ("test", &self.test)]
        {
            let lines = Lines::of(documents);
            files.push((format!("{name}.en"), lines.source));
            files.push((format!("{name}.{code}"), lines.target));
            files.push((format!("{name}.docids"), lines.ids));
        }
        let output = ContraProOutput {
            corpus: "abridge practice corpus".to_owned(),
            target_language: code.to_owned(),
            contexts: true,
        };
        let mut json = Vec::new();
        self.contrastive.write_contrapro(&output, &mut json)?;
        files.push(("contrastive.json".to_owned(), String::from_utf8_lossy(&json).into_owned()));
        let text = ContrastiveText::of(&self.contrastive, code);
        files.push(("contrastive.text.en".to_owned(), text.source));
        files.push((format!("contrastive.text.{code}"), text.target));
        files.push(("contrastive.context.en".to_owned(), text.context));
        files.push((format!("contrastive.context.{code}"), text.target_context));
        files.push(("contrastive.groups.tsv".to_owned(), text.groups));
        Ok(files)
    }
}

/// Documents as parallel lines.
#[derive(Default)]
struct Lines {
    source: String,
    target: String,
    ids: String,
}

impl Lines {
    fn of(documents: &[Document]) -> Self {
        let mut lines = Self::default();
        for document in documents {
            for segment in &document.segments {
                push_line(&mut lines.source, &segment.source);
                push_line(&mut lines.target, segment.target.as_deref().unwrap_or_default());
                push_line(&mut lines.ids, &document.id);
            }
        }
        lines
    }
}

/// A contrastive set as parallel lines, one per candidate.
#[derive(Default)]
struct ContrastiveText {
    source: String,
    target: String,
    context: String,
    target_context: String,
    groups: String,
}

impl ContrastiveText {
    fn of(set: &ContrastiveSet, code: &str) -> Self {
        let mut text = Self::default();
        let most = set.items.iter().map(|item| item.context.len()).max().unwrap_or_default();
        push_line(
            &mut text.groups,
            "group\tfirst_line\tend_line\tref_pronoun\tante_distance\tdocument_id\tsegment_id",
        );
        let mut line = 0;
        for (index, item) in set.items.iter().enumerate() {
            for candidate in &item.candidates {
                push_line(&mut text.source, &item.source);
                push_line(&mut text.target, candidate);
                push_context(&mut text.context, &item.context, most);
                push_context(&mut text.target_context, &item.target_context, most);
            }
            let end = line + item.candidates.len();
            let pronoun = item.pronoun.as_deref().unwrap_or("NA");
            let distance = item.antecedent_distance.map_or("NA".to_owned(), |d| d.to_string());
            let document =
                item.document.as_ref().map_or("NA".to_owned(), |id| format!("{id}.{code}"));
            let segment = item.segment.map_or("NA".to_owned(), |place| (place + 1).to_string());
            // Writing to a string cannot fail.
            let _ = writeln!(
                text.groups,
                "{index}\t{line}\t{end}\t{pronoun}\t{distance}\t{document}\t{segment}"
            );
            line = end;
        }
        text
    }
}

/// Pads with empty lines in front, so that each candidate has the same number of context lines.
fn push_context(text: &mut String, context: &[String], most: usize) {
    for _ in context.len()..most {
        text.push('\n');
    }
    for sentence in context {
        push_line(text, sentence);
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
