//! The scheduler: which batch computes, which is interrupted, and what begins next.
//!
//! As many batches compute as there are threads (`slots`). Before each decoder step, its cost
//! (tokens × beam) is charged to the batch's clients. If other work belongs to a client that has
//! used less, the batch gives up its slot and waits for its next turn. So a large request can be
//! interrupted between any two steps, not only between sentences.
//!
//! With a small network, a step of a large batch takes longer than a whole sentence. A single
//! sentence of a client that has used less than all active clients therefore does not wait for the
//! end of a step: it borrows a slot, and the next batch that ends a step gives up its own in
//! return. One slot can be borrowed at a time.
//!
//! An interrupted batch keeps its memory, so the number of batches and their total cost are
//! limited.

use std::collections::BTreeMap;

use crate::fair::FairQueue;

/// What a returning client may use before others continue: the cost of a sentence of 50 tokens with
/// a beam of 5, including encoding, so that a single sentence is not interrupted.
const CREDIT: f64 = 512.0;
/// How far ahead of another client a batch may get before it gives up its slot, because a switch is
/// cheap but not free.
const QUANTUM: f64 = 64.0;
/// How much more a client may have used than the one whose batch it joins. A client that has used
/// more would slow that batch down unfairly.
const TOGETHER: f64 = 256.0;
/// The largest cost of a batch, unless one sentence alone costs more: tokens × beam of 32 sentences
/// of 200 tokens with a beam of 5. The decoder caches two vectors per layer for each unit of cost.
pub(super) const BATCH_COST: usize = 32_000;
/// The most interrupted batches.
pub(super) const INTERRUPTED: usize = 4;
/// How many batches of the largest cost may exist besides one per thread.
const SPARE: usize = 2;

/// A queued job.
pub(super) trait Waiting {
    /// An upper bound on its cost, tokens × beam.
    fn cost(&self) -> usize;
    /// Whether its result is no longer wanted.
    fn is_cancelled(&self) -> bool;
}

/// A batch in progress.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    number: u64,
    /// Its clients with their shares of the cost of a step, which add up to one.
    clients: Vec<(String, f64)>,
    cost: usize,
    /// Whether it began in a borrowed slot.
    has_borrowed: bool,
}

/// The state of all batches, and the queue.
#[derive(Debug)]
pub(super) struct Schedule<J> {
    pub queue: FairQueue<J>,
    /// Batches that compute at once.
    slots: usize,
    free_slots: usize,
    /// Whether one more batch computes than there are slots.
    is_slot_owed: bool,
    /// How many more batches may begin.
    free_places: usize,
    /// The cost of all batches in progress.
    begun_cost: usize,
    begun: u64,
    /// Interrupted batches that wait for a slot.
    interrupted: BTreeMap<u64, Begun>,
}

impl<J: Waiting> Schedule<J> {
    pub fn new(slots: usize) -> Self {
        Self {
            queue: FairQueue::new(CREDIT),
            slots,
            free_slots: slots,
            is_slot_owed: false,
            free_places: slots + INTERRUPTED,
            begun_cost: 0,
            begun: 0,
            interrupted: BTreeMap::new(),
        }
    }

