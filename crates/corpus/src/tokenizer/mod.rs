//! From text to ids and back.
//!
//! A [`Tokenizer`] is trained here ([`Tokenizer::train`]), imported from SentencePiece and fairseq
//! ([`Tokenizer::import`]), or from a Marian model ([`Tokenizer::import_listed`]). In each case the ids
//! below 5 are the special tokens of [`special`] (an imported dictionary may lack `<brk>`).

mod bpe;
mod encoder;
mod language;
mod learn;
mod merges;
pub(crate) mod normalise;
mod parallel;
pub mod sentencepiece;
pub mod special;
mod words;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use encoder::Encoder;
pub use language::{TargetLanguages, is_language_code, language_code};
pub use learn::{TrainSettings, WordCounts};
pub use parallel::{count_words, encode_lines};

use bpe::BytePairs;
use sentencepiece::{Imported, ListedPieces};
use special::{SPACE_MARK, UNKNOWN, UNKNOWN_SURFACE};

use crate::{Error, Result};

/// Splits text into pieces of a fixed vocabulary.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    kind: Kind,
    languages: TargetLanguages,
}

/// A vocabulary takes megabytes, so clones share it.
#[derive(Clone, Debug)]
enum Kind {
    BytePairs(Arc<BytePairs>),
    Imported(Arc<Imported>),
}

impl Tokenizer {
    fn new(kind: Kind) -> Self {
        let languages = match &kind {
            Kind::BytePairs(pairs) => TargetLanguages::of_pieces(pairs.pieces(), None),
            Kind::Imported(imported) => {
                let start = imported.list().and_then(ListedPieces::start);
                TargetLanguages::of_pieces(imported.pieces(), start)
            }
        };
        Self { kind, languages }
    }

