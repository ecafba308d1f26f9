//! Long work: on a thread of its own, so that the calling thread can check for Ctrl-C and forward
//! progress, and without Python's lock, so that other threads go on.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::{self, guarded};
use crate::values::to_python;

/// The time between two checks for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A message from the work to the caller.
enum Message {
    /// An event; the answer is whether to go on.
    Event(Value, SyncSender<bool>),
    /// The work is done.
    Finished,
}

/// The connection of the work to its caller.
pub struct Link {
    /// Whether the work is to stop.
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

    /// Reports an event and waits until the caller has handled it.
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

/// Does work. `progress` is called with the number of items finished since the last call, as
/// `tqdm.update` expects it, or with an event; if it returns `False` for an event, the work stops.
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
            let result = guarded(|| work(&link));
            // The receiver is gone only if the caller panicked.
            let _ = link.messages.send(Message::Finished);
            result
        });
        let mut reporter = Reporter { progress, link: &link, reported: 0 };
        loop {
            let message = py.detach(|| next(&receiver));
            let is_finished = matches!(message, Some(Message::Finished));
            let forwarded = reporter.forward(py, message).and_then(|()| py.check_signals());
            if let Err(error) = forwarded {
                // Wait for the work to finish; report nothing more.
                problem.get_or_insert(error);
                reporter.progress = None;
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
    let result = result.map_err(|panic| errors::panic(panic.as_ref())).flatten()?;
    result.map_err(|error| errors::exception(&error))
}

fn next(receiver: &Mutex<Receiver<Message>>) -> Option<Message> {
    let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match receiver.recv_timeout(POLL_INTERVAL) {
        Ok(message) => Some(message),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => Some(Message::Finished),
    }
}

struct Reporter<'a, 'py> {
    progress: Option<&'a Bound<'py, PyAny>>,
    link: &'a Link,
    /// Finished items that `progress` knows of.
    reported: usize,
}

impl Reporter<'_, '_> {
    /// Forwards events and progress.
    fn forward(&mut self, py: Python<'_>, message: Option<Message>) -> PyResult<()> {
        let Some(progress) = self.progress else {
            if let Some(Message::Event(_, answer)) = message {
                let _ = answer.send(!self.link.is_stopped());
            }
            return Ok(());
        };
        if let Some(Message::Event(event, answer)) = message {
            let returned = to_python(py, &event).and_then(|event| progress.call1((event,)));
            let is_false = |value: &Bound<'_, PyAny>| matches!(value.extract(), Ok(false));
            let _ = answer.send(returned.as_ref().is_ok_and(|value| !is_false(value)));
            return returned.map(|_| ());
        }
        let done = self.link.done.load(Ordering::Relaxed);
        if done > self.reported {
            let count = done - self.reported;
            self.reported = done;
            progress.call1((count,))?;
        }
        Ok(())
    }
}
