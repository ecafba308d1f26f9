//! The engine: threads that translate sentences of many requests in one batch.
//!
//! A request becomes one [`Order`] per document. A thread takes a few sentences from each of
//! several orders, decodes them as one batch, and reports the translations. Context is on the
//! source side, so the rest of an order need not wait for translations: before a thread decodes its
//! share, it encodes the context that the rest needs and puts the rest back in the queue.
//! [`schedule`] decides whose turn it is, [`share`] how much an order contributes to a batch.

mod schedule;
mod share;
mod work;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use abridge_translate::{BeamSettings, Session, Translator};
use tokio::sync::mpsc;

use crate::models::Models;
use schedule::{INTERRUPTED, Schedule, Waiting};
use share::{Costs, Share};

/// A document to translate, or the next sentences of one.
#[derive(Debug)]
pub(crate) struct Order {
    /// The index of the model.
    pub model: usize,
    /// The id of the client; clients take turns.
    pub client: String,
    /// The memory of the document so far.
    pub session: Session,
    /// Context to read first, without translating it.
    pub before: Vec<String>,
    /// The number of tokens of each of them.
    pub before_lengths: Vec<usize>,
    /// The sentences to translate.
    pub sentences: Vec<String>,
    /// The number of tokens of each sentence.
    pub lengths: Vec<usize>,
    pub settings: BeamSettings,
    /// Whether to record attention.
    pub attention: bool,
    /// Whether the first sentences should be returned early.
    pub is_streamed: bool,
}

/// A translated sentence.
#[derive(Clone, Debug)]
pub(crate) struct Translated {
    pub text: String,
    /// Finite, because JSON has no infinity or NaN.
    pub score: f64,
    /// Whether it may be truncated.
    pub is_cut: bool,
    /// Its attention as JSON, if requested.
    pub attention: Option<String>,
}

/// Why an order failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The translator returned an error.
    Refused(String),
    /// The translator panicked.
    Panicked,
}

/// What a thread reports about a part of an order.
struct Report {
    from: usize,
    outcome: Result<Vec<Translated>, Failure>,
    /// With the last sentences: the memory after them.
    session: Option<Session>,
}

/// What the parts of an order share: all but the session.
struct Request {
    model: usize,
    client: String,
    sentences: Vec<String>,
    costs: Costs,
    settings: BeamSettings,
    attention: bool,
    is_cancelled: AtomicBool,
    reports: mpsc::UnboundedSender<Report>,
    /// How many sentences may be begun and not yet taken by the reader.
    ahead: usize,
    /// Only accessed while the schedule is locked.
    begun: Mutex<Begun>,
}

/// How far an order is ahead of its reader.
#[derive(Default)]
struct Begun {
    /// Sentences begun and not yet taken.
    sentences: usize,
    /// The rest, which continues once some are taken.
    rest: Option<Job>,
}

/// The rest of an order.
struct Job {
    request: Arc<Request>,
    session: Session,
    before: Vec<String>,
    /// The sentences that go into its next batch.
    share: Share,
}

impl Job {
    fn new(request: Arc<Request>, session: Session, before: Vec<String>, from: usize) -> Self {
        let share = request.costs.share(from);
        Self { request, session, before, share }
    }
}

impl Waiting for Job {
    fn cost(&self) -> usize {
        self.share.cost
    }

    fn is_cancelled(&self) -> bool {
        self.request.is_cancelled.load(Ordering::Relaxed)
    }
}

/// A submitted order. Dropping it cancels the work.
pub(crate) struct Ticket {
    shared: Arc<Shared>,
    request: Arc<Request>,
    reports: mpsc::UnboundedReceiver<Report>,
    /// Parts that finished out of order.
    early: BTreeMap<usize, Vec<Translated>>,
    next: usize,
    session: Option<Session>,
}

impl Ticket {
    /// The next sentences in order; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Vec<Translated>>, Failure> {
        loop {
            if let Some(translations) = self.early.remove(&self.next) {
                self.next += translations.len();
                self.shared.taken(&self.request, translations.len());
                return Ok(Some(translations));
            }
            if self.next >= self.request.sentences.len() && self.session.is_some() {
                return Ok(None);
            }
            // The request held by this ticket keeps a sender alive, so the channel stays open.
            let report = self.reports.recv().await.ok_or(Failure::Panicked)?;
            if report.session.is_some() {
                self.session = report.session;
            }
            let translations = report.outcome?;
            if !translations.is_empty() {
                self.early.insert(report.from, translations);
            }
        }
    }

    /// The memory after the last sentence.
    pub fn into_session(mut self) -> Option<Session> {
        self.session.take()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.request.is_cancelled.store(true, Ordering::Relaxed);
        let schedule = self.shared.lock();
        // The rest and the request refer to each other; break the cycle.
        let rest = lock(&self.request.begun).rest.take();
        drop(schedule);
        drop(rest);
        // An interrupted batch may now be cancelled as a whole.
        self.shared.wake.notify_all();
    }
}