    /// Takes the next batch from the queue, if it is its turn: a first job, and others that fit it.
    /// `fits` gets the jobs taken so far.
    pub fn begin(
        &mut self,
        most: usize,
        mut fits: impl FnMut(&[(String, J)], &J) -> bool,
    ) -> Option<(Begun, Vec<J>)> {
        self.queue.retain(|job| !job.is_cancelled());
        let (_, used) = self.queue.next(|client, job| self.has_room(client, job))?;
        let is_first = self.interrupted.values().all(|batch| used < self.used(batch));
        let has_borrowed = self.free_slots == 0;
        if !is_first || has_borrowed && !self.may_borrow(used) {
            return None;
        }
        // A borrowed slot takes only one job.
        let most = if has_borrowed { 1 } else { most };
        let mut taken: Vec<(String, J)> = Vec::new();
        let mut cost = 0;
        while taken.len() < most {
            // The predicate of `pop` cannot borrow the queue, so suitable clients are found first.
            let clients: Vec<String> = self.clients_with_room(&mut |client, job| {
                let is_near = self.queue.used(client) <= used + TOGETHER;
                let is_small = cost + job.cost() <= BATCH_COST;
                if has_borrowed {
                    return is_single(job) && self.may_borrow(self.queue.used(client));
                }
                taken.is_empty() || is_near && is_small && fits(&taken, job)
            });
            let Some(next) = self.queue.pop(|client, _| clients.iter().any(|c| c == client)) else {
                break;
            };
            cost += next.1.cost();
            taken.push(next);
        }
        if taken.is_empty() {
            return None;
        }
        if has_borrowed {
            self.is_slot_owed = true;
        } else {
            self.free_slots -= 1;
        }
        self.free_places -= 1;
        self.begun_cost += cost;
        self.begun += 1;
        let mut clients: Vec<(String, f64)> = Vec::new();
        // A job that only reads context has no cost here, but its steps must be charged, too.
        let weight = |job: &J| job.cost().max(1) as f64;
        let whole: f64 = taken.iter().map(|(_, job)| weight(job)).sum();
        for (client, job) in &taken {
            let share = weight(job) / whole;
            match clients.iter_mut().find(|(known, _)| known == client) {
                Some((_, shares)) => *shares += share,
                None => clients.push((client.clone(), share)),
            }
        }
        for (client, _) in &clients {
            self.queue.begin(client);
        }
        let batch = Begun { number: self.begun, clients, cost, has_borrowed };
        Some((batch, taken.into_iter().map(|(_, job)| job).collect()))
    }

    /// Whether a client that has used this much may borrow a slot.
    fn may_borrow(&self, used: f64) -> bool {
        let at_work = self.queue.least_at_work();
        !self.is_slot_owed && at_work.is_some_and(|least| used + QUANTUM < least)
    }

    /// Frees the slot of a batch.
    fn give_back_slot(&mut self) {
        if self.is_slot_owed {
            self.is_slot_owed = false;
        } else {
            self.free_slots += 1;
        }
    }

    /// The clients whose first job is wanted and has room.
    fn clients_with_room(&self, is_wanted: &mut dyn FnMut(&str, &J) -> bool) -> Vec<String> {
        let mut clients = Vec::new();
        // Always false, so that every client is visited once.
        let _ = self.queue.next(|client, job| {
            if self.has_room(client, job) && is_wanted(client, job) {
                clients.push(client.to_owned());
            }
            false
        });
        clients
    }

    /// Whether a job could begin, given a slot.
    fn has_room(&self, client: &str, job: &J) -> bool {
        let at_work = self.queue.at_work(client);
        // A client with a batch in progress leaves places to clients without one.
        let left = if at_work == 0 { 0 } else { INTERRUPTED / 2 };
        let most = (self.slots + SPARE) * BATCH_COST;
        self.free_places > left
            && at_work < self.slots
            && (self.begun_cost == 0 || self.begun_cost + job.cost() <= most)
    }

    /// Charges a step to the clients of a batch.
    pub fn charge(&mut self, batch: &Begun, cost: usize) {
        for (client, share) in &batch.clients {
            self.queue.charge(client, cost as f64 * share);
        }
    }

    /// Whether other work should run before the batch continues.
    pub fn gives_way(&self, batch: &Begun) -> bool {
        if self.is_slot_owed && !batch.has_borrowed {
            return true;
        }
        let own = self.used(batch) - QUANTUM;
        let next = self.queue.next(|client, job| self.has_room(client, job));
        next.is_some_and(|(_, used)| used < own)
            || self.interrupted.values().any(|other| self.used(other) < own)
    }

    /// Takes the slot from a batch.
    pub fn interrupt(&mut self, batch: &Begun) {
        self.give_back_slot();
        self.interrupted.insert(batch.number, batch.clone());
    }

    /// Gives an interrupted batch a slot, if it is its turn. A cancelled one goes first: it only
    /// has to end.
    pub fn resume(&mut self, batch: &Begun, is_cancelled: bool) -> bool {
        let own = self.used(batch);
        let is_first = is_cancelled
            || self.interrupted.values().all(|other| {
                let used = self.used(other);
                own < used || own <= used && batch.number <= other.number
            }) && self
                .queue
                .next(|client, job| self.has_room(client, job))
                .is_none_or(|(_, used)| own <= used);
        if self.free_slots == 0 || !is_first {
            return false;
        }
        self.free_slots -= 1;
        self.interrupted.remove(&batch.number);
        true
    }