    /// Trains byte pairs on counted words; `progress` receives the number of pieces so far.
    pub fn train(
        counts: &WordCounts,
        settings: TrainSettings,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Self> {
        Self::train_towards(counts, settings, &[], progress)
    }

    /// Like [`Tokenizer::train`], with a token for each target language (`de`, `fr`) that a source
    /// sentence can name.
    pub fn train_towards(
        counts: &WordCounts,
        settings: TrainSettings,
        languages: &[String],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Self> {
        let learned = learn::learn(counts, settings, languages, progress)?;
        Ok(Self::new(Kind::BytePairs(Arc::new(BytePairs::from_learned(&learned)?))))
    }

    /// Imports a SentencePiece `.model`, with the ids of a fairseq `dict.txt` if one is given.
    ///
    /// Without a dictionary the special tokens come first, then the pieces in the model's order.
    pub fn import(model: &Path, dictionary: Option<&Path>) -> Result<Self> {
        let imported = Imported::read(model, dictionary)?;
        Ok(Self::new(Kind::Imported(Arc::new(imported))))
    }

    /// Imports a SentencePiece `.model` whose pieces have the ids of a list.
    pub fn import_listed(model: &Path, pieces: ListedPieces) -> Result<Self> {
        let imported = Imported::read_with(model, pieces)?;
        Ok(Self::new(Kind::Imported(Arc::new(imported))))
    }

    /// Reads the tokenizer that [`Tokenizer::save`] wrote under this name into a directory.
    pub fn load(directory: &Path, name: &str) -> Result<Self> {
        let files = Files::new(directory, name);
        if files.json.exists() {
            let pairs = BytePairs::load(&files.json)?;
            Ok(Self::new(Kind::BytePairs(Arc::new(pairs))))
        } else if files.pieces.exists() {
            Self::import_listed(&files.model, ListedPieces::read(&files.pieces)?)
        } else if files.model.exists() {
            Self::import(&files.model, files.dictionary.exists().then_some(&*files.dictionary))
        } else {
            Err(files.missing())
        }
    }

    /// The tokenizers of the source and the target language of a model directory. Those of a joint
    /// vocabulary, whose files are the same, are read once and share their memory.
    pub fn load_both(directory: &Path) -> Result<(Self, Self)> {
        if Files::new(directory, "source").are_same(&Files::new(directory, "target")) {
            let both = Self::load(directory, "source")?;
            return Ok((both.clone(), both));
        }
        std::thread::scope(|scope| {
            let source = scope.spawn(|| Self::load(directory, "source"));
            let target = Self::load(directory, "target");
            let source = source.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((source?, target?))
        })
    }

    /// The files that [`Tokenizer::load`] would read.
    pub fn files(directory: &Path, name: &str) -> Result<Vec<PathBuf>> {
        let files = Files::new(directory, name);
        let missing = files.missing();
        let mut all = vec![files.json, files.model, files.dictionary, files.pieces];
        all.retain(|file| file.exists());
        if all.is_empty() { Err(missing) } else { Ok(all) }
    }

    /// Reads a `tokenizer.json` of this crate from any path.
    pub fn from_file(path: &Path) -> Result<Self> {
        Ok(Self::new(Kind::BytePairs(Arc::new(BytePairs::load(path)?))))
    }

    /// Writes `tokenizer.<name>.json`, or for an imported one copies of what was imported
    /// (`tokenizer.<name>.model` with `tokenizer.<name>.dict.txt` or `tokenizer.<name>.pieces.json`),
    /// and returns the files that it wrote.
    pub fn save(&self, directory: &Path, name: &str) -> Result<Vec<PathBuf>> {
        let files = Files::new(directory, name);
        let write = abridge_base::files::replace;
        match &self.kind {
            Kind::BytePairs(pairs) => {
                write(&files.json, pairs.to_json().as_bytes())?;
                Ok(vec![files.json])
            }
            Kind::Imported(imported) => {
                write(&files.model, imported.model_bytes())?;
                let mut written = vec![files.model];
                if let Some(dictionary) = imported.dictionary_text() {
                    write(&files.dictionary, dictionary.as_bytes())?;
                    written.push(files.dictionary);
                }
                if let Some(list) = imported.list() {
                    write(&files.pieces, list.to_json().as_bytes())?;
                    written.push(files.pieces);
                }
                Ok(written)
            }
        }
    }

    /// The text after normalisation: what decoding gives back if no piece is unknown.
    pub fn normalise<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.kind {
            Kind::BytePairs(_) => normalise::normalise(text),
            Kind::Imported(imported) => Cow::Owned(imported.normalise(text)),
        }
    }

    /// The target languages that a source sentence can name; none in most vocabularies.
    pub fn languages(&self) -> &TargetLanguages {
        &self.languages
    }

    /// The same tokenizer for source sentences that are translated into this language, unless they
    /// name one themselves.
    pub fn towards(&self, language: &str) -> Result<Self> {
        let mut chosen = self.clone();
        chosen.languages.choose(language)?;
        Ok(chosen)
    }

    /// An encoder with a word cache; make one per thread.
    pub fn encoder(&self) -> Encoder<'_> {
        Encoder::new(self)
    }

