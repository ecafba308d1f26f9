//! Text between reading and encoding: documents on disk, in shards that fit into memory.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::formats::LONGEST_DOCUMENT;
use crate::{Document, Error, Result, Segment};

/// Sentences per shard; a document is never split, so this is also the longest document.
pub const SHARD: usize = LONGEST_DOCUMENT;
/// The length that marks a missing translation.
const MISSING: u32 = u32::MAX;

/// The size of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSize {
    /// Documents.
    pub documents: usize,
    /// Sentences in them.
    pub sentences: usize,
}

/// What is on disk of a split that is being spooled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spooled {
    /// Its shards.
    pub shards: Vec<ShardSize>,
    /// Bytes of the last shard if that is not complete.
    open: Option<u64>,
}

impl Spooled {
    /// The shards that are complete.
    pub fn complete(&self) -> usize {
        self.shards.len() - usize::from(self.open.is_some())
    }
}

/// Writes the documents of a split, shard after shard.
#[derive(Debug)]
pub struct SpoolWriter {
    folder: PathBuf,
    limit: usize,
    open: Option<BufWriter<File>>,
    shards: Vec<ShardSize>,
}

impl SpoolWriter {
    /// Creates the folder. `limit` is the number of sentences of a shard.
    pub fn create(folder: &Path, limit: usize) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        Ok(Self { folder: folder.to_path_buf(), limit, open: None, shards: Vec::new() })
    }

    /// Continues where [`Self::save`] was; what was written later is removed.
    pub fn resume(folder: &Path, limit: usize, spooled: Spooled) -> Result<Self> {
        let mut writer = Self::create(folder, limit)?;
        writer.shards = spooled.shards;
        if let Some(bytes) = spooled.open {
            let path = folder.join(file_name(writer.shards.len() - 1));
            let open = || {
                let mut file = File::options().write(true).open(&path)?;
                file.set_len(bytes)?;
                file.seek(SeekFrom::End(0))?;
                Ok(file)
            };
            let file = open().map_err(|error| Error::io("write", &path, error))?;
            writer.open = Some(BufWriter::new(file));
        }
        Ok(writer)
    }

    /// Syncs what was written, and returns what is needed to continue from here.
    pub fn save(&mut self) -> Result<Spooled> {
        let path = self.folder.join(file_name(self.shards.len().saturating_sub(1)));
        let failed = |error| Error::io("write", &path, error);
        let open = self.open.as_mut().map(|file| sync(file).map_err(failed)).transpose()?;
        Ok(Spooled { shards: self.shards.clone(), open })
    }

    /// The sizes of the shards so far.
    pub fn shards(&self) -> &[ShardSize] {
        &self.shards
    }

    /// Adds a document; returns the shard that it completes, if any.
    pub fn push(&mut self, document: &Document) -> Result<Option<usize>> {
        let last = self.shards.last().copied().unwrap_or_default();
        let is_full = last.sentences > 0 && last.sentences + document.segments.len() > self.limit;
        let complete = if is_full { self.close()? } else { None };
        if self.open.is_none() {
            self.shards.push(ShardSize::default());
        }
        let path = self.folder.join(file_name(self.shards.len() - 1));
        let failed = |error| Error::io("write", &path, error);
        let file = match self.open.take() {
            Some(file) => file,
            None => BufWriter::new(File::create(&path).map_err(failed)?),
        };
        write_document(document, self.open.insert(file)).map_err(failed)?;
        if let Some(shard) = self.shards.last_mut() {
            shard.documents += 1;
            shard.sentences += document.segments.len();
        }
        Ok(complete)
    }

    /// Completes the last shard, and returns it if there is one.
    pub fn close(&mut self) -> Result<Option<usize>> {
        let Some(mut file) = self.open.take() else { return Ok(None) };
        let shard = self.shards.len() - 1;
        sync(&mut file)
            .map_err(|error| Error::io("write", &self.folder.join(file_name(shard)), error))?;
        Ok(Some(shard))
    }
}

/// Brings a file to disk, so that notes about it are never newer than itself; returns its size.
fn sync(file: &mut BufWriter<File>) -> std::io::Result<u64> {
    file.flush()?;
    file.get_ref().sync_data()?;
    Ok(file.get_ref().metadata()?.len())
}

