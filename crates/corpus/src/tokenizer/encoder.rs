//! Encoding many lines: a tokenizer with a cache of words.

use rustc_hash::FxHashMap;

use super::normalise::normalise;
use super::words::for_each_word;
use super::{Kind, Tokenizer};

/// When the cache holds this many words, it is cleared, which bounds memory; frequent words come
/// back at once.
const REMEMBERED_WORDS: usize = 1 << 18;

/// Encodes text and caches the pieces of words. Not shared between threads.
#[derive(Debug)]
pub struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    /// For each word, where its ids are in `ids`. Looked up, never iterated.
    words: FxHashMap<Box<str>, (u32, u32)>,
    ids: Vec<u32>,
    buffer: String,
    /// The token in front of sentences that do not name a target language themselves.
    language: Option<u32>,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer) -> Self {
        Self {
            tokenizer,
            words: FxHashMap::default(),
            ids: Vec::new(),
            buffer: String::new(),
            language: tokenizer.languages().chosen(),
        }
    }

    /// The token in front of sentences that do not name a target language themselves.
    pub fn language(&self) -> Option<u32> {
        self.language
    }

    /// Changes the token in front of the following sentences.
    pub fn set_language(&mut self, language: Option<u32>) {
        self.language = language;
    }

    /// Appends the ids of `text`, without `</s>`; with several target languages, the token of the
    /// language comes first.
    pub fn encode(&mut self, text: &str, output: &mut Vec<u32>) {
        let (language, text) = match self.tokenizer.languages().take(text) {
            Some((named, rest)) => (Some(named), rest),
            None => (self.language, text),
        };
        output.extend(language);
        let pairs = match &self.tokenizer.kind {
            Kind::BytePairs(pairs) => pairs,
            Kind::Imported(imported) => return imported.encode(text, output),
        };
        let Self { words, ids, buffer, .. } = self;
        for_each_word(&normalise(text), buffer, |word| {
            if let Some(&(start, end)) = words.get(word) {
                output.extend_from_slice(&ids[start as usize..end as usize]);
                return;
            }
            if words.len() >= REMEMBERED_WORDS {
                words.clear();
                ids.clear();
            }
            let start = ids.len();
            pairs.encode_word(word, ids);
            words.insert(word.into(), (start as u32, ids.len() as u32));
            output.extend_from_slice(&ids[start..]);
        });
    }
}
