//! Text that also occurs in a test set: exact copies and near copies.
//!
//! Two texts are near copies if the Jaccard index of their word trigrams is large, ignoring case,
//! punctuation, spaces and digits. Candidates are found by prefix filtering: texts whose index is
//! at least `t` share a trigram among any `n − ⌈t·n⌉ + 1` of the first one's `n`, so it is enough
//! to check the rarest ones.

use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::fold::{folded_words, hash};
use crate::prepare::recipe::{InputFiles, Languages};
use crate::{ContrastiveInput, ContrastiveSet, Document, Error, Input, Result, Segment, read};

/// Which sets, and what counts as a copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverlapRecipe {
    /// The validation and test splits of the recipe itself.
    pub splits: bool,
    /// Further sets: `source,target` or one file of text, or a contrastive set (its JSON file, its
    /// folder, or the common prefix of its files).
    pub sets: Vec<String>,
    /// The Jaccard index of word trigrams from which a text is a near copy; 1 for exact copies
    /// only.
    pub near: f64,
    /// Texts with fewer words recur naturally ("Thank you very much.") and are kept.
    pub words: usize,
}

impl Default for OverlapRecipe {
    fn default() -> Self {
        Self { splits: true, sets: Vec::new(), near: 0.8, words: 6 }
    }
}

impl OverlapRecipe {
    /// Rejects values out of range.
    pub fn check(&self) -> Result<()> {
        if !(0.5..=1.0).contains(&self.near) {
            return Err(Error::new(format!("filters.overlap.near is {}", self.near))
                .remedy("a value from 0.5 (half of the trigrams) to 1 (exact copies only)"));
        }
        if self.words == 0 {
            return Err(Error::new("filters.overlap.words is 0").remedy("1 looks at every text"));
        }
        Ok(())
    }

    /// The files of the further sets, relative to a directory.
    pub fn files(&self, data: &Path) -> Vec<PathBuf> {
        self.sets.iter().flat_map(|set| files_of(set, data)).collect()
    }

    /// Reads the further sets.
    pub fn read(&self, data: &Path, languages: &Languages) -> Result<Vec<Document>> {
        let mut documents = Vec::new();
        for set in &self.sets {
            documents.extend(read_set(set, data, languages)?);
        }
        Ok(documents)
    }
}

/// The texts of the sets, for lookup.
#[derive(Debug)]
pub struct Overlap {
    near: f64,
    words: usize,
    source: Texts,
    target: Texts,
    /// Pairs that are too short to be removed, to report how many are kept.
    short: FxHashSet<u64>,
}

/// Why a pair is removed or kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// It does not occur in any set.
    Nothing,
    /// It occurs in a set, but is too short to be removed.
    Short,
    /// A side occurs in a set.
    Exact,
    /// A side is a near copy of one in a set, with this Jaccard index.
    Near(f64),
}

impl Overlap {
    /// Indexes the sentences of some documents.
    pub fn new<'a>(recipe: &OverlapRecipe, sets: impl Iterator<Item = &'a Document>) -> Self {
        let mut overlap = Self {
            near: recipe.near,
            words: recipe.words,
            source: Texts::default(),
            target: Texts::default(),
            short: FxHashSet::default(),
        };
        for segment in sets.flat_map(|document| &document.segments) {
            overlap.add(segment);
        }
        overlap
    }

    fn add(&mut self, segment: &Segment) {
        let source = folded_words(&segment.source);
        let target = segment.target.as_deref().map(folded_words);
        if source.len() < self.words && target.as_ref().is_none_or(|t| t.len() < self.words) {
            self.short.insert(hash((&source, &target)));
        }
        for (texts, words) in [(&mut self.source, Some(source)), (&mut self.target, target)] {
            if let Some(words) = words.filter(|words| words.len() >= self.words) {
                texts.add(&words);
            }
        }
    }

    /// Looks up a pair.
    pub fn find(&self, segment: &Segment) -> Found {
        let source = folded_words(&segment.source);
        let target = segment.target.as_deref().map(folded_words);
        let mut nearest: f64 = 0.0;
        for (texts, words) in [(&self.source, Some(&source)), (&self.target, target.as_ref())] {
            let Some(words) = words.filter(|words| words.len() >= self.words) else { continue };
            if texts.exact.contains_key(&hash(words)) {
                return Found::Exact;
            }
            let near = texts.near(words, self.near).into_iter().map(|(_, index)| index);
            nearest = near.fold(nearest, f64::max);
        }
        if nearest >= self.near {
            Found::Near(nearest)
        } else if self.short.contains(&hash((&source, &target))) {
            Found::Short
        } else {
            Found::Nothing
        }
    }
}