    /// The ids of one text, without `</s>`. For many texts use [`Tokenizer::encoder`].
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.encoder().encode(text, &mut ids);
        ids
    }

    /// The text of ids. Special tokens are dropped, except that an unknown piece becomes `⁇`.
    pub fn decode(&self, ids: &[u32]) -> String {
        let mut text = String::new();
        let mut bytes = Vec::new();
        for &id in ids {
            if let Kind::Imported(imported) = &self.kind
                && let Some(byte) = imported.byte(id)
            {
                bytes.push(byte);
                continue;
            }
            flush(&mut text, &mut bytes);
            if id == UNKNOWN {
                text.push_str(UNKNOWN_SURFACE);
            } else if !self.is_special(id) {
                let piece = self.piece(id).unwrap_or_default();
                // SentencePiece drops every space at the start, not only the one it put there.
                let drop = text.is_empty() && matches!(self.kind, Kind::Imported(_));
                text.push_str(if drop { piece.trim_start_matches(SPACE_MARK) } else { piece });
            }
        }
        flush(&mut text, &mut bytes);
        let text = text.replace(SPACE_MARK, " ");
        match &self.kind {
            Kind::BytePairs(_) => text.strip_prefix(' ').unwrap_or(&text).to_owned(),
            Kind::Imported(_) => text,
        }
    }

    /// The first difference between this vocabulary and that of some data.
    pub fn difference(&self, data: &Self) -> Option<String> {
        let (a, b) = (self.vocabulary_size(), data.vocabulary_size());
        if a != b {
            return Some(format!("it has {a} pieces, the data has {b}"));
        }
        (0..a as u32).find(|&id| self.piece(id) != data.piece(id)).map(|id| {
            let show = |piece: Option<&str>| piece.unwrap_or("nothing").to_owned();
            format!("piece {id} is {}, in the data {}", show(self.piece(id)), show(data.piece(id)))
        })
    }

    /// The number of ids, including special tokens.
    pub fn vocabulary_size(&self) -> usize {
        self.pieces().len()
    }

    /// The spelling of an id, with `▁` for a space.
    pub fn piece(&self, id: u32) -> Option<&str> {
        self.pieces().get(id as usize).map(String::as_str)
    }

    /// The id of a piece.
    pub fn id(&self, piece: &str) -> Option<u32> {
        match &self.kind {
            Kind::BytePairs(pairs) => pairs.id(piece),
            Kind::Imported(imported) => imported.id(piece),
        }
    }

    /// Whether the id is one of the special tokens or a language, which have no text.
    pub fn is_special(&self, id: u32) -> bool {
        self.piece(id).is_none_or(|piece| special::SPECIAL.contains(&piece))
            || self.languages.code(id).is_some()
    }

    fn pieces(&self) -> &[String] {
        match &self.kind {
            Kind::BytePairs(pairs) => pairs.pieces(),
            Kind::Imported(imported) => imported.pieces(),
        }
    }
}

/// Decodes bytes that an imported model spelled one by one; invalid UTF-8 becomes U+FFFD.
fn flush(text: &mut String, bytes: &mut Vec<u8>) {
    if !bytes.is_empty() {
        text.push_str(&String::from_utf8_lossy(bytes));
        bytes.clear();
    }
}

/// Larger files of a tokenizer are not compared with each other.
const LARGEST_COMPARED: u64 = 64 << 20;

struct Files {
    json: PathBuf,
    model: PathBuf,
    dictionary: PathBuf,
    pieces: PathBuf,
}

impl Files {
    fn new(directory: &Path, name: &str) -> Self {
        let file = |ending: &str| directory.join(format!("tokenizer.{name}.{ending}"));
        Self {
            json: file("json"),
            model: file("model"),
            dictionary: file("dict.txt"),
            pieces: file("pieces.json"),
        }
    }

    /// Whether the same files are there, with the same content.
    fn are_same(&self, other: &Self) -> bool {
        let pairs = [
            (&self.json, &other.json),
            (&self.model, &other.model),
            (&self.dictionary, &other.dictionary),
            (&self.pieces, &other.pieces),
        ];
        let content = |path: &Path| abridge_base::files::read_regular(path, LARGEST_COMPARED).ok();
        pairs.into_iter().all(|(one, two)| match (one.exists(), two.exists()) {
            (false, false) => true,
            (true, true) => content(one).is_some_and(|bytes| content(two) == Some(bytes)),
            _ => false,
        })
    }

    fn missing(&self) -> Error {
        Error::new("there is no tokenizer here")
            .in_file(&self.json)
            .remedy("give a model, or a directory that `abridge prepare` has written")
    }
}

#[cfg(test)]
mod tests;
