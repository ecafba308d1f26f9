//! A circuit breaker: after a call that failed, all others fail at once for a while.
//!
//! Then one call is let through to try. If it succeeds, all are; if not, they fail for as long again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long calls fail at once after one that failed.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Calls are let through.
    #[default]
    Closed,
    /// Calls fail since then.
    Open(Instant),
    /// One call tries.
    Trying,
}

/// Lets calls through while they succeed.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: Mutex<State>,
}

/// A call that was let through. One that is dropped says nothing: its caller has left.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    breaker: &'a Breaker,
    /// Since when calls fail, where this one tries.
    tries: Option<Instant>,
}

impl Breaker {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call through, or says that it would fail.
    pub fn attempt(&self) -> Option<Attempt<'_>> {
        self.attempt_after(PAUSE)
    }

    fn attempt_after(&self, pause: Duration) -> Option<Attempt<'_>> {
        let mut state = self.lock();
        match *state {
            State::Closed => Some(Attempt { breaker: self, tries: None }),
            State::Open(since) if since.elapsed() >= pause => {
                *state = State::Trying;
                Some(Attempt { breaker: self, tries: Some(since) })
            }
            State::Open(_) | State::Trying => None,
        }
    }
}

impl Attempt<'_> {
    pub fn succeeded(mut self) {
        *self.breaker.lock() = State::Closed;
        self.tries = None;
    }

    pub fn failed(mut self) {
        *self.breaker.lock() = State::Open(Instant::now());
        self.tries = None;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if let Some(since) = self.tries {
            *self.breaker.lock() = State::Open(since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stops_the_others_and_a_success_lets_them_through() {
        let breaker = Breaker::default();
        let hour = Duration::from_hours(1);
        let (first, second) = (breaker.attempt().unwrap(), breaker.attempt().unwrap());
        drop(breaker.attempt());
        assert!(breaker.attempt().is_some(), "somebody who left says nothing");
        first.failed();
        assert!(breaker.attempt_after(hour).is_none(), "it failed a moment ago");
        let tries = breaker.attempt_after(Duration::ZERO).unwrap();
        assert!(breaker.attempt_after(Duration::ZERO).is_none(), "one is enough");
        drop(tries);
        let tries = breaker.attempt_after(Duration::ZERO).unwrap();
        tries.failed();
        assert!(breaker.attempt_after(hour).is_none());
        // One that had been let through before succeeds after all.
        second.succeeded();
        assert!(breaker.attempt_after(hour).is_some());
    }
}