/// Numbered texts, for the lookup of copies and near copies.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// The number of each text, by its hash.
    exact: FxHashMap<u64, u32>,
    /// The trigrams of each text, in order.
    trigrams: Vec<Box<[u64]>>,
    /// The texts that contain a trigram.
    having: FxHashMap<u64, Vec<u32>>,
}

impl Texts {
    /// Adds a text, unless it is already present.
    pub(crate) fn add(&mut self, words: &[String]) {
        let number = self.trigrams.len() as u32;
        match self.exact.entry(hash(words)) {
            Entry::Occupied(_) => return,
            Entry::Vacant(free) => free.insert(number),
        };
        let trigrams = trigrams(words);
        for &trigram in &trigrams {
            self.having.entry(trigram).or_default().push(number);
        }
        self.trigrams.push(trigrams.into_boxed_slice());
    }

    /// The number of distinct texts.
    pub(crate) fn len(&self) -> usize {
        self.trigrams.len()
    }

    /// The number of a text, if present.
    pub(crate) fn number(&self, words: &[String]) -> Option<usize> {
        self.exact.get(&hash(words)).map(|&number| number as usize)
    }

    /// The numbers of near copies, each with its Jaccard index, which is at least `least`; none if
    /// `least` is 1, which only exact copies reach.
    pub(crate) fn near(&self, words: &[String], least: f64) -> Vec<(usize, f64)> {
        if least >= 1.0 {
            return Vec::new();
        }
        let trigrams = trigrams(words);
        let mut by_rarity: Vec<(usize, u64)> = trigrams
            .iter()
            .map(|trigram| (self.having.get(trigram).map_or(0, Vec::len), *trigram))
            .collect();
        by_rarity.sort_unstable();
        let needed = (least * trigrams.len() as f64).ceil() as usize;
        by_rarity.truncate(trigrams.len() - needed + 1);
        let mut candidates: Vec<u32> = by_rarity
            .iter()
            .filter_map(|(_, trigram)| self.having.get(trigram))
            .flatten()
            .copied()
            .collect();
        candidates.sort_unstable();
        candidates.dedup();
        let index = |candidate: u32| {
            let other = &self.trigrams[candidate as usize];
            let shared = trigrams.iter().filter(|t| other.binary_search(t).is_ok()).count();
            shared as f64 / (trigrams.len() + other.len() - shared) as f64
        };
        let near = candidates.into_iter().map(|number| (number as usize, index(number)));
        near.filter(|&(_, index)| index >= least).collect()
    }
}

/// The distinct trigrams of some words, in order; fewer than three words count as one trigram.
fn trigrams(words: &[String]) -> Vec<u64> {
    let mut trigrams: Vec<u64> = match words.len() {
        0..3 => vec![hash(words)],
        _ => words.windows(3).map(hash).collect(),
    };
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
}

/// A set's two files of text, or its only one; none if it is a contrastive set.
fn text_files(set: &str, data: &Path) -> Option<InputFiles> {
    let path = |name: &str| data.join(name.trim());
    if let Some((source, target)) = set.split_once(',') {
        let target = Some(path(target));
        return Some(InputFiles { source: path(source), target, ..InputFiles::default() });
    }
    let source = path(set);
    let is_json = source.extension().is_some_and(|ending| ending == "json");
    (source.is_file() && !is_json).then(|| InputFiles { source, ..InputFiles::default() })
}

fn files_of(set: &str, data: &Path) -> Vec<PathBuf> {
    if let Some(InputFiles { source, target, .. }) = text_files(set, data) {
        return [Some(source), target].into_iter().flatten().collect();
    }
    let path = data.join(set.trim());
    if path.is_file() {
        return vec![path];
    }
    // A folder, or a prefix of names in one.
    let (folder, beginning) = if path.is_dir() {
        (path.as_path(), String::new())
    } else {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (path.parent().unwrap_or(data), name)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&beginning))
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

