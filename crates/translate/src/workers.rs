//! Batches side by side, one worker per thread.

use std::sync::Mutex;

use crate::{Error, Result};

/// More than any machine has cores; each costs memory and a name in the operating system.
const MOST_THREADS: usize = 1024;

/// The threads of a translator.
///
/// The engine runs most operations on one thread, so two workers with a batch each are faster than
/// one worker with two threads. A single batch gets all threads.
#[derive(Debug)]
pub(crate) struct Workers {
    /// One thread each.
    narrow: Vec<rayon::ThreadPool>,
    /// All threads.
    wide: rayon::ThreadPool,
}

impl Workers {
    pub fn new(count: usize) -> Result<Self> {
        let pool = |threads: usize| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|thread| format!("translate-{thread}"))
                .build()
                .map_err(|error| Error::Threads(error.to_string()))
        };
        let count = count.max(1);
        if count > MOST_THREADS {
            return Err(Error::Settings(format!(
                "{count} threads are more than {MOST_THREADS}; one per core is the fastest"
            )));
        }
        let narrow = (0..count).map(|_| pool(1)).collect::<Result<_>>()?;
        Ok(Self { narrow, wide: pool(count)? })
    }

    pub fn count(&self) -> usize {
        self.narrow.len()
    }

    /// Does all pieces of work; the results are in their order. After an error nothing more begins.
    pub fn run<W: Send, R: Send>(
        &self,
        work: Vec<W>,
        act: impl Fn(W) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        if work.len() <= 1 {
            return self.wide.install(|| work.into_iter().map(&act).collect());
        }
        let mut results: Vec<Option<R>> = work.iter().map(|_| None).collect();
        let queue = Mutex::new(work.into_iter().zip(&mut results));
        let failure = Mutex::new(None);
        std::thread::scope(|scope| {
            for pool in &self.narrow {
                let (queue, failure, act) = (&queue, &failure, &act);
                scope.spawn(move || {
                    pool.install(|| {
                        loop {
                            let next = lock(queue).next();
                            let Some((work, place)) = next else { break };
                            if lock(failure).is_some() {
                                break;
                            }
                            match act(work) {
                                Ok(result) => *place = Some(result),
                                Err(error) => *lock(failure) = Some(error),
                            }
                        }
                    });
                });
            }
        });
        if let Some(error) = lock(&failure).take() {
            return Err(error);
        }
        drop(queue);
        Ok(results.into_iter().flatten().collect())
    }
}

/// A worker that panics takes the whole translation with it, so a poisoned lock is never seen.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_errors_end_it() {
        for count in [1, 3] {
            let workers = Workers::new(count).unwrap();
            let squares = workers.run((0..50).collect(), |n: u64| Ok(n * n)).unwrap();
            assert_eq!(squares, (0..50).map(|n| n * n).collect::<Vec<_>>());
            let refused = workers
                .run((0..50).collect(), |n: u64| if n == 7 { Err(Error::Stopped) } else { Ok(()) });
            assert!(matches!(refused, Err(Error::Stopped)));
        }
    }
}
