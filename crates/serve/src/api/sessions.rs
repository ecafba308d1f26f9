//! `/v1/sessions`: documents whose sentences arrive in several requests.

use std::sync::Arc;

use abridge_translate::Session;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::body::ApiJson;
use super::stream;
use super::translate::{Answering, stream_document, wants_stream};
use super::types::{
    NextRequest, Options, SessionAnswer, SessionRequest, StreamEvent, TranslateAnswer,
};
use super::work::{RequestPlan, Work};
use super::{App, Authorised};
use crate::client::Client;
use crate::error::ApiError;
use crate::sessions::{Kept, Problem};

/// Creates a session for a document.
#[utoipa::path(
    post,
    path = "/v1/sessions",
    request_body = SessionRequest,
    responses((status = 201, description = "The session.", body = SessionAnswer))
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(client): Authorised,
    ApiJson(request): ApiJson<SessionRequest>,
) -> Result<Response, ApiError> {
    let (name, source, target) = (&request.model, &request.source, &request.target);
    let model = app.models.find(name.as_deref(), source.as_deref(), target.as_deref())?;
    let mut session = app.session(model, request.context, target.as_deref())?;
    if !request.before.is_empty() {
        let nothing = Some(Vec::new());
        let brought = app.bring(&client, model, nothing, None, request.before).await?;
        let plan = RequestPlan::new(&app, model, client.clone(), Options::default(), false)?;
        let order = plan.order(session, brought.before, brought.counted);
        let mut work = Work::begin(&app, &plan, vec![order], app.settings.limits.deadline).await?;
        work.all().await?;
        session = work.into_sessions().pop().ok_or(Problem::Gone)?;
    }
    let name = app.models.get(model).name.clone();
    let id = app.sessions.create(&client, &name, session.clone()).await?;
    Ok((StatusCode::CREATED, axum::Json(app.describe(id, name, &session))).into_response())
}

/// Describes a session.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}",
    params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "The session.", body = SessionAnswer))
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(client): Authorised,
    Path(id): Path<String>,
) -> Result<axum::Json<SessionAnswer>, ApiError> {
    let Kept { model, session, .. } = app.take(&client, &id).await?;
    Ok(axum::Json(app.describe(id, model, &session)))
}

/// Deletes a session.
#[utoipa::path(
    delete,
    path = "/v1/sessions/{id}",
    params(("id" = String, Path, description = "The session.")),
    responses((status = 204, description = "The session is deleted."))
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Extension(client): Authorised,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    app.sessions.delete(&client, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Translates the next sentences of a document, with the memory of the previous ones.
///
/// If it fails, the session is unchanged, and the same sentences can be sent again.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/translate",
    params(("id" = String, Path, description = "The session.")),
    request_body = NextRequest,
    responses((status = 200, description = "The translation.", content(
        (TranslateAnswer = "application/json"),
        (StreamEvent = "text/event-stream"),
    )))
)]
pub(crate) async fn translate(
    State(app): State<Arc<App>>,
    Extension(client): Authorised,
    Path(id): Path<String>,
    headers: HeaderMap,
    ApiJson(request): ApiJson<NextRequest>,
) -> Result<Response, ApiError> {
    let NextRequest { sentences, text, options, .. } = request;
    let taken = app.take(&client, &id).await?;
    let model = app.models.find(Some(&taken.model), None, None)?;
    let is_streamed = request.stream || wants_stream(&headers);
    let plan = RequestPlan::new(&app, model, client, options, is_streamed)?;
    let brought = app.bring(&plan.client, model, sentences, text, Vec::new()).await?;
    let session = taken.session.clone();
    let answering = Answering::new(&app, &plan, &session, &brought);
    let order = plan.order(session, brought.before, brought.counted);
    let mut work = Work::begin(&app, &plan, vec![order], app.settings.limits.deadline).await?;
    if is_streamed {
        let patience = app.settings.limits.stall;
        return Ok(stream::answer(patience, move |events| async move {
            stream_document(&events, work, answering, async |work| {
                app.keep(&plan.client, &id, &taken, work).await
            })
            .await
        }));
    }
    let mut all = work.all().await?;
    app.keep(&plan.client, &id, &taken, work).await?;
    answering.whole(all.pop().unwrap_or_default())
}

impl App {
    async fn take(&self, client: &Client, id: &str) -> Result<Kept, ApiError> {
        let translator = |name: &str| {
            self.models.iter().find(|model| model.name == name).map(|model| &model.translator)
        };
        Ok(self.sessions.get(client, id, translator).await?)
    }

    /// Stores the session after a translation.
    async fn keep(
        &self,
        client: &Client,
        id: &str,
        taken: &Kept,
        work: Work,
    ) -> Result<(), ApiError> {
        let session = work.into_sessions().pop().ok_or(Problem::Gone)?;
        Ok(self.sessions.put(client, id, taken, session).await?)
    }

    fn describe(&self, id: String, model: String, session: &Session) -> SessionAnswer {
        SessionAnswer {
            id,
            model,
            context_size: session.context_size(),
            remembered: session.len(),
            sentences: session.sentences(),
            bytes: session.size_in_bytes(),
            expires_in_seconds: self.settings.limits.session_life.as_secs(),
        }
    }
}
