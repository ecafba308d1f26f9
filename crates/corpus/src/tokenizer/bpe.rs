//! A trained tokenizer: byte pairs inside a fixed pipeline.
//!
//! `tokenizer.json` defines the tokenizer, and Python's `tokenizers` can read it. Encoding here
//! takes a shorter path to the same ids: it does its own normalisation and word splitting, caches
//! the pieces of each word, and merges only unseen words. Tests compare it with the library.

use std::path::Path;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::learn::Learned;
use super::merges::Merges;
use super::special::{SPACE_MARK, SPECIAL, UNKNOWN};
use crate::{Error, Result};

/// The largest file; a tokenizer of a million pieces is smaller.
const LARGEST: u64 = 256 << 20;

/// The byte-pair model and the spelling of its pieces.
#[derive(Clone, Debug)]
pub struct BytePairs {
    pieces: Vec<String>,
    /// Looked up, never iterated.
    ids: FxHashMap<String, u32>,
    merges: Merges,
}

/// The learned part of the model in `tokenizer.json`.
#[derive(Deserialize)]
struct Description {
    vocab: Map<String, Value>,
    merges: Vec<(String, String)>,
}

/// Options of the library's byte-pair model.
#[derive(Serialize)]
struct ModelOptions {
    r#type: &'static str,
    dropout: Option<f32>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    fuse_unk: bool,
    byte_fallback: bool,
    ignore_merges: bool,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            r#type: "BPE",
            dropout: None,
            unk_token: Some(SPECIAL[UNKNOWN as usize].to_owned()),
            continuing_subword_prefix: None,
            end_of_word_suffix: None,
            fuse_unk: true,
            byte_fallback: false,
            ignore_merges: false,
        }
    }
}

impl BytePairs {
    /// A model from learned pieces and merges.
    pub fn from_learned(learned: &Learned) -> Result<Self> {
        Self::new(learned.pieces.clone(), &learned.merges)
    }

    fn new(pieces: Vec<String>, pairs: &[(String, String)]) -> Result<Self> {
        for (id, special) in SPECIAL.iter().enumerate() {
            if pieces.get(id).map(String::as_str) != Some(special) {
                return Err(broken(format!("the id {id} is not `{special}`")));
            }
        }
        let ids: FxHashMap<String, u32> =
            pieces.iter().enumerate().map(|(id, piece)| (piece.clone(), id as u32)).collect();
        let id = |piece: &str| {
            let found = ids.get(piece).copied();
            found.ok_or_else(|| broken(format!("a merge needs `{piece}`, which is not a piece")))
        };
        let mut merges = Merges::default();
        for (left, right) in pairs {
            merges.push((id(left)?, id(right)?), id(&format!("{left}{right}"))?);
        }
        Ok(Self { pieces, ids, merges })
    }

    /// Reads `tokenizer.json`, which must describe the pipeline of this crate.
    pub fn load(path: &Path) -> Result<Self> {
        let text = abridge_base::files::read_text(path, LARGEST)?;
        Self::from_json(&text).map_err(|error| {
            error
                .in_file(path)
                .remedy("use a tokenizer that abridge has trained, or import a SentencePiece model")
        })
    }

    /// The content of `tokenizer.json`, byte for byte as the library would write it.
    pub fn to_json(&self) -> String {
        let text = |piece: &str| Value::from(piece).to_string();
        let options = serde_json::to_string(&ModelOptions::default()).unwrap_or_default();
        let vocabulary: Vec<String> = self
            .pieces
            .iter()
            .enumerate()
            .map(|(id, piece)| format!("{}:{id}", text(piece)))
            .collect();
        let pair = |&(left, right): &(u32, u32)| {
            let (left, right) = (&self.pieces[left as usize], &self.pieces[right as usize]);
            format!("[{},{}]", text(left), text(right))
        };
        let merges: Vec<String> = self.merges.pairs().iter().map(pair).collect();
        format!(
            r#"{},"model":{{{},"vocab":{{{}}},"merges":[{}]}}}}"#,
            PIPELINE.strip_suffix('}').unwrap_or_default(),
            options.trim_matches(['{', '}']),
            vocabulary.join(","),
            merges.join(",")
        )
    }

