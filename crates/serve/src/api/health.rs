//! Health, metrics and information for operators.

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
    /// The code of the source language; `und` if the model does not name it.
    source: String,
    /// The code of the target language; the default one if there are several.
    target: String,
    /// The codes of all target languages; a request names one of them as `target`.
    targets: Vec<String>,
    /// How many previous sentences it attends to.
    context_size: usize,
    /// The hash of its weights.
    hash: String,
}

/// All models; the first is the default.
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
    /// The limits.
    limits: LimitsAnswer,
}

/// The limits.
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
    /// The caller's share of the limits.
    own: OwnLimits,
}

/// The share of one client: a key, or an address if no keys are required.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct OwnLimits {
    requests_at_work: usize,
    connections: usize,
    sessions: usize,
}

/// Whether the process is alive.
#[utoipa::path(get, path = "/livez", responses((status = 200, description = "It is alive.", body = String)))]
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

/// Prometheus metrics.
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "Metrics.", body = String)))]
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
        recorder.ok_or_else(|| ApiError::new(Code::Unavailable, "metrics are not available"))?;
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((StatusCode::OK, kind, recorder.render()).into_response())
}

/// This description, generated once because it is public.
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
