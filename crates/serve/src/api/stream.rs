//! Server-sent events: `start`, one `sentence` per sentence, then `done`; or `error`.

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

/// Bytes of events buffered for a slow reader. The texts of any request fit, so that its work ends
/// whether they are read or not. Only attention is larger; its work waits for the reader.
const ROOM: usize = 8 << 20;

/// Sends the events of a stream.
pub(crate) struct Events {
    sender: mpsc::UnboundedSender<(Event, Option<OwnedSemaphorePermit>)>,
    room: Arc<Semaphore>,
    /// How long to wait for room.
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
            let problem = format!("the client read nothing for {seconds} s");
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
            // Inserts a field before the closing brace.
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
    ApiError::new(Code::Internal, "the client disconnected")
}

fn json(data: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(data).map_err(|error| ApiError::new(Code::Internal, error.to_string()))
}

/// A response whose events `work` sends. If the client disconnects, or reads nothing for
/// `patience`, the work is cancelled.
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
            // Fails only if the client has disconnected.
            let _ = sender.send((Event::default().event("error").data(data), None));
        }
    });
    let alive = KeepAlive::new().interval(Duration::from_secs(15));
    // An event's room is freed once it is on its way to the socket.
    let events =
        UnboundedReceiverStream::new(receiver).map(|(event, _room)| Ok::<_, Infallible>(event));
    Sse::new(events).keep_alive(alive).into_response()
}
