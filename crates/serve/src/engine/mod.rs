//! The engine: threads that translate the sentences of many requests together.
//!
//! A request becomes one [`Order`] per document. Each thread takes a few sentences from each of
//! several orders, in turn between clients, decodes them as one batch, and hands them out. Context
//! is on the source side, so the rest of an order waits for no translation: before a thread decodes
//! its share, it reads what the rest must remember and puts the rest back for the others.

mod work;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use abridge_translate::{BeamSettings, Session, Translation, Translator};
use tokio::sync::mpsc;

use crate::fair::FairQueue;
use crate::models::Models;

/// Sentences that are decoded together.
const BATCH: usize = abridge_translate::BATCH_SENTENCES;
/// Sentences that one order gives to a batch.
const SHARE: usize = 16;
/// The same of an order whose reader watches sentences come.
const STREAM_SHARE: usize = 4;

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
    /// What is to be translated.
    pub sentences: Vec<String>,
    pub settings: BeamSettings,
    /// Whether to note where translations looked.
    pub attention: bool,
    /// Whether the first sentences are wanted soon.
    pub is_streamed: bool,
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
pub(crate) struct Report {
    from: usize,
    outcome: Result<Vec<Translation>, Failure>,
    /// After the last sentences: what is remembered now.
    session: Option<Session>,
}

/// An order without its session: what its parts share.
pub(crate) struct Request {
    model: usize,
    client: String,
    sentences: Vec<String>,
    settings: BeamSettings,
    attention: bool,
    share: usize,
    is_cancelled: AtomicBool,
    reports: mpsc::UnboundedSender<Report>,
}

/// The rest of an order.
pub(crate) struct Job {
    request: Arc<Request>,
    session: Session,
    before: Vec<String>,
    from: usize,
}

/// An order that was handed in. Dropping it ends the work for it.
pub(crate) struct Ticket {
    request: Arc<Request>,
    reports: mpsc::UnboundedReceiver<Report>,
    /// Parts that came before their turn.
    early: BTreeMap<usize, Vec<Translation>>,
    next: usize,
    session: Option<Session>,
}

impl Ticket {
    /// The next sentences in order; nothing after the last.
    pub async fn next(&mut self) -> Result<Option<Vec<Translation>>, Failure> {
        loop {
            if let Some(translations) = self.early.remove(&self.next) {
                self.next += translations.len();
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
    }
}

#[derive(Default)]
struct Queue {
    jobs: FairQueue<Job>,
    /// Threads that wait for jobs.
    idle: usize,
    is_closed: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Orders that are decoded together at most.
    together: usize,
    /// Sentences that have been translated.
    sentences: AtomicUsize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads and their queue.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Engine {
    /// Starts the threads; each has a translator of its own per model, which share their weights.
    pub fn start(models: &Models, threads: usize, together: usize) -> crate::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            together: together.max(1),
            sentences: AtomicUsize::new(0),
        });
        let start = |number: usize| -> crate::Result<JoinHandle<()>> {
            let translators: Vec<Translator> = models
                .iter()
                .map(|model| model.translator.share(1))
                .collect::<abridge_translate::Result<_>>()?;
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name(format!("engine-{number}"));
            Ok(thread.spawn(move || work::run(&shared, &translators))?)
        };
        let handles = (0..threads.max(1)).map(start).collect::<crate::Result<_>>()?;
        Ok(Self { shared, threads: Mutex::new(handles) })
    }

    /// Hands in an order.
    pub fn submit(&self, order: Order) -> Ticket {
        let (sender, reports) = mpsc::unbounded_channel();
        let request = Arc::new(Request {
            model: order.model,
            client: order.client,
            sentences: order.sentences,
            settings: order.settings,
            attention: order.attention,
            share: if order.is_streamed { STREAM_SHARE } else { SHARE },
            is_cancelled: AtomicBool::new(false),
            reports: sender,
        });
        let job = Job {
            request: Arc::clone(&request),
            session: order.session,
            before: order.before,
            from: 0,
        };
        self.shared.lock().jobs.push(&request.client, job);
        self.shared.wake.notify_one();
        Ticket { request, reports, early: BTreeMap::new(), next: 0, session: None }
    }

    /// Orders that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.shared.lock().jobs.len()
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
            let mut queue = self.shared.lock();
            queue.is_closed = true;
            std::mem::take(&mut queue.jobs)
        };
        drop(jobs);
        self.shared.wake.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A thread that panicked outside a translation has already said so.
            let _ = thread.join();
        }
    }
}
