//! Errors at startup and in requests.

use std::fmt;

use abridge_base::Kind;
use abridge_base::error::HasKind;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// The result of starting or running a server.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings are invalid or unsafe.
    #[error("{0}")]
    Settings(String),
    /// A model cannot be used.
    #[error(transparent)]
    Translate(#[from] abridge_translate::Error),
    /// An I/O error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The Redis server cannot be reached.
    #[error("cannot use the Redis server for sessions: {0}")]
    Redis(String),
}

impl HasKind for Error {
    fn kind(&self) -> Kind {
        match self {
            Self::Translate(error) => error.kind(),
            Self::Io(_) => Kind::Data,
            Self::Settings(_) | Self::Redis(_) => Kind::Usage,
        }
    }
}

/// The machine-readable code of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Code {
    /// The JSON or the text cannot be parsed.
    Malformed,
    /// A field is invalid.
    Invalid,
    /// No key, or an unknown one.
    Unauthorized,
    /// A page of another site, or an unknown host name.
    Forbidden,
    /// No such path.
    NotFound,
    /// This path does not support the method.
    MethodNotAllowed,
    /// No such model or language direction.
    UnknownModel,
    /// Another request advanced the document at the same time.
    SessionConflict,
    /// The session has expired.
    SessionGone,
    /// The body is too large.
    TooLarge,
    /// The body has an unexpected media type.
    UnsupportedMediaType,
    /// There are too many requests.
    TooManyRequests,
    /// An internal error.
    Internal,
    /// The server is too busy, or has no room for another session.
    Unavailable,
    /// The translation took too long.
    Timeout,
    /// The body was sent too slowly.
    SlowBody,
}

impl Code {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound | Self::UnknownModel => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::SessionConflict => StatusCode::CONFLICT,
            Self::SessionGone => StatusCode::GONE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
        }
    }
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ApiError {
    /// Machine-readable.
    pub code: Code,
    /// Human-readable: what is wrong and what to do.
    pub message: String,
    /// The index of the sentence concerned, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
}

/// An error response.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// The error.
    pub error: ApiError,
}

impl ApiError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), index: None }
    }

    pub fn at(mut self, index: usize) -> Self {
        self.index = Some(index);
        self
    }

    /// Seconds after which the client may try again.
    fn retry_after(&self) -> Option<u32> {
        match self.code {
            Code::TooManyRequests => Some(1),
            Code::Unavailable => Some(5),
            _ => None,
        }
    }

    /// Adds the headers that belong to the error.
    pub fn decorate(&self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = axum::Json(ErrorBody { error: self.clone() });
        self.decorate((self.code.status(), body).into_response())
    }
}
