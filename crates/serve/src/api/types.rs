//! The JSON types of requests and responses.

use abridge_translate::BeamSettings;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::attention::AttentionView;
use crate::error::{ApiError, Code};
use crate::settings::Limits;

/// A document to translate.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TranslateRequest {
    /// The name of the model; by default the first one for the languages.
    pub model: Option<String>,
    /// The code of the source language.
    #[schema(example = "en")]
    pub source: Option<String>,
    /// The code of the target language.
    #[schema(example = "de")]
    pub target: Option<String>,
    /// The sentences, in order. Either this or `text`.
    #[schema(max_items = 256, example = json!(["The lamp is old.", "It is broken."]))]
    pub sentences: Option<Vec<String>>,
    /// A text, which is split into sentences. Either this or `sentences`.
    pub text: Option<String>,
    /// Previous sentences, which are used as context and not translated.
    #[schema(max_items = 256)]
    pub before: Vec<String>,
    /// How many previous sentences to use as context; by default as many as the model can, 0 for
    /// none.
    pub context: Option<usize>,
    /// How to translate.
    pub options: Options,
    /// Sends each sentence as soon as it is translated, as server-sent events.
    pub stream: bool,
}

/// The next sentences of a document.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NextRequest {
    /// The sentences, in order. Either this or `text`.
    #[schema(max_items = 256)]
    pub sentences: Option<Vec<String>>,
    /// A text, which is split into sentences. Either this or `sentences`.
    pub text: Option<String>,
    /// How to translate.
    pub options: Options,
    /// Sends each sentence as soon as it is translated, as server-sent events.
    pub stream: bool,
}

/// A document whose sentences will arrive in several requests.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SessionRequest {
    /// The name of the model; by default the first one for the languages.
    pub model: Option<String>,
    /// The code of the source language.
    pub source: Option<String>,
    /// The code of the target language.
    pub target: Option<String>,
    /// How many sentences to remember; by default as many as the model can.
    pub context: Option<usize>,
    /// Previous sentences, which are used as context and not translated.
    #[schema(max_items = 256)]
    pub before: Vec<String>,
}

/// How to translate.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    /// The beam size; 5 by default.
    #[schema(minimum = 1, maximum = 16)]
    pub beam: Option<usize>,
    /// A hypothesis of n tokens scores its log-probability divided by n to this power; 1 by
    /// default.
    #[schema(minimum = -10.0, maximum = 10.0)]
    pub length_penalty: Option<f64>,
    /// The most tokens in the translation of a sentence; 200 by default.
    #[schema(minimum = 1, maximum = 1024)]
    pub max_length: Option<usize>,
    /// Adds scores to the response.
    pub scores: bool,
    /// Adds to the response which words each translation attended to.
    pub attention: bool,
}

/// A translated document.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct TranslateAnswer {
    /// The name of the model.
    pub model: String,
    /// One translation per sentence, in order.
    pub translations: Vec<String>,
    /// The translated text, if a text was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The sentences that the text was split into, if a text was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentences: Option<Vec<String>>,
    /// The score of each translation, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<Vec<f64>>,
    /// The attention of each translation, if requested; null for an empty sentence. It may be
    /// large, so it is added piece by piece when the response is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<Vec<Option<AttentionView>>>,
    /// The indices of translations that reached the length limit and may be truncated.
    pub cut: Vec<usize>,
    /// What the translations depend on.
    pub signature: String,
}

/// A server-sent event.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct StreamEvent {
    /// `start`, `sentence`, `done` or `error`.
    #[schema(example = "sentence")]
    event: String,
    /// JSON: the sentences; a sentence with its translation; the response; or an error.
    data: String,
}

/// A session.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SessionAnswer {
    /// Its id in paths.
    pub id: String,
    /// The name of the model.
    pub model: String,
    /// The most sentences that are remembered.
    pub context_size: usize,
    /// How many sentences are remembered.
    pub remembered: usize,
    /// How many sentences have been read.
    pub sentences: u64,
    /// Bytes of memory.
    pub bytes: usize,
    /// How long it is kept when it is not used.
    pub expires_in_seconds: u64,
}

impl Options {
    /// The search settings, checked against the limits; the model's defaults for missing options.
    pub fn settings(
        &self,
        defaults: &BeamSettings,
        limits: &Limits,
    ) -> Result<BeamSettings, ApiError> {
        let settings = BeamSettings {
            beam: self.beam.unwrap_or(defaults.beam.min(limits.beam)),
            length_penalty: self.length_penalty.unwrap_or(defaults.length_penalty),
            max_length: self.max_length.unwrap_or(defaults.max_length.min(limits.tokens)),
            ..defaults.clone()
        };
        let refuse = |problem: String| Err(ApiError::new(Code::Invalid, problem));
        if settings.beam > limits.beam {
            let (wanted, most) = (settings.beam, limits.beam);
            return refuse(format!("beam is {wanted}, but the limit is {most}"));
        }
        if settings.max_length > limits.tokens {
            let (wanted, most) = (settings.max_length, limits.tokens);
            return refuse(format!("max_length is {wanted}, but the limit is {most}"));
        }
        if settings.length_penalty.abs() > 10.0 {
            return refuse("length_penalty is not between -10 and 10".into());
        }
        settings.check().map_err(|error| ApiError::new(Code::Invalid, error.to_string()))?;
        Ok(settings)
    }
}
