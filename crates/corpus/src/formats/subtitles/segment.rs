//! Joins the text of cues into sentences.

use std::ops::Range;

use super::layout::MarkedCue;
use super::sentences;
use super::units::{self, Unit};

/// A pause this long, in milliseconds, ends a sentence regardless of punctuation.
const LONGEST_PAUSE: u64 = 3000;
/// A sentence over more cues is more likely text without punctuation.
const MOST_CUES: usize = 8;
/// So is a sentence with more characters.
const LONGEST: usize = 500;
/// If fewer than one cue in this many ends a sentence, punctuation is ignored.
const SELDOM: usize = 10;

/// The part of a sentence that one cue shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    pub cue: usize,
    /// The part of the cue between changes of speaker.
    pub speech: usize,
    /// The range of its words.
    pub words: Range<usize>,
}

/// A sentence: at most one fragment in each of consecutive cues.
pub(super) type Sentence = Vec<Fragment>;

/// Finds the sentences of a file.
pub(super) fn sentences(cues: &[MarkedCue]) -> Vec<Sentence> {
    let join = has_punctuation(cues);
    let mut sentences: Vec<Sentence> = Vec::new();
    let mut open: Sentence = Vec::new();
    for (index, cue) in cues.iter().enumerate() {
        for (number, speech) in cue.speeches.iter().enumerate() {
            let words = cue.words(number);
            if words.is_empty() {
                continue;
            }
            let goes_on = join
                && !speech.new_speaker
                && open.last().is_some_and(|last| follows(last, index, cues))
                && !ends_before(&open, &words[0], cues);
            if !goes_on {
                sentences.extend((!open.is_empty()).then(|| std::mem::take(&mut open)));
            }
            let mut start = 0;
            for end in 1..=words.len() {
                let inner = end < words.len() && sentences::ends_between(words, end);
                if inner || end == words.len() {
                    open.push(Fragment { cue: index, speech: number, words: start..end });
                    start = end;
                }
                if inner {
                    sentences.push(std::mem::take(&mut open));
                }
            }
        }
    }
    sentences.extend((!open.is_empty()).then_some(open));
    sentences
}

/// The text of a sentence, on one line.
pub(super) fn text(sentence: &Sentence, cues: &[MarkedCue]) -> String {
    let mut words: Vec<Unit> = Vec::new();
    for fragment in sentence {
        let mut part = cues[fragment.cue].words(fragment.speech)[fragment.words.clone()].to_vec();
        if let (Some(last), Some(first)) = (words.last(), part.first_mut()) {
            first.spaced = units::spaced_after(last, first);
        }
        words.extend(part);
    }
    units::join(&words)
}

/// Whether enough cues end with punctuation that its absence is meaningful.
fn has_punctuation(cues: &[MarkedCue]) -> bool {
    let last_words: Vec<_> = cues
        .iter()
        .flat_map(|cue| {
            (0..cue.speeches.len()).filter_map(|speech| sentences::last_word(cue.words(speech)))
        })
        .collect();
    let ends = last_words.iter().filter(|word| sentences::ends_sentence(word)).count();
    ends * SELDOM >= last_words.len()
}

/// Whether a cue can continue the sentence of a fragment: neither sung nor after a long pause.
fn follows(last: &Fragment, next: usize, cues: &[MarkedCue]) -> bool {
    let (before, after) = (&cues[last.cue], &cues[next]);
    let pause = after.timing.start.saturating_sub(before.timing.end);
    !before.sung && !after.sung && last.cue < next && pause <= LONGEST_PAUSE
}

/// Whether the open sentence ends before a word, by its punctuation or by its length.
fn ends_before(open: &Sentence, next: &Unit, cues: &[MarkedCue]) -> bool {
    let Some(last) = open.last() else { return true };
    let length: usize = open
        .iter()
        .flat_map(|fragment| {
            cues[fragment.cue].words(fragment.speech)[fragment.words.clone()].iter()
        })
        .map(Unit::length)
        .sum();
    let words = cues[last.cue].words(last.speech);
    open.len() >= MOST_CUES || length >= LONGEST || sentences::ends_at_break(words, Some(next))
}
