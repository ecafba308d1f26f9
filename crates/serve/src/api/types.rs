//! What requests and answers hold.

use abridge_translate::BeamSettings;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::attention::AttentionView;
use crate::error::{ApiError, Code};
use crate::settings::Limits;

/// A document to be translated.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TranslateRequest {
    /// The name of the model; the first one that suits, where it is not given.
    pub model: Option<String>,
    /// The code of the source language.
    #[schema(example = "en")]
    pub source: Option<String>,
    /// The code of the target language.
    #[schema(example = "de")]
    pub target: Option<String>,
    /// The sentences, in their order. Either this or `text`.
    #[schema(max_items = 256, example = json!(["The lamp is old.", "It is broken."]))]
    pub sentences: Option<Vec<String>>,
    /// A text, which is split into sentences. Either this or `sentences`.
    pub text: Option<String>,
    /// Sentences before, which are remembered and not translated.
    #[schema(max_items = 256)]
    pub before: Vec<String>,
    /// How many sentences are looked back at; as many as the model can by default, 0 for none.
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
    /// The sentences, in their order. Either this or `text`.
    #[schema(max_items = 256)]
    pub sentences: Option<Vec<String>>,
    /// A text, which is split into sentences. Either this or `sentences`.
    pub text: Option<String>,
    /// How to translate.
    pub options: Options,
    /// Sends each sentence as soon as it is translated, as server-sent events.
    pub stream: bool,
}

/// A document whose sentences will come in several requests.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SessionRequest {
    /// The name of the model; the first one that suits, where it is not given.
    pub model: Option<String>,
    /// The code of the source language.
    pub source: Option<String>,
    /// The code of the target language.
    pub target: Option<String>,
    /// How many sentences are remembered; as many as the model can by default.
    pub context: Option<usize>,
    /// Sentences before, which are remembered and not translated.
    #[schema(max_items = 256)]
    pub before: Vec<String>,
}

/// How to translate.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    /// Hypotheses that are followed at once; 5 by default.
    #[schema(minimum = 1, maximum = 16)]
    pub beam: Option<usize>,
    /// A hypothesis of n words scores its log-probability divided by n to this power; 1 by default.
    #[schema(minimum = -10.0, maximum = 10.0)]
    pub length_penalty: Option<f64>,
    /// The longest translation of a sentence in tokens; 200 by default.
    #[schema(minimum = 1, maximum = 1024)]
    pub max_length: Option<usize>,
    /// Adds scores to the answer.
    pub scores: bool,
    /// Adds to the answer which words each translation looked at.
    pub attention: bool,
}

/// A translated document.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct TranslateAnswer {
    /// The name of the model.
    pub model: String,
    /// One translation per sentence, in their order.
    pub translations: Vec<String>,
    /// The translated text, where a text was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The sentences that the text was split into, where a text was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentences: Option<Vec<String>>,
    /// The score of each translation, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<Vec<f64>>,
    /// Where each translation looked, where that was asked for; nothing for an empty sentence. It may
    /// be large, so it is added piece by piece when the answer is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<Vec<Option<AttentionView>>>,
    /// Which translations were as long as is allowed and may lack their end.
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
    /// JSON: the sentences; a sentence with its translation; the answer; or an error.
    data: String,
}

/// A session.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SessionAnswer {
    /// Its name in addresses.
    pub id: String,
    /// The name of the model.
    pub model: String,
    /// How many sentences are remembered at most.
    pub context_size: usize,
    /// How many sentences are remembered.
    pub remembered: usize,
    /// How many sentences have been read.
    pub sentences: u64,
    /// The memory that it takes.
    pub bytes: usize,
    /// How long it stays when it is not used.
    pub expires_in_seconds: u64,
}

impl Options {
    /// The settings of the search, within limits; what is not asked for is the model's own.
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
            return refuse(format!("beam is {}, more than {}", settings.beam, limits.beam));
        }
        if settings.max_length > limits.tokens {
            let (wanted, most) = (settings.max_length, limits.tokens);
            return refuse(format!("max_length is {wanted}, more than {most}"));
        }
        if settings.length_penalty.abs() > 10.0 {
            return refuse("length_penalty is not between -10 and 10".into());
        }
        settings.check().map_err(|error| ApiError::new(Code::Invalid, error.to_string()))?;
        Ok(settings)
    }
}
