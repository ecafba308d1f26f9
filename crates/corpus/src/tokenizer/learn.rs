//! Learning byte-pair merges: the most frequent adjacent pair becomes one piece, until there are
//! enough.
//!
//! Written for this crate because the trainer of the `tokenizers` library counts in 32 bits,
//! applies its length limit after the fact, and synchronises threads at each of 20,000 merges. The
//! result is the same kind of model, and that library can read it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::language::language_code;
use super::normalise::normalise;
use super::special::{SPACE_MARK, SPECIAL};
use super::words::for_each_word;
use crate::{Error, Result};

/// How a tokenizer is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainSettings {
    /// Pieces in the vocabulary, including the five special tokens and the languages.
    pub vocabulary_size: usize,
    /// The largest number of characters in a piece, including the space mark; 16, as in
    /// SentencePiece.
    pub longest_piece: usize,
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self { vocabulary_size: 20_000, longest_piece: 16 }
    }
}

/// The largest number of distinct words kept per side: more than most corpora have, and a few
/// hundred megabytes at worst.
const DISTINCT_WORDS: usize = 1 << 20;

/// Counts of distinct words over the training text.
#[derive(Debug, Default)]
pub struct WordCounts {
    counts: FxHashMap<Box<str>, u64>,
    buffer: String,
}

impl WordCounts {
    /// Counts the words of one raw line.
    pub fn add_line(&mut self, line: &str) {
        let Self { counts, buffer } = self;
        for_each_word(&normalise(line), buffer, |word| {
            if let Some(count) = counts.get_mut(word) {
                *count += 1;
            } else {
                counts.insert(word.into(), 1);
            }
        });
    }

    /// Adds the counts of another part of the text.
    pub fn merge(&mut self, other: Self) {
        #[expect(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for (word, count) in other.counts {
            *self.counts.entry(word).or_insert(0) += count;
        }
    }

    /// The same, but drops rare words when there are too many distinct ones: their characters are
    /// kept, and frequent words determine the pieces. Merging counts in the same order drops the
    /// same words.
    pub fn merge_bounded(&mut self, other: Self) {
        self.merge(other);
        self.forget_above(DISTINCT_WORDS);
    }

    fn forget_above(&mut self, most: usize) {
        // Asked after every shard, and to look at every word would take longer than to add a shard.
        if self.counts.len() <= most {
            return;
        }
        let is_word = |word: &str| word.chars().nth(1).is_some();
        let mut least = 1;
        while self.counts.keys().filter(|word| is_word(word)).count() > most {
            let mut characters: FxHashMap<char, u64> = FxHashMap::default();
            self.counts.retain(|word, &mut count| {
                let stays = count > least || !is_word(word);
                if !stays {
                    for character in word.chars() {
                        *characters.entry(character).or_insert(0) += count;
                    }
                }
                stays
            });
            let characters = characters.into_iter().map(|(c, count)| (c.to_string().into(), count));
            self.merge(Self { counts: characters.collect(), buffer: String::new() });
            least += 1;
        }
    }

    /// Words in a fixed order, so that the result depends only on the text.
    fn sorted(&self) -> Vec<(&str, u64)> {
        let mut words: Vec<(&str, u64)> =
            self.counts.iter().map(|(word, &count)| (word.as_ref(), count)).collect();
        words.sort_unstable();
        words
    }
}

/// What was learned: pieces by id, and merges in the order in which they apply.
#[derive(Debug, PartialEq, Eq)]
pub struct Learned {
    /// The vocabulary; the index is the id.
    pub pieces: Vec<String>,
    /// Pairs of pieces to join, the most frequent first.
    pub merges: Vec<(String, String)>,
}

type Pair = (u32, u32);

/// Where an adjacent pair occurs, and how often.
#[derive(Default)]
struct Occurrences {
    count: i64,
    /// Words that contained the pair at some time; may have duplicates and outdated entries.
    words: Vec<u32>,
}

/// Learns merges until the vocabulary is full; `progress` receives the number of pieces so far. The
/// codes of target languages come after the special tokens.
pub fn learn(
    counts: &WordCounts,
    settings: TrainSettings,
    languages: &[String],
    progress: &mut dyn FnMut(usize),
) -> Result<Learned> {
    let words = counts.sorted();
    let size = settings.vocabulary_size;
    let mut learner = Learner::new(&words, settings, languages)?;
    learner.count_pairs();
    while learner.pieces.len() < size {
        let Some(pair) = learner.most_frequent() else {
            return Err(Error::new(format!(
                "the training text gives only {} pieces, but {size} were requested",
                learner.pieces.len()
            ))
            .remedy(format!(
                "ask for a vocabulary of at most {} pieces, or train on more text",
                learner.pieces.len()
            )));
        };
        learner.join(pair);
        progress(learner.pieces.len());
    }
    let merges = learner
        .merges
        .iter()
        .map(|&(left, right)| {
            (learner.pieces[left as usize].clone(), learner.pieces[right as usize].clone())
        })
        .collect();
    Ok(Learned { pieces: learner.pieces, merges })
}

