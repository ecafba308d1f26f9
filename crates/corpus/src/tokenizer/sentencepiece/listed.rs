//! The vocabulary of a Marian model, in our order.
//!
//! In Marian and MarianMT, the ids of special tokens differ between models; here they are fixed. So
//! the pieces of such a model are renumbered on import: first our five special tokens, then all its
//! other pieces in their own order. The rows of its embeddings are permuted accordingly
//! ([`ForeignVocabulary::rows`]); nothing else is affected.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::tokenizer::special::SPECIAL;
use crate::{Error, Result};

/// The pieces of another toolkit's vocabulary with our ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignVocabulary {
    pieces: Vec<String>,
    rows: Vec<Option<u32>>,
}

impl ForeignVocabulary {
    /// Renumbers pieces; the index of a piece is its id in the other toolkit.
    pub fn new(foreign: &[String]) -> Result<Self> {
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        for (id, piece) in foreign.iter().enumerate() {
            if numbers.insert(piece, id as u32).is_some() {
                return Err(Error::new(format!("the piece `{piece}` has two ids")));
            }
        }
        for needed in ["</s>", "<unk>"] {
            if !numbers.contains_key(needed) {
                return Err(Error::new(format!("the vocabulary has no `{needed}`"))
                    .remedy("every Marian vocabulary has one; give the model's own"));
            }
        }
        let special = SPECIAL.iter().map(|piece| (*piece, numbers.get(piece).copied()));
        let others =
            foreign.iter().enumerate().map(|(id, piece)| (piece.as_str(), Some(id as u32)));
        let others = others.filter(|(piece, _)| !SPECIAL.contains(piece));
        let (pieces, rows) =
            special.chain(others).map(|(piece, row)| (piece.to_owned(), row)).unzip();
        Ok(Self { pieces, rows })
    }

    /// Like [`Self::new`], from pieces with their ids in any order.
    pub fn of_ids(ids: impl IntoIterator<Item = (String, u64)>) -> Result<Self> {
        let mut pieces: Vec<(u64, String)> =
            ids.into_iter().map(|(piece, id)| (id, piece)).collect();
        pieces.sort();
        for (place, (id, piece)) in pieces.iter().enumerate() {
            if *id != place as u64 {
                return Err(Error::new(format!(
                    "vocabulary ids have a gap or duplicate at {place}: `{piece}` is {id}"
                )));
            }
        }
        let pieces: Vec<String> = pieces.into_iter().map(|(_, piece)| piece).collect();
        Self::new(&pieces)
    }

    /// Our pieces; the index is our id.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// The other toolkit's id for each of ours; `None` for special tokens that only we have.
    pub fn rows(&self) -> &[Option<u32>] {
        &self.rows
    }

    /// The size of the other toolkit's vocabulary.
    pub fn foreign_size(&self) -> usize {
        self.rows.iter().flatten().count()
    }

    /// Our id for each id of the other toolkit.
    pub fn ours(&self) -> Vec<u32> {
        let mut ours = vec![0; self.foreign_size()];
        for (id, row) in self.rows.iter().enumerate() {
            if let Some(row) = row {
                ours[*row as usize] = id as u32;
            }
        }
        ours
    }
}

/// The pieces of a vocabulary by their ids, the special tokens first, as a file beside a `.model`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedPieces {
    format: u32,
    /// The piece that every sentence starts with: the code of the target language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    pieces: Vec<String>,
}

impl ListedPieces {
    /// The list of a vocabulary; `start` is the code of a language that every sentence starts with,
    /// unless it names one itself.
    pub fn new(vocabulary: &ForeignVocabulary, start: Option<&str>) -> Self {
        let (start, pieces) = (start.map(str::to_owned), vocabulary.pieces().to_vec());
        Self { format: 1, start, pieces }
    }

    /// Reads what [`Self::to_json`] wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let text = abridge_base::files::read_regular(path, super::LARGEST)?;
        let wrong = |problem: String| Error::new(problem).in_file(path);
        let list: Self = serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("not a list of pieces: {error}")))?;
        if list.format != 1 {
            return Err(wrong(format!("format {} is newer than this program", list.format)));
        }
        if !list.pieces.iter().map(String::as_str).take(SPECIAL.len()).eq(SPECIAL) {
            return Err(wrong("the special tokens are not its first pieces".into()));
        }
        if let Some(start) = list.start.as_ref().filter(|start| !list.pieces.contains(start)) {
            return Err(wrong(format!("its sentences start with `{start}`, which is not a piece")));
        }
        Ok(list)
    }

    /// The bytes of the file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The pieces; the index is the id.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// The piece that every sentence starts with, unless it names a language itself.
    pub fn start(&self) -> Option<&str> {
        self.start.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(pieces: &[&str]) -> Vec<String> {
        pieces.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn special_tokens_come_first_and_rows_follow() {
        let foreign = strings(&["</s>", "<unk>", "▁a", "b", "<pad>"]);
        let vocabulary = ForeignVocabulary::new(&foreign).unwrap();
        let pieces = ["<s>", "<pad>", "</s>", "<unk>", "<brk>", "▁a", "b"];
        assert_eq!(vocabulary.pieces(), pieces);
        assert_eq!(vocabulary.rows(), [None, Some(4), Some(0), Some(1), None, Some(2), Some(3)]);
        assert_eq!(vocabulary.ours(), [2, 3, 5, 6, 1]);
        assert_eq!(vocabulary.foreign_size(), 5);
        let mut ids: Vec<(String, u64)> = foreign.iter().cloned().zip(0..).collect();
        ids.reverse();
        assert_eq!(ForeignVocabulary::of_ids(ids).unwrap(), vocabulary);
    }

    #[test]
    fn rejects_invalid_vocabularies_with_the_reason() {
        let problem =
            |pieces: &[&str]| ForeignVocabulary::new(&strings(pieces)).unwrap_err().to_string();
        assert!(problem(&["</s>", "a"]).contains("no `<unk>`"));
        assert!(problem(&["</s>", "<unk>", "a", "a"]).contains("`a` has two ids"));
        let gap = [("</s>".to_owned(), 0), ("<unk>".to_owned(), 2)];
        let error = ForeignVocabulary::of_ids(gap).unwrap_err().to_string();
        assert!(error.contains("`<unk>` is 2"), "{error}");
    }

    #[test]
    fn a_list_is_checked_when_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pieces.json");
        let list = |text: &str| {
            std::fs::write(&path, text).unwrap();
            ListedPieces::read(&path)
        };
        let vocabulary = ForeignVocabulary::new(&strings(&["</s>", "<unk>", "a"])).unwrap();
        let whole = ListedPieces::new(&vocabulary, None);
        assert_eq!(list(&whole.to_json()).unwrap(), whole);
        for (text, problem) in [
            ("{\"format\":2,\"pieces\":[]}".to_owned(), "newer"),
            ("{\"format\":1,\"pieces\":[\"a\"]}".to_owned(), "special tokens"),
            (
                whole.to_json().replace("{\"format\":1", "{\"format\":1,\"start\":\">>x<<\""),
                "not a piece",
            ),
            ("[]".to_owned(), "not a list of pieces"),
        ] {
            let error = list(&text).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("pieces.json"), "{error}");
        }
    }
}
