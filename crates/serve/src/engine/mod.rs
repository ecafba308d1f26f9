//! The engine: threads that translate the sentences of many requests together.
//!
//! A request becomes one [`Order`] per document. A thread takes a few sentences from each of several
//! orders, decodes them as one batch, and hands them out. Context is on the source side, so the rest of
//! an order waits for no translation: before a thread decodes its share, it reads what the rest must
//! remember and puts the rest back for the others. Whose turn it is stands in [`schedule`]; how much
//! an order gives to a batch in [`share`].

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

/// One document to be translated, or the next sentences of one.
#[derive(Debug)]
pub(crate) struct Order {
    /// Which of the models.
    pub model: usize,
    /// Whom it is for; clients take turns.
    pub client: String,
    /// What is remembered.
    pub session: Session,
    /// Read first, without being translated.
    pub before: Vec<String>,
    /// The tokens of each of them.
    pub before_lengths: Vec<usize>,
    /// What is to be translated.
    pub sentences: Vec<String>,
    /// The tokens of each sentence.
    pub lengths: Vec<usize>,
    pub settings: BeamSettings,
    /// Whether to note where translations looked.
    pub attention: bool,
    /// Whether the first sentences are wanted soon.
    pub is_streamed: bool,
}

/// A sentence that was translated.
#[derive(Clone, Debug)]
pub(crate) struct Translated {
    pub text: String,
    /// Finite: JSON has no other numbers.
    pub score: f64,
    /// Whether it may lack its end.
    pub is_cut: bool,
    /// Where it looked, as JSON, where that was asked for.
    pub attention: Option<String>,
}

/// Why an order came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The translator refused it.
    Refused(String),
    /// The translator panicked.
    Panicked,
}

/// What a thread reports about a part of an order.
struct Report {
    from: usize,
    outcome: Result<Vec<Translated>, Failure>,
    /// After the last sentences: what is remembered now.
    session: Option<Session>,
}

/// An order without its session: what its parts share.
struct Request {
    model: usize,
    client: String,
    sentences: Vec<String>,
    costs: Costs,
    settings: BeamSettings,
    attention: bool,
    is_cancelled: AtomicBool,
    reports: mpsc::UnboundedSender<Report>,
    /// Sentences that may be begun before those before them were taken.
    ahead: usize,
    /// Only looked at while the schedule is locked.
    begun: Mutex<Begun>,
}

/// How far an order has got ahead of its reader.
#[derive(Default)]
struct Begun {
    /// Sentences that were begun and not taken.
    sentences: usize,
    /// What goes on once some are taken.
    rest: Option<Job>,
}

/// The rest of an order.
struct Job {
    request: Arc<Request>,
    session: Session,
    before: Vec<String>,
    /// The sentences that it gives to its next batch.
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

/// An order that was handed in. Dropping it ends the work for it.
pub(crate) struct Ticket {
    shared: Arc<Shared>,
    request: Arc<Request>,
    reports: mpsc::UnboundedReceiver<Report>,
    /// Parts that came before their turn.
    early: BTreeMap<usize, Vec<Translated>>,
    next: usize,
    session: Option<Session>,
}

impl Ticket {
    /// The next sentences in order; nothing after the last.
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
            // The request that this ticket holds keeps a sender alive, so a report always comes.
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

    /// What is remembered after the last sentence.
    pub fn into_session(mut self) -> Option<Session> {
        self.session.take()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.request.is_cancelled.store(true, Ordering::Relaxed);
        let schedule = self.shared.lock();
        // The rest holds the request, which holds the rest.
        let rest = lock(&self.request.begun).rest.take();
        drop(schedule);
        drop(rest);
        // A batch that was interrupted may have nobody left to go on for.
        self.shared.wake.notify_all();
    }
}

struct Shared {
    schedule: Mutex<Schedule<Job>>,
    wake: Condvar,
    is_closed: AtomicBool,
    /// Orders that are decoded together at most.
    together: usize,
    /// Sentences that have been translated.
    sentences: AtomicUsize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Schedule<Job>> {
        lock(&self.schedule)
    }

    /// Puts the rest of an order back, behind what else its client has waiting; where the order is far
    /// ahead of its reader, once some of it is taken.
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

    /// The reader of an order took some sentences.
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
    /// Sentences with attention that may be begun before those before them were taken.
    ahead: usize,
}

impl Engine {
    /// Starts the threads; each has a translator of its own per model, which share their weights. A few
    /// more threads than compute at once hold batches that were interrupted.
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
            // Where one cannot start, dropping the engine ends those before it.
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

    /// Hands in an order.
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

    /// Orders that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.shared.lock().queue.len()
    }

    /// Sentences that have been translated since the start.
    pub fn sentences(&self) -> usize {
        self.shared.sentences.load(Ordering::Relaxed)
    }
}

impl Drop for Engine {
    /// Ends the threads; what is still waiting is nobody's any more.
    fn drop(&mut self) {
        let jobs = {
            let mut schedule = self.shared.lock();
            self.shared.is_closed.store(true, Ordering::Relaxed);
            schedule.queue.drain()
        };
        drop(jobs);
        self.shared.wake.notify_all();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // A thread that panicked outside a translation has already said so.
            let _ = thread.join();
        }
    }
}
