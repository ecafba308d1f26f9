//! Lexical cohesion: words that the document has used before for the same thing.
//!
//! MuDA aligns words. Here, a target word belongs to a source word if it was in the translation of
//! every earlier sentence that has that source word, and there are at least two of them.

use std::collections::BTreeMap;

use super::{Pair, TagLanguage, Word};

/// The fewest earlier sentences with the pair of words.
const TIMES: usize = 2;
/// The fewest letters; shorter words are mostly function words.
const LETTERS: usize = 4;

const COMMON_ENGLISH: &[&str] = &[
    "that", "this", "with", "from", "have", "will", "would", "been", "were", "they", "them",
    "their", "there", "what", "when", "where", "which", "your", "just", "like", "know", "want",
    "about", "could", "should", "into", "than", "then", "very", "some", "here", "because", "also",
    "does", "more", "only", "over", "such", "these", "those", "well", "come", "going", "make",
    "must",
];

/// Long function words of German, French and Portuguese.
const COMMON_TARGET: &[&str] = &[
    "aber", "alle", "auch", "dass", "diese", "diesem", "diesen", "dieser", "dieses", "doch",
    "eine", "einem", "einen", "einer", "eines", "haben", "hatte", "hier", "können", "müssen",
    "nicht", "noch", "oder", "sehr", "sich", "sind", "über", "waren", "weil", "wenn", "werden",
    "wird", "avec", "avez", "avons", "cela", "cette", "comme", "dans", "elle", "elles", "être",
    "leur", "mais", "nous", "pour", "quand", "sont", "très", "vous", "aqui", "como", "eles",
    "elas", "esse", "essa", "este", "esta", "isso", "isto", "mais", "muito", "nunca", "para",
    "pela", "pelo", "porque", "quando", "você",
];

/// Which target words occurred with which source words so far in a document.
#[derive(Debug, Default)]
pub(super) struct Cohesion {
    /// For each source word, the number of its sentences and, for each target word, in how many of
    /// them it occurred.
    seen: BTreeMap<String, (usize, BTreeMap<String, usize>)>,
}

impl Cohesion {
    /// Places of repeated words; remembers the sentence.
    pub(super) fn find(&mut self, pair: &Pair, _language: TagLanguage) -> Vec<usize> {
        let sources = distinct(&pair.source, |word| !COMMON_ENGLISH.contains(&word));
        let targets = distinct(&pair.target, |_| true);
        let is_repeated = |word: &Word| {
            sources.iter().any(|source| {
                self.seen.get(*source).is_some_and(|(sentences, beside)| {
                    *sentences >= TIMES && beside.get(&word.lower) == Some(sentences)
                })
            })
        };
        // A word that occurs with everything is a function word.
        let sentences = self.seen.get("").map_or(0, |(count, _)| *count);
        let everywhere = |word: &Word| {
            let count = self.seen.get("").and_then(|(_, beside)| beside.get(&word.lower));
            count.is_some_and(|count| sentences > 3 && 2 * count > sentences)
        };
        let found = pair.places(|word| {
            word.lower.chars().count() >= LETTERS
                && !COMMON_TARGET.contains(&word.lower.as_str())
                && is_repeated(word)
                && !everywhere(word)
        });
        for source in sources.into_iter().chain([""]) {
            let (count, beside) = self.seen.entry(source.to_owned()).or_default();
            *count += 1;
            for target in &targets {
                *beside.entry((*target).to_owned()).or_default() += 1;
            }
        }
        found
    }
}

fn distinct(words: &[Word], keep: impl Fn(&str) -> bool) -> Vec<&str> {
    let long = words.iter().map(|word| word.lower.as_str());
    let mut found: Vec<&str> =
        long.filter(|word| word.chars().count() >= LETTERS && keep(word)).collect();
    found.sort_unstable();
    found.dedup();
    found
}
