//! From a request to the engine and back: checks, a turn, a deadline.

use std::sync::Arc;
use std::time::Duration;

use abridge_translate::{BeamSettings, Prose, Session, Translation};
use tokio::time::Instant;

use super::types::Options;
use super::{App, Client};
use crate::admission::Permit;
use crate::engine::{Failure, Order, Ticket};
use crate::error::{ApiError, Code};

/// Orders at work. Dropping it ends them.
pub(crate) struct Work {
    tickets: Vec<Ticket>,
    /// Which document is next.
    at: usize,
    deadline: Instant,
    allowed: Duration,
    permit: Permit,
}

impl Work {
    /// Waits for a turn and hands in the orders.
    pub async fn begin(
        app: &App,
        plan: &Plan,
        orders: Vec<Order>,
        allowed: Duration,
    ) -> Result<Self, ApiError> {
        let permit = app.admission.enter(&plan.client.0).await?;
        let deadline = Instant::now() + allowed;
        let tickets = orders.into_iter().map(|order| app.engine.submit(order)).collect();
        Ok(Self { tickets, at: 0, deadline, allowed, permit })
    }

    /// The next sentences, with the number of their document.
    pub async fn next(&mut self) -> Result<Option<(usize, Vec<Translation>)>, ApiError> {
        while let Some(ticket) = self.tickets.get_mut(self.at) {
            let next =
                tokio::time::timeout_at(self.deadline, ticket.next()).await.map_err(|_| {
                    let seconds = self.allowed.as_secs();
                    let problem =
                        format!("not done within {seconds} s; send fewer sentences at once");
                    ApiError::new(Code::Timeout, problem)
                })?;
            match next {
                Ok(Some(translations)) => return Ok(Some((self.at, translations))),
                Ok(None) => self.at += 1,
                Err(Failure::Refused(problem)) => {
                    return Err(ApiError::new(Code::Invalid, problem));
                }
                Err(Failure::Panicked) => {
                    return Err(ApiError::new(Code::Internal, "something went wrong here"));
                }
            }
        }
        Ok(None)
    }

    /// All sentences of all documents.
    pub async fn all(&mut self) -> Result<Vec<Vec<Translation>>, ApiError> {
        let mut all: Vec<Vec<Translation>> = self.tickets.iter().map(|_| Vec::new()).collect();
        while let Some((document, translations)) = self.next().await? {
            all[document].extend(translations);
        }
        Ok(all)
    }

    /// What the documents remember at their ends.
    pub fn into_sessions(self) -> Vec<Session> {
        drop(self.permit);
        self.tickets.into_iter().filter_map(Ticket::into_session).collect()
    }
}

/// What a request brings: sentences, perhaps from a text.
#[derive(Debug)]
pub(crate) struct Brought {
    pub sentences: Vec<String>,
    pub text: Option<Prose>,
}

impl App {
    /// Takes the sentences of a request, and checks how many and how long they are.
    pub async fn bring(
        self: &Arc<Self>,
        model: usize,
        sentences: Option<Vec<String>>,
        text: Option<String>,
        before: Vec<String>,
    ) -> Result<(Brought, Vec<String>), ApiError> {
        let app = Arc::clone(self);
        // Splitting and counting tokens of a large body takes a while.
        let work = move || -> Result<_, ApiError> {
            let brought = match (sentences, text) {
                (Some(sentences), None) => Brought { sentences, text: None },
                (None, Some(text)) => {
                    let text = Prose::new(&text, app.models.get(model).languages().0);
                    Brought { sentences: text.sentences.clone(), text: Some(text) }
                }
                _ => {
                    let problem = "send either \"sentences\" or \"text\"";
                    return Err(ApiError::new(Code::Invalid, problem));
                }
            };
            let most = app.settings.limits.segments;
            app.check(model, &before, most, "before")?;
            app.check(model, &brought.sentences, most, "sentences")?;
            Ok((brought, before))
        };
        blocking(work).await?
    }

    /// Refuses too many sentences, and any that has too many tokens.
    pub fn check<S: AsRef<str>>(
        &self,
        model: usize,
        sentences: &[S],
        most: usize,
        what: &str,
    ) -> Result<(), ApiError> {
        if sentences.len() > most {
            let problem = format!(
                "{} sentences in {what}, more than {most}; send them in parts, in a session",
                sentences.len()
            );
            return Err(ApiError::new(Code::TooLarge, problem));
        }
        let limit = self.settings.limits.tokens;
        let mut encoder = self.models.get(model).translator.source().encoder();
        let mut tokens = Vec::new();
        for (index, sentence) in sentences.iter().enumerate() {
            let sentence = sentence.as_ref();
            // No character becomes more than eighteen.
            if sentence.len() * 18 < limit {
                continue;
            }
            tokens.clear();
            encoder.encode(sentence, &mut tokens);
            if tokens.len() > limit {
                let problem = format!(
                    "sentence {index} of {what} has {} tokens, more than {limit}; split it",
                    tokens.len()
                );
                return Err(ApiError::new(Code::TooLarge, problem).at(index));
            }
        }
        Ok(())
    }

    /// A document's memory before its first sentence.
    pub fn session(&self, model: usize, context: Option<usize>) -> Result<Session, ApiError> {
        let session = self.models.get(model).translator.session(context);
        session.map_err(|error| ApiError::new(Code::Invalid, error.to_string()))
    }

    /// What a translation depends on.
    pub fn signature(&self, plan: &Plan, context: usize) -> String {
        let (hash, settings) = (self.models.get(plan.model).translator.hash(), &plan.settings);
        format!(
            "abridge:{}|model:{}|beam:{}|length_penalty:{}|max_length:{}|context:{context}",
            env!("CARGO_PKG_VERSION"),
            hash.get(..16).unwrap_or(hash),
            settings.beam,
            settings.length_penalty,
            settings.max_length,
        )
    }
}

/// How a request is translated, and for whom.
pub(crate) struct Plan {
    pub model: usize,
    pub client: Client,
    pub options: Options,
    pub settings: BeamSettings,
    pub is_streamed: bool,
}

impl Plan {
    /// Checks the options.
    pub fn new(
        app: &App,
        model: usize,
        client: Client,
        options: Options,
        is_streamed: bool,
    ) -> Result<Self, ApiError> {
        let settings = options.settings(&app.settings.limits)?;
        Ok(Self { model, client, options, settings, is_streamed })
    }

    /// A document, or the next sentences of one.
    pub fn order(&self, session: Session, before: Vec<String>, sentences: Vec<String>) -> Order {
        Order {
            model: self.model,
            client: self.client.0.clone(),
            session,
            before,
            sentences,
            settings: self.settings.clone(),
            attention: self.options.attention,
            is_streamed: self.is_streamed,
        }
    }
}

/// Computes where it does not keep other requests waiting.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ApiError::new(Code::Internal, "something went wrong here"))
}
