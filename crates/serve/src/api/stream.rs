//! Server-sent events: `start`, then one `sentence` each, then `done`; or `error`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnboundedReceiverStream;

use super::translate::Answering;
use crate::engine::Translated;
use crate::error::{ApiError, Code, ErrorBody};

/// Bytes of events that wait for a slow reader: the texts of any request fit, so that its work ends
/// whether somebody reads or not. Only attention is larger, and its work waits.
const ROOM: usize = 8 << 20;

/// Where events go.
pub(crate) struct Events {
    sender: mpsc::UnboundedSender<(Event, Option<OwnedSemaphorePermit>)>,
    room: Arc<Semaphore>,
    /// How long there may be no room.
    patience: Duration,
}

#[derive(Serialize)]
struct Start<'a> {
    sentences: &'a [String],
}

#[derive(Serialize)]
struct FileStart<'a> {
    sentences: Vec<&'a String>,
    /// How many sentences each document has.
    documents: Vec<usize>,
}

#[derive(Serialize)]
struct Sentence<'a> {
    index: usize,
    source: &'a str,
    translation: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

impl Events {
    async fn send(&self, name: &str, data: &impl Serialize) -> Result<(), ApiError> {
        self.send_text(name, json(data)?).await
    }

    /// Sends JSON once there is room for it.
    async fn send_text(&self, name: &str, data: String) -> Result<(), ApiError> {
        let bytes = data.len().min(ROOM) as u32;
        let room = Arc::clone(&self.room).acquire_many_owned(bytes);
        let room = tokio::time::timeout(self.patience, room).await.map_err(|_| {
            let seconds = self.patience.as_secs();
            let problem = format!("nothing was read for {seconds} s");
            ApiError::new(Code::Timeout, problem)
        })?;
        let event = Event::default().event(name).data(data);
        self.sender.send((event, room.ok())).map_err(|_| left())
    }

    pub async fn start(&self, sentences: &[String]) -> Result<(), ApiError> {
        self.send("start", &Start { sentences }).await
    }

    pub async fn file(&self, documents: &[Vec<String>]) -> Result<(), ApiError> {
        let sentences = documents.iter().flatten().collect();
        let documents = documents.iter().map(Vec::len).collect();
        self.send("start", &FileStart { sentences, documents }).await
    }

    /// A sentence of a file.
    pub async fn plain(&self, index: usize, source: &str, text: &str) -> Result<(), ApiError> {
        let sentence = Sentence { index, source, translation: text, score: None };
        self.send("sentence", &sentence).await
    }

    pub async fn sentence(
        &self,
        answering: &Answering,
        index: usize,
        source: &str,
        translated: &Translated,
    ) -> Result<(), ApiError> {
        let Translated { text, score, attention, .. } = translated;
        let score = answering.options.scores.then_some(*score);
        let mut data = json(&Sentence { index, source, translation: text, score })?;
        if let Some(attention) = attention {
            // One more field before the last brace.
            data.pop();
            data.extend([",\"attention\":", attention, "}"]);
        }
        self.send_text("sentence", data).await
    }

    pub async fn done(&self, answer: &impl Serialize) -> Result<(), ApiError> {
        self.send("done", answer).await
    }
}

fn left() -> ApiError {
    ApiError::new(Code::Internal, "the reader has left")
}

fn json(data: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(data).map_err(|error| ApiError::new(Code::Internal, error.to_string()))
}

/// An answer whose events `work` sends. When the reader leaves, or reads nothing for `patience`, the work
/// is dropped.
pub(crate) fn answer<F, W>(patience: Duration, work: F) -> Response
where
    F: FnOnce(Events) -> W + Send + 'static,
    W: Future<Output = Result<(), ApiError>> + Send,
{
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let room = Arc::new(Semaphore::new(ROOM));
        let events = Events { sender: sender.clone(), room, patience };
        let done = tokio::select! {
            done = work(events) => done,
            () = sender.closed() => return,
        };
        if let Err(error) = done
            && let Ok(data) = json(&ErrorBody { error })
        {
            // The reader may have left; then there is nobody to tell.
            let _ = sender.send((Event::default().event("error").data(data), None));
        }
    });
    let alive = KeepAlive::new().interval(Duration::from_secs(15));
    // There is room again once an event is on its way to the socket.
    let events =
        UnboundedReceiverStream::new(receiver).map(|(event, _room)| Ok::<_, Infallible>(event));
    Sse::new(events).keep_alive(alive).into_response()
}