struct Learner {
    settings: TrainSettings,
    pieces: Vec<String>,
    /// Characters in each piece.
    lengths: Vec<usize>,
    ids: FxHashMap<String, u32>,
    words: Vec<Vec<u32>>,
    counts: Vec<i64>,
    pairs: FxHashMap<Pair, Occurrences>,
    /// Candidates with the count at which they were queued; checked again when dequeued.
    queue: BinaryHeap<(i64, Reverse<Pair>)>,
    merges: Vec<Pair>,
}

impl Learner {
    fn new(words: &[(&str, u64)], settings: TrainSettings, languages: &[String]) -> Result<Self> {
        if words.is_empty() {
            return Err(Error::new("the training text is empty, so no tokenizer can be learned")
                .remedy("check that the training files hold text"));
        }
        let mut alphabet: Vec<char> =
            words.iter().flat_map(|(word, _)| word.chars()).map(mark_space).collect();
        alphabet.sort_unstable();
        alphabet.dedup();
        let mut pieces: Vec<String> = SPECIAL.iter().map(ToString::to_string).collect();
        pieces.extend(languages.iter().map(|language| language_code(language)));
        let first_letter = pieces.len();
        let needed = first_letter + alphabet.len();
        if settings.vocabulary_size < needed {
            return Err(Error::new(format!(
                "a vocabulary of {} pieces cannot hold the {} special tokens and the {} distinct \
                 characters of the training text",
                settings.vocabulary_size,
                first_letter,
                alphabet.len()
            ))
            .remedy(format!("ask for at least {needed} pieces")));
        }
        pieces.extend(alphabet.iter().map(ToString::to_string));
        let lengths = pieces.iter().map(|piece| piece.chars().count()).collect();
        let ids: FxHashMap<String, u32> =
            pieces.iter().enumerate().map(|(id, piece)| (piece.clone(), id as u32)).collect();
        let letters: FxHashMap<char, u32> = alphabet
            .iter()
            .enumerate()
            .map(|(index, &c)| (c, (first_letter + index) as u32))
            .collect();
        Ok(Self {
            settings,
            pieces,
            lengths,
            ids,
            words: words
                .iter()
                .map(|(word, _)| word.chars().map(|c| letters[&mark_space(c)]).collect())
                .collect(),
            counts: words.iter().map(|&(_, count)| count as i64).collect(),
            pairs: FxHashMap::default(),
            queue: BinaryHeap::new(),
            merges: Vec::new(),
        })
    }

    fn count_pairs(&mut self) {
        let words = std::mem::take(&mut self.words);
        for (index, word) in words.iter().enumerate() {
            for pair in word.windows(2) {
                self.change((pair[0], pair[1]), self.counts[index], index as u32);
            }
        }
        self.words = words;
        self.queue = self.pairs.iter().map(|(&pair, found)| (found.count, Reverse(pair))).collect();
    }

    /// Adds to the count of a pair, unless the joined piece would be too long.
    fn change(&mut self, pair: Pair, by: i64, word: u32) {
        if self.lengths[pair.0 as usize] + self.lengths[pair.1 as usize]
            > self.settings.longest_piece
        {
            return;
        }
        let found = self.pairs.entry(pair).or_default();
        found.count += by;
        if by > 0 && found.words.last() != Some(&word) {
            found.words.push(word);
        }
    }

    /// The most frequent pair; among equally frequent ones, that of the oldest pieces.
    fn most_frequent(&mut self) -> Option<Pair> {
        while let Some((queued, Reverse(pair))) = self.queue.pop() {
            let count = self.pairs.get(&pair).map_or(0, |found| found.count);
            if count <= 0 {
                continue;
            }
            if count < queued {
                self.queue.push((count, Reverse(pair)));
                continue;
            }
            return Some(pair);
        }
        None
    }

    fn join(&mut self, pair: Pair) {
        let joined = format!("{}{}", self.pieces[pair.0 as usize], self.pieces[pair.1 as usize]);
        // The same string can be reached in two ways (a+bc, ab+c): one piece, two merges.
        let id = if let Some(&id) = self.ids.get(&joined) {
            id
        } else {
            let id = self.pieces.len() as u32;
            self.lengths.push(joined.chars().count());
            self.ids.insert(joined.clone(), id);
            self.pieces.push(joined);
            id
        };
        self.merges.push(pair);
        let Some(occurrences) = self.pairs.remove(&pair) else { return };
        let mut touched: Vec<Pair> = Vec::new();
        for index in occurrences.words {
            let word = std::mem::take(&mut self.words[index as usize]);
            self.words[index as usize] = self.join_in_word(word, index, pair, id, &mut touched);
        }
        // Discards what the word updates counted for the joined pair itself.
        self.pairs.remove(&pair);
        touched.sort_unstable();
        touched.dedup();
        for new in touched {
            if let Some(found) = self.pairs.get(&new)
                && found.count > 0
            {
                self.queue.push((found.count, Reverse(new)));
            }
        }
    }

