//! A fair queue by cost: the client that has used the least so far is served next.
//!
//! This is start-time fair queueing. Every client has a virtual time, `used`, that grows with the
//! cost of its work. A client that was idle starts at the virtual time of the active clients, less
//! a small credit. So nobody saves up turns by waiting, and a client with rare requests is served
//! at once.

use std::collections::{BTreeMap, VecDeque};

/// The queued items of each client, and what each client has used.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    clients: BTreeMap<String, Line<T>>,
    /// The virtual time: where a returning client starts, less the credit.
    now: f64,
    credit: f64,
    /// Counts turns, so that clients with equal use take turns.
    turns: u64,
    length: usize,
}

#[derive(Debug)]
struct Line<T> {
    used: f64,
    /// The number of its last turn.
    turn: u64,
    items: VecDeque<T>,
    /// Items of this client in progress.
    at_work: usize,
}

impl<T> Line<T> {
    fn is_active(&self) -> bool {
        !self.items.is_empty() || self.at_work > 0
    }
}

impl<T> FairQueue<T> {
    /// An empty queue; `credit` is what a returning client may use before the others continue.
    pub fn new(credit: f64) -> Self {
        Self { clients: BTreeMap::new(), now: 0.0, credit, turns: 0, length: 0 }
    }

    pub fn len(&self) -> usize {
        self.length
    }

    /// Appends an item to the client's queue.
    pub fn push(&mut self, client: &str, item: T) {
        self.line(client).items.push_back(item);
        self.length += 1;
    }

    /// Takes the first item of the client that has used the least among those whose first item is
    /// suitable.
    pub fn pop(&mut self, is_suitable: impl FnMut(&str, &T) -> bool) -> Option<(String, T)> {
        let client = self.next(is_suitable)?.0.to_owned();
        self.turns += 1;
        let line = self.clients.get_mut(&client)?;
        line.turn = self.turns;
        let item = line.items.pop_front()?;
        self.now = self.now.max(line.used);
        self.length -= 1;
        self.forget();
        Some((client, item))
    }

    /// The client whose item [`Self::pop`] would take, and what that client has used.
    pub fn next(&self, mut is_suitable: impl FnMut(&str, &T) -> bool) -> Option<(&str, f64)> {
        let suitable = self.clients.iter().filter(|(client, line)| {
            line.items.front().is_some_and(|item| is_suitable(client, item))
        });
        let next =
            suitable.min_by(|(_, a), (_, b)| a.used.total_cmp(&b.used).then(a.turn.cmp(&b.turn)));
        next.map(|(client, line)| (client.as_str(), line.used))
    }

    /// What a client has used.
    pub fn used(&self, client: &str) -> f64 {
        self.clients.get(client).map_or(self.now - self.credit, |line| line.used)
    }

    /// Adds to what a client has used.
    pub fn charge(&mut self, client: &str, cost: f64) {
        self.line(client).used += cost;
    }

    /// Work on one of the client's items begins.
    pub fn begin(&mut self, client: &str) {
        self.line(client).at_work += 1;
    }

    /// Work on one of the client's items has ended.
    pub fn end(&mut self, client: &str) {
        if let Some(line) = self.clients.get_mut(client) {
            line.at_work = line.at_work.saturating_sub(1);
        }
        self.forget();
    }

    /// Items of this client in progress.
    pub fn at_work(&self, client: &str) -> usize {
        self.clients.get(client).map_or(0, |line| line.at_work)
    }

    /// The least that any client with work in progress has used.
    pub fn least_at_work(&self) -> Option<f64> {
        let at_work = self.clients.values().filter(|line| line.at_work > 0);
        at_work.map(|line| line.used).reduce(f64::min)
    }

