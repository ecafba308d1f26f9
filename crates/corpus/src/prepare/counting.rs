//! Counts the words of shards on other threads while the next ones are read.
//!
//! Shards are counted separately and added in order, so the result does not depend on the threads.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::spool::{ShardSize, read_shard};
use crate::tokenizer::WordCounts;
use crate::{Error, Result};

/// The words of both sides.
#[derive(Debug, Default)]
pub struct Counts {
    pub source: WordCounts,
    pub target: WordCounts,
}

/// A folder of shards, one of them, and its size.
type Job = (PathBuf, usize, ShardSize);

/// The counting threads.
#[derive(Debug)]
pub struct Counting {
    jobs: Option<Sender<(usize, Job)>>,
    results: Receiver<(usize, Result<Counts>)>,
    threads: Vec<JoinHandle<()>>,
    /// Results that arrived before an earlier one.
    early: BTreeMap<usize, Result<Counts>>,
    given: usize,
    added: usize,
    total: Counts,
}

impl Counting {
    /// Starts the threads, at most as many as the machine can run at once.
    pub fn start(threads: usize) -> Self {
        let most = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.clamp(1, most);
        let (jobs, queue) = channel::<(usize, Job)>();
        let (done, results) = channel();
        let queue = Arc::new(Mutex::new(queue));
        let start = |_| {
            let (queue, done) = (Arc::clone(&queue), done.clone());
            std::thread::spawn(move || {
                loop {
                    let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((number, job)) = job else { return };
                    if done.send((number, count(&job))).is_err() {
                        return;
                    }
                }
            })
        };
        let threads = (0..threads).map(start).collect();
        Self {
            jobs: Some(jobs),
            results,
            threads,
            early: BTreeMap::new(),
            given: 0,
            added: 0,
            total: Counts::default(),
        }
    }

    /// Queues a shard for counting.
    pub fn add(&mut self, folder: PathBuf, shard: usize, size: ShardSize) -> Result<()> {
        if let Some(jobs) = &self.jobs
            && jobs.send((self.given, (folder, shard, size))).is_ok()
        {
            self.given += 1;
        }
        while let Ok((number, counts)) = self.results.try_recv() {
            self.take(number, counts)?;
        }
        Ok(())
    }

    /// Waits for all shards.
    pub fn finish(self) -> Result<Counts> {
        self.finish_with(&mut |_| {})
    }

    /// The same; `reached` gets the number of shards that are counted.
    pub fn finish_with(mut self, reached: &mut dyn FnMut(usize)) -> Result<Counts> {
        drop(self.jobs.take());
        while self.added < self.given {
            let Ok((number, counts)) = self.results.recv() else {
                return Err(Error::new("counting words has stopped unexpectedly"));
            };
            self.take(number, counts)?;
            reached(self.added);
        }
        for thread in self.threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        Ok(self.total)
    }

    fn take(&mut self, number: usize, counts: Result<Counts>) -> Result<()> {
        self.early.insert(number, counts);
        while let Some(counts) = self.early.remove(&self.added) {
            let Counts { source, target } = counts?;
            self.total.source.merge_bounded(source);
            self.total.target.merge_bounded(target);
            self.added += 1;
        }
        Ok(())
    }
}

fn count((folder, shard, size): &Job) -> Result<Counts> {
    let mut counts = Counts::default();
    let documents = read_shard(folder, *shard, *size)?;
    for segment in documents.iter().flat_map(|document| &document.segments) {
        counts.source.add_line(&segment.source);
        if let Some(target) = &segment.target {
            counts.target.add_line(target);
        }
    }
    Ok(counts)
}