fn read_set(set: &str, data: &Path, languages: &Languages) -> Result<Vec<Document>> {
    if let Some(InputFiles { source, target, .. }) = text_files(set, data) {
        return Ok(read(&Input { source, target, ..Input::default() })?.documents);
    }
    let path = data.join(set.trim());
    let input = ContrastiveInput::new(path, &*languages.source, &*languages.target);
    let set = ContrastiveSet::read(&input)?;
    let documents = set.items.into_iter().map(|item| {
        let source = |text: String| Segment::new(text);
        let target = |text: String| Segment { source: String::new(), target: Some(text) };
        let mut segments: Vec<Segment> = item.context.into_iter().map(source).collect();
        segments.extend(item.target_context.into_iter().map(target));
        let reference = item.candidates.into_iter().next();
        segments.push(Segment { source: item.source, target: reference });
        Document::new(item.id, segments)
    });
    Ok(documents.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(pairs: &[(&str, &str)]) -> Overlap {
        let segments = pairs.iter().map(|(s, t)| Segment::pair(*s, *t)).collect();
        let document = Document::new("set", segments);
        Overlap::new(&OverlapRecipe::default(), std::iter::once(&document))
    }

    const SOURCE: &str = "The old lighthouse stood alone on the rock above the grey northern sea.";
    const TARGET: &str = "Der alte Leuchtturm stand allein auf dem Felsen über dem grauen Meer.";

    #[test]
    fn copies_of_either_side_are_found_despite_case_and_punctuation() {
        let overlap = overlap(&[(SOURCE, TARGET), ("Thank you.", "Danke.")]);
        let find = |source: &str, target: &str| overlap.find(&Segment::pair(source, target));
        assert_eq!(find(SOURCE, "Etwas anderes."), Found::Exact);
        assert_eq!(find("Something else.", &TARGET.to_uppercase()), Found::Exact);
        assert_eq!(find(&SOURCE.replace('.', " !"), ""), Found::Exact);
        assert_eq!(find("Thank you!", "Danke"), Found::Short);
        assert_eq!(find("Thank you!", "Danke schön"), Found::Nothing);
        assert_eq!(overlap.find(&Segment::new(SOURCE)), Found::Exact);
    }

    #[test]
    fn near_copies_share_most_trigrams() {
        let overlap = overlap(&[(SOURCE, TARGET)]);
        let find = |source: &str| overlap.find(&Segment::pair(source, ""));
        // 13 words have 11 trigrams; another last word changes one: 10 of 12 are shared.
        let Found::Near(index) = find(&SOURCE.replace("sea", "ocean")) else { panic!("not near") };
        assert!((index - 10.0 / 12.0).abs() < 1e-12, "{index}");
        // Two changed ends leave 9 of 13.
        let both = SOURCE.replace("sea", "ocean").replace("The old", "An old");
        assert_eq!(find(&both), Found::Nothing);
        assert_eq!(find("A text of as many words that has nothing to do with it."), Found::Nothing);
    }

    #[test]
    fn prefix_filtering_misses_nothing() {
        // Against the definition, on random texts of few words.
        let text = |seed: usize, words: usize| {
            let word = |w: usize| format!("w{}", (seed * 7 + w * w * (seed % 3 + 1)) % 5);
            (0..words).map(word).collect::<Vec<_>>()
        };
        let mut texts = Texts::default();
        let all: Vec<_> = (0..60).map(|seed| text(seed, 6 + seed % 9)).collect();
        for words in &all {
            texts.add(words);
        }
        for seed in 0..200 {
            let words = text(seed + 3, 6 + seed % 11);
            let ours = trigrams(&words);
            let index = |other: &Vec<String>| {
                let other = trigrams(other);
                let shared = ours.iter().filter(|t| other.contains(t)).count();
                shared as f64 / (ours.len() + other.len() - shared) as f64
            };
            let best = all.iter().map(index).fold(0.0, f64::max);
            let expected = if best >= 0.6 { best } else { 0.0 };
            let near = texts.near(&words, 0.6).into_iter().map(|(_, index)| index);
            assert!((near.fold(0.0, f64::max) - expected).abs() < 1e-12, "{words:?}");
        }
    }
}
