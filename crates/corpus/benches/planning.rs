//! The cost of planning for a corpus too large for a list of sentences: memory, the time to the
//! first update, and the time to resume in the middle of an epoch, both with the time to open and
//! check the prepared directory as `abridge train` does, on all cores.
//!
//! `cargo bench -p abridge-corpus --bench planning -- 100` plans 100 million sentences. They are made
//! of one shard of invented lengths under many names, so everything has its full size and the disk
//! needs 25 MB.

use std::path::Path;
use std::time::Instant;

use abridge_base::random::Random;
use abridge_corpus::Result;
use abridge_corpus::batch::{BatchSettings, Mixture, Position, Sampler};
use abridge_corpus::prepare::{FileHash, MANIFEST, PreparedDirectory};
use abridge_corpus::store::{EncodedSide, StoreContent, TokenStore};
use serde_json::json;

/// The shard size of `prepare`.
const SHARD: usize = 1 << 17;
/// Micro-batches per update.
const UPDATE: usize = 8;

fn main() -> Result<()> {
    let millions = std::env::args().skip(1).find_map(|argument| argument.parse::<usize>().ok());
    let sentences = millions.unwrap_or(2) * 1_000_000;
    let folder = tempfile::tempdir().expect("a folder for a shard");
    let count = sentences.div_ceil(SHARD);
    prepared(folder.path(), count)?;

    let start = Instant::now();
    let open = || PreparedDirectory::open(folder.path())?.split("train");
    let store: TokenStore = open()?;
    println!(
        "{} sentences in {count} shards, opened and checked in {:.2} s",
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
    let batches = planned.batches_in_epoch();
    for _ in 0..UPDATE {
        let next = planned.next(&mut position, 1);
        planned.build(&next);
    }
    println!(
        "first update of about {batches} batches, opening included: {:.2} s",
        start.elapsed().as_secs_f64()
    );
    println!("memory while training: {:.1} MB", own_memory());

    // Some windows later, as in a checkpoint.
    position.corpora[0].window = 7 * count / 10 * SHARD / (1 << 20);
    let start = Instant::now();
    let mut resumed = sampler(open()?)?;
    resumed.enter(&mut position);
    let next = resumed.next(&mut position, 70);
    resumed.build(&next);
    println!(
        "first batch after a resume at 70 %, opening included: {:.2} s",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// A directory as `prepare` writes it, with one shard under many names.
fn prepared(folder: &Path, shards: usize) -> Result<()> {
    let first = folder.join("shard");
    shard().write(&first)?;
    let FileHash { bytes, sha256, .. } = FileHash::of(&first, "")?;
    let name = |shard: usize| format!("train.{shard:05}.tokens");
    for shard in 0..shards {
        std::fs::hard_link(&first, folder.join(name(shard))).expect("another name of the shard");
    }
    let outputs =
        (0..shards).map(|shard| json!({"file": name(shard), "bytes": bytes, "sha256": sha256}));
    let side = json!({"tokens": 0, "unknown": 0, "longest": 35});
    let manifest = json!({
        "format": 1, "tool": "the benchmark `planning`", "warnings": [], "inputs": [],
        "recipe": {"languages": {"source": "en", "target": "de"}},
        "vocabularies": {"source": 20_000, "target": 20_000},
        "splits": [{"name": "train", "documents": 0, "sentences": shards * SHARD,
            "source": side, "target": side, "shards": shards}],
        "outputs": outputs.collect::<Vec<_>>(),
    });
    std::fs::write(folder.join(MANIFEST), manifest.to_string()).expect("the manifest is written");
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
