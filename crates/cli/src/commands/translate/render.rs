//! The output for one sentence, and the note about it.

use std::fmt::Write;

use abridge_translate::{Explanation, SentenceAttention, TargetWord, Translation, Translator};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Mode;

/// Words of the memory that are shown for a pronoun.
const SHOWN_WORDS: usize = 4;
/// Sentences with less attention than this are not shown.
const SHOWN_WEIGHT: f32 = 0.05;

/// The record of a finished sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The translation or, in other modes, the whole output of the sentence.
    pub text: String,
    /// What the user should know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The translation alone, if later sentences use it as context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<String>,
}

/// The position of a sentence.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The name of its document.
    pub document: &'a str,
    /// Its place in the document, from 0.
    pub index: usize,
    /// Its place in all documents, from 0.
    pub number: usize,
    /// The source text.
    pub source: &'a str,
}

/// The output and note for a sentence.
pub fn record(
    mode: Mode,
    place: &Place<'_>,
    translation: &Translation,
    translator: &Translator,
) -> Record {
    let text = match mode {
        Mode::Text => translation.text().to_owned(),
        Mode::NBest => n_best(place, translation),
        Mode::Json => json(place, translation, translator) + "\n",
        Mode::Explain => explain(place, translation, &translator.explain(translation)),
    };
    Record { text, note: note(translation), translation: None }
}

fn note(translation: &Translation) -> Option<String> {
    let parts = translation.parts.len();
    let tokens: usize = translation.parts.iter().map(|part| part.source.len()).sum();
    match (parts > 1, translation.is_cut()) {
        (true, false) => Some(format!("{tokens} tokens were translated in {parts} parts")),
        (true, true) => Some(format!(
            "{tokens} tokens were translated in {parts} parts; some reached --max-length and may \
             lack their end"
        )),
        (false, true) => {
            Some("the translation reached --max-length and may lack its end".to_owned())
        }
        (false, false) => None,
    }
}

fn n_best(place: &Place<'_>, translation: &Translation) -> String {
    translation.hypotheses.iter().fold(String::new(), |mut lines, found| {
        let text = found.text.replace(['\n', '\r'], " ");
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{} ||| {text} ||| {:.6}", place.number, found.score);
        lines
    })
}

fn json(place: &Place<'_>, translation: &Translation, translator: &Translator) -> String {
    let explanation = translator.explain(translation);
    let tokens: Vec<serde_json::Value> = translation
        .hypotheses
        .first()
        .map(|best| {
            let tokens = best.tokens.iter().zip(&best.token_scores);
            let piece = |token: u32| translator.target().piece(token).unwrap_or_default();
            tokens.map(|(&token, score)| json!({ "piece": piece(token), "score": score })).collect()
        })
        .unwrap_or_default();
    let n_best: Vec<serde_json::Value> = translation
        .hypotheses
        .iter()
        .map(|found| json!({ "translation": found.text, "score": found.score }))
        .collect();
    let targets: Vec<&str> = explanation.target.iter().map(|target| target.word.as_str()).collect();
    json!({
        "document": place.document,
        "index": place.index,
        "source": place.source,
        "translation": translation.text(),
        "score": translation.score(),
        "tokens": tokens,
        "source_words": explanation.source,
        "target_words": targets,
        "alignment": explanation.alignment(),
        "n_best": n_best,
        "parts": translation.parts.len(),
        "cut": translation.is_cut(),
    })
    .to_string()
}

/// The sentence, its translation, and what its pronouns attended to.
fn explain(place: &Place<'_>, translation: &Translation, explanation: &Explanation) -> String {
    let mut text = format!("{}\n{}\n", place.source, translation.text());
    for target in &explanation.target {
        let source = target.source.and_then(|place| explanation.source.get(place));
        let source = source.map_or("", String::as_str);
        if !is_pronoun(&target.word, source) {
            continue;
        }
        let _ = writeln!(text, "  {} ({}) looked at", bare(&target.word), bare(source));
        if target.memory.is_empty() {
            text.push_str("    nothing but its own sentence\n");
        }
        for sentence in shown(target) {
            let _ = writeln!(text, "    {}", describe(sentence));
        }
    }
    text.push('\n');
    text
}

fn shown(target: &TargetWord) -> impl Iterator<Item = &SentenceAttention> {
    target.memory.iter().filter(|sentence| sentence.weight >= SHOWN_WEIGHT)
}

/// The share of a sentence and its most attended words.
fn describe(sentence: &SentenceAttention) -> String {
    let back = match (sentence.back, sentence.is_translation) {
        (0, _) => "its own sentence".to_owned(),
        (1, false) => "the sentence before".to_owned(),
        (1, true) => "the translation before".to_owned(),
        (back, false) => format!("{back} sentences back"),
        (back, true) => format!("the translation {back} sentences back"),
    };
    let mut words: Vec<&(String, f32)> = sentence.words.iter().collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1));
    let words = words.iter().take(SHOWN_WORDS).filter(|(_, weight)| *weight >= 0.005);
    let percent = |weight: f32| format!("{:.0} %", 100.0 * weight);
    let words: Vec<String> =
        words.map(|(word, weight)| format!("{} {}", bare(word), percent(*weight))).collect();
    format!("{:>5} {back}: {}", percent(sentence.weight), words.join(", "))
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Whether a word, or the source word that it translates, is a pronoun in a supported language.
fn is_pronoun(target: &str, source: &str) -> bool {
    const ENGLISH: &[&str] = &[
        "it", "he", "she", "they", "him", "her", "them", "its", "his", "hers", "their", "theirs",
        "you", "this", "that", "these", "those",
    ];
    const TARGETS: &[&str] = &[
        "er", "sie", "es", "ihn", "ihm", "ihr", "ihnen", "il", "elle", "ils", "elles", "lui", "eux",
    ];
    let has = |list: &[&str], word: &str| list.contains(&bare(word).to_lowercase().as_str());
    has(ENGLISH, source) || has(TARGETS, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pronouns_are_found_on_either_side() {
        assert!(is_pronoun("Sie", "It") && is_pronoun("elle,", "x") && is_pronoun("x", "them."));
        assert!(!is_pronoun("Hund", "dog"));
    }

    #[test]
    fn a_sentence_is_described_by_its_most_attended_words() {
        let words = [("The", 0.01), ("camel,", 0.31), ("was", 0.001)];
        let words = words.map(|(word, weight)| (word.to_owned(), weight)).to_vec();
        let sentence = SentenceAttention {
            back: 1,
            is_translation: false,
            weight: 0.42,
            rows: vec![0.42],
            words,
        };
        assert_eq!(describe(&sentence), " 42 % the sentence before: camel 31 %, The 1 %");
        let sentence = SentenceAttention { is_translation: true, ..sentence };
        assert_eq!(describe(&sentence), " 42 % the translation before: camel 31 %, The 1 %");
    }
}
