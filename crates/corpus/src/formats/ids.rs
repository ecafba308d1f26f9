//! Document ids are unique within a corpus.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::file::TextFile;
use crate::Result;

/// The ids seen so far, with the line at which each document begins.
#[derive(Debug, Default)]
pub(super) struct DocumentIds {
    seen: BTreeMap<String, usize>,
}

impl DocumentIds {
    /// Records a document that begins at `line`; fails if its id was used before.
    pub fn begin(&mut self, id: &str, line: usize, file: &TextFile) -> Result<()> {
        match self.seen.entry(id.to_owned()) {
            Entry::Vacant(new) => {
                new.insert(line);
                Ok(())
            }
            Entry::Occupied(first) => Err(file
                .error(line, format!("document `{id}` appears again, after line {}", first.get()))
                .remedy("put the parts of a document together, or give the later one its own id")),
        }
    }
}