    /// Ends a batch.
    pub fn end(&mut self, batch: &Begun) {
        self.give_back_slot();
        self.free_places += 1;
        self.begun_cost -= batch.cost;
        for (client, _) in &batch.clients {
            self.queue.end(client);
        }
    }

    /// Slots without a batch.
    pub fn free_slots(&self) -> usize {
        self.free_slots
    }

    /// The least that any client of a batch has used.
    fn used(&self, batch: &Begun) -> f64 {
        let used = batch.clients.iter().map(|(client, _)| self.queue.used(client));
        used.reduce(f64::min).unwrap_or(f64::INFINITY)
    }
}

/// Whether a job is about a single sentence: it costs no more than a client's credit.
fn is_single<J: Waiting>(job: &J) -> bool {
    job.cost() as f64 <= CREDIT
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Job {
        name: &'static str,
        cost: usize,
    }

    impl Waiting for Job {
        fn cost(&self) -> usize {
            self.cost
        }

        fn is_cancelled(&self) -> bool {
            false
        }
    }

    /// Computes batches step by step, as the engine's threads do.
    struct Simulation {
        schedule: Schedule<Job>,
        computing: Vec<(Begun, &'static str, usize)>,
        interrupted: Vec<(Begun, &'static str, usize)>,
        ended: Vec<&'static str>,
    }

    impl Simulation {
        fn new(slots: usize) -> Self {
            let schedule = Schedule::new(slots);
            Self { schedule, computing: vec![], interrupted: vec![], ended: vec![] }
        }

        fn push(&mut self, client: &str, name: &'static str, cost: usize) {
            self.schedule.queue.push(client, Job { name, cost });
        }

        /// Runs one step of this cost, or of what is left, for every batch with a slot.
        fn step(&mut self, cost: usize) {
            loop {
                if let Some((batch, jobs)) = self.schedule.begin(1, |_, _| false) {
                    self.computing.push((batch, jobs[0].name, jobs[0].cost));
                } else if let Some(place) = (0..self.interrupted.len())
                    .find(|&place| self.schedule.resume(&self.interrupted[place].0, false))
                {
                    self.computing.push(self.interrupted.remove(place));
                } else {
                    break;
                }
            }
            for (batch, name, left) in std::mem::take(&mut self.computing) {
                let done = cost.min(left);
                self.schedule.charge(&batch, done);
                if left == done {
                    self.schedule.end(&batch);
                    self.ended.push(name);
                } else if self.schedule.gives_way(&batch) {
                    self.schedule.interrupt(&batch);
                    self.interrupted.push((batch, name, left - done));
                } else {
                    self.computing.push((batch, name, left - done));
                }
            }
        }
    }

    #[test]
    fn a_single_sentence_waits_for_a_step_at_most() {
        for slots in [1, 2, 8] {
            let mut simulation = Simulation::new(slots);
            for _ in 0..100 {
                simulation.push("large", "large", 16_000);
            }
            (0..300).for_each(|_| simulation.step(48));
            simulation.push("small", "small", 250);
            // Alone it takes 250 / 5 = 50 steps of five hypotheses each.
            let mut steps = 0;
            while !simulation.ended.contains(&"small") {
                steps += 1;
                simulation.step(5);
                assert!(steps < 1000, "{slots} slots");
            }
            assert!(steps <= 52, "{steps} steps with {slots} slots");
        }
    }

    #[test]
    fn a_single_sentence_does_not_wait_for_the_end_of_a_step() {
        for slots in [1, 2] {
            let mut schedule: Schedule<Job> = Schedule::new(slots);
            let begin = |schedule: &mut Schedule<Job>| {
                schedule.begin(1, |_, _| false).map(|(batch, jobs)| (batch, jobs[0].name))
            };
            let mut large = Vec::new();
            for _ in 0..slots {
                schedule.queue.push("large", Job { name: "large", cost: 16_000 });
                large.push(begin(&mut schedule).unwrap().0);
            }
            for batch in &large {
                schedule.charge(batch, 2000);
                assert!(!schedule.gives_way(batch));
            }
            schedule.queue.push("long", Job { name: "long", cost: 8000 });
            assert!(begin(&mut schedule).is_none(), "a long job waits for the end of a step");
            schedule.queue.push("small", Job { name: "small", cost: 250 });
            schedule.queue.push("other", Job { name: "other", cost: 250 });
            schedule.queue.push("large", Job { name: "large", cost: 100 });
            let (small, name) = begin(&mut schedule).unwrap();
            assert_eq!(name, "small", "it begins at once");
            assert!(begin(&mut schedule).is_none(), "one slot is borrowed at a time");
            // The next large batch that ends a step returns the slot; the small one never does.
            assert!(!schedule.gives_way(&small));
            assert!(schedule.gives_way(&large[0]));
            schedule.interrupt(&large[0]);
            assert!(!schedule.is_slot_owed && schedule.free_slots() == 0);
            schedule.end(&small);
            assert_eq!(schedule.free_slots(), 1);
        }
    }

    #[test]
    fn a_borrowed_slot_is_returned_when_its_sentence_ends_first() {
        let mut schedule: Schedule<Job> = Schedule::new(1);
        schedule.queue.push("large", Job { name: "large", cost: 16_000 });
        let (large, _) = schedule.begin(1, |_, _| false).unwrap();
        schedule.charge(&large, 2000);
        schedule.queue.push("small", Job { name: "small", cost: 250 });
        let (small, _) = schedule.begin(1, |_, _| false).unwrap();
        schedule.end(&small);
        assert!(!schedule.gives_way(&large));
        assert_eq!(schedule.free_slots(), 0);
        schedule.end(&large);
        assert_eq!(schedule.free_slots(), 1);
    }

    #[test]
    fn two_large_requests_share_equally() {
        let mut simulation = Simulation::new(1);
        for _ in 0..100 {
            simulation.push("a", "a", 16_000);
        }
        (0..1000).for_each(|_| simulation.step(48));
        for _ in 0..100 {
            simulation.push("b", "b", 16_000);
        }
        let before = simulation.ended.len();
        (0..10_000).for_each(|_| simulation.step(48));
        let ended = &simulation.ended[before..];
        let a = ended.iter().filter(|name| **name == "a").count();
        let b = ended.iter().filter(|name| **name == "b").count();
        assert!(a + b >= 28 && a.abs_diff(b) <= 1, "{a} and {b}");
    }

    #[test]
    fn batches_in_progress_are_bounded() {
        let mut simulation = Simulation::new(2);
        let clients = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for client in clients {
            for _ in 0..10 {
                simulation.push(client, client, 32_000);
            }
        }
        for _ in 0..20_000 {
            simulation.step(100);
            let begun = simulation.computing.len() + simulation.interrupted.len();
            assert!(begun <= 2 + INTERRUPTED);
            assert!(simulation.schedule.begun_cost <= 4 * BATCH_COST);
        }
        for client in clients {
            assert!(simulation.ended.contains(&client), "{client}");
        }
    }

    #[test]
    fn a_job_above_the_cost_limit_is_computed_alone() {
        let mut simulation = Simulation::new(1);
        simulation.push("a", "huge", 10 * BATCH_COST);
        simulation.push("a", "small", 10);
        (0..100).for_each(|_| simulation.step(BATCH_COST));
        assert_eq!(simulation.ended, ["huge", "small"]);
    }

    #[test]
    fn clients_that_have_used_more_do_not_join_a_batch() {
        let mut schedule: Schedule<Job> = Schedule::new(1);
        schedule.queue.push("large", Job { name: "large 1", cost: 1000 });
        let (large, _) = schedule.begin(8, |_, _| true).unwrap();
        schedule.charge(&large, 1000);
        schedule.queue.push("large", Job { name: "large 2", cost: 1000 });
        schedule.queue.push("small", Job { name: "small 1", cost: 100 });
        schedule.queue.push("other", Job { name: "small 2", cost: 100 });
        schedule.end(&large);
        let (_, jobs) = schedule.begin(8, |_, _| true).unwrap();
        let names: Vec<&str> = jobs.iter().map(|job| job.name).collect();
        assert_eq!(names, ["small 1", "small 2"]);
    }
}
