//! Limits connections per client, and chooses which one to close when there are too many.
//!
//! A connection counts as anonymous until it has presented a key. If keys are required, all
//! anonymous connections together may hold half of the connections; one key or one address of
//! another machine never holds more than half. When there is no room for another connection, an
//! idle one is closed: of the client that holds the most, the one that has been idle for longest.
//! If keys are required, an anonymous connection that is not idle is closed, too: it only reads a
//! public page or is about to be rejected. So connections without a key lock nobody out.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::client::Client;
use crate::error::{ApiError, Code};

/// What a connection is waiting for, and since when.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// The headers of a request: since the connection was opened, or since their first byte.
    Headers(Instant),
    /// The response, which has its own limits.
    Answer,
    /// The first byte of the next request.
    Next(Instant),
}

impl Stage {
    /// Since when the connection has been idle.
    fn idle_since(self) -> Option<Instant> {
        match self {
            Self::Headers(since) | Self::Next(since) => Some(since),
            Self::Answer => None,
        }
    }
}

/// All connections.
#[derive(Debug)]
pub(crate) struct Doors {
    state: Mutex<State>,
    /// The most connections at once.
    most: usize,
    asks_for_keys: bool,
    /// Notified when a connection has ended.
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    open: BTreeMap<u64, Open>,
}

#[derive(Debug)]
struct Open {
    client: Client,
    stage: watch::Receiver<Stage>,
    end: Arc<Notify>,
    /// Whether it was told to end and no longer counts.
    is_ending: bool,
}

/// A connection's place; dropping it makes room.
#[derive(Debug)]
pub(crate) struct Place {
    doors: Arc<Doors>,
    number: u64,
    end: Arc<Notify>,
}

impl Doors {
    pub fn new(most: usize, asks_for_keys: bool) -> Arc<Self> {
        let (state, ended) = (Mutex::default(), Notify::new());
        Arc::new(Self { state, most, asks_for_keys, ended })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for a connection from this address. `None` if the address is at
    /// its limit and all its connections are in use.
    pub async fn enter(
        self: &Arc<Self>,
        address: IpAddr,
        stage: &watch::Receiver<Stage>,
    ) -> Option<Place> {
        let client = Client::at(address);
        loop {
            let ended = self.ended.notified();
            let room = self.lock().make_room(self, &client);
            match room {
                Room::Made => break,
                Room::None => ended.await,
                Room::Refused => return None,
            }
        }
        let mut state = self.lock();
        state.next += 1;
        let (number, end) = (state.next, Arc::new(Notify::new()));
        let open = Open { client, stage: stage.clone(), end: Arc::clone(&end), is_ending: false };
        state.open.insert(number, open);
        Some(Place { doors: Arc::clone(self), number, end })
    }

    /// Connections that are open and were not told to end.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.lock().open.values().filter(|open| !open.is_ending).count()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Room {
    Made,
    None,
    Refused,
}

impl State {
    fn make_room(&mut self, doors: &Doors, client: &Client) -> Room {
        let most = doors.most;
        let count = |state: &Self, is_counted: &dyn Fn(&Open) -> bool| {
            state.open.values().filter(|open| !open.is_ending && is_counted(open)).count()
        };
        let own = |open: &Open| open.client.id == client.id;
        if count(self, &own) >= client.part_of(most, 2) {
            return if self.end_one(&own, doors) { Room::Made } else { Room::Refused };
        }
        let strangers = |open: &Open| !open.client.has_key;
        let is_full = count(self, &|_| true) >= most;
        let too_strange = doors.asks_for_keys && count(self, &strangers) >= (most / 2).max(1);
        if !is_full && !too_strange {
            return Room::Made;
        }
        let is_made =
            self.end_one(&strangers, doors) || !too_strange && self.end_one(&|_| true, doors);
        if is_made { Room::Made } else { Room::None }
    }

    /// Ends one of these connections, of the client that has the most of them.
    fn end_one(&mut self, is_meant: &dyn Fn(&Open) -> bool, doors: &Doors) -> bool {
        // The longest idle first; then busy ones without a required key.
        let claim = |open: &Open| match open.stage.borrow().idle_since() {
            Some(since) => Some((false, Some(since))),
            None if doors.asks_for_keys && !open.client.has_key => Some((true, None)),
            None => None,
        };
        let meant = self.open.iter().filter(|(_, open)| !open.is_ending && is_meant(open));
        let mut by_client: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (number, open) in meant {
            if claim(open).is_some() {
                by_client.entry(&open.client.id).or_default().push(*number);
            }
        }
        let greediest = by_client.into_values().max_by_key(Vec::len).unwrap_or_default();
        let chosen = greediest.into_iter().min_by_key(|number| self.open.get(number).map(claim));
        let Some(open) = chosen.and_then(|number| self.open.get_mut(&number)) else { return false };
        open.is_ending = true;
        open.end.notify_one();
        true
    }
}

impl Place {
    /// Waits until the connection must end to make room for another.
    pub async fn ended(&self) {
        self.end.notified().await;
    }