/// The documents of a shard of this size.
pub fn read_shard(folder: &Path, shard: usize, size: ShardSize) -> Result<Vec<Document>> {
    let path = folder.join(file_name(shard));
    let bytes = std::fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
    let mut rest = bytes.as_slice();
    let damaged =
        || Error::new("is damaged").in_file(&path).remedy("run `abridge prepare --force`");
    let mut documents = Vec::new();
    while !rest.is_empty() {
        documents.push(read_document(&mut rest).ok_or_else(damaged)?);
    }
    let sentences = documents.iter().map(|document: &Document| document.segments.len()).sum();
    let found = ShardSize { documents: documents.len(), sentences };
    if found == size { Ok(documents) } else { Err(damaged()) }
}

fn file_name(shard: usize) -> String {
    format!("{shard:05}.text")
}

fn write_document(document: &Document, file: &mut impl Write) -> std::io::Result<()> {
    write_text(Some(&document.id), file)?;
    file.write_all(&(document.segments.len() as u32).to_le_bytes())?;
    for segment in &document.segments {
        write_text(Some(&segment.source), file)?;
        write_text(segment.target.as_deref(), file)?;
    }
    Ok(())
}

fn write_text(text: Option<&str>, file: &mut impl Write) -> std::io::Result<()> {
    let length = text.map_or(MISSING, |text| text.len() as u32);
    file.write_all(&length.to_le_bytes())?;
    file.write_all(text.unwrap_or_default().as_bytes())
}

fn read_document(rest: &mut &[u8]) -> Option<Document> {
    let length = read_number(rest)?;
    let id = read_text(rest, length)?;
    let count = read_number(rest)?;
    let mut segments = Vec::new();
    for _ in 0..count {
        let length = read_number(rest)?;
        let source = read_text(rest, length)?;
        let target = match read_number(rest)? {
            MISSING => None,
            length => Some(read_text(rest, length)?),
        };
        segments.push(Segment { source, target });
    }
    Some(Document::new(id, segments))
}

fn read_number(rest: &mut &[u8]) -> Option<u32> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_le_bytes(*number))
}

fn read_text(rest: &mut &[u8], length: u32) -> Option<String> {
    let (text, after) = rest.split_at_checked(length as usize)?;
    *rest = after;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_round_trip_and_are_never_split() {
        let folder = tempfile::tempdir().unwrap();
        let segment = |n: usize| match n % 3 {
            0 => Segment::new(""),
            _ => Segment::pair(format!("Zeile {n}: ä\n"), format!("line {n}")),
        };
        let document = |n: usize| Document::new(format!("d{n}"), (0..n).map(segment).collect());
        let documents: Vec<Document> = (1..9).map(document).collect();
        let mut writer = SpoolWriter::create(folder.path(), 10).unwrap();
        let mut complete = Vec::new();
        for document in &documents {
            complete.extend(writer.push(document).unwrap());
            // As if killed after each document, with something of the next one on disk.
            let spooled = writer.save().unwrap();
            writer.push(&documents[0]).unwrap();
            drop(writer);
            writer = SpoolWriter::resume(folder.path(), 10, spooled).unwrap();
        }
        complete.extend(writer.close().unwrap());
        let shards = writer.shards().to_vec();
        assert_eq!(complete, (0..shards.len()).collect::<Vec<_>>());
        let sizes: Vec<usize> = shards.iter().map(|shard| shard.sentences).collect();
        assert_eq!(sizes, [10, 5, 6, 7, 8]);
        let read = |shard: usize| read_shard(folder.path(), shard, shards[shard]);
        let all = (0..shards.len()).flat_map(|shard| read(shard).unwrap());
        assert_eq!(all.collect::<Vec<_>>(), documents);
        // Damaged, empty, and whole but of another size.
        let other = std::fs::read(folder.path().join("00002.text")).unwrap();
        for bytes in [&b"\x05\0\0\0d"[..], b"", &other] {
            std::fs::write(folder.path().join("00001.text"), bytes).unwrap();
            let error = read(1).unwrap_err().to_string();
            assert!(error.contains("00001.text: is damaged"), "{error}");
        }
    }
}