    /// Drops items that are no longer wanted.
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&T) -> bool) {
        for line in self.clients.values_mut() {
            line.items.retain(&mut is_wanted);
        }
        self.length = self.clients.values().map(|line| line.items.len()).sum();
        self.forget();
    }

    /// Removes all queued items.
    pub fn drain(&mut self) -> Vec<T> {
        self.length = 0;
        self.clients.values_mut().flat_map(|line| line.items.drain(..)).collect()
    }

    /// Queued items of this client.
    pub fn count(&self, client: &str) -> usize {
        self.clients.get(client).map_or(0, |line| line.items.len())
    }

    /// Takes the last item of the client with the most items, if it has more than `than`.
    pub fn take_from_longest(&mut self, than: usize) -> Option<T> {
        let line = self.clients.values_mut().max_by_key(|line| line.items.len())?;
        let item = if line.items.len() > than { line.items.pop_back() } else { None };
        self.length -= usize::from(item.is_some());
        item
    }

    /// The client's queue; a client that was idle starts at the current virtual time.
    fn line(&mut self, client: &str) -> &mut Line<T> {
        let is_away = !self.clients.get(client).is_some_and(Line::is_active);
        if is_away {
            let active = self.clients.values().filter(|line| line.is_active());
            let least = active.map(|line| line.used).reduce(f64::min);
            self.now = self.now.max(least.unwrap_or(self.now));
            self.turns += 1;
        }
        let (start, turn) = (self.now - self.credit, self.turns);
        let new = || Line { used: start, turn, items: VecDeque::new(), at_work: 0 };
        let line = self.clients.entry(client.to_owned()).or_insert_with(new);
        if is_away {
            line.used = line.used.max(start);
            line.turn = turn;
        }
        line
    }

    /// Removes idle clients that would get the same start when they return.
    fn forget(&mut self) {
        let start = self.now - self.credit;
        self.clients.retain(|_, line| line.is_active() || line.used > start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes all items, and charges each client their costs.
    fn drain(queue: &mut FairQueue<(&'static str, f64)>) -> Vec<&'static str> {
        std::iter::from_fn(|| {
            let (client, (name, cost)) = queue.pop(|_, _| true)?;
            queue.charge(&client, cost);
            Some(name)
        })
        .collect()
    }

    #[test]
    fn clients_take_turns_and_each_keeps_its_order() {
        let mut queue = FairQueue::new(0.0);
        for item in ["a1", "a2", "a3", "a4"] {
            queue.push("a", (item, 1.0));
        }
        queue.push("b", ("b1", 1.0));
        queue.push("c", ("c1", 1.0));
        queue.push("b", ("b2", 1.0));
        assert_eq!(queue.len(), 7);
        assert_eq!(drain(&mut queue), ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn turns_are_shared_by_cost_and_not_by_number() {
        let mut queue = FairQueue::new(0.0);
        queue.push("large", ("large 1", 100.0));
        queue.push("large", ("large 2", 100.0));
        for item in ["1", "2", "3", "4", "5"] {
            queue.push("small", (item, 10.0));
        }
        assert_eq!(drain(&mut queue), ["large 1", "1", "2", "3", "4", "5", "large 2"]);
    }

    #[test]
    fn an_idle_client_saves_up_no_more_than_the_credit() {
        let mut queue = FairQueue::new(15.0);
        queue.push("busy", ("busy 1", 1000.0));
        assert_eq!(drain(&mut queue), ["busy 1"]);
        queue.push("busy", ("busy 2", 10.0));
        queue.push("busy", ("busy 3", 10.0));
        for item in ["1", "2", "3"] {
            queue.push("new", (item, 10.0));
        }
        // Two before the other client continues, then in turn; earlier use does not count.
        assert_eq!(drain(&mut queue), ["1", "2", "busy 2", "3", "busy 3"]);
    }

    #[test]
    fn work_counts_while_nothing_waits() {
        let mut queue = FairQueue::new(0.0);
        queue.push("a", ("a1", 0.0));
        queue.pop(|_, _| true);
        queue.begin("a");
        queue.charge("a", 500.0);
        assert_eq!(queue.at_work("a"), 1);
        queue.push("b", ("b1", 0.0));
        assert!((queue.used("b") - 500.0).abs() < 1e-9, "it starts where the others are");
        queue.end("a");
        assert_eq!(queue.at_work("a"), 0);
    }

    #[test]
    fn unsuitable_items_stay_where_they_are() {
        let mut queue = FairQueue::new(0.0);
        queue.push("a", "x");
        queue.push("b", "y");
        assert_eq!(queue.pop(|_, item| *item == "y"), Some(("b".into(), "y")));
        assert_eq!(queue.pop(|_, item| *item == "y"), None);
        queue.retain(|item| *item != "x");
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn the_client_with_the_most_items_gives_way() {
        let mut queue = FairQueue::new(0.0);
        for item in ["a1", "a2", "a3"] {
            queue.push("a", item);
        }
        queue.push("b", "b1");
        assert_eq!((queue.count("a"), queue.count("b"), queue.count("c")), (3, 1, 0));
        assert_eq!(queue.take_from_longest(1), Some("a3"));
        assert_eq!(queue.take_from_longest(2), None);
        assert_eq!(queue.len(), 3);
    }
}
