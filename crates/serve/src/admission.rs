//! Limits how many requests run and wait and how much memory they take, and chooses the next one.
//!
//! A client (a key, or an address of another machine) may use only a part of the slots, so that
//! some are left for others. Queued clients take turns, so a client with many queued requests
//! delays only itself. When the queue is full, a new request displaces one of the client with the
//! most queued requests, if that client has at least two more than its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::client::Client;
use crate::error::{ApiError, Code};
use crate::fair::FairQueue;
use crate::settings::Limits;

struct State {
    at_work: usize,
    /// Bytes that the requests in progress may need.
    bytes: usize,
    waiting: FairQueue<Waiting>,
    /// Requests received since the start.
    asked: u64,
    is_closed: bool,
}

/// A queued request.
struct Waiting {
    client: Client,
    bytes: usize,
    turn: oneshot::Sender<Permit>,
}

/// Admits requests within the limits.
#[derive(Clone)]
pub(crate) struct Admission {
    state: Arc<Mutex<State>>,
    limits: Arc<Limits>,
}

/// A request in progress; dropping it admits the next one.
pub(crate) struct Permit {
    admission: Admission,
    client: String,
    bytes: usize,
}

impl Admission {
    pub fn new(limits: &Limits) -> Self {
        let state = State {
            at_work: 0,
            bytes: 0,
            waiting: FairQueue::new(0.0),
            asked: 0,
            is_closed: false,
        };
        Self { state: Arc::new(Mutex::new(state)), limits: Arc::new(limits.clone()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a request that needs at most this many bytes may run.
    pub async fn enter(&self, client: &Client, bytes: usize) -> Result<Permit, ApiError> {
        let turn = {
            let mut state = self.lock();
            state.asked += 1;
            if state.is_closed {
                return Err(shutting_down());
            }
            if state.has_room(client, bytes, &self.limits) {
                return Ok(self.admit(&mut state, client, bytes));
            }
            state.waiting.retain(|waiting| !waiting.turn.is_closed());
            if state.waiting.len() >= self.limits.waiting {
                let own = state.waiting.count(&client.id);
                // Dropping its sender notifies it.
                if state.waiting.take_from_longest(own + 1).is_none() {
                    return Err(self.too_many());
                }
            }
            let (sender, turn) = oneshot::channel();
            let waiting = Waiting { client: client.clone(), bytes, turn: sender };
            state.waiting.push(&client.id, waiting);
            turn
        };
        match tokio::time::timeout(self.limits.wait, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) if !self.is_closed() => Err(self.too_many()),
            Ok(Err(_)) => Err(shutting_down()),
            Err(_) => {
                let seconds = self.limits.wait.as_secs();
                let problem = format!("still queued after {seconds} s; try again later");
                Err(ApiError::new(Code::Unavailable, problem))
            }
        }
    }

    fn admit(&self, state: &mut State, client: &Client, bytes: usize) -> Permit {
        state.at_work += 1;
        state.bytes += bytes;
        state.waiting.begin(&client.id);
        state.waiting.charge(&client.id, 1.0);
        Permit { admission: self.clone(), client: client.id.clone(), bytes }
    }

    /// Admits all queued requests for which there is room now.
    fn admit_waiting(&self) {
        loop {
            let next = {
                let mut state = self.lock();
                let rooms = state.rooms(&self.limits);
                let next = state.waiting.pop(|client, _| rooms.iter().any(|room| room == client));
                next.map(|(_, waiting)| {
                    let permit = self.admit(&mut state, &waiting.client, waiting.bytes);
                    (waiting.turn, permit)
                })
            };
            // If the receiver is gone, the permit is dropped and admits the next request itself.
            match next {
                Some((turn, permit)) => drop(turn.send(permit)),
                None => return,
            }
        }
    }

    fn too_many(&self) -> ApiError {
        let limit = self.limits.waiting;
        let problem = format!("{limit} requests are already waiting; try again later");
        ApiError::new(Code::TooManyRequests, problem)
    }

    /// Rejects all queued and future requests.
    pub fn close(&self) {
        let waiting = {
            let mut state = self.lock();
            state.is_closed = true;
            state.waiting.drain()
        };
        drop(waiting);
    }

    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Requests received since the start.
    pub fn asked(&self) -> u64 {
        self.lock().asked
    }

    /// Requests in progress, and queued.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.at_work, state.waiting.len())
    }
}

impl State {
    fn has_room(&self, client: &Client, bytes: usize, limits: &Limits) -> bool {
        let own = self.waiting.at_work(&client.id);
        self.at_work < limits.at_work
            && own < client.part_of(limits.at_work, 2)
            && (self.at_work == 0 || self.bytes + bytes <= limits.memory)
    }

