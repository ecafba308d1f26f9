//! `POST /v1/translate`: translates a document, given as text or as sentences.

use std::sync::Arc;

use abridge_translate::{Prose, Session};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::body::ApiJson;
use super::stream::{self, Events};
use super::types::{Options, StreamEvent, TranslateAnswer, TranslateRequest};
use super::work::{Brought, RequestPlan, Work};
use super::{App, Authorised};
use crate::engine::Translated;
use crate::error::{ApiError, Code};

/// Translates a document: each sentence with a memory of the previous ones.
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
    let plan = RequestPlan::new(&app, model, client, options, is_streamed)?;
    let session = app.session(model, context, target.as_deref())?;
    let brought = app.bring(&plan.client, model, sentences, text, before).await?;
    let answering = Answering::new(&app, &plan, &session, &brought);
    let order = plan.order(session, brought.before, brought.counted);
    let mut work = Work::begin(&app, &plan, vec![order], app.settings.limits.deadline).await?;
    if is_streamed {
        let patience = app.settings.limits.stall;
        return Ok(stream::answer(patience, move |events| async move {
            stream_document(&events, work, answering, async |_| Ok(())).await
        }));
    }
    let mut all = work.all().await?;
    drop(work);
    answering.whole(all.pop().unwrap_or_default())
}

/// Whether the client accepts server-sent events.
pub(crate) fn wants_stream(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/event-stream"))
}

/// Sends sentences as they are translated, runs `keep`, and sends the rest of the response.
pub(crate) async fn stream_document(
    events: &Events,
    mut work: Work,
    answering: Answering,
    keep: impl AsyncFnOnce(Work) -> Result<(), ApiError>,
) -> Result<(), ApiError> {
    let mut all = Vec::new();
    events.start(&answering.sources).await?;
    while let Some((_, translations)) = work.next().await? {
        for mut translated in translations {
            let source = answering.sources.get(all.len()).map_or("", String::as_str);
            events.sentence(&answering, all.len(), source, &translated).await?;
            translated.attention = None;
            all.push(translated);
        }
    }
    keep(work).await?;
    let mut answer = answering.plain(&all);
    // These were sent sentence by sentence.
    (answer.scores, answer.sentences) = (None, None);
    events.done(&answer).await
}

/// Turns translations into a response.
pub(crate) struct Answering {
    pub app: Arc<App>,
    pub model: usize,
    pub options: Options,
    pub sources: Vec<String>,
    text: Option<Prose>,
    signature: String,
}

impl Answering {
    pub fn new(app: &Arc<App>, plan: &RequestPlan, session: &Session, brought: &Brought) -> Self {
        Self {
            app: Arc::clone(app),
            model: plan.model,
            options: plan.options.clone(),
            sources: brought.counted.sentences.clone(),
            text: brought.text.clone(),
            signature: app.signature(plan, session),
        }
    }

    /// The response without attention.
    fn plain(&self, translated: &[Translated]) -> TranslateAnswer {
        let texts: Vec<String> = translated.iter().map(|t| t.text.clone()).collect();
        let cut = translated.iter().enumerate().filter(|(_, t)| t.is_cut);
        TranslateAnswer {
            model: self.app.models.get(self.model).name.clone(),
            text: self.text.as_ref().map(|text| text.put_together(&texts)),
            sentences: self.text.as_ref().map(|text| text.sentences.clone()),
            scores: self.options.scores.then(|| translated.iter().map(|t| t.score).collect()),
            attention: None,
            cut: cut.map(|(place, _)| place).collect(),
            signature: self.signature.clone(),
            translations: texts,
        }
    }

    /// The whole response. Attention may be most of it, and is sent in pieces without copying.
    pub fn whole(&self, translated: Vec<Translated>) -> Result<Response, ApiError> {
        let answer = self.plain(&translated);
        if !self.options.attention {
            return Ok(axum::Json(answer).into_response());
        }
        let internal = |error: serde_json::Error| ApiError::new(Code::Internal, error.to_string());
        let mut head = serde_json::to_vec(&answer).map_err(internal)?;
        // Inserts a field before the closing brace.
        head.pop();
        head.extend_from_slice(b",\"attention\":[");
        let mut pieces = vec![Bytes::from(head)];
        for (place, translated) in translated.into_iter().enumerate() {
            if place > 0 {
                pieces.push(Bytes::from_static(b","));
            }
            pieces.push(translated.attention.map_or(Bytes::from_static(b"null"), Bytes::from));
        }
        pieces.push(Bytes::from_static(b"]}"));
        let length: usize = pieces.iter().map(Bytes::len).sum();
        let pieces = pieces.into_iter().map(Ok::<_, std::convert::Infallible>);
        let mut response = Body::from_stream(tokio_stream::iter(pieces)).into_response();
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        Ok(response)
    }
}
