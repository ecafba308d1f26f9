//! Parallel work, one worker per thread.
//!
//! The engine runs most operations on one thread, so two workers with a batch each are faster than
//! one worker with two threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{Error, Result};

/// More than any machine has cores; each thread costs memory and operating system resources.
const MOST: usize = 1024;

/// A pool of worker threads.
#[derive(Debug)]
pub struct Workers {
    /// One thread each: the work of one worker is not split among the others' threads.
    narrow: Vec<ThreadPool>,
    /// All threads, for a single piece of work.
    wide: Option<ThreadPool>,
}

impl Workers {
    /// Starts `count` workers, at least one, whose threads are called `name`.
    pub fn new(count: usize, name: &'static str) -> Result<Self> {
        if count > MOST {
            return Err(Error::usage(format!("{count} threads exceed the limit of {MOST}"))
                .remedy("one per core is fastest"));
        }
        let narrow = (0..count.max(1)).map(|worker| pool(1, name, worker));
        Ok(Self { narrow: narrow.collect::<Result<_>>()?, wide: None })
    }

    /// Like [`Self::new`], but a single piece of work gets all threads.
    pub fn joining(count: usize, name: &'static str) -> Result<Self> {
        let workers = Self::new(count, name)?;
        let wide = Some(pool(workers.count(), name, 0)?);
        Ok(Self { wide, ..workers })
    }

    /// The number of workers.
    pub fn count(&self) -> usize {
        self.narrow.len()
    }

    /// Does all pieces of work and returns the results in the same order. After an error, no
    /// further work is started.
    pub fn run<W: Send, R: Send, E: Send>(
        &self,
        work: Vec<W>,
        act: impl Fn(W) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        if let (0..=1, Some(wide)) = (work.len(), &self.wide) {
            return wide.install(|| work.into_iter().map(&act).collect());
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

fn pool(threads: usize, name: &'static str, worker: usize) -> Result<ThreadPool> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(move |thread| format!("{name}-{}", worker + thread))
        .build()
        .map_err(|error| Error::usage(format!("cannot start threads: {error}")).caused_by(error))
}

/// A panic in a worker ends the whole run, so a poisoned lock is never seen.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::HasKind;

    #[test]
    fn results_are_in_order_and_errors_stop_the_run() {
        for count in [1, 3] {
            for workers in [Workers::new(count, "test"), Workers::joining(count, "test")] {
                let workers = workers.unwrap();
                assert_eq!(workers.count(), count);
                let squares = workers.run((0..50).collect(), |n: u64| Ok::<_, u64>(n * n));
                assert_eq!(squares, Ok((0..50).map(|n| n * n).collect()));
                let failed =
                    workers.run((0..50).collect(), |n| if n == 7 { Err(n) } else { Ok(n) });
                assert_eq!(failed, Err(7));
                assert_eq!(workers.run(vec![3], Ok::<_, u64>), Ok(vec![3]));
                assert_eq!(workers.run(Vec::new(), Ok::<u64, u64>), Ok(Vec::new()));
            }
        }
    }

    #[test]
    fn rejects_more_threads_than_any_machine_has() {
        let error = Workers::new(usize::MAX, "test").unwrap_err();
        assert_eq!((error.kind().exit_code(), error.to_string().contains("1024")), (1, true));
    }
}
