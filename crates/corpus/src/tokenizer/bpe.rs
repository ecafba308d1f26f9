//! A trained tokenizer: a byte-pair model of the `tokenizers` library inside a fixed pipeline.
//!
//! `tokenizer.json` is the truth, and Python's `tokenizers` reads it. Encoding here takes a shorter
//! way to the same ids: it normalises and cuts into words by itself, remembers the pieces of each
//! word, and asks the library only for words that it has not seen.

use std::path::Path;

use serde_json::{Value, json};
use tokenizers::{Model, ModelWrapper};

use super::learn::Learned;
use super::special::{SPACE_MARK, SPECIAL, UNKNOWN_SURFACE};
use super::words::WORD_PATTERN;
use crate::{Error, Result};

/// A tokenizer of a million pieces is smaller.
const LARGEST: u64 = 256 << 20;

/// The byte-pair model and the spelling of its pieces.
#[derive(Clone, Debug)]
pub struct BytePairs {
    reference: tokenizers::Tokenizer,
    pieces: Vec<String>,
}

impl BytePairs {
    /// Puts what was learned into the pipeline.
    pub fn from_learned(learned: &Learned) -> Result<Self> {
        let vocabulary: serde_json::Map<String, Value> = learned
            .pieces
            .iter()
            .enumerate()
            .map(|(id, piece)| (piece.clone(), json!(id)))
            .collect();
        let mut description = pipeline();
        description["model"] = options();
        description["model"]["vocab"] = vocabulary.into();
        description["model"]["merges"] = json!(learned.merges);
        Self::from_json(&description.to_string())
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

    /// The content of `tokenizer.json`.
    pub fn to_json(&self) -> Result<String> {
        self.reference
            .to_string(false)
            .map_err(|error| Error::new(format!("cannot describe the tokenizer: {error}")))
    }

    fn from_json(text: &str) -> Result<Self> {
        let broken = |error: String| Error::new(format!("not a usable tokenizer: {error}"));
        let description: Value =
            serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
        for (part, expected) in pipeline().as_object().into_iter().flatten() {
            if part != "version" && description.get(part) != Some(expected) {
                return Err(broken(format!("its `{part}` is not the one of abridge")));
            }
        }
        // Anything else is not ours, and the library panics over some of it.
        for (option, expected) in options().as_object().into_iter().flatten() {
            if description["model"].get(option) != Some(expected) {
                return Err(broken(format!(
                    "the `{option}` of its model is not the one of abridge"
                )));
            }
        }
        check_pieces(&description["model"]).map_err(broken)?;
        let reference: tokenizers::Tokenizer =
            text.parse().map_err(|error: tokenizers::Error| broken(error.to_string()))?;
        let ModelWrapper::BPE(model) = reference.get_model() else {
            return Err(broken("its model is not BPE".into()));
        };
        let pieces = (0..model.get_vocab_size() as u32)
            .map(|id| {
                model.id_to_token(id).ok_or_else(|| broken(format!("no piece has the id {id}")))
            })
            .collect::<Result<Vec<String>>>()?;
        for (id, special) in SPECIAL.iter().enumerate() {
            if pieces.get(id).map(String::as_str) != Some(special) {
                return Err(broken(format!("the id {id} is not `{special}`")));
            }
        }
        Ok(Self { reference, pieces })
    }

    /// The pieces in order of their ids.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// The id of a piece.
    pub fn id(&self, piece: &str) -> Option<u32> {
        self.reference.get_model().token_to_id(piece)
    }

    /// Appends the ids of one word, whose leading space, if any, is still a space.
    pub fn encode_word(&self, word: &str, ids: &mut Vec<u32>) {
        let marked = word.replace(' ', SPACE_MARK.encode_utf8(&mut [0; 4]));
        let tokens = self.reference.get_model().tokenize(&marked);
        // The model fails only when its unknown token is missing, which loading has checked.
        ids.extend(tokens.into_iter().flatten().map(|token| token.id));
    }

    /// The ids as the library itself computes them, through every step of `tokenizer.json`.
    #[cfg(test)]
    pub fn encode_by_reference(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self
            .reference
            .encode_fast(text, false)
            .map_err(|error| Error::new(format!("cannot encode: {error}")))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The text of ids as the library itself computes it.
    #[cfg(test)]
    pub fn decode_by_reference(&self, ids: &[u32]) -> Result<String> {
        self.reference
            .decode(ids, false)
            .map_err(|error| Error::new(format!("cannot decode: {error}")))
    }
}

/// Checks that ids are 0, 1, 2 and so on, and that every merge makes a piece of two: the library
/// takes both for granted.
fn check_pieces(model: &Value) -> std::result::Result<(), String> {
    let pieces = model["vocab"].as_object().ok_or("its `vocab` is not a table")?;
    let mut ids: Vec<u64> = pieces.values().filter_map(Value::as_u64).collect();
    ids.sort_unstable();
    if let Some(missing) = (0..pieces.len() as u64).find(|&id| ids.get(id as usize) != Some(&id)) {
        return Err(format!("no piece, or more than one, has the id {missing}"));
    }
    for merge in model["merges"].as_array().ok_or("its `merges` are not a list")? {
        let pair: Vec<&str> = match merge {
            Value::String(pair) => pair.split(' ').collect(),
            Value::Array(pair) => pair.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let [left, right] = pair[..] else {
            return Err(format!("{merge} is not a merge of two pieces"));
        };
        let joined = format!("{left}{right}");
        if let Some(piece) = [left, right, &joined].into_iter().find(|p| !pieces.contains_key(*p)) {
            return Err(format!("the merge {merge} needs the piece {piece:?}, which is missing"));
        }
    }
    Ok(())
}

/// Everything in the model but its pieces and merges.
fn options() -> Value {
    json!({
        "type": "BPE",
        "dropout": null,
        "unk_token": SPECIAL[super::special::UNKNOWN as usize],
        "continuing_subword_prefix": null,
        "end_of_word_suffix": null,
        "fuse_unk": true,
        "byte_fallback": false,
        "ignore_merges": false,
    })
}

/// Everything in `tokenizer.json` but the model.
///
/// The special tokens are entries of the vocabulary but not "added tokens": text that spells
/// `</s>` must stay text and never become the end of a sentence.
fn pipeline() -> Value {
    let mark = SPACE_MARK.to_string();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": { "type": "Sequence", "normalizers": [
            { "type": "Nmt" },
            { "type": "NFKC" },
            { "type": "Replace", "pattern": { "Regex": " {2,}" }, "content": " " },
            { "type": "Strip", "strip_left": true, "strip_right": true },
            { "type": "Prepend", "prepend": " " },
        ]},
        "pre_tokenizer": { "type": "Sequence", "pretokenizers": [
            { "type": "Split", "pattern": { "Regex": WORD_PATTERN }, "behavior": "Isolated",
              "invert": false },
            { "type": "Metaspace", "replacement": mark, "prepend_scheme": "never",
              "split": false },
        ]},
        "post_processor": null,
        "decoder": { "type": "Sequence", "decoders": [
            { "type": "Replace", "pattern": { "Regex": "^(?:<s>|<pad>|</s>|<brk>)$" },
              "content": "" },
            { "type": "Replace", "pattern": { "Regex": "^<unk>$" }, "content": UNKNOWN_SURFACE },
            { "type": "Replace", "pattern": { "String": mark }, "content": " " },
            { "type": "Fuse" },
            { "type": "Strip", "content": " ", "start": 1, "stop": 0 },
        ]},
    })
}
