//! From a request to the engine and back: checks, admission, deadline.

use std::sync::Arc;
use std::time::Duration;

use abridge_translate::{BeamSettings, Prose, Session};
use tokio::time::Instant;

use super::App;
use super::size::Size;
use super::types::Options;
use crate::admission::Permit;
use crate::client::Client;
use crate::engine::{Failure, Order, Ticket, Translated};
use crate::error::{ApiError, Code};

/// Documents of a request that are queued in the engine at once: enough to fill batches, and few
/// enough that the client's other requests do not wait for a whole file.
const DOCUMENTS: usize = 32;

/// Orders in progress. Dropping it cancels them.
pub(crate) struct Work {
    app: Arc<App>,
    model: usize,
    tickets: Vec<Ticket>,
    /// Orders to submit when others have ended.
    orders: std::vec::IntoIter<Order>,
    /// The index of the next document.
    at: usize,
    deadline: Instant,
    allowed: Duration,
    permit: Permit,
}

impl Work {
    /// Rejects orders that could need too much memory, waits for admission, and submits the orders.
    pub async fn begin(
        app: &Arc<App>,
        plan: &RequestPlan,
        orders: Vec<Order>,
        allowed: Duration,
    ) -> Result<Self, ApiError> {
        let translator = &app.models.get(plan.model).translator;
        let sizes: Vec<Size> = orders.iter().map(|order| order.size(translator)).collect();
        let (threads, limits) = (app.settings.threads, &app.settings.limits);
        let bytes = Size::admit(&sizes, plan.is_streamed, threads, limits)?;
        let permit = app.admission.enter(&plan.client, bytes).await?;
        let deadline = Instant::now() + allowed;
        let (app, orders) = (Arc::clone(app), orders.into_iter());
        let (model, tickets) = (plan.model, Vec::with_capacity(orders.len()));
        let mut work = Self { app, model, tickets, orders, at: 0, deadline, allowed, permit };
        (0..DOCUMENTS).for_each(|_| work.submit());
        Ok(work)
    }

    /// Submits the next order.
    fn submit(&mut self) {
        let translator = &self.app.models.get(self.model).translator;
        let order = self.orders.next();
        self.tickets.extend(order.map(|order| self.app.engine.submit(translator, order)));
    }

    /// The next sentences, with the index of their document.
    pub async fn next(&mut self) -> Result<Option<(usize, Vec<Translated>)>, ApiError> {
        while let Some(ticket) = self.tickets.get_mut(self.at) {
            let next =
                tokio::time::timeout_at(self.deadline, ticket.next()).await.map_err(|_| {
                    let seconds = self.allowed.as_secs();
                    let problem =
                        format!("not finished within {seconds} s; send fewer sentences at once");
                    ApiError::new(Code::Timeout, problem)
                })?;
            match next {
                Ok(Some(translations)) => return Ok(Some((self.at, translations))),
                Ok(None) => {
                    self.at += 1;
                    self.submit();
                }
                Err(Failure::Refused(problem)) => {
                    return Err(ApiError::new(Code::Invalid, problem));
                }
                Err(Failure::Panicked) => {
                    return Err(ApiError::new(Code::Internal, "internal error"));
                }
            }
        }
        Ok(None)
    }

    /// All sentences of all documents.
    pub async fn all(&mut self) -> Result<Vec<Vec<Translated>>, ApiError> {
        let documents = self.tickets.len() + self.orders.len();
        let mut all: Vec<Vec<Translated>> = (0..documents).map(|_| Vec::new()).collect();
        while let Some((document, translations)) = self.next().await? {
            all[document].extend(translations);
        }
        Ok(all)
    }

    /// The memories of the documents after their last sentences.
    pub fn into_sessions(self) -> Vec<Session> {
        drop(self.permit);
        self.tickets.into_iter().filter_map(Ticket::into_session).collect()
    }
}

/// Sentences of a request, with the number of tokens of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    pub sentences: Vec<String>,
    pub lengths: Vec<usize>,
}

/// The input of a request: sentences, perhaps split from a text.
#[derive(Debug)]
pub(crate) struct Brought {
    pub counted: Counted,
    pub text: Option<Prose>,
    /// Context that is read and not translated.
    pub before: Counted,
}

