//! Server-sent events: `start`, then one `sentence` each, then `done`; or `error`.

use std::convert::Infallible;
use std::time::Duration;

use abridge_translate::Translation;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::translate::Answering;
use super::types::score;
use crate::attention::Looked;
use crate::error::{ApiError, Code, ErrorBody};

/// Events that wait for a slow reader; the work waits with them.
const WAITING: usize = 16;

/// Where events go.
pub(crate) struct Events {
    sender: mpsc::Sender<Result<Event, Infallible>>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    attention: Option<Looked>,
}

impl Events {
    async fn send(&self, name: &str, data: &impl Serialize) -> Result<(), ApiError> {
        let gone = || ApiError::new(Code::Internal, "the reader has left");
        let event = Event::default().event(name).json_data(data).map_err(|_| gone())?;
        self.sender.send(Ok(event)).await.map_err(|_| gone())
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
        let sentence = Sentence { index, source, translation: text, score: None, attention: None };
        self.send("sentence", &sentence).await
    }

    pub async fn sentence(
        &self,
        answering: &Answering,
        index: usize,
        source: &str,
        translation: &Translation,
    ) -> Result<(), ApiError> {
        let options = &answering.options;
        let sentence = Sentence {
            index,
            source,
            translation: translation.text(),
            score: options.scores.then(|| score(translation)),
            attention: if options.attention { answering.looked(translation) } else { None },
        };
        self.send("sentence", &sentence).await
    }

    pub async fn done(&self, answer: &impl Serialize) -> Result<(), ApiError> {
        self.send("done", answer).await
    }
}

/// An answer whose events `work` sends. When the reader leaves, the work is dropped.
pub(crate) fn answer<F, W>(work: F) -> Response
where
    F: FnOnce(Events) -> W + Send + 'static,
    W: Future<Output = Result<(), ApiError>> + Send,
{
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let last = Events { sender: sender.clone() };
        let done = tokio::select! {
            done = work(Events { sender: sender.clone() }) => done,
            () = sender.closed() => return,
        };
        if let Err(error) = done {
            // The reader may have left; then there is nobody to tell.
            let _ = last.send("error", &ErrorBody { error }).await;
        }
    });
    let alive = KeepAlive::new().interval(Duration::from_secs(15));
    Sse::new(ReceiverStream::new(receiver)).keep_alive(alive).into_response()
}
