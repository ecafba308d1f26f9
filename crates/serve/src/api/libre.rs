//! LibreTranslate's API, so that its clients work after changing the server address.

use std::sync::Arc;

use axum::extract::{FromRequest, Query, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Form, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::body::{Raw, is_type, parse};
use super::types::Options;
use super::work::{RequestPlan, Work};
use super::{App, Peer};
use crate::error::{ApiError, Code};
use crate::models::Served;

/// What LibreTranslate's clients send.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct LibreRequest {
    /// A text, or several independent ones.
    q: Texts,
    /// The source language, or `auto`.
    #[schema(example = "en")]
    source: String,
    /// The target language.
    #[schema(example = "de")]
    target: String,
    /// `text`; `html` is not supported.
    #[serde(default)]
    format: Option<String>,
    /// A key, if keys are required.
    #[serde(default)]
    api_key: Option<String>,
}

/// One text or several.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Texts {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

/// The translation.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LibreAnswer {
    translated_text: Translated,
    #[serde(skip_serializing_if = "Option::is_none")]
    detected_language: Option<Detected>,
}

/// One translation or several.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Translated {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

/// The source language of the model; nothing is detected.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Detected {
    confidence: f64,
    language: String,
}

/// A language.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Language {
    code: String,
    name: String,
    targets: Vec<String>,
}

/// An error as LibreTranslate sends it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LibreProblem {
    error: String,
}

/// Whether a path belongs to LibreTranslate's API, with its error format.
pub(crate) fn is_libre(path: &str) -> bool {
    matches!(path, "/translate" | "/languages")
}

/// An error in LibreTranslate's format.
pub(crate) struct LibreError(ApiError);

impl From<ApiError> for LibreError {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for LibreError {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let body = Json(LibreProblem { error: error.message.clone() });
        error.decorate((error.code.status(), body).into_response())
    }
}

/// Translates a text, as LibreTranslate does.
#[utoipa::path(
    post,
    path = "/translate",
    request_body(content(
        (LibreRequest = "application/json"),
        (LibreRequest = "application/x-www-form-urlencoded"),
    )),
    responses((status = 200, description = "The translation.", body = LibreAnswer))
)]
pub(crate) async fn translate(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<LibreAnswer>, LibreError> {
    let request = read(&headers, request, &app).await?;
    let peer = peer.as_ref().map(|Extension(peer)| peer);
    let client = app.client(&headers, peer, request.api_key.as_deref())?;
    if request.format.as_deref().is_some_and(|format| format != "text") {
        let problem = "only the format \"text\" is supported here";
        return Err(ApiError::new(Code::Invalid, problem).into());
    }
    let source = Some(request.source.as_str()).filter(|source| *source != "auto");
    let model = app.models.find(None, source, Some(&request.target))?;
    let (texts, is_one) = match request.q {
        Texts::One(text) => (vec![text], true),
        Texts::Several(texts) => (texts, false),
    };
    if texts.len() > app.settings.limits.segments {
        let most = app.settings.limits.segments;
        let problem = format!("{} texts, but the limit is {most}; send fewer", texts.len());
        return Err(ApiError::new(Code::TooLarge, problem).into());
    }
    let plan = RequestPlan::new(&app, model, client, Options::default(), false)?;
    let mut brought = Vec::new();
    for text in texts {
        brought.push(app.bring(&plan.client, model, None, Some(text), Vec::new()).await?);
    }
    let sentences: usize = brought.iter().map(|brought| brought.counted.sentences.len()).sum();
    if sentences > app.settings.limits.segments {
        let most = app.settings.limits.segments;
        let problem = format!("{sentences} sentences, but the limit is {most}; send fewer");
        return Err(ApiError::new(Code::TooLarge, problem).into());
    }
    let mut orders = Vec::new();
    for brought in &brought {
        let session = app.session(model, None, Some(&request.target))?;
        orders.push(plan.order(session, brought.before.clone(), brought.counted.clone()));
    }
    let mut work = Work::begin(&app, &plan, orders, app.settings.limits.deadline).await?;
    let all = work.all().await?;
    drop(work);
    let mut translated: Vec<String> = brought
        .iter()
        .zip(&all)
        .map(|(brought, translations)| {
            let texts: Vec<&str> = translations.iter().map(|t| t.text.as_str()).collect();
            brought.text.as_ref().map(|text| text.put_together(&texts)).unwrap_or_default()
        })
        .collect();
    let detected_language = source.is_none().then(|| Detected {
        confidence: 0.0,
        language: app.models.get(model).languages().0.to_owned(),
    });
    let translated_text = match translated.pop() {
        Some(text) if is_one => Translated::One(text),
        last => {
            translated.extend(last);
            Translated::Several(translated)
        }
    };
    Ok(Json(LibreAnswer { translated_text, detected_language }))
}

async fn read(
    headers: &HeaderMap,
    request: Request,
    app: &Arc<App>,
) -> Result<LibreRequest, ApiError> {
    let Raw(bytes) = Raw::from_request(request, app).await?;
    if is_type(headers, "application/json") {
        return parse(&bytes);
    }
    if !is_type(headers, "application/x-www-form-urlencoded") {
        let problem = "send JSON or a form";
        return Err(ApiError::new(Code::UnsupportedMediaType, problem));
    }
    let mut again = Request::new(axum::body::Body::from(bytes));
    *again.method_mut() = axum::http::Method::POST;
    *again.headers_mut() = headers.clone();
    let form = Form::<LibreRequest>::from_request(again, app).await;
    let Form(request) = form.map_err(|error| ApiError::new(Code::Invalid, error.body_text()))?;
    Ok(request)
}

/// A key in the query, as LibreTranslate's clients send it.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct KeyQuery {
    /// A key, if keys are required.
    api_key: Option<String>,
}

