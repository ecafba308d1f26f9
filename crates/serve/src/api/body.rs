//! Request bodies, limited in size and time, with errors in the API's format.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use tokio_stream::StreamExt;

use super::App;
use crate::error::{ApiError, Code};
use crate::settings::Limits;

/// A body of JSON.
pub(crate) struct ApiJson<T>(pub T);

/// A raw body.
pub(crate) struct Raw(pub Bytes);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for ApiJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        if !is_type(request.headers(), "application/json") {
            return Err(ApiError::new(
                Code::UnsupportedMediaType,
                "send JSON, with the header \"Content-Type: application/json\"",
            ));
        }
        let bytes = read(request, &app.settings.limits).await?;
        parse(&bytes).map(Self)
    }
}

impl FromRequest<Arc<App>> for Raw {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        Ok(Self(read(request, &app.settings.limits).await?))
    }
}

/// Whether the body has this media type.
pub(crate) fn is_type(headers: &HeaderMap, wanted: &str) -> bool {
    let found = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let found = found.and_then(|value| value.split(';').next());
    found.is_some_and(|found| found.trim().eq_ignore_ascii_case(wanted))
}

/// Parses JSON. The parser limits nesting.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let is_form = error.classify() == serde_json::error::Category::Data;
        let code = if is_form { Code::Invalid } else { Code::Malformed };
        ApiError::new(code, format!("{error}"))
    })
}

/// The magic bytes of gzip and Zstandard.
const COMPRESSED: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]];

/// Rejects compressed data, whose uncompressed length is unknown.
pub(crate) fn check_plain(bytes: &[u8]) -> Result<(), ApiError> {
    let is_compressed = COMPRESSED.iter().any(|start| bytes.starts_with(start));
    if is_compressed { Err(compressed()) } else { Ok(()) }
}

fn compressed() -> ApiError {
    ApiError::new(Code::UnsupportedMediaType, "the body is compressed; send it uncompressed")
}

async fn read(request: Request, limits: &Limits) -> Result<Bytes, ApiError> {
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(compressed());
    }
    let too_large = || {
        let problem = format!("the body has more than {} bytes; send it in parts", limits.body);
        ApiError::new(Code::TooLarge, problem)
    };
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limits.body as u64) {
        return Err(too_large());
    }
    let collected = collect(request.into_body(), limits.body);
    match tokio::time::timeout(limits.idle, collected).await {
        Ok(Ok(Some(bytes))) => check_plain(&bytes).map(|()| bytes),
        Ok(Ok(None)) => Err(too_large()),
        Ok(Err(error)) => {
            Err(ApiError::new(Code::Malformed, format!("the body cannot be read: {error}")))
        }
        Err(_) => {
            let seconds = limits.idle.as_secs();
            Err(ApiError::new(Code::SlowBody, format!("the body took more than {seconds} s")))
        }
    }
}

/// The bytes, or `None` if there are more than `most`.
async fn collect(body: Body, most: usize) -> Result<Option<Bytes>, axum::Error> {
    let mut stream = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk?;
        if bytes.len() + chunk.len() > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes.into()))
}