    fn from_json(text: &str) -> Result<Self> {
        let mut description: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
        let expected: Map<String, Value> =
            serde_json::from_str(PIPELINE).map_err(|error| broken(error.to_string()))?;
        for (part, expected) in &expected {
            if part != "version" && description.get(part) != Some(expected) {
                return Err(broken(format!("its `{part}` is not that of abridge")));
            }
        }
        let model = description.remove("model").unwrap_or_default();
        let options = serde_json::to_value(ModelOptions::default()).unwrap_or_default();
        for (option, expected) in options.as_object().into_iter().flatten() {
            if model.get(option) != Some(expected) {
                return Err(broken(format!("the `{option}` of its model is not that of abridge")));
            }
        }
        let model: Description =
            serde_json::from_value(model).map_err(|error| broken(error.to_string()))?;
        let mut pieces = vec![None; model.vocab.len()];
        for (piece, id) in model.vocab {
            let place = id.as_u64().and_then(|id| pieces.get_mut(usize::try_from(id).ok()?));
            let place =
                place.ok_or_else(|| broken(format!("`{piece}` cannot have the id {id}")))?;
            *place = Some(piece);
        }
        let named = |(id, piece): (usize, Option<String>)| {
            piece.ok_or_else(|| broken(format!("no piece has the id {id}")))
        };
        let pieces = pieces.into_iter().enumerate().map(named).collect::<Result<Vec<String>>>()?;
        Self::new(pieces, &model.merges)
    }

    /// The pieces in order of their ids.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// The id of a piece.
    pub fn id(&self, piece: &str) -> Option<u32> {
        self.ids.get(piece).copied()
    }

    /// Appends the ids of one word, whose leading space, if any, is still U+0020.
    pub fn encode_word(&self, word: &str, ids: &mut Vec<u32>) {
        let mut characters: Vec<u32> = Vec::with_capacity(word.len());
        for character in word.chars() {
            let character = if character == ' ' { SPACE_MARK } else { character };
            let id = self.id(character.encode_utf8(&mut [0; 4])).unwrap_or(UNKNOWN);
            // Adjacent unknown characters are one unknown piece.
            if id != UNKNOWN || characters.last() != Some(&UNKNOWN) {
                characters.push(id);
            }
        }
        self.merges.apply(&characters, ids);
    }
}

fn broken(reason: String) -> Error {
    Error::new(format!("not a usable tokenizer: {reason}"))
}

/// Everything in `tokenizer.json` but the model.
///
/// The special tokens are entries of the vocabulary but not "added tokens": text that spells
/// `</s>` must stay text and never become the end of a sentence.
const PIPELINE: &str = concat!(
    r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"#,
    r#""normalizer":{"type":"Sequence","normalizers":["#,
    r#"{"type":"Nmt"},"#,
    r#"{"type":"NFKC"},"#,
    r#"{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "},"#,
    r#"{"type":"Strip","strip_left":true,"strip_right":true},"#,
    r#"{"type":"Prepend","prepend":" "}]},"#,
    r#""pre_tokenizer":{"type":"Sequence","pretokenizers":["#,
    r#"{"type":"Split","pattern":{"Regex":" ?[\\p{Alphabetic}\\p{M}]+| ?[^ \\p{Alphabetic}\\p{M}]+| "},"#,
    r#""behavior":"Isolated","invert":false},"#,
    r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":false}]},"#,
    r#""post_processor":null,"#,
    r#""decoder":{"type":"Sequence","decoders":["#,
    r#"{"type":"Replace","pattern":{"Regex":"^(?:<s>|<pad>|</s>|<brk>)$"},"content":""},"#,
    r#"{"type":"Replace","pattern":{"Regex":"^<unk>$"},"content":" ⁇ "},"#,
    r#"{"type":"Replace","pattern":{"String":"▁"},"content":" "},"#,
    r#"{"type":"Fuse"},"#,
    r#"{"type":"Strip","content":" ","start":1,"stop":0}]}}"#,
);

#[cfg(test)]
mod tests {
    use super::super::special::UNKNOWN_SURFACE;
    use super::super::words::WORD_PATTERN;
    use super::*;

    #[test]
    fn the_stored_pipeline_matches_the_encoder() {
        let pipeline: Value = serde_json::from_str(PIPELINE).unwrap();
        assert_eq!(pipeline["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"], WORD_PATTERN);
        assert_eq!(pipeline["decoder"]["decoders"][1]["content"], UNKNOWN_SURFACE);
        let mark = pipeline["pre_tokenizer"]["pretokenizers"][1]["replacement"].as_str();
        assert_eq!(mark, Some(SPACE_MARK.to_string().as_str()));
    }
}
