//! The content of a SentencePiece `.model`: pieces with scores, and how text is normalised.

use rustc_hash::FxHashMap;

use super::charsmap::CharacterMap;
use super::protobuf::{Fields, broken};
use crate::Result;
use crate::tokenizer::special::SPACE_MARK;

/// What a piece of the model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Learned from text.
    Normal,
    /// Represents text that the model cannot spell.
    Unknown,
    /// `<s>` and the like: never produced by text.
    Control,
    /// Always kept whole.
    UserDefined,
    /// In the file, but never produced.
    Unused,
    /// One byte of text that the model cannot spell otherwise.
    Byte,
}

/// One entry of the model.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its spelling, with `▁` for a space.
    pub text: String,
    /// Log-probability (unigram) or negated rank (BPE).
    pub score: f32,
    /// What it is for.
    pub kind: PieceKind,
}

/// How the model segments text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The most probable segmentation.
    Unigram,
    /// Byte pairs.
    Bpe,
}

/// A SentencePiece model in memory.
#[derive(Clone, Debug)]
pub struct Model {
    /// All pieces; the index is SentencePiece's own id.
    pub pieces: Vec<Piece>,
    /// Unigram or BPE.
    pub algorithm: Algorithm,
    /// Spells unknown characters as bytes.
    pub byte_fallback: bool,
    /// The id of the unknown piece.
    pub unknown: usize,
    /// Pieces that text can produce, to their ids.
    pub producible: FxHashMap<String, usize>,
    /// The scores of the worst and the best normal piece.
    pub score_range: (f32, f32),
    /// Bytes in the longest piece that text can produce.
    pub longest: usize,
    /// User-defined symbols, the longest first.
    user_defined: Vec<String>,
    /// Control, unknown and byte pieces: found by spelling, never by merging.
    reserved: FxHashMap<String, usize>,
    normaliser: Normaliser,
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are the flags of the file format")]
struct Normaliser {
    characters: CharacterMap,
    dummy_prefix: bool,
    single_spaces: bool,
    mark_spaces: bool,
    space_is_suffix: bool,
}

impl Model {
    /// Reads the bytes of a `.model` file.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut pieces = Vec::new();
        let mut algorithm = Algorithm::Unigram;
        let mut byte_fallback = false;
        let mut normaliser = Normaliser {
            characters: CharacterMap::default(),
            dummy_prefix: true,
            single_spaces: true,
            mark_spaces: true,
            space_is_suffix: false,
        };
        for field in Fields::new(bytes) {
            let field = field?;
            match field.number {
                1 => pieces.push(parse_piece(field.value.bytes())?),
                2 => {
                    for field in Fields::new(field.value.bytes()) {
                        let field = field?;
                        match field.number {
                            3 => algorithm = parse_algorithm(field.value.number())?,
                            24 => normaliser.space_is_suffix = field.value.number() != 0,
                            35 => byte_fallback = field.value.number() != 0,
                            _ => {}
                        }
                    }
                }
                3 => {
                    for field in Fields::new(field.value.bytes()) {
                        let field = field?;
                        match field.number {
                            2 => normaliser.characters = CharacterMap::new(field.value.bytes())?,
                            3 => normaliser.dummy_prefix = field.value.number() != 0,
                            4 => normaliser.single_spaces = field.value.number() != 0,
                            5 => normaliser.mark_spaces = field.value.number() != 0,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Self::new(pieces, algorithm, byte_fallback, normaliser)
    }

    fn new(
        pieces: Vec<Piece>,
        algorithm: Algorithm,
        byte_fallback: bool,
        normaliser: Normaliser,
    ) -> Result<Self> {
        let mut producible = FxHashMap::default();
        let mut reserved = FxHashMap::default();
        let mut unknown = None;
        for (id, piece) in pieces.iter().enumerate() {
            let map = match piece.kind {
                PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused => &mut producible,
                PieceKind::Unknown | PieceKind::Control | PieceKind::Byte => &mut reserved,
            };
            if piece.text.is_empty() {
                return Err(broken(&format!("the piece {id} is empty")));
            }
            if map.insert(piece.text.clone(), id).is_some() {
                return Err(broken(&format!("the piece `{}` is duplicated", piece.text)));
            }
            if piece.kind == PieceKind::Unknown && unknown.replace(id).is_some() {
                return Err(broken("it has two unknown pieces"));
            }
        }
        let unknown = unknown.ok_or_else(|| broken("it has no unknown piece"))?;
        let mut user_defined: Vec<String> = pieces
            .iter()
            .filter(|piece| piece.kind == PieceKind::UserDefined)
            .map(|piece| piece.text.clone())
            .collect();
        user_defined.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let normal = pieces.iter().filter(|piece| piece.kind == PieceKind::Normal);
        let score_range = normal.fold((f32::MAX, f32::MIN), |(lowest, highest), piece| {
            (lowest.min(piece.score), highest.max(piece.score))
        });
        let longest = pieces.iter().map(|piece| piece.text.len()).max().unwrap_or(0);
        Ok(Self {
            pieces,
            algorithm,
            byte_fallback,
            unknown,
            producible,
            score_range,
            longest,
            user_defined,
            reserved,
            normaliser,
        })
    }

    /// SentencePiece's id of a piece; the unknown id if there is none.
    pub fn id(&self, piece: &str) -> usize {
        self.reserved
            .get(piece)
            .or_else(|| self.producible.get(piece))
            .copied()
            .unwrap_or(self.unknown)
    }

    /// The longest user-defined symbol at the start of `text`.
    pub fn user_defined_prefix(&self, text: &str) -> Option<usize> {
        let found = self.user_defined.iter().find(|symbol| text.starts_with(symbol.as_str()))?;
        Some(found.len())
    }

    /// The text as the model sees it, with `▁` for spaces.
    pub fn normalise(&self, text: &str) -> String {
        let settings = &self.normaliser;
        let space = if settings.mark_spaces { SPACE_MARK } else { ' ' };
        let mut rest = text;
        if settings.single_spaces {
            while !rest.is_empty() {
                let (length, replacement) = self.normalise_prefix(rest);
                if replacement != " " {
                    break;
                }
                rest = &rest[length..];
            }
        }
        let mut output = String::with_capacity(text.len() + 8);
        if rest.is_empty() {
            return output;
        }
        if settings.dummy_prefix && !settings.space_is_suffix {
            output.push(space);
        }
        let mut after_space = settings.single_spaces;
        while !rest.is_empty() {
            let (length, mut replacement) = self.normalise_prefix(rest);
            while after_space && let Some(shorter) = replacement.strip_prefix(' ') {
                replacement = shorter;
            }
            if !replacement.is_empty() {
                output.extend(replacement.chars().map(|c| if c == ' ' { space } else { c }));
                after_space = replacement.ends_with(' ');
            }
            rest = &rest[length..];
            if !settings.single_spaces {
                after_space = false;
            }
        }
        if settings.single_spaces {
            output.truncate(output.trim_end_matches(space).len());
        }
        if settings.dummy_prefix && settings.space_is_suffix {
            output.push(space);
        }
        output
    }

    /// The length of the next unit of `text`, which is not empty, and its replacement.
    fn normalise_prefix<'a>(&'a self, text: &'a str) -> (usize, &'a str) {
        if let Some(length) = self.user_defined_prefix(text) {
            return (length, &text[..length]);
        }
        self.normaliser.characters.longest_prefix(text).unwrap_or_else(|| {
            let length = text.chars().next().map_or(0, char::len_utf8);
            (length, &text[..length])
        })
    }
}

fn parse_piece(message: &[u8]) -> Result<Piece> {
    let mut piece = Piece { text: String::new(), score: 0.0, kind: PieceKind::Normal };
    for field in Fields::new(message) {
        let field = field?;
        match field.number {
            1 => field.value.text()?.clone_into(&mut piece.text),
            2 => piece.score = field.value.float(),
            3 => {
                piece.kind = match field.value.number() {
                    1 => PieceKind::Normal,
                    2 => PieceKind::Unknown,
                    3 => PieceKind::Control,
                    4 => PieceKind::UserDefined,
                    5 => PieceKind::Unused,
                    6 => PieceKind::Byte,
                    other => return Err(broken(&format!("unknown kind of piece {other}"))),
                }
            }
            _ => {}
        }
    }
    Ok(piece)
}

fn parse_algorithm(number: u64) -> Result<Algorithm> {
    match number {
        1 => Ok(Algorithm::Unigram),
        2 => Ok(Algorithm::Bpe),
        3 => Err(broken("it is a word model; only BPE and unigram can be imported")),
        4 => Err(broken("it is a character model; only BPE and unigram can be imported")),
        other => Err(broken(&format!("unknown model type {other}"))),
    }
}
