//! Sessions in the memory of the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Kept, OVERHEAD, PARTS, Problem, too_large, too_many};
use crate::client::Client;
use crate::settings::Limits;

struct Entry {
    kept: Kept,
    bytes: usize,
    used: Instant,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<String, Entry>,
    bytes: usize,
}

pub(crate) struct MemorySessions {
    state: Mutex<State>,
    limits: Limits,
}

impl MemorySessions {
    pub fn new(limits: &Limits) -> Self {
        Self { state: Mutex::default(), limits: limits.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, client: &Client, id: &str) -> Result<Kept, Problem> {
        let mut state = self.lock();
        let entry = state.entries.get_mut(id).ok_or(Problem::Gone)?;
        if !client.may_use(&entry.kept.owner) {
            return Err(Problem::Gone);
        }
        if entry.used.elapsed() > self.limits.session_life {
            state.remove(id);
            return Err(Problem::Gone);
        }
        entry.used = Instant::now();
        Ok(entry.kept.clone())
    }

    pub fn put(&self, id: &str, client: &Client, kept: Kept) -> Result<(), Problem> {
        let bytes = kept.session.size_in_bytes() + OVERHEAD;
        let mut state = self.lock();
        let before = match state.entries.get(id) {
            None if kept.version > 0 => return Err(Problem::Gone),
            None => {
                state.sweep(&self.limits);
                let most = self.limits.sessions;
                if state.entries.len() >= most {
                    return Err(too_many(most, false));
                }
                let owns = |entry: &&Entry| entry.kept.owner == client.id;
                let most = client.part_of(most, PARTS);
                if state.entries.values().filter(owns).count() >= most {
                    return Err(too_many(most, true));
                }
                0
            }
            Some(entry) if entry.kept.version + 1 != kept.version => return Err(Problem::Conflict),
            Some(entry) => entry.bytes,
        };
        let own = |entry: &&Entry| entry.kept.owner == kept.owner;
        let own: usize = state.entries.values().filter(own).map(|entry| entry.bytes).sum();
        let all = self.limits.session_bytes;
        for (taken, most) in [(state.bytes, all), (own, client.part_of(all, PARTS))] {
            if taken - before + bytes > most {
                return Err(too_large(most, most < all));
            }
        }
        state.bytes = state.bytes - before + bytes;
        state.entries.insert(id.to_owned(), Entry { kept, bytes, used: Instant::now() });
        Ok(())
    }

    pub fn delete(&self, client: &Client, id: &str) -> Result<(), Problem> {
        let mut state = self.lock();
        let is_own = state.entries.get(id).is_some_and(|entry| client.may_use(&entry.kept.owner));
        if is_own && state.remove(id) { Ok(()) } else { Err(Problem::Gone) }
    }

    pub fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.entries.len(), state.bytes)
    }

    pub fn sweep(&self) {
        self.lock().sweep(&self.limits);
    }
}

impl State {
    fn remove(&mut self, id: &str) -> bool {
        let removed = self.entries.remove(id);
        self.bytes -= removed.as_ref().map_or(0, |entry| entry.bytes);
        removed.is_some()
    }

    fn sweep(&mut self, limits: &Limits) {
        self.entries.retain(|_, entry| entry.used.elapsed() <= limits.session_life);
        self.bytes = self.entries.values().map(|entry| entry.bytes).sum();
    }
}
