//! Writes complete translations while the next ones are made.
//!
//! Each file is synced before it is recorded as finished. Syncing takes longer than translating a
//! small file, so several are written at once.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use abridge_base::files::{OutputFile, Outputs};
use anyhow::Context;

use super::finished;
use super::partial::{Header, Partial};

/// Threads that write; they mostly wait for the disk.
const THREADS: usize = 8;

/// A translation that only has to be written.
#[derive(Debug)]
pub struct Complete {
    pub output: OutputFile,
    /// Where to record that it is finished, if there are many.
    pub record: Option<std::path::PathBuf>,
    pub header: Header,
    pub bytes: Vec<u8>,
    pub partial: Option<Partial>,
}

impl Complete {
    fn write(self, records: &mut Outputs) -> anyhow::Result<()> {
        self.output.write(&self.bytes)?;
        if let Some(record) = &self.record {
            finished::save(records, record, &self.header, &self.bytes)?;
        }
        self.partial.map_or(Ok(()), Partial::finish)
    }
}

/// Accepts translations to write.
#[derive(Debug)]
pub struct Writer<'a> {
    queue: SyncSender<Complete>,
    problem: &'a Mutex<Option<anyhow::Error>>,
}

impl Writer<'_> {
    /// Queues a translation; an error is from an earlier one or from the queue.
    pub fn write(&self, complete: Complete) -> anyhow::Result<()> {
        let found = self.problem.lock().ok().and_then(|mut problem| problem.take());
        found.map_or(Ok(()), Err)?;
        self.queue.send(complete).ok().context("the writer threads have ended")
    }
}

/// Runs `work` with a writer, and waits until everything is written.
pub fn writing(work: impl FnOnce(&Writer<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let problem = Mutex::new(None);
    let (queue, complete) = sync_channel::<Complete>(THREADS);
    let complete = Mutex::new(complete);
    let worked = std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| write_all(&complete, &problem));
        }
        let writer = Writer { queue, problem: &problem };
        work(&writer)
    });
    worked?;
    problem.into_inner().ok().flatten().map_or(Ok(()), Err)
}

fn write_all(queue: &Mutex<Receiver<Complete>>, problem: &Mutex<Option<anyhow::Error>>) {
    let mut records = Outputs::new();
    loop {
        let next = queue.lock().ok().and_then(|queue| queue.recv().ok());
        let Some(complete) = next else { return };
        if let Err(error) = complete.write(&mut records)
            && let Ok(mut problem) = problem.lock()
        {
            problem.get_or_insert(error);
        }
    }
}