    /// The clients whose next request could be admitted.
    fn rooms(&self, limits: &Limits) -> Vec<String> {
        let mut clients = Vec::new();
        // Always false, so that every client is visited once.
        let _ = self.waiting.next(|client, waiting| {
            if self.has_room(&waiting.client, waiting.bytes, limits) {
                clients.push(client.to_owned());
            }
            false
        });
        clients
    }
}

fn shutting_down() -> ApiError {
    ApiError::new(Code::Unavailable, "the server is shutting down")
}

impl Drop for Permit {
    fn drop(&mut self) {
        {
            let mut state = self.admission.lock();
            state.at_work -= 1;
            state.bytes -= self.bytes;
            state.waiting.end(&self.client);
        }
        self.admission.admit_waiting();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn admission(at_work: usize, waiting: usize) -> Admission {
        let wait = Duration::from_millis(50);
        Admission::new(&Limits { at_work, waiting, wait, memory: 100, ..Limits::default() })
    }

    fn local(id: &str) -> Client {
        Client { id: id.into(), is_limited: false, has_key: false }
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    #[test]
    fn slots_are_passed_on_and_none_is_lost() {
        block_on(async {
            let admission = admission(1, 4);
            let first = admission.enter(&local("a"), 1).await.unwrap();
            let gives_up = admission.enter(&local("b"), 1).await.err().unwrap();
            assert_eq!(gives_up.code, Code::Unavailable);
            let waiting = local("c");
            let waits = admission.enter(&waiting, 1);
            let (second, ()) = tokio::join!(waits, async { drop(first) });
            assert_eq!(admission.counts(), (1, 0));
            drop(second);
            assert_eq!(admission.counts(), (0, 0));
        });
    }

    #[test]
    fn one_client_cannot_fill_the_queue() {
        block_on(async {
            let admission = admission(1, 2);
            let working = admission.enter(&local("greedy"), 1).await.unwrap();
            let visit = async |client| admission.enter(&local(client), 1).await.map(drop);
            let results = tokio::join!(
                visit("greedy"),
                visit("greedy"),
                visit("greedy"),
                visit("modest"),
                async { drop(working) },
            );
            let codes = [results.0, results.1, results.2, results.3]
                .map(|result| result.err().map(|error| error.code));
            // The third found the queue full; the second was displaced.
            let too_many = Some(Code::TooManyRequests);
            assert_eq!(codes, [None, too_many, too_many, None]);
        });
    }

    #[test]
    fn one_key_cannot_take_every_slot() {
        block_on(async {
            let admission = admission(4, 8);
            let key = Client::with_key;
            let greedy = key("greedy");
            let first = admission.enter(&greedy, 1).await.unwrap();
            let _second = admission.enter(&greedy, 1).await.unwrap();
            let third = admission.enter(&greedy, 1).await.err().unwrap();
            assert_eq!(third.code, Code::Unavailable, "it may take only half of the slots");
            let _other = admission.enter(&key("other"), 1).await.unwrap();
            // When one of its requests ends, its next one is admitted.
            let (next, ()) = tokio::join!(admission.enter(&greedy, 1), async { drop(first) });
            assert!(next.is_ok());
            assert_eq!(admission.counts(), (3, 0));
        });
    }

    #[test]
    fn requests_wait_for_memory() {
        block_on(async {
            let admission = admission(8, 8);
            let large = admission.enter(&local("a"), 90).await.unwrap();
            assert!(admission.enter(&local("b"), 20).await.is_err(), "110 of 100 bytes");
            let small = admission.enter(&local("b"), 10).await.unwrap();
            let waiting = local("c");
            let (next, ()) = tokio::join!(admission.enter(&waiting, 60), async { drop(large) });
            drop((next.unwrap(), small));
            assert!(admission.enter(&local("a"), 1000).await.is_ok(), "any size fits alone");
            assert_eq!(admission.counts(), (0, 0));
        });
    }

    #[test]
    fn closing_rejects_queued_requests() {
        block_on(async {
            let admission = admission(1, 2);
            let _working = admission.enter(&local("a"), 1).await.unwrap();
            let waiting = local("b");
            let (waited, ()) =
                tokio::join!(admission.enter(&waiting, 1), async { admission.close() });
            assert!(waited.err().unwrap().message.contains("shutting down"));
            assert!(admission.enter(&local("c"), 1).await.is_err());
        });
    }
}