struct Shared {
    schedule: Mutex<Schedule<Job>>,
    wake: Condvar,
    is_closed: AtomicBool,
    /// The most orders decoded together.
    together: usize,
    /// Sentences translated so far.
    sentences: AtomicUsize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Schedule<Job>> {
        lock(&self.schedule)
    }

    /// Puts the rest of an order at the end of its client's queue. If the order is too far ahead of
    /// its reader, this happens once some sentences are taken.
    fn put_back(&self, rest: Job) {
        let request = Arc::clone(&rest.request);
        let mut schedule = self.lock();
        let mut begun = lock(&request.begun);
        if begun.sentences < request.ahead {
            schedule.queue.push(&request.client, rest);
        } else if !rest.is_cancelled() {
            begun.rest = Some(rest);
        }
        drop((begun, schedule));
        self.wake.notify_all();
    }

    /// Notes that the reader of an order took some sentences.
    fn taken(&self, request: &Request, count: usize) {
        let mut schedule = self.lock();
        let mut begun = lock(&request.begun);
        begun.sentences = begun.sentences.saturating_sub(count);
        if begun.sentences < request.ahead
            && let Some(rest) = begun.rest.take()
        {
            schedule.queue.push(&request.client, rest);
            self.wake.notify_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads and their queue.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// How many sentences with attention may be begun and not yet taken by the reader.
    ahead: usize,
}

impl Engine {
    /// Starts the threads. Each has its own translators, one per model, which share their weights.
    /// A few more threads than compute at once hold interrupted batches.
    pub fn start(models: &Models, threads: usize, together: usize) -> crate::Result<Self> {
        let slots = threads.max(1);
        let shared = Arc::new(Shared {
            schedule: Mutex::new(Schedule::new(slots)),
            wake: Condvar::new(),
            is_closed: AtomicBool::new(false),
            together: together.max(1),
            sentences: AtomicUsize::new(0),
        });
        let mut engine =
            Self { shared: Arc::clone(&shared), threads: Mutex::default(), ahead: slots + 1 };
        for number in 0..slots + INTERRUPTED {
            // If one cannot start, dropping the engine ends the previous ones.
            let translators: Vec<Translator> = models
                .iter()
                .map(|model| model.translator.share(1))
                .collect::<abridge_translate::Result<_>>()?;
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name(format!("engine-{number}"));
            let handle = thread.spawn(move || work::run(&shared, &translators))?;
            engine.threads.get_mut().unwrap_or_else(PoisonError::into_inner).push(handle);
        }
        Ok(engine)
    }

    /// Queues an order.
    pub fn submit(&self, translator: &Translator, order: Order) -> Ticket {
        let (sender, reports) = mpsc::unbounded_channel();
        let request = Arc::new(Request {
            model: order.model,
            client: order.client,
            costs: Costs::new(
                translator,
                &order.settings,
                order.lengths,
                order.attention,
                order.is_streamed,
            ),
            sentences: order.sentences,
            settings: order.settings,
            attention: order.attention,
            is_cancelled: AtomicBool::new(false),
            reports: sender,
            ahead: if order.attention { self.ahead } else { usize::MAX },
            begun: Mutex::default(),
        });
        let job = Job::new(Arc::clone(&request), order.session, order.before, 0);
        self.shared.lock().queue.push(&request.client, job);
        self.shared.wake.notify_all();
        let shared = Arc::clone(&self.shared);
        Ticket { shared, request, reports, early: BTreeMap::new(), next: 0, session: None }
    }

    /// Orders waiting for a thread.
    pub fn waiting(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// Sentences translated since the start.
    pub fn sentences(&self) -> usize {
        self.shared.sentences.load(Ordering::Relaxed)
    }
}

impl Drop for Engine {
    /// Ends the threads and drops queued jobs.
    fn drop(&mut self) {
        let jobs = {
            let mut schedule = self.shared.lock();
            self.shared.is_closed.store(true, Ordering::Relaxed);
            schedule.queue.drain()
        };
        drop(jobs);
        self.shared.wake.notify_all();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // A panic outside a translation has already been reported.
            let _ = thread.join();
        }
    }
}
