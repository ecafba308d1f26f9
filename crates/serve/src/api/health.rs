//! What operators and their programs ask.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;

use super::{App, Authorised};
use crate::error::{ApiError, Code};
use crate::telemetry;

/// A model.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ModelAnswer {
    /// Its name in requests.
    name: String,
    /// The code of the source language; `und` where the model does not say.
    source: String,
    /// The code of the target language; of a model of several, that which it has by default.
    target: String,
    /// The codes of all languages that it translates into; a request names one of them as `target`.
    targets: Vec<String>,
    /// How many sentences it looks back at.
    context_size: usize,
    /// The hash of its weights.
    hash: String,
}

/// All models; the first is the one that a request gets when it names none.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ModelsAnswer {
    models: Vec<ModelAnswer>,
}

/// The server.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct InfoAnswer {
    /// The version of abridge.
    version: String,
    /// Seconds since the start.
    uptime_seconds: u64,
    /// Threads that translate.
    threads: usize,
    /// The models.
    models: Vec<ModelAnswer>,
    /// What is refused.
    limits: LimitsAnswer,
}

/// What is refused.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct LimitsAnswer {
    body_bytes: usize,
    segments: usize,
    file_segments: usize,
    tokens_per_segment: usize,
    beam: usize,
    answer_bytes: usize,
    memory_bytes: usize,
    requests_at_work: usize,
    requests_waiting: usize,
    wait_seconds: u64,
    deadline_seconds: u64,
    file_deadline_seconds: u64,
    stall_seconds: u64,
    connections: usize,
    sessions: usize,
    session_life_seconds: u64,
    session_bytes: usize,
    /// What the caller may have of it.
    own: OwnLimits,
}

/// What one client may have: a key, or an address where no keys are asked for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct OwnLimits {
    requests_at_work: usize,
    connections: usize,
    sessions: usize,
}

/// Whether the process lives.
#[utoipa::path(get, path = "/livez", responses((status = 200, description = "It lives.", body = String)))]
pub(crate) async fn live() -> &'static str {
    "alive\n"
}

/// Whether requests should be sent here: the models are loaded, sessions can be reached, and no
/// shutdown has begun.
#[utoipa::path(get, path = "/readyz", responses(
    (status = 200, description = "It is ready.", body = String),
    (status = 503, description = "It is not.", body = crate::error::ErrorBody),
))]
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Result<&'static str, ApiError> {
    if app.admission.is_closed() {
        return Err(ApiError::new(Code::Unavailable, "the server is shutting down"));
    }
    app.sessions.counts().await?;
    Ok("ready\n")
}

/// The models.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, description = "The models.", body = ModelsAnswer)))]
pub(crate) async fn models(State(app): State<Arc<App>>) -> Json<ModelsAnswer> {
    Json(ModelsAnswer { models: app.model_answers() })
}

/// The server: version, models, limits.
#[utoipa::path(get, path = "/info", responses((status = 200, description = "The server.", body = InfoAnswer)))]
pub(crate) async fn info(
    State(app): State<Arc<App>>,
    Extension(client): Authorised,
) -> Json<InfoAnswer> {
    let limits = &app.settings.limits;
    Json(InfoAnswer {
        version: env!("CARGO_PKG_VERSION").into(),
        uptime_seconds: app.started.elapsed().as_secs(),
        threads: app.settings.threads,
        models: app.model_answers(),
        limits: LimitsAnswer {
            body_bytes: limits.body,
            segments: limits.segments,
            file_segments: limits.file_segments,
            tokens_per_segment: limits.tokens,
            beam: limits.beam,
            answer_bytes: limits.answer,
            memory_bytes: limits.memory,
            requests_at_work: limits.at_work,
            requests_waiting: limits.waiting,
            wait_seconds: limits.wait.as_secs(),
            deadline_seconds: limits.deadline.as_secs(),
            file_deadline_seconds: limits.file_deadline.as_secs(),
            stall_seconds: limits.stall.as_secs(),
            connections: limits.connections,
            sessions: limits.sessions,
            session_life_seconds: limits.session_life.as_secs(),
            session_bytes: limits.session_bytes,
            own: OwnLimits {
                requests_at_work: client.part_of(limits.at_work, 2),
                connections: client.part_of(limits.connections, 2),
                sessions: client.part_of(limits.sessions, 4),
            },
        },
    })
}

/// Numbers for Prometheus.
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "Numbers.", body = String)))]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let (at_work, waiting) = app.admission.counts();
    metrics::gauge!("abridge_requests_at_work").set(at_work as f64);
    metrics::gauge!("abridge_requests_waiting").set(waiting as f64);
    metrics::gauge!("abridge_orders_waiting").set(app.engine.waiting() as f64);
    metrics::counter!("abridge_sentences_total").absolute(app.engine.sentences() as u64);
    if let Ok((sessions, bytes)) = app.sessions.counts().await {
        metrics::gauge!("abridge_sessions").set(sessions as f64);
        metrics::gauge!("abridge_session_bytes").set(bytes as f64);
    }
    let recorder = telemetry::recorder();
    let recorder =
        recorder.ok_or_else(|| ApiError::new(Code::Unavailable, "no numbers are kept"))?;
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((StatusCode::OK, kind, recorder.render()).into_response())
}

/// This description. Anybody may ask for it, so it is made once.
pub(crate) async fn openapi(State(app): State<Arc<App>>) -> impl IntoResponse {
    let describe =
        || super::describe::description_of(&app.models, &app.settings.limits).to_string();
    let text = app.description.get_or_init(|| describe().into()).clone();
    ([(header::CONTENT_TYPE, "application/json")], text)
}

impl App {
    fn model_answers(&self) -> Vec<ModelAnswer> {
        let answer = |model: &crate::models::Served| ModelAnswer {
            name: model.name.clone(),
            source: model.languages().0.to_owned(),
            target: model.languages().1.to_owned(),
            targets: model.targets().into_iter().map(str::to_owned).collect(),
            context_size: model.context_size(),
            hash: model.translator.hash().to_owned(),
        };
        self.models.iter().map(answer).collect()
    }
}
