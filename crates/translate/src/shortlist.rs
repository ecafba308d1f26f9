//! Lexical shortlists: the target words that a translation of a sentence is likely to contain.
//!
//! A large part of decoding is scoring every word of the vocabulary at every step. The lexicon
//! entries of the words of the sentence, and the words that are common everywhere, are a tenth of
//! it and nearly always enough. `abridge shortlist` adds such lists to a model directory; without
//! them, all words are scored.

use std::path::Path;

use abridge_base::files::read_regular;
use abridge_base::hash::Hasher;
use abridge_corpus::Lexicon;
use abridge_corpus::store::{Side, TokenStore};
use abridge_model::tokens::{BREAK, END, UNKNOWN};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The file of a model directory.
pub const FILE: &str = "shortlist.json";
/// The largest file: a hundred words for each of a million take less.
const LARGEST: u64 = 1 << 30;

/// Target words for each source word, and for all sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shortlist {
    format: u32,
    /// Words on every list, in ascending order.
    common: Vec<u32>,
    /// For each source word, its likely translations, in ascending order.
    words: Vec<Vec<u32>>,
}

/// The lengths of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortlistSettings {
    /// The most frequent target words, which are on every list.
    pub common: usize,
    /// Target words per source word.
    pub per_word: usize,
}

impl Default for ShortlistSettings {
    fn default() -> Self {
        Self { common: 500, per_word: 100 }
    }
}

/// Statistics of the lists on some text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// The mean number of words on a list.
    pub mean_length: f64,
    /// The share of the words of the reference translations that are on the list of their sentence.
    pub covered: f64,
}

impl Shortlist {
    /// Makes lists from a lexicon and the frequencies of target words in `pairs`.
    pub fn new(lexicon: &Lexicon, pairs: &TokenStore, settings: ShortlistSettings) -> Self {
        let mut counts = vec![0usize; pairs.vocabulary_size(Side::Target)];
        let mut tokens = Vec::new();
        for sentence in 0..pairs.sentences() {
            tokens.clear();
            pairs.append(Side::Target, sentence, &mut tokens);
            for &token in &tokens {
                counts[token as usize] += 1;
            }
        }
        let mut frequent: Vec<u32> = (0..counts.len() as u32).collect();
        frequent.sort_by_key(|&word| (std::cmp::Reverse(counts[word as usize]), word));
        frequent.truncate(settings.common);
        let common = ascending(frequent.into_iter().chain([END, UNKNOWN, BREAK]).collect());
        let words = (0..pairs.vocabulary_size(Side::Source) as u32).map(|source| {
            let entries = lexicon.entries(source).iter().take(settings.per_word);
            let new = entries.map(|entry| entry.target);
            ascending(new.filter(|word| common.binary_search(word).is_err()).collect())
        });
        Self { format: 1, words: words.collect(), common }
    }

    /// Lists from another toolkit: the words on every list, and those of each source word.
    pub(crate) fn of_lists(common: Vec<u32>, words: Vec<Vec<u32>>) -> Self {
        let common = ascending(common);
        let own = |list: Vec<u32>| {
            ascending(list.into_iter().filter(|word| common.binary_search(word).is_err()).collect())
        };
        let words = words.into_iter().map(own).collect();
        Self { format: 1, words, common }
    }

    /// The list of a sentence, in ascending order, including `also`.
    pub fn of(&self, sentence: &[u32], also: &[u32]) -> Vec<u32> {
        let own = sentence.iter().filter_map(|&token| self.words.get(token as usize)).flatten();
        ascending(self.common.iter().chain(own).chain(also).copied().collect())
    }

    /// The mean length of the lists on these pairs, and their coverage of the translations.
    pub fn coverage(&self, pairs: &TokenStore) -> Coverage {
        let (mut listed, mut covered, mut all) = (0, 0, 0);
        let (mut source, mut target) = (Vec::new(), Vec::new());
        for sentence in 0..pairs.sentences() {
            source.clear();
            target.clear();
            pairs.append(Side::Source, sentence, &mut source);
            pairs.append(Side::Target, sentence, &mut target);
            let list = self.of(&source, &[]);
            listed += list.len();
            all += target.len();
            covered += target.iter().filter(|word| list.binary_search(word).is_ok()).count();
        }
        Coverage {
            mean_length: listed as f64 / pairs.sentences().max(1) as f64,
            covered: covered as f64 / all.max(1) as f64,
        }
    }

    /// The bytes of [`FILE`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::Settings(error.to_string()))
    }

    /// The hash of a model and these lists together.
    pub(crate) fn hash_with(&self, model: &str) -> String {
        let mut hasher = Hasher::new();
        hasher.update(model);
        for list in self.words.iter().chain([&self.common]) {
            hasher.count(list.len());
            for word in list {
                hasher.update(word.to_le_bytes());
            }
        }
        hasher.finish()
    }

    /// Reads the list of a model directory, if it has one, and checks that it fits these
    /// vocabularies.
    pub(crate) fn open(directory: &Path, vocabularies: [usize; 2]) -> Result<Option<Self>> {
        let file = directory.join(FILE);
        if !file.exists() {
            return Ok(None);
        }
        let broken = |problem: String| {
            Error::Model(abridge_model::Error::Weights { file: file.clone(), problem })
        };
        let bytes = read_regular(&file, LARGEST).map_err(|error| broken(error.into_parts().1))?;
        let list: Self = serde_json::from_slice(&bytes)
            .map_err(|error| broken(format!("damaged: {error}; make it again")))?;
        if list.format != 1 {
            return Err(broken(format!("format {} is newer than this program", list.format)));
        }
        let [source, target] = vocabularies;
        let largest = list.words.iter().flatten().chain(&list.common).max();
        let is_sorted = list.words.iter().chain([&list.common]).all(|words| words.is_sorted());
        if list.words.len() > source
            || largest.is_none_or(|&word| word as usize >= target)
            || list.common.binary_search(&END).is_err()
            || !is_sorted
        {
            return Err(broken("it belongs to another vocabulary; make it again".into()));
        }
        Ok(Some(list))
    }
}

fn ascending(mut words: Vec<u32>) -> Vec<u32> {
    words.sort_unstable();
    words.dedup();
    words
}
