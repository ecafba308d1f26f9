//! How many requests work and wait, and who is next.
//!
//! Clients take turns here, too: whoever has many requests waiting waits for its own. When all places
//! for waiting are taken, a client takes one of whoever has the most, if it has two fewer itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::error::{ApiError, Code};
use crate::fair::FairQueue;
use crate::settings::Limits;

#[derive(Default)]
struct State {
    at_work: usize,
    waiting: FairQueue<oneshot::Sender<Permit>>,
    /// Requests that have asked for a turn since the start.
    asked: u64,
    is_closed: bool,
}

/// The door.
#[derive(Clone)]
pub(crate) struct Admission {
    state: Arc<Mutex<State>>,
    limits: Arc<Limits>,
}

/// A request at work; dropping it lets the next one in.
pub(crate) struct Permit {
    /// None once its place was handed on.
    admission: Option<Admission>,
}

impl Admission {
    pub fn new(limits: &Limits) -> Self {
        Self { state: Arc::default(), limits: Arc::new(limits.clone()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn.
    pub async fn enter(&self, client: &str) -> Result<Permit, ApiError> {
        let turn = {
            let mut state = self.lock();
            state.asked += 1;
            if state.is_closed {
                return Err(shutting_down());
            }
            if state.at_work < self.limits.at_work {
                state.at_work += 1;
                return Ok(Permit { admission: Some(self.clone()) });
            }
            state.waiting.retain(|waiting| !waiting.is_closed());
            if state.waiting.len() >= self.limits.waiting {
                let own = state.waiting.count(client);
                // Dropping its sender tells it.
                if state.waiting.take_from_longest(own + 1).is_none() {
                    return Err(self.too_many());
                }
            }
            let (sender, turn) = oneshot::channel();
            state.waiting.push(client, sender);
            turn
        };
        match tokio::time::timeout(self.limits.wait, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) if !self.is_closed() => Err(self.too_many()),
            Ok(Err(_)) => Err(shutting_down()),
            Err(_) => {
                let seconds = self.limits.wait.as_secs();
                let problem = format!("no turn within {seconds} s; try again later");
                Err(ApiError::new(Code::Unavailable, problem))
            }
        }
    }

    fn too_many(&self) -> ApiError {
        let limit = self.limits.waiting;
        let problem = format!("{limit} requests are waiting already; try again later");
        ApiError::new(Code::TooManyRequests, problem)
    }

    /// Nobody enters any more; who waits is told.
    pub fn close(&self) {
        let waiting = {
            let mut state = self.lock();
            state.is_closed = true;
            std::mem::take(&mut state.waiting)
        };
        drop(waiting);
    }

    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Requests that have asked for a turn since the start.
    pub fn asked(&self) -> u64 {
        self.lock().asked
    }

    /// Requests at work, and waiting.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.at_work, state.waiting.len())
    }
}

fn shutting_down() -> ApiError {
    ApiError::new(Code::Unavailable, "the server is shutting down")
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(admission) = self.admission.take() else { return };
        loop {
            let next = {
                let mut state = admission.lock();
                let next = state.waiting.pop(|_| true);
                if next.is_none() {
                    state.at_work -= 1;
                }
                next
            };
            let Some(next) = next else { return };
            // The place is handed on; where nobody waits there any more, to the next.
            match next.send(Permit { admission: Some(admission.clone()) }) {
                Ok(()) => return,
                Err(mut back) => back.admission = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn admission(at_work: usize, waiting: usize) -> Admission {
        let wait = Duration::from_millis(50);
        Admission::new(&Limits { at_work, waiting, wait, ..Limits::default() })
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    #[test]
    fn places_are_handed_on_and_none_is_lost() {
        block_on(async {
            let admission = admission(1, 4);
            let first = admission.enter("a").await.unwrap();
            let gives_up = admission.enter("b").await.err().unwrap();
            assert_eq!(gives_up.code, Code::Unavailable);
            let waits = admission.enter("c");
            let (second, ()) = tokio::join!(waits, async { drop(first) });
            assert_eq!(admission.counts(), (1, 0));
            drop(second);
            assert_eq!(admission.counts(), (0, 0));
        });
    }

    #[test]
    fn one_client_cannot_take_every_place() {
        block_on(async {
            let admission = admission(1, 2);
            let working = admission.enter("greedy").await.unwrap();
            let visit = async |client| admission.enter(client).await.map(drop);
            let results = tokio::join!(
                visit("greedy"),
                visit("greedy"),
                visit("greedy"),
                visit("modest"),
                async { drop(working) },
            );
            let codes = [results.0, results.1, results.2, results.3]
                .map(|result| result.err().map(|error| error.code));
            // The third found no place; the second had to give its own away.
            let too_many = Some(Code::TooManyRequests);
            assert_eq!(codes, [None, too_many, too_many, None]);
        });
    }

    #[test]
    fn closing_tells_those_who_wait() {
        block_on(async {
            let admission = admission(1, 2);
            let _working = admission.enter("a").await.unwrap();
            let (waited, ()) = tokio::join!(admission.enter("b"), async { admission.close() });
            assert!(waited.err().unwrap().message.contains("shutting down"));
            assert!(admission.enter("c").await.is_err());
        });
    }
}
