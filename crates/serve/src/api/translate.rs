//! `POST /v1/translate`: a document, or the sentences of one.

use std::sync::Arc;

use abridge_translate::{Prose, Session, Translation};
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use super::body::ApiJson;
use super::stream::{self, Events};
use super::types::{Options, StreamEvent, TranslateAnswer, TranslateRequest, score};
use super::work::{Brought, Plan, Work};
use super::{App, Authorised};
use crate::attention::Looked;
use crate::error::ApiError;

/// Translates a document: each sentence with a memory of those before it.
#[utoipa::path(
    post,
    path = "/v1/translate",
    request_body = TranslateRequest,
    responses((status = 200, description = "The translation.", content(
        (TranslateAnswer = "application/json"),
        (StreamEvent = "text/event-stream"),
    )))
)]
pub(crate) async fn translate(
    State(app): State<Arc<App>>,
    Extension(client): Authorised,
    headers: HeaderMap,
    ApiJson(request): ApiJson<TranslateRequest>,
) -> Result<Response, ApiError> {
    let TranslateRequest { sentences, text, before, context, options, .. } = request;
    let (name, source, target) = (&request.model, &request.source, &request.target);
    let model = app.models.find(name.as_deref(), source.as_deref(), target.as_deref())?;
    let is_streamed = request.stream || wants_stream(&headers);
    let plan = Plan::new(&app, model, client, options, is_streamed)?;
    let session = app.session(model, context)?;
    let (brought, before) = app.bring(model, sentences, text, before).await?;
    let answering = Answering::new(&app, &plan, &session, &brought);
    let order = plan.order(session, before, brought.sentences);
    let mut work = Work::begin(&app, &plan, vec![order], app.settings.limits.deadline).await?;
    if is_streamed {
        return Ok(stream::answer(move |events| async move {
            stream_document(&events, work, answering, async |_| Ok(())).await
        }));
    }
    let mut all = work.all().await?;
    Ok(axum::Json(answering.whole(&all.pop().unwrap_or_default())).into_response())
}

/// Whether the client reads server-sent events.
pub(crate) fn wants_stream(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/event-stream"))
}

/// Sends sentences as they come, keeps what is to be kept, and sends the rest of the answer.
pub(crate) async fn stream_document(
    events: &Events,
    mut work: Work,
    answering: Answering,
    keep: impl AsyncFnOnce(Work) -> Result<(), ApiError>,
) -> Result<(), ApiError> {
    let mut all = Vec::new();
    events.start(&answering.sources).await?;
    while let Some((_, translations)) = work.next().await? {
        for translation in translations {
            let source = answering.sources.get(all.len()).map_or("", String::as_str);
            events.sentence(&answering, all.len(), source, &translation).await?;
            all.push(translation);
        }
    }
    keep(work).await?;
    let mut answer = answering.whole(&all);
    // These have been sent sentence by sentence.
    (answer.scores, answer.attention, answer.sentences) = (None, None, None);
    events.done(&answer).await
}

/// What turns translations into an answer.
pub(crate) struct Answering {
    pub app: Arc<App>,
    pub model: usize,
    pub options: Options,
    pub sources: Vec<String>,
    text: Option<Prose>,
    signature: String,
}

impl Answering {
    pub fn new(app: &Arc<App>, plan: &Plan, session: &Session, brought: &Brought) -> Self {
        Self {
            app: Arc::clone(app),
            model: plan.model,
            options: plan.options.clone(),
            sources: brought.sentences.clone(),
            text: brought.text.clone(),
            signature: app.signature(plan, session.context_size()),
        }
    }

    /// Where a translation looked.
    pub fn looked(&self, translation: &Translation) -> Option<Looked> {
        Looked::new(&self.app.models.get(self.model).translator, translation)
    }

    pub fn whole(&self, translations: &[Translation]) -> TranslateAnswer {
        let texts: Vec<String> = translations.iter().map(|t| t.text().to_owned()).collect();
        let cut = translations.iter().enumerate().filter(|(_, t)| t.is_cut());
        let Options { scores, attention, .. } = self.options;
        TranslateAnswer {
            model: self.app.models.get(self.model).name.clone(),
            text: self.text.as_ref().map(|text| text.put_together(&texts)),
            sentences: self.text.as_ref().map(|text| text.sentences.clone()),
            scores: scores.then(|| translations.iter().map(score).collect()),
            attention: attention.then(|| translations.iter().map(|t| self.looked(t)).collect()),
            cut: cut.map(|(place, _)| place).collect(),
            signature: self.signature.clone(),
            translations: texts,
        }
    }
}