/// The languages, as LibreTranslate lists them.
#[utoipa::path(
    get,
    path = "/languages",
    params(KeyQuery),
    responses((status = 200, description = "The languages.", body = Vec<Language>))
)]
pub(crate) async fn languages(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    query: Result<Query<KeyQuery>, axum::extract::rejection::QueryRejection>,
    request: Request,
) -> Result<Json<Vec<Language>>, LibreError> {
    let Query(query) = query.map_err(|error| ApiError::new(Code::Invalid, error.body_text()))?;
    // LibreTranslate's own client sends its key as the body of a GET.
    let Raw(body) = Raw::from_request(request, &app).await?;
    let body = std::str::from_utf8(&body).unwrap_or_default();
    let key = query.api_key.as_deref().or(body.strip_prefix("api_key="));
    let peer = peer.as_ref().map(|Extension(peer)| peer);
    app.client(&headers, peer, key)?;
    let pairs: Vec<(&str, &str)> = app.models.iter().flat_map(Served::pairs).collect();
    let mut languages: Vec<Language> = Vec::new();
    for code in pairs.iter().flat_map(|(source, target)| [*source, *target]) {
        if languages.iter().any(|language| language.code == code) {
            continue;
        }
        let mut targets: Vec<String> = Vec::new();
        for (_, target) in pairs.iter().filter(|(source, _)| *source == code) {
            if !targets.iter().any(|known| known == target) {
                targets.push((*target).to_owned());
            }
        }
        languages.push(Language { code: code.to_owned(), name: name(code).to_owned(), targets });
    }
    Ok(Json(languages))
}

/// The English names of common languages.
fn name(code: &str) -> &str {
    match code {
        "ar" => "Arabic",
        "cs" => "Czech",
        "de" => "German",
        "en" => "English",
        "es" => "Spanish",
        "fi" => "Finnish",
        "fr" => "French",
        "it" => "Italian",
        "ja" => "Japanese",
        "ko" => "Korean",
        "nl" => "Dutch",
        "pl" => "Polish",
        "pt" => "Portuguese",
        "ro" => "Romanian",
        "ru" => "Russian",
        "tr" => "Turkish",
        "uk" => "Ukrainian",
        "vi" => "Vietnamese",
        "zh" => "Chinese",
        other => other,
    }
}
