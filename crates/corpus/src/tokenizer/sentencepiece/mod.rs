//! Import of SentencePiece models and fairseq dictionaries, parsed by this crate itself.
//!
//! The pieces are those of SentencePiece. The ids are looked up by the spelling of each piece, in
//! fairseq's `dict.txt` or in the vocabulary of a Marian model, so that a rare character unknown to
//! SentencePiece can still have its own id if the vocabulary lists it.

mod charsmap;
mod fairseq;
mod listed;
mod model;
mod protobuf;
mod segment;

use std::collections::hash_map::Entry;
use std::path::Path;

use rustc_hash::FxHashMap;

pub use listed::{ForeignVocabulary, ListedPieces};
pub use model::Algorithm;
use model::{Model, PieceKind};

use super::special::{SPACE_MARK, SPECIAL, UNKNOWN};
use crate::{Error, Result};

/// The largest file; a model of a million pieces is smaller.
const LARGEST: u64 = 256 << 20;

/// A SentencePiece model together with the ids of the vocabulary in use.
#[derive(Clone, Debug)]
pub struct Imported {
    model: Model,
    pieces: Vec<String>,
    ids: FxHashMap<String, u32>,
    model_bytes: Vec<u8>,
    source: Source,
}

/// Where the ids come from.
#[derive(Clone, Debug)]
enum Source {
    /// The order of the model's pieces.
    Model,
    /// The text of a fairseq `dict.txt`.
    Dictionary(String),
    /// A list of pieces.
    List(ListedPieces),
}

/// One piece of a text, as SentencePiece itself reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Native {
    /// Its spelling in the normalised text.
    pub text: String,
    /// SentencePiece's own id.
    pub id: usize,
}

impl Imported {
    /// Reads a `.model` and, if given, a `dict.txt`.
    pub fn read(model_path: &Path, dictionary_path: Option<&Path>) -> Result<Self> {
        let (model, model_bytes) = read_model(model_path)?;
        let mut source = Source::Model;
        let pieces = if let Some(path) = dictionary_path {
            let text = abridge_base::files::read_text(path, LARGEST)?;
            let pieces = fairseq::parse(&text, path)?;
            source = Source::Dictionary(text);
            pieces
        } else {
            let own = |piece: &&model::Piece| {
                matches!(piece.kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Byte)
                    && !SPECIAL.contains(&piece.text.as_str())
            };
            let learned = model.pieces.iter().filter(own).map(|piece| piece.text.clone());
            SPECIAL.iter().map(ToString::to_string).chain(learned).collect()
        };
        let ids = ids_of(&pieces).map_err(|error| {
            let error = error.in_file(dictionary_path.unwrap_or(model_path));
            error.remedy("remove the second line of that piece")
        })?;
        Ok(Self { model, pieces, ids, model_bytes, source })
    }

    /// Reads a `.model` whose pieces have the ids of a list.
    pub fn read_with(model_path: &Path, list: ListedPieces) -> Result<Self> {
        let (model, model_bytes) = read_model(model_path)?;
        let pieces = list.pieces().to_vec();
        let ids = ids_of(&pieces)?;
        Ok(Self { model, pieces, ids, model_bytes, source: Source::List(list) })
    }

    /// The pieces of a `.model` in the order of SentencePiece's own ids; the unknown piece is
    /// spelled `<unk>`, whatever the model calls it.
    pub fn native_pieces(model_path: &Path) -> Result<Vec<String>> {
        let (model, _) = read_model(model_path)?;
        let spelling = |piece: model::Piece| match piece.kind {
            PieceKind::Unknown => SPECIAL[UNKNOWN as usize].to_owned(),
            _ => piece.text,
        };
        Ok(model.pieces.into_iter().map(spelling).collect())
    }

