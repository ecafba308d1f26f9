//! Sessions in the memory of the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use abridge_translate::Session;

use super::{Kept, OVERHEAD, Problem, too_large, too_many};
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

    pub fn get(&self, id: &str) -> Result<Kept, Problem> {
        let mut state = self.lock();
        let entry = state.entries.get_mut(id).ok_or(Problem::Gone)?;
        if entry.used.elapsed() > self.limits.session_life {
            state.remove(id);
            return Err(Problem::Gone);
        }
        entry.used = Instant::now();
        Ok(entry.kept.clone())
    }

    pub fn put(
        &self,
        id: &str,
        model: &str,
        version: u64,
        session: Session,
    ) -> Result<(), Problem> {
        let bytes = session.size_in_bytes() + OVERHEAD;
        let mut state = self.lock();
        let before = match state.entries.get(id) {
            None if version > 0 => return Err(Problem::Gone),
            None => {
                state.sweep(&self.limits);
                if state.entries.len() >= self.limits.sessions {
                    return Err(too_many(&self.limits));
                }
                0
            }
            Some(entry) if entry.kept.version + 1 != version => return Err(Problem::Conflict),
            Some(entry) => entry.bytes,
        };
        if state.bytes - before + bytes > self.limits.session_bytes {
            return Err(too_large(&self.limits));
        }
        state.bytes = state.bytes - before + bytes;
        let kept = Kept { model: model.to_owned(), version, session };
        state.entries.insert(id.to_owned(), Entry { kept, bytes, used: Instant::now() });
        Ok(())
    }

    pub fn delete(&self, id: &str) -> Result<(), Problem> {
        if self.lock().remove(id) { Ok(()) } else { Err(Problem::Gone) }
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
