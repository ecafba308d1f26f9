//! A queue that serves clients in turn: one who sends a thousand requests waits for its own.

use std::collections::VecDeque;

/// What waits, by client. Each [`FairQueue::pop`] takes from the next client.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    /// The clients that have something here, the next to be served first.
    clients: VecDeque<(String, VecDeque<T>)>,
    length: usize,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { clients: VecDeque::new(), length: 0 }
    }
}

impl<T> FairQueue<T> {
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Puts an item behind everything of the client.
    pub fn push(&mut self, client: &str, item: T) {
        self.line(client).push_back(item);
        self.length += 1;
    }

    /// Puts an item before everything of the client: the rest of what was begun.
    pub fn push_front(&mut self, client: &str, item: T) {
        self.line(client).push_front(item);
        self.length += 1;
    }

    /// Takes the first item of the next client that has a suitable one first.
    pub fn pop(&mut self, mut is_suitable: impl FnMut(&T) -> bool) -> Option<T> {
        let next =
            self.clients.iter().position(|(_, line)| line.front().is_some_and(&mut is_suitable))?;
        let (client, mut line) = self.clients.remove(next)?;
        let item = line.pop_front();
        self.length -= usize::from(item.is_some());
        if !line.is_empty() {
            self.clients.push_back((client, line));
        }
        item
    }

    /// Drops what is no longer wanted.
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&T) -> bool) {
        for (_, line) in &mut self.clients {
            line.retain(&mut is_wanted);
        }
        self.clients.retain(|(_, line)| !line.is_empty());
        self.length = self.clients.iter().map(|(_, line)| line.len()).sum();
    }

    /// How much of this client waits.
    pub fn count(&self, client: &str) -> usize {
        self.clients.iter().find(|(name, _)| name == client).map_or(0, |(_, line)| line.len())
    }

    /// Takes the last item of the client with the most, if it has more than `than`.
    pub fn take_from_longest(&mut self, than: usize) -> Option<T> {
        let (_, line) = self.clients.iter_mut().max_by_key(|(_, line)| line.len())?;
        let item = if line.len() > than { line.pop_back() } else { None };
        self.length -= usize::from(item.is_some());
        item
    }

    fn line(&mut self, client: &str) -> &mut VecDeque<T> {
        let place = self.clients.iter().position(|(name, _)| name == client);
        let place = place.unwrap_or_else(|| {
            self.clients.push_back((client.to_owned(), VecDeque::new()));
            self.clients.len() - 1
        });
        &mut self.clients[place].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut FairQueue<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.pop(|_| true)).collect()
    }

    #[test]
    fn clients_take_turns_and_each_keeps_its_order() {
        let mut queue = FairQueue::default();
        for item in ["a1", "a2", "a3", "a4"] {
            queue.push("a", item);
        }
        queue.push("b", "b1");
        queue.push("c", "c1");
        queue.push("b", "b2");
        assert_eq!(queue.len(), 7);
        assert_eq!(drain(&mut queue), ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
        assert!(queue.is_empty());
    }

    #[test]
    fn what_was_begun_goes_on_first_but_not_before_others() {
        let mut queue = FairQueue::default();
        queue.push("a", "a1");
        queue.push("a", "a2");
        queue.push("b", "b1");
        assert_eq!(queue.pop(|_| true), Some("a1"));
        queue.push_front("a", "rest of a1");
        assert_eq!(drain(&mut queue), ["b1", "rest of a1", "a2"]);
    }

    #[test]
    fn unsuitable_items_stay_where_they_are() {
        let mut queue = FairQueue::default();
        queue.push("a", "x");
        queue.push("b", "y");
        assert_eq!(queue.pop(|item| *item == "y"), Some("y"));
        assert_eq!(queue.pop(|item| *item == "y"), None);
        queue.retain(|item| *item != "x");
        assert!(queue.is_empty());
    }

    #[test]
    fn whoever_has_the_most_gives_way() {
        let mut queue = FairQueue::default();
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
