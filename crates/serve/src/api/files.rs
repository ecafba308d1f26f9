//! `POST /v1/files`: a file in, the same format out.

use std::path::Path as FilePath;
use std::sync::Arc;

use abridge_corpus::{Corpus, Format, read_bytes};
use abridge_translate::Prose;
use axum::Extension;
use axum::extract::{FromRequest, Multipart, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::body::{Raw, check_plain, is_type};
use super::stream;
use super::translate::wants_stream;
use super::types::{Options, StreamEvent};
use super::work::{Counted, RequestPlan, Work};
use super::{App, Authorised};
use crate::engine::Translated;
use crate::error::{ApiError, Code};

/// How a file is translated.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct FileQuery {
    /// The file's name, which determines its format.
    #[param(example = "film.srt")]
    name: Option<String>,
    /// The format, if name and content do not determine it.
    #[param(inline)]
    format: Option<FileFormat>,
    /// The name of the model.
    model: Option<String>,
    /// The code of the source language.
    source: Option<String>,
    /// The code of the target language.
    target: Option<String>,
    /// How many previous sentences to use as context.
    context: Option<usize>,
    /// The beam size.
    #[param(minimum = 1, maximum = 16)]
    beam: Option<usize>,
}

/// Formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    /// Running text, split into sentences.
    Text,
    /// A corpus format.
    Of(Format),
}

const RUNNING_TEXT: &str = "txt";

impl<'de> Deserialize<'de> for FileFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match &*String::deserialize(deserializer)? {
            RUNNING_TEXT => Ok(Self::Text),
            name => name.parse().map(Self::Of).map_err(serde::de::Error::custom),
        }
    }
}

impl PartialSchema for FileFormat {
    fn schema() -> RefOr<Schema> {
        let names = Format::ALL.iter().map(|format| format.name());
        let object = ObjectBuilder::new().schema_type(Type::String);
        object.enum_values(Some([RUNNING_TEXT].into_iter().chain(names))).into()
    }
}

impl ToSchema for FileFormat {}

/// The last event of a streamed file.
#[derive(Debug, Serialize)]
struct FileDone<'a> {
    name: &'a str,
    content: &'a str,
    signature: &'a str,
}

/// A parsed file.
enum Parsed {
    Text(Prose),
    Corpus(Box<Corpus>),
}

impl Parsed {
    fn documents(&self) -> Vec<Vec<String>> {
        match self {
            Self::Text(text) => vec![text.sentences.clone()],
            Self::Corpus(corpus) => corpus
                .documents
                .iter()
                .map(|document| document.segments.iter().map(|s| s.source.clone()).collect())
                .collect(),
        }
    }

    fn write(&self, translations: &[Vec<String>]) -> Result<String, ApiError> {
        match self {
            Self::Text(text) => Ok(text.put_together(&translations.concat())),
            Self::Corpus(corpus) => {
                let mut bytes = Vec::new();
                let written = corpus.write_translation(translations, &mut bytes);
                written.map_err(|error| ApiError::new(Code::Internal, error.to_string()))?;
                String::from_utf8(bytes)
                    .map_err(|error| ApiError::new(Code::Internal, error.to_string()))
            }
        }
    }

    fn ending(&self) -> &'static str {
        match self {
            Self::Text(_) => "txt",
            Self::Corpus(corpus) => corpus.format().ending(),
        }
    }

    fn media_type(&self) -> &'static str {
        match self {
            Self::Text(_) => Format::Lines.media_type(),
            Self::Corpus(corpus) => corpus.format().media_type(),
        }
    }
}

