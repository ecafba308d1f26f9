//! Long work: on a thread of its own, so that the calling thread can listen to Ctrl-C and hand on
//! progress, and without Python's lock, so that other threads go on.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::Value;

use crate::errors;
use crate::values::to_python;

/// How long a Ctrl-C may wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// What goes from the work to the caller.
enum Message {
    /// Something happened; the answer is whether to go on.
    Event(Value, SyncSender<bool>),
    /// The work is done.
    Finished,
}

/// The link of the work to its caller.
pub struct Link {
    /// Set when the work is to stop.
    pub stop: AtomicBool,
    done: AtomicUsize,
    messages: Sender<Message>,
}

impl Link {
    /// Reports that this many more items are done.
    pub fn done(&self, count: usize) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// Reports that this many more items are done, and leaves the work if it is to stop. It unwinds to
    /// [`run`], because most of what reports progress cannot return early.
    pub fn step(&self, count: usize) {
        self.done(count);
        if self.is_stopped() {
            resume_unwind(Box::new("stopped"));
        }
    }

    /// Reports an event and waits until the caller has heard it.
    pub fn event(&self, event: Value) {
        let (answer, answered) = sync_channel(1);
        let is_sent = self.messages.send(Message::Event(event, answer)).is_ok();
        if is_sent && answered.recv().is_ok_and(|go_on| !go_on) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the work is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Does work. `progress` is called with the number of things done since it was called before, as
/// `tqdm.update` expects it; an event is its only argument, and `False` stops the work.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Link) -> anyhow::Result<T> + Send,
) -> PyResult<T> {
    let (messages, receiver) = channel();
    let receiver = Mutex::new(receiver);
    let link = Link { stop: AtomicBool::new(false), done: AtomicUsize::new(0), messages };
    let mut problem = None;
    let result = std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            let result = catch_unwind(AssertUnwindSafe(|| work(&link)));
            // Nobody listens any more only if the caller has panicked.
            let _ = link.messages.send(Message::Finished);
            result
        });
        let mut listener = Listener { progress, link: &link, said: 0 };
        loop {
            let message = py.detach(|| next(&receiver));
            let is_finished = matches!(message, Some(Message::Finished));
            let heard = listener.hear(py, message).and_then(|()| py.check_signals());
            if let Err(error) = heard {
                // The work comes to its end first; nothing more is told.
                problem.get_or_insert(error);
                listener.progress = None;
                link.stop.store(true, Ordering::Relaxed);
            }
            if is_finished {
                break;
            }
        }
        py.detach(|| started.join())
    });
    if let Some(problem) = problem {
        return Err(problem);
    }
    match result {
        Ok(Ok(result)) => result.map_err(|error| errors::exception(&error)),
        Ok(Err(panic)) | Err(panic) => Err(errors::panic(panic.as_ref())),
    }
}

fn next(receiver: &Mutex<Receiver<Message>>) -> Option<Message> {
    let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match receiver.recv_timeout(PATIENCE) {
        Ok(message) => Some(message),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => Some(Message::Finished),
    }
}

struct Listener<'a, 'py> {
    progress: Option<&'a Bound<'py, PyAny>>,
    link: &'a Link,
    said: usize,
}

impl Listener<'_, '_> {
    /// Hands on what has happened.
    fn hear(&mut self, py: Python<'_>, message: Option<Message>) -> PyResult<()> {
        let Some(progress) = self.progress else {
            if let Some(Message::Event(_, answer)) = message {
                let _ = answer.send(!self.link.is_stopped());
            }
            return Ok(());
        };
        if let Some(Message::Event(event, answer)) = message {
            let said = to_python(py, &event).and_then(|event| progress.call1((event,)));
            let go_on =
                said.as_ref().is_ok_and(|said| !matches!(said.extract::<bool>(), Ok(false)));
            let _ = answer.send(go_on);
            return said.map(|_| ());
        }
        let done = self.link.done.load(Ordering::Relaxed);
        if done > self.said {
            let news = done - self.said;
            self.said = done;
            progress.call1((news,))?;
        }
        Ok(())
    }
}