    fn join_in_word(
        &mut self,
        word: Vec<u32>,
        index: u32,
        pair: Pair,
        id: u32,
        touched: &mut Vec<Pair>,
    ) -> Vec<u32> {
        let count = self.counts[index as usize];
        let mut joined: Vec<u32> = Vec::with_capacity(word.len());
        let mut position = 0;
        while position < word.len() {
            let here = word[position];
            if here != pair.0 || word.get(position + 1) != Some(&pair.1) {
                joined.push(here);
                position += 1;
                continue;
            }
            // One edit of the current word, `joined` followed by the rest of `word`, so that
            // repeats such as "xyxy" need no special case.
            if let Some(&left) = joined.last() {
                self.change((left, pair.0), -count, index);
                self.change((left, id), count, index);
                touched.push((left, id));
            }
            if let Some(&right) = word.get(position + 2) {
                self.change((pair.1, right), -count, index);
                self.change((id, right), count, index);
                touched.push((id, right));
            }
            joined.push(id);
            position += 2;
        }
        joined
    }
}

fn mark_space(c: char) -> char {
    if c == ' ' { SPACE_MARK } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(lines: &[&str]) -> WordCounts {
        let mut counts = WordCounts::default();
        for line in lines {
            counts.add_line(line);
        }
        counts
    }

    /// The plain definition: recounts all pairs before each merge.
    fn learn_slowly(counts: &WordCounts, settings: TrainSettings) -> Vec<(String, String)> {
        let words = counts.sorted();
        let mut learner = Learner::new(&words, settings, &[]).unwrap();
        while learner.pieces.len() < settings.vocabulary_size {
            learner.pairs.clear();
            learner.count_pairs();
            let mut pairs: Vec<(i64, Reverse<Pair>)> =
                learner.pairs.iter().map(|(&pair, found)| (found.count, Reverse(pair))).collect();
            pairs.sort_unstable();
            let Some(&(_, Reverse(pair))) = pairs.last() else { break };
            learner.join(pair);
        }
        let name = |id: u32| learner.pieces[id as usize].clone();
        learner.merges.iter().map(|&(left, right)| (name(left), name(right))).collect()
    }

    #[test]
    fn incremental_counts_equal_recounting() {
        let text = [
            "banana bandana ananas xyxyxy aaaa aaaaa aaa",
            "she sells sea shells, 1990 and 1991, ,,,,, …",
            "lalala lala la papapapa anan nana",
        ];
        let counts = counts(&text);
        for longest_piece in [3, 6, 16] {
            let settings = TrainSettings { vocabulary_size: 50, longest_piece };
            let fast = learn(&counts, settings, &[], &mut |_| {}).unwrap();
            assert_eq!(fast.merges, learn_slowly(&counts, settings));
            assert_eq!(fast.pieces.len(), 50);
            assert!(fast.pieces[5..].iter().all(|p| p.chars().count() <= longest_piece));
        }
    }

    #[test]
    fn order_of_lines_does_not_matter() {
        let settings = TrainSettings { vocabulary_size: 30, ..TrainSettings::default() };
        let lines = ["the red rose", "a rose is red", "see the sea"];
        let forward = learn(&counts(&lines), settings, &[], &mut |_| {}).unwrap();
        let mut parts = counts(&lines[1..]);
        parts.merge(counts(&lines[..1]));
        assert_eq!(forward, learn(&parts, settings, &[], &mut |_| {}).unwrap());
    }

    #[test]
    fn rare_words_are_dropped_but_not_their_characters() {
        let mut counts = counts(&["aa aa aa bb bb xyz", "aa bb öd"]);
        counts.forget_above(4);
        assert_eq!(counts.counts.len(), 4);
        counts.forget_above(1);
        let words: Vec<(&str, u64)> = counts.sorted();
        let kept: Vec<&str> =
            words.iter().map(|(w, _)| *w).filter(|w| w.chars().count() > 1).collect();
        assert_eq!(kept, [" aa"]);
        for character in ["x", "ö", "d", "b", " "] {
            assert!(words.iter().any(|(word, _)| *word == character), "{character}");
        }
    }

    #[test]
    fn too_many_and_too_few_pieces_are_errors_with_the_number() {
        let counts = counts(&["aa ab"]);
        let settings = TrainSettings { vocabulary_size: 1000, ..TrainSettings::default() };
        let error = learn(&counts, settings, &[], &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("gives only 11 pieces, but 1000"), "{error}");
        let settings = TrainSettings { vocabulary_size: 6, ..settings };
        let error = learn(&counts, settings, &[], &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("at least 8 pieces"), "{error}");
        let error =
            learn(&WordCounts::default(), settings, &[], &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("empty"), "{error}");
    }
}