/// Translates a file and returns it in the same format.
///
/// The file is the body itself, or the part `file` of a form.
#[utoipa::path(
    post,
    path = "/v1/files",
    params(FileQuery),
    request_body(content = String, content_type = "text/plain"),
    responses((status = 200, description = "The translated file.", content(
        (String = "text/plain"), (String = "text/vtt"), (String = "application/x-subrip"),
        (String = "application/jsonl"), (String = "application/xml"), (StreamEvent = "text/event-stream"),
    )))
)]
pub(crate) async fn translate(
    State(app): State<Arc<App>>,
    Extension(client): Authorised,
    query: Result<Query<FileQuery>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let Query(query) = query.map_err(|error| ApiError::new(Code::Invalid, error.body_text()))?;
    let (name, source, target) = (&query.model, &query.source, &query.target);
    let model = app.models.find(name.as_deref(), source.as_deref(), target.as_deref())?;
    let options = Options { beam: query.beam, ..Options::default() };
    let is_streamed = wants_stream(&headers);
    let plan = RequestPlan::new(&app, model, client, options, is_streamed)?;
    let start = app.session(model, query.context, target.as_deref())?;
    let (bytes, sent_name) = file(request, &app).await?;
    let name = query.name.or(sent_name).unwrap_or_else(|| "file".into());

    let (checking, format, named) = (Arc::clone(&app), query.format, name.clone());
    let read = move || -> Result<_, ApiError> {
        let language = checking.models.get(model).languages().0.to_owned();
        let parsed = parse(&named, bytes, format, &language)?;
        let (all, most) = (parsed.documents().concat(), checking.settings.limits.file_segments);
        Ok((parsed, checking.count(model, all, most, "the file")?.lengths))
    };
    let (parsed, lengths) = app.read(&plan.client, read).await?;

    let documents = parsed.documents();
    let mut lengths = lengths.into_iter();
    let order = |sentences: &Vec<String>| {
        let lengths = lengths.by_ref().take(sentences.len()).collect();
        let counted = Counted { sentences: sentences.clone(), lengths };
        plan.order(start.clone(), Counted::default(), counted)
    };
    let orders = documents.iter().map(order).collect();
    let allowed = app.settings.limits.file_deadline;
    let mut work = Work::begin(&app, &plan, orders, allowed).await?;
    let target = app.target(model, &start);
    let name = translated_name(&name, &target, parsed.ending());
    let signature = app.signature(&plan, &start);
    if is_streamed {
        let patience = app.settings.limits.stall;
        return Ok(stream::answer(patience, async move |events| {
            events.file(&documents).await?;
            let mut texts: Vec<Vec<String>> = documents.iter().map(|_| Vec::new()).collect();
            let mut index = 0;
            while let Some((document, translations)) = work.next().await? {
                for translation in translations {
                    let source = &documents[document][texts[document].len()];
                    events.plain(index, source, &translation.text).await?;
                    texts[document].push(translation.text);
                    index += 1;
                }
            }
            drop(work);
            let content = parsed.write(&texts)?;
            events.done(&FileDone { name: &name, content: &content, signature: &signature }).await
        }));
    }
    let all = work.all().await?;
    drop(work);
    let texts = |translations: Vec<Translated>| -> Vec<String> {
        translations.into_iter().map(|translated| translated.text).collect()
    };
    let content = parsed.write(&all.into_iter().map(texts).collect::<Vec<_>>())?;
    let kind = parsed.media_type();
    let mut response = content.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let disposition = HeaderValue::try_from(format!("attachment; filename=\"{name}\""));
    if let Ok(disposition) = disposition {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    if let Ok(signature) = HeaderValue::try_from(signature) {
        headers.insert("x-abridge-signature", signature);
    }
    Ok(response)
}

/// The file of a request, and its name if the form has one.
async fn file(request: Request, app: &Arc<App>) -> Result<(Vec<u8>, Option<String>), ApiError> {
    let headers = request.headers().clone();
    let Raw(bytes) = Raw::from_request(request, app).await?;
    if !is_type(&headers, "multipart/form-data") {
        return Ok((bytes.into(), None));
    }
    let broken = |problem: String| ApiError::new(Code::Malformed, problem);
    let mut again = Request::new(axum::body::Body::from(bytes));
    *again.headers_mut() = headers;
    let mut form = Multipart::from_request(again, app)
        .await
        .map_err(|error| broken(format!("the form cannot be read: {}", error.body_text())))?;
    while let Some(field) = form.next_field().await.map_err(|error| broken(error.body_text()))? {
        if field.name() == Some("file") {
            let name = field.file_name().map(str::to_owned);
            let bytes = field.bytes().await.map_err(|error| broken(error.body_text()))?;
            check_plain(&bytes)?;
            return Ok((bytes.into(), name));
        }
    }
    Err(ApiError::new(Code::Invalid, "the form has no part \"file\""))
}

fn parse(
    name: &str,
    bytes: Vec<u8>,
    format: Option<FileFormat>,
    language: &str,
) -> Result<Parsed, ApiError> {
    let unreadable = |error: abridge_corpus::Error| ApiError::new(Code::Invalid, error.to_string());
    // Only for messages and the extension; no such file is opened.
    let path = FilePath::new(FilePath::new(name).file_name().unwrap_or("file".as_ref()));
    let wanted = match format {
        None | Some(FileFormat::Text) => None,
        Some(FileFormat::Of(format)) => Some(format),
    };
    let is_text = format == Some(FileFormat::Text);
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).map_err(|error| {
            let bytes = error.as_bytes();
            let valid = error.utf8_error().valid_up_to();
            let line = bytes[..valid].split(|byte| *byte == b'\n').count();
            let problem = format!("{name}:{line}: invalid UTF-8; convert the file to UTF-8");
            ApiError::new(Code::Invalid, problem)
        })?;
        Ok(Parsed::Text(Prose::new(&text, language)))
    };
    if is_text {
        return text(bytes);
    }
    let corpus = read_bytes(path, bytes.clone(), wanted).map_err(unreadable)?;
    if corpus.format() == Format::Lines && format.is_none() {
        return text(bytes);
    }
    Ok(Parsed::Corpus(Box::new(corpus)))
}

/// `film.srt` becomes `film.de.srt`; characters that are special in headers or shells are dropped.
fn translated_name(name: &str, language: &str, ending: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let plain: String =
        stem.chars().filter(|c| c.is_ascii_alphanumeric() || "-_. ".contains(*c)).collect();
    let plain = plain.trim();
    let stem = if plain.is_empty() { "file" } else { plain };
    format!("{stem}.{language}.{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_sanitised() {
        assert_eq!(translated_name("film.srt", "de", "srt"), "film.de.srt");
        assert_eq!(translated_name("../a/b\"\r\n.txt", "de", "txt"), "b.de.txt");
        assert_eq!(translated_name("電影.srt", "de", "srt"), "file.de.srt");
    }
}