impl App {
    /// Takes the sentences of a request, and checks their number and lengths.
    pub async fn bring(
        self: &Arc<Self>,
        client: &Client,
        model: usize,
        sentences: Option<Vec<String>>,
        text: Option<String>,
        before: Vec<String>,
    ) -> Result<Brought, ApiError> {
        let app = Arc::clone(self);
        // Splitting a large body and counting its tokens takes a while.
        let work = move || -> Result<_, ApiError> {
            let (sentences, text) = match (sentences, text) {
                (Some(sentences), None) => (sentences, None),
                (None, Some(text)) => {
                    let text = Prose::new(&text, app.models.get(model).languages().0);
                    (text.sentences.clone(), Some(text))
                }
                _ => {
                    let problem = "send either \"sentences\" or \"text\"";
                    return Err(ApiError::new(Code::Invalid, problem));
                }
            };
            let most = app.settings.limits.segments;
            let before = app.count(model, before, most, "before")?;
            let counted = app.count(model, sentences, most, "sentences")?;
            Ok(Brought { counted, text, before })
        };
        self.read(client, work).await
    }

    /// Runs blocking work off the async threads, with clients taking turns.
    pub async fn read<T: Send + 'static>(
        &self,
        client: &Client,
        work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let permit = self.reading.enter(client, 0).await?;
        let work = move || {
            let done = work();
            // Only now, even if the client has left, because the thread was busy until now.
            drop(permit);
            done
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| ApiError::new(Code::Internal, "internal error"))?
    }

    /// Counts tokens, and rejects too many sentences or too long ones.
    pub fn count(
        &self,
        model: usize,
        sentences: Vec<String>,
        most: usize,
        what: &str,
    ) -> Result<Counted, ApiError> {
        if sentences.len() > most {
            let problem = format!(
                "{} sentences in {what}, but the limit is {most}; send them in parts, in a session",
                sentences.len()
            );
            return Err(ApiError::new(Code::TooLarge, problem));
        }
        let limit = self.settings.limits.tokens;
        let mut encoder = self.models.get(model).translator.source().encoder();
        let mut tokens = Vec::new();
        let mut lengths = Vec::with_capacity(sentences.len());
        for (index, sentence) in sentences.iter().enumerate() {
            tokens.clear();
            encoder.encode(sentence, &mut tokens);
            lengths.push(tokens.len());
            if tokens.len() > limit {
                let problem = format!(
                    "sentence {index} of {what} has {} tokens, but the limit is {limit}; split it",
                    tokens.len()
                );
                return Err(ApiError::new(Code::TooLarge, problem).at(index));
            }
        }
        Ok(Counted { sentences, lengths })
    }

    /// The empty memory of a new document.
    pub fn session(
        &self,
        model: usize,
        context: Option<usize>,
        target: Option<&str>,
    ) -> Result<Session, ApiError> {
        let translator = &self.models.get(model).translator;
        let session = match target.filter(|_| !translator.target_languages().is_empty()) {
            Some(target) => translator.session_towards(context, target),
            None => translator.session(context),
        };
        session.map_err(|error| ApiError::new(Code::Invalid, error.to_string()))
    }

    /// The language that a document is translated into.
    pub fn target(&self, model: usize, session: &Session) -> String {
        let served = self.models.get(model);
        let chosen = served.translator.language_of(session);
        chosen.unwrap_or_else(|| served.languages().1).to_owned()
    }

    /// Describes everything that a translation depends on.
    pub fn signature(&self, plan: &RequestPlan, session: &Session) -> String {
        let (hash, settings) = (self.models.get(plan.model).translator.hash(), &plan.settings);
        format!(
            "abridge:{}|model:{}|target:{}|beam:{}|length_penalty:{}|max_length:{}|context:{}",
            env!("CARGO_PKG_VERSION"),
            hash.get(..16).unwrap_or(hash),
            self.target(plan.model, session),
            settings.beam,
            settings.length_penalty,
            settings.max_length,
            session.context_size(),
        )
    }
}

/// How a request is translated, and for which client.
pub(crate) struct RequestPlan {
    pub model: usize,
    pub client: Client,
    pub options: Options,
    pub settings: BeamSettings,
    pub is_streamed: bool,
}

impl RequestPlan {
    /// Checks the options.
    pub fn new(
        app: &App,
        model: usize,
        client: Client,
        options: Options,
        is_streamed: bool,
    ) -> Result<Self, ApiError> {
        let defaults = app.models.get(model).translator.default_search();
        let settings = options.settings(defaults, &app.settings.limits)?;
        Ok(Self { model, client, options, settings, is_streamed })
    }

    /// A document, or the next sentences of one.
    pub fn order(&self, session: Session, before: Counted, counted: Counted) -> Order {
        Order {
            model: self.model,
            client: self.client.id.clone(),
            session,
            before: before.sentences,
            before_lengths: before.lengths,
            sentences: counted.sentences,
            lengths: counted.lengths,
            settings: self.settings.clone(),
            attention: self.options.attention,
            is_streamed: self.is_streamed,
        }
    }
}
