//! The content of a token store, and how it is written.

use std::path::Path;

use super::header::Header;
use crate::{Error, Result};

/// One language of a split: the concatenated ids of all sentences, and where each ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedSide {
    /// Token ids of all sentences, without `</s>`.
    pub ids: Vec<u32>,
    /// For each sentence, where its ids end.
    pub ends: Vec<usize>,
    /// Ids are below this number.
    pub vocabulary_size: usize,
}

/// A split before it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreContent {
    /// Name and number of sentences of each document.
    pub documents: Vec<(String, usize)>,
    /// The source side.
    pub source: EncodedSide,
    /// The target side, if there is one.
    pub target: Option<EncodedSide>,
}

impl StoreContent {
    /// The bytes of the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        let target = self.target.as_ref();
        let header = Header {
            has_target: target.is_some(),
            documents: self.documents.len() as u64,
            sentences: self.source.ends.len() as u64,
            source_tokens: self.source.ids.len() as u64,
            target_tokens: target.map_or(0, |side| side.ids.len()) as u64,
            name_bytes: self.documents.iter().map(|(name, _)| name.len() as u64).sum(),
            source_vocabulary: self.source.vocabulary_size as u64,
            target_vocabulary: target.map_or(0, |side| side.vocabulary_size) as u64,
        };
        let mut payload: Vec<u8> = Vec::new();
        push_offsets(&mut payload, running_sums(self.documents.iter().map(|(_, count)| *count)));
        push_offsets(&mut payload, self.source.ends.iter().copied());
        if let Some(target) = target {
            push_offsets(&mut payload, target.ends.iter().copied());
        }
        push_offsets(&mut payload, running_sums(self.documents.iter().map(|(name, _)| name.len())));
        for side in std::iter::once(&self.source).chain(target) {
            payload.extend(side.ids.iter().flat_map(|id| id.to_le_bytes()));
        }
        for (name, _) in &self.documents {
            payload.extend_from_slice(name.as_bytes());
        }
        let mut bytes = header.to_bytes(&payload).to_vec();
        bytes.append(&mut payload);
        Ok(bytes)
    }

    /// Writes the file and syncs it to disk.
    pub fn write(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes().map_err(|error| error.in_file(path))?;
        abridge_base::files::replace(path, &bytes)
    }

    fn check(&self) -> Result<()> {
        let sentences = self.source.ends.len();
        let in_documents: usize = self.documents.iter().map(|(_, count)| count).sum();
        if in_documents != sentences {
            return Err(Error::new(format!(
                "the documents have {in_documents} sentences, the source side has {sentences}"
            )));
        }
        for (name, side) in [("source", Some(&self.source)), ("target", self.target.as_ref())] {
            let Some(side) = side else { continue };
            if side.ends.len() != sentences {
                return Err(Error::new(format!(
                    "the source side has {sentences} sentences, the {name} side {}",
                    side.ends.len()
                )));
            }
            let sorted = side.ends.is_sorted();
            if !sorted || side.ends.last().copied().unwrap_or(0) != side.ids.len() {
                return Err(Error::new(format!("the offsets of the {name} side are wrong")));
            }
            if side.ids.iter().any(|&id| id as usize >= side.vocabulary_size) {
                return Err(Error::new(format!(
                    "an id of the {name} side is not in its vocabulary"
                )));
            }
        }
        Ok(())
    }
}

fn running_sums(counts: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    counts.scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    })
}

fn push_offsets(payload: &mut Vec<u8>, ends: impl Iterator<Item = usize>) {
    payload.extend_from_slice(&0_u64.to_le_bytes());
    payload.extend(ends.flat_map(|end| (end as u64).to_le_bytes()));
}
