//! Routes, with their requests and responses.

mod body;
mod describe;
mod files;
mod health;
mod libre;
mod sessions;
mod size;
mod stream;
mod translate;
mod types;
mod work;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use tower_http::catch_panic::CatchPanicLayer;

pub use describe::description;
pub(crate) use libre::{LibreError, is_libre};

use crate::admission::Admission;
use crate::client::Client;
use crate::doors::Place;
use crate::engine::Engine;
use crate::error::{ApiError, Code};
use crate::guard::{Guard, guard};
use crate::keys::Keys;
use crate::models::Models;
use crate::page;
use crate::sessions::Sessions;
use crate::settings::ServeSettings;
use crate::telemetry;

/// Everything that requests share.
pub(crate) struct App {
    pub models: Models,
    pub engine: Engine,
    pub admission: Admission,
    /// The same for splitting texts and counting tokens beforehand.
    pub reading: Admission,
    pub sessions: Sessions,
    pub keys: Keys,
    pub guard: Guard,
    pub settings: ServeSettings,
    pub started: Instant,
    /// The description at `/openapi.json`.
    pub description: OnceLock<Bytes>,
}

/// The address of a connection's client, and its place among the connections.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub address: IpAddr,
    pub place: Arc<Place>,
}

/// All routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    let guarded = Router::new()
        .route("/v1/translate", post(translate::translate))
        .route("/v1/sessions", post(sessions::create))
        .route("/v1/sessions/{id}", get(sessions::show).delete(sessions::delete))
        .route("/v1/sessions/{id}/translate", post(sessions::translate))
        .route("/v1/files", post(files::translate))
        .route("/v1/models", get(health::models))
        .route("/info", get(health::info))
        .route("/metrics", get(health::metrics))
        .layer(from_fn_with_state(Arc::clone(&app), authorise));
    let cors = app.guard.cors();
    let router = Router::new()
        .merge(guarded)
        .route("/translate", post(libre::translate))
        .route("/languages", get(libre::languages))
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/openapi.json", get(health::openapi))
        .route("/", get(page::index))
        .route("/style.css", get(page::style))
        .route("/script.js", get(page::script))
        .fallback(async || ApiError::new(Code::NotFound, "not found; see /openapi.json"))
        .method_not_allowed_fallback(async || {
            ApiError::new(Code::MethodNotAllowed, "method not allowed; see /openapi.json")
        })
        .layer(from_fn_with_state(Arc::clone(&app), guard))
        .layer(from_fn(telemetry::count))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(secure))
        .with_state(app);
    match cors {
        Some(cors) => router.layer(cors),
        None => router,
    }
}

/// A panic in a handler fails only its request. Its message is not sent: it may contain a client's
/// text.
fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    ApiError::new(Code::Internal, "internal error").into_response()
}

/// Rejects requests without a valid key, if keys are required.
async fn authorise(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let peer = request.extensions().get::<Peer>();
    let client = app.client(request.headers(), peer, None)?;
    request.extensions_mut().insert(client);
    Ok(next.run(request).await)
}

/// Adds security headers: no type sniffing, no framing, no referrer.
async fn secure(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let set = |name, value| (name, HeaderValue::from_static(value));
    headers.extend([
        set(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        set(header::REFERRER_POLICY, "no-referrer"),
        set(
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
             img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ]);
    if response.status() == StatusCode::OK {
        let headers = response.headers_mut();
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    response
}

impl App {
    /// The client of a request. `given` is a key in the body, as LibreTranslate's clients send it.
    pub fn client(
        &self,
        headers: &HeaderMap,
        peer: Option<&Peer>,
        given: Option<&str>,
    ) -> Result<Client, ApiError> {
        if self.keys.is_empty() {
            let address = peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.address);
            return Ok(Client::at(address));
        }
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = text("authorization").and_then(|value| value.split_once(' '));
        let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let key = bearer.map(|(_, key)| key.trim()).or(text("x-api-key")).or(given);
        let Some(id) = key.and_then(|key| self.keys.id(key)) else {
            return Err(ApiError::new(
                Code::Unauthorized,
                "this server requires a key: send it as \"Authorization: Bearer KEY\"",
            ));
        };
        let client = Client::with_key(id);
        if let Some(peer) = peer {
            peer.place.shown(&client)?;
        }
        Ok(client)
    }
}

/// The client found by [`authorise`].
pub(crate) type Authorised = Extension<Client>;
