//! The cost of planning for a corpus too large for a list of sentences: memory, the time to the
//! first batch, and the time to resume in the middle of an epoch.
//!
//! `cargo bench -p abridge-corpus --bench planning -- 100` plans 100 million sentences. They are made
//! of one shard of invented lengths that is opened again and again, so the index has its full size and
//! the disk needs 25 MB.

use std::time::Instant;

use abridge_base::random::Random;
use abridge_corpus::Result;
use abridge_corpus::batch::{BatchSettings, Mixture, Position, Sampler};
use abridge_corpus::store::{EncodedSide, StoreContent, TokenStore};

/// The shard size of `prepare`.
const SHARD: usize = 1 << 17;
/// Micro-batches per update.
const UPDATE: usize = 8;

fn main() -> Result<()> {
    let millions = std::env::args().skip(1).find_map(|argument| argument.parse::<usize>().ok());
    let sentences = millions.unwrap_or(2) * 1_000_000;
    let folder = tempfile::tempdir().expect("a folder for a shard");
    let path = folder.path().join("train.tokens");
    shard().write(&path)?;

    let start = Instant::now();
    let open = || TokenStore::open(&path);
    let count = sentences.div_ceil(SHARD);
    let stores = (0..count).map(|_| open()).collect::<Result<Vec<_>>>()?;
    let store = TokenStore::join(stores)?;
    println!(
        "{} sentences in {count} shards, opened and checked by one thread in {:.2} s",
        store.sentences(),
        start.elapsed().as_secs_f64()
    );
    println!("memory of the index: {:.1} MB", own_memory());

    let sampler = |store| {
        let mixture = Mixture::constant(vec![1.0])?;
        Sampler::new(vec![(String::new(), store)], mixture, BatchSettings::default())
    };
    let mut planned = sampler(store)?;
    let mut position = Position::default();
    let start = Instant::now();
    let batches = planned.batches_in_epoch();
    for _ in 0..UPDATE {
        let next = planned.next(&mut position, 1);
        planned.build(&next);
    }
    println!("first update of about {batches} batches: {:.2} s", start.elapsed().as_secs_f64());
    println!("memory while training: {:.1} MB", own_memory());

    // Some windows later, as in a checkpoint.
    position.corpora[0].window = 7 * count / 10 * SHARD / (1 << 20);
    let store = TokenStore::join((0..count).map(|_| open()).collect::<Result<Vec<_>>>()?)?;
    let mut resumed = sampler(store)?;
    let start = Instant::now();
    resumed.enter(&mut position);
    let next = resumed.next(&mut position, 70);
    resumed.build(&next);
    println!("first batch after a resume at 70 %: {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Documents of 1 to 40 sentences of 5 to 35 tokens.
fn shard() -> StoreContent {
    let mut random = Random::keyed(&[1]);
    let mut documents: Vec<(String, usize)> = Vec::new();
    let mut left = SHARD;
    while left > 0 {
        let size = (1 + random.below(40)).min(left);
        documents.push((format!("document {}", documents.len()), size));
        left -= size;
    }
    let mut side = || {
        let mut side = EncodedSide { vocabulary_size: 20_000, ..EncodedSide::default() };
        for _ in 0..SHARD {
            for _ in 0..5 + random.below(31) {
                side.ids.push(5 + random.below(19_000) as u32);
            }
            side.ends.push(side.ids.len());
        }
        side
    };
    StoreContent { documents, source: side(), target: Some(side()) }
}

/// This process's own memory in megabytes, without mapped files.
fn own_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1000.0
}