    /// Assigns the connection to the client whose key it presented.
    pub fn shown(&self, client: &Client) -> Result<(), ApiError> {
        let mut state = self.doors.lock();
        if state.open.get(&self.number).is_none_or(|open| open.client == *client) {
            return Ok(());
        }
        let own = |open: &Open| open.client.id == client.id;
        let held = state.open.values().filter(|open| !open.is_ending && own(open)).count();
        let most = client.part_of(self.doors.most, 2);
        if held >= most && !state.end_one(&own, &self.doors) {
            let problem = format!("this key already has {most} connections in use; close some");
            return Err(ApiError::new(Code::TooManyRequests, problem));
        }
        if let Some(open) = state.open.get_mut(&self.number) {
            open.client = client.clone();
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.doors.lock().open.remove(&self.number);
        self.doors.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Connection = (Place, watch::Sender<Stage>);

    /// A connection in this stage, if there is room.
    fn enter(doors: &Arc<Doors>, address: [u8; 4], stage: Stage) -> Option<Connection> {
        let (sender, stage) = watch::channel(stage);
        let entering = async {
            let entered = doors.enter(address.into(), &stage);
            tokio::time::timeout(std::time::Duration::from_millis(20), entered).await.ok()?
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        Some((runtime.unwrap().block_on(entering)?, sender))
    }

    fn idle() -> Stage {
        Stage::Next(Instant::now())
    }

    #[test]
    fn anonymous_connections_lock_nobody_out() {
        let doors = Doors::new(8, true);
        let strangers: Vec<Option<Connection>> = (0..20)
            .map(|number| {
                let stage = if number % 2 == 0 { idle() } else { Stage::Answer };
                enter(&doors, [127, 0, 0, 1], stage)
            })
            .collect();
        assert!(strangers.iter().all(Option::is_some), "the newest are let in");
        assert_eq!(doors.count(), 4, "but they hold only half");
        let keys: Vec<Connection> = (0..4)
            .map(|number| {
                let entered = enter(&doors, [127, 0, 0, 1], Stage::Answer).unwrap();
                entered.0.shown(&Client::with_key(&format!("key {number}"))).unwrap();
                entered
            })
            .collect();
        assert_eq!(doors.count(), 7);
        drop((strangers, keys));
        assert_eq!(doors.count(), 0);
    }

    #[test]
    fn one_key_holds_half_and_gives_up_its_idle_connections() {
        let doors = Doors::new(4, true);
        let key = Client::with_key("key");
        let mut held = Vec::new();
        for stage in [Stage::Answer, idle(), Stage::Answer] {
            let entered = enter(&doors, [192, 0, 2, 1], stage).unwrap();
            entered.0.shown(&key).unwrap();
            held.push(entered);
        }
        let number = held[1].0.number;
        assert!(doors.lock().open[&number].is_ending, "it was idle");
        let entered = enter(&doors, [192, 0, 2, 1], Stage::Answer).unwrap();
        assert_eq!(entered.0.shown(&key).unwrap_err().code, Code::TooManyRequests);
        entered.0.shown(&Client::with_key("other")).unwrap();
    }

    #[test]
    fn without_keys_only_idle_connections_give_way() {
        let doors = Doors::new(2, false);
        let first = enter(&doors, [127, 0, 0, 1], Stage::Answer).unwrap();
        let _second = enter(&doors, [127, 0, 0, 1], Stage::Answer).unwrap();
        assert!(enter(&doors, [127, 0, 0, 1], Stage::Answer).is_none(), "all are in use");
        first.1.send_replace(idle());
        let _third = enter(&doors, [127, 0, 0, 1], Stage::Answer).unwrap();
        assert!(doors.lock().open[&first.0.number].is_ending);
        drop(first);
        // Another machine may hold half.
        let doors = Doors::new(4, false);
        let held: Vec<_> = (0..3).map(|_| enter(&doors, [192, 0, 2, 1], Stage::Answer)).collect();
        assert!(held[1].is_some() && held[2].is_none());
        assert!(enter(&doors, [192, 0, 2, 2], Stage::Answer).is_some());
    }
}
