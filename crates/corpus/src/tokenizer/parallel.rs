//! Counting and encoding on several threads; the result does not depend on their number.

use super::{Tokenizer, WordCounts};

/// More than any machine has cores.
const MOST_THREADS: usize = 1024;

/// Counts the words of all lines.
pub fn count_words<S: AsRef<str> + Sync>(lines: &[S], threads: usize) -> WordCounts {
    let mut total = WordCounts::default();
    let parts = in_parallel(lines, threads, |part| {
        let mut counts = WordCounts::default();
        for line in part {
            counts.add_line(line.as_ref());
        }
        counts
    });
    for part in parts {
        total.merge(part);
    }
    total
}

/// Encodes all lines, in order: returns the concatenated ids, and where each line ends. A blank
/// line has no ids, not even that of a language.
pub fn encode_lines<S: AsRef<str> + Sync>(
    tokenizer: &Tokenizer,
    lines: &[S],
    threads: usize,
) -> (Vec<u32>, Vec<usize>) {
    let parts = in_parallel(lines, threads, |part| {
        let mut encoder = tokenizer.encoder();
        let mut ids = Vec::new();
        let mut ends = Vec::with_capacity(part.len());
        for line in part {
            if !line.as_ref().trim().is_empty() {
                encoder.encode(line.as_ref(), &mut ids);
            }
            ends.push(ids.len());
        }
        (ids, ends)
    });
    let mut ids = Vec::with_capacity(parts.iter().map(|(ids, _)| ids.len()).sum());
    let mut ends = Vec::with_capacity(lines.len());
    for (part, part_ends) in parts {
        let start = ids.len();
        ids.extend_from_slice(&part);
        ends.extend(part_ends.into_iter().map(|end| start + end));
    }
    (ids, ends)
}

/// Applies `work` to consecutive parts of `items`, one per thread, and keeps their order.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    let threads = threads.clamp(1, MOST_THREADS);
    let parts = items.chunks(items.len().div_ceil(threads).max(1));
    std::thread::scope(|scope| {
        let running: Vec<_> = parts.map(|part| scope.spawn(|| work(part))).collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
