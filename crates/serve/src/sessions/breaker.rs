//! A circuit breaker: after a failed call, all others fail immediately for a while.
//!
//! Then one call is let through as a trial. If it succeeds, all are; otherwise the pause starts
//! over.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long calls fail immediately after a failure.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Calls are let through.
    #[default]
    Closed,
    /// Calls have failed since then.
    Open(Instant),
    /// A trial call is in progress.
    Trying,
}

/// Lets calls through while they succeed.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: Mutex<State>,
}

/// A call that was let through. Dropping it without a result changes nothing: its caller has left.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    breaker: &'a Breaker,
    /// For a trial call: since when calls have failed.
    tries: Option<Instant>,
}

impl Breaker {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call through; `None` if it should fail immediately.
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
        assert!(breaker.attempt().is_some(), "a dropped call changes nothing");
        first.failed();
        assert!(breaker.attempt_after(hour).is_none(), "it failed a moment ago");
        let tries = breaker.attempt_after(Duration::ZERO).unwrap();
        assert!(breaker.attempt_after(Duration::ZERO).is_none(), "one is enough");
        drop(tries);
        let tries = breaker.attempt_after(Duration::ZERO).unwrap();
        tries.failed();
        assert!(breaker.attempt_after(hour).is_none());
        // A call let through earlier succeeds after all.
        second.succeeded();
        assert!(breaker.attempt_after(hour).is_some());
    }
}