    /// The pieces of a text with SentencePiece's own ids.
    pub fn native(&self, text: &str) -> Vec<Native> {
        let normalised = self.model.normalise(text);
        let mut pieces = Vec::new();
        for (range, id) in segment::segment(&self.model, &normalised) {
            let text = &normalised[range];
            if id == self.model.unknown && self.model.byte_fallback {
                pieces.extend(text.bytes().map(|byte| {
                    let text = spell_byte(byte);
                    Native { id: self.model.id(&text), text }
                }));
            } else {
                pieces.push(Native { text: text.to_owned(), id });
            }
        }
        pieces
    }

    /// SentencePiece's own id of the unknown piece.
    pub fn native_unknown(&self) -> usize {
        self.model.unknown
    }

    /// The number of SentencePiece's own pieces, including special ones.
    pub fn native_size(&self) -> usize {
        self.model.pieces.len()
    }

    /// Appends the ids of a text.
    pub fn encode(&self, text: &str, output: &mut Vec<u32>) {
        let normalised = self.model.normalise(text);
        for (range, id) in segment::segment(&self.model, &normalised) {
            let text = &normalised[range];
            if id == self.model.unknown && self.model.byte_fallback {
                output.extend(text.bytes().map(|byte| self.id_or_unknown(&spell_byte(byte))));
            } else if let Source::Dictionary(_) = self.source {
                // fairseq separates pieces by whitespace, so a piece that contains some (an
                // ideographic space, say) counts as several.
                output.extend(text.split_whitespace().map(|word| self.id_or_unknown(word)));
            } else {
                output.push(self.id_or_unknown(text));
            }
        }
    }

    /// The text as normalised by the model, with plain spaces instead of `▁`.
    pub fn normalise(&self, text: &str) -> String {
        let normalised = self.model.normalise(text).replace(SPACE_MARK, " ");
        normalised.trim_start_matches(' ').to_owned()
    }

    /// The pieces in order of their ids.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// The id of a piece.
    pub fn id(&self, piece: &str) -> Option<u32> {
        self.ids.get(piece).copied()
    }

    /// The byte that an id represents, in a model that spells unknown characters as bytes.
    pub fn byte(&self, id: u32) -> Option<u8> {
        if !self.model.byte_fallback {
            return None;
        }
        let hexadecimal = self.pieces.get(id as usize)?.strip_prefix("<0x")?.strip_suffix('>')?;
        u8::from_str_radix(hexadecimal, 16).ok()
    }

    /// How the model segments text.
    pub fn algorithm(&self) -> Algorithm {
        self.model.algorithm
    }

    /// The bytes of the `.model`, for a copy beside a trained model.
    pub fn model_bytes(&self) -> &[u8] {
        &self.model_bytes
    }

    /// The text of the `dict.txt`, if there is one.
    pub fn dictionary_text(&self) -> Option<&str> {
        if let Source::Dictionary(text) = &self.source { Some(text) } else { None }
    }

    /// The list of pieces that the ids come from, if there is one.
    pub fn list(&self) -> Option<&ListedPieces> {
        if let Source::List(list) = &self.source { Some(list) } else { None }
    }

    fn id_or_unknown(&self, piece: &str) -> u32 {
        self.id(piece).unwrap_or(UNKNOWN)
    }
}

fn read_model(path: &Path) -> Result<(Model, Vec<u8>)> {
    let bytes = abridge_base::files::read_regular(path, LARGEST)?;
    let model = Model::parse(&bytes).map_err(|error| {
        error.in_file(path).remedy("give the `.model` or `.spm` file that SentencePiece wrote")
    })?;
    Ok((model, bytes))
}

fn ids_of(pieces: &[String]) -> Result<FxHashMap<String, u32>> {
    let mut ids = FxHashMap::default();
    for (id, piece) in pieces.iter().enumerate() {
        match ids.entry(piece.clone()) {
            Entry::Vacant(entry) => entry.insert(id as u32),
            Entry::Occupied(_) => {
                return Err(Error::new(format!("the piece `{piece}` has two ids")));
            }
        };
    }
    Ok(ids)
}

fn spell_byte(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

#[cfg(test)]
mod tests;
