//! Encodes spooled text into token files, several shards at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use super::description::FileHash;
use super::directory::shard_names;
use super::progress::Progress;
use super::reading::{SpooledSplit, Text};
use super::resume::{EncodedShard, Notes};
use super::spool::read_shard;
use super::statistics::SplitStatistics;
use super::warnings::inspect;
use crate::store::{EncodedSide, StoreContent};
use crate::tokenizer::encode_lines;
use crate::{Document, Error, Result, Tokenizer};

/// The tokenizers of both languages.
#[derive(Debug)]
pub struct Tokenizers {
    pub source: Tokenizer,
    pub target: Tokenizer,
}

/// A shard of a split to encode.
struct Job<'a> {
    split: &'a SpooledSplit,
    shard: usize,
    /// The number of its first sentence in the split.
    first: usize,
}

/// State shared by all jobs.
struct Work<'a> {
    notes: &'a Notes,
    text: &'a Text,
    tokenizers: &'a Tokenizers,
    /// Threads per job.
    threads: usize,
}

/// Encodes all shards, except those that were encoded before an interruption. The results are in
/// the order of the splits, and do not depend on the number of threads.
pub fn encode(
    text: &Text,
    tokenizers: &Tokenizers,
    notes: &Notes,
    threads: usize,
    progress: &mut dyn Progress,
) -> Result<Vec<Vec<EncodedShard>>> {
    let mut jobs = Vec::new();
    for split in &text.splits {
        let mut first = 0;
        for (shard, size) in split.shards.iter().enumerate() {
            jobs.push(Job { split, shard, first });
            first += size.sentences;
        }
    }
    let sentences = |job: &Job<'_>| job.split.shards[job.shard].sentences as u64;
    progress.stage("encoding", jobs.iter().map(sentences).sum());
    let threads = threads.max(1);
    let each = (threads / jobs.len().max(1)).max(1);
    let work = Work { notes, text, tokenizers, threads: each };
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<EncodedShard>> = jobs.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        let (send, receive) = channel();
        for _ in 0..threads.min(jobs.len()) {
            let (send, work, jobs, next) = (send.clone(), &work, &jobs, &next);
            scope.spawn(move || work.run(jobs, next, &send));
        }
        drop(send);
        let mut done = 0;
        for (index, result) in receive {
            match result {
                Ok(shard) => results[index] = Some(shard),
                Err(error) => {
                    // The other threads stop after their current shard.
                    next.store(jobs.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
            done += sentences(&jobs[index]);
            progress.reached(done);
        }
        Ok(())
    })?;
    let mut results = results.into_iter().flatten();
    let each = text.splits.iter().map(|split| split.shards.len());
    Ok(each.map(|count| results.by_ref().take(count).collect()).collect())
}

impl Work<'_> {
    fn run(
        &self,
        jobs: &[Job<'_>],
        next: &AtomicUsize,
        send: &Sender<(usize, Result<EncodedShard>)>,
    ) {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { return };
            if send.send((index, self.shard(job))).is_err() {
                return;
            }
        }
    }

    fn shard(&self, job: &Job<'_>) -> Result<EncodedShard> {
        let Job { split, shard, first } = job;
        if let Some(encoded) = self.notes.shard(&split.name, *shard) {
            return Ok(encoded);
        }
        let folder = self.notes.text_folder().join(&split.name);
        let documents = read_shard(&folder, *shard, split.shards[*shard])?;
        let content = self.content(split, &documents)?;
        let name = shard_names(&split.name, split.shards.len()).swap_remove(*shard);
        let path = self.notes.files().join(&name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        }
        content.write(&path)?;
        let encoded = EncodedShard {
            file: FileHash::of(&path, &name)?,
            statistics: SplitStatistics::of(&split.name, &content),
            warnings: inspect(&split.name, &documents, *first, &content, &self.text.training),
        };
        self.notes.save_shard(&split.name, *shard, &encoded)?;
        Ok(encoded)
    }

    fn content(&self, split: &SpooledSplit, documents: &[Document]) -> Result<StoreContent> {
        let Tokenizers { source: tokenizer, target: target_tokenizer } = self.tokenizers;
        let towards = split.language.as_ref().map(|language| tokenizer.towards(language));
        let towards = towards.transpose()?;
        let segments = || documents.iter().flat_map(|document| &document.segments);
        let source: Vec<&str> = segments().map(|segment| segment.source.as_str()).collect();
        let target: Vec<&str> = segments().filter_map(|s| s.target.as_deref()).collect();
        let encode = |tokenizer: &Tokenizer, lines: &[&str]| {
            let (ids, ends) = encode_lines(tokenizer, lines, self.threads);
            EncodedSide { ids, ends, vocabulary_size: tokenizer.vocabulary_size() }
        };
        Ok(StoreContent {
            documents: documents.iter().map(|d| (d.id.clone(), d.segments.len())).collect(),
            source: encode(towards.as_ref().unwrap_or(tokenizer), &source),
            target: split.has_target.then(|| encode(target_tokenizer, &target)),
        })
    }
}
