//! Filters for training text, and a report of what they removed.
//!
//! A pair is removed by the first filter that rejects it, in the order of [`FilterRecipe`]. The
//! document is cut there, so that sentences which were not adjacent do not become each other's
//! context.

mod duplicates;
mod fold;
mod language;
mod overlap;
mod report;

use serde::{Deserialize, Serialize};

use duplicates::Duplicates;
use language::Language;
use overlap::{Found, Overlap};

pub use duplicates::Sameness;
pub(crate) use fold::folded_words;
pub(super) use fold::hash;
pub use overlap::OverlapRecipe;
pub(crate) use overlap::Texts;
pub use report::{FilterReport, TakenOut};

use super::recipe::Languages;
use crate::{Document, Error, Result, Segment};

/// Which filters, each with its threshold. All are off by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilterRecipe {
    /// The smallest share of letters among the characters of each side, not counting spaces;
    /// control characters and the replacement character (U+FFFD) are not allowed at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub characters: Option<f64>,
    /// The smallest and the largest number of words of each side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<[usize; 2]>,
    /// The largest ratio of the lengths of both sides in characters, with ten characters of slack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The confidence (0 to 1) from which a side of at least 30 letters counts as another language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<f64>,
    /// Text that occurs in validation, test or contrastive sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapRecipe>,
    /// Pairs that occurred before in the same corpus: `exact`, or `near`, which ignores case,
    /// punctuation, spaces and digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<Sameness>,
}

impl FilterRecipe {
    /// Whether nothing is filtered.
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }

    /// Rejects thresholds out of range.
    pub fn check(&self) -> Result<()> {
        let shares = [("characters", self.characters), ("language", self.language)];
        for (name, share) in shares {
            if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
                return Err(Error::new(format!("filters.{name} is {share}"))
                    .remedy("a share must be in [0, 1]"));
            }
        }
        if let Some([least, most]) = self.length.filter(|[least, most]| least > most) {
            return Err(Error::new(format!("filters.length is [{least}, {most}]"))
                .remedy("the smallest number of words comes first"));
        }
        if let Some(ratio) = self.ratio.filter(|ratio| !ratio.is_finite() || *ratio < 1.0) {
            return Err(Error::new(format!("filters.ratio is {ratio}"))
                .remedy("a ratio must be finite and 1 or more"));
        }
        self.overlap.as_ref().map_or(Ok(()), OverlapRecipe::check)
    }
}

/// The filters of one split.
#[derive(Debug)]
pub struct Filters {
    recipe: FilterRecipe,
    languages: Option<(Language, Language)>,
    overlap: Option<Overlap>,
    duplicates: Option<Duplicates>,
    report: Vec<FilterReport>,
    pairs: usize,
}

impl Filters {
    /// Filters for text of about this many pairs in two languages; `sets` are the documents that it
    /// must not overlap with.
    pub fn new<'a>(
        recipe: &FilterRecipe,
        languages: &Languages,
        pairs: u64,
        sets: impl Iterator<Item = &'a Document>,
    ) -> Result<Self> {
        let language = |code: &str, confidence: f64| Language::new(code, confidence);
        let detectors = recipe.language.map(|confidence| {
            Ok((language(&languages.source, confidence)?, language(&languages.target, confidence)?))
        });
        Ok(Self {
            languages: detectors.transpose()?,
            overlap: recipe.overlap.as_ref().map(|recipe| Overlap::new(recipe, sets)),
            duplicates: recipe.duplicates.map(|sameness| Duplicates::new(sameness, pairs)),
            report: FilterReport::all(recipe),
            recipe: recipe.clone(),
            pairs: 0,
        })
    }

    /// What was removed so far, and the number of pairs.
    pub fn so_far(&self) -> (Vec<FilterReport>, usize) {
        (self.report.clone(), self.pairs)
    }

    /// Continues after an interruption, with what was removed until then.
    pub fn resume(&mut self, (report, pairs): (Vec<FilterReport>, usize)) {
        (self.report, self.pairs) = (report, pairs);
    }

    /// Remembers a pair that had passed the filters before an interruption. A pair that duplicates
    /// another leaves no trace, so those that passed are all there is to remember.
    pub fn remember(&mut self, segment: &Segment) {
        if let Some(duplicates) = &mut self.duplicates {
            duplicates.has_seen(segment);
        }
    }

    /// What is left of a document: it is cut where a pair is removed.
    pub fn apply(&mut self, document: Document) -> Vec<Document> {
        let Document { id, segments } = document;
        let mut pieces: Vec<Document> = Vec::new();
        let mut is_open = false;
        for (index, segment) in segments.into_iter().enumerate() {
            self.pairs += 1;
            if let Some((filter, why)) = self.objection(&segment) {
                let report = self.report.iter_mut().find(|report| report.filter == filter);
                if let Some(report) = report {
                    report.add(|| format!("{id}, sentence {}", index + 1), &segment, why);
                }
                is_open = false;
                continue;
            }
            if !is_open {
                let name = match pieces.len() {
                    0 => id.clone(),
                    before => format!("{id}/{}", before + 1),
                };
                pieces.push(Document::new(name, Vec::new()));
                is_open = true;
            }
            if let Some(piece) = pieces.last_mut() {
                piece.segments.push(segment);
            }
        }
        pieces
    }

    /// What was removed from a split.
    pub fn finish(mut self, split: &str) -> Vec<FilterReport> {
        for report in &mut self.report {
            split.clone_into(&mut report.split);
            report.of = self.pairs;
            if let ("duplicates", Some(seen)) = (report.filter.as_str(), &self.duplicates) {
                report.wrong = seen.wrong();
            }
        }
        self.report
    }

    /// The first filter that rejects a pair, and why.
    fn objection(&mut self, segment: &Segment) -> Option<(&'static str, String)> {
        let sides = [Some(segment.source.as_str()), segment.target.as_deref()];
        let mut sides = sides.into_iter().flatten();
        if let Some(least) = self.recipe.characters
            && let Some(why) = sides.clone().find_map(|side| wrong_characters(side, least))
        {
            return Some(("characters", why));
        }
        if let Some([least, most]) = self.recipe.length {
            let words = |side: &str| side.split_whitespace().count();
            if let Some(count) = sides.clone().map(words).find(|n| !(least..=most).contains(n)) {
                return Some(("length", format!("{count} words")));
            }
        }
        if let (Some(ratio), Some(target)) = (self.recipe.ratio, &segment.target) {
            let (a, b) = (segment.source.chars().count(), target.chars().count());
            if a.max(b) as f64 > ratio * a.min(b) as f64 + 10.0 {
                return Some(("ratio", format!("{a} and {b} characters")));
            }
        }
        if let Some((source, target)) = self.languages {
            let other = sides.next().and_then(|side| source.other(side));
            let other = other.or_else(|| sides.next().and_then(|side| target.other(side)));
            if let Some(language) = other {
                return Some(("language", format!("looks like {language}")));
            }
        }
        if let Some(overlap) = &self.overlap {
            match overlap.find(segment) {
                Found::Exact => return Some(("overlap", "occurs in a set".into())),
                Found::Near(index) => {
                    return Some(("overlap", format!("shares {:.0} % of trigrams", 100.0 * index)));
                }
                Found::Short => {
                    if let Some(report) = self.report.iter_mut().find(|r| r.filter == "overlap") {
                        report.short += 1;
                    }
                }
                Found::Nothing => {}
            }
        }
        let seen = self.duplicates.as_mut().is_some_and(|seen| seen.has_seen(segment));
        seen.then(|| ("duplicates", "occurred before".into()))
    }
}

fn wrong_characters(text: &str, least: f64) -> Option<String> {
    let (mut all, mut letters) = (0_usize, 0_usize);
    for character in text.chars() {
        if character == '\u{fffd}' || (character.is_control() && !character.is_whitespace()) {
            return Some(format!("has U+{:04X}", u32::from(character)));
        }
        all += usize::from(!character.is_whitespace());
        letters += usize::from(character.is_alphabetic());
    }
    let share = letters as f64 / all.max(1) as f64;
    (share < least).then(|| format!("{:.0} % letters", 100.0 * share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(recipe: &FilterRecipe, pairs: &[(&str, &str)]) -> (Vec<usize>, Vec<FilterReport>) {
        let languages = Languages { source: "en".into(), target: "de".into() };
        let set = Document::new(
            "set",
            vec![Segment::pair("One two three four five six seven.", "Eins zwei drei.")],
        );
        let mut filters = Filters::new(recipe, &languages, 100, std::iter::once(&set)).unwrap();
        let segments = pairs.iter().map(|(s, t)| Segment::pair(*s, *t)).collect();
        let pieces = filters.apply(Document::new("d", segments));
        (pieces.iter().map(|piece| piece.segments.len()).collect(), filters.finish("train"))
    }

    #[test]
    fn each_filter_removes_its_pairs_and_reports_them() {
        let german = "Das Wetter war schlecht und niemand wollte vor die Tür gehen.";
        let english = "The weather was bad and nobody wanted to leave the house.";
        let cases: [(FilterRecipe, (&str, &str), &str); 8] = [
            (
                FilterRecipe { characters: Some(0.5), ..Default::default() },
                ("Fine.", "12:30 - 14:00"),
                "0 % letters",
            ),
            (
                FilterRecipe { characters: Some(0.0), ..Default::default() },
                ("Fi\u{fffd}ne.", "Gut."),
                "has U+FFFD",
            ),
            (
                FilterRecipe { length: Some([1, 5]), ..Default::default() },
                ("", "Nicht leer."),
                "0 words",
            ),
            (
                FilterRecipe { ratio: Some(2.0), ..Default::default() },
                ("Yes.", german),
                "4 and 61 characters",
            ),
            (
                FilterRecipe { language: Some(0.8), ..Default::default() },
                (english, english),
                "looks like English",
            ),
            (
                FilterRecipe { overlap: Some(OverlapRecipe::default()), ..Default::default() },
                ("One, two, three, four, five, six, seven!", "Etwas anderes."),
                "occurs in a set",
            ),
            (
                FilterRecipe { overlap: Some(OverlapRecipe::default()), ..Default::default() },
                ("One two three four five six seven. One", "Etwas anderes."),
                "shares 83 % of trigrams",
            ),
            (
                FilterRecipe { duplicates: Some(Sameness::Near), ..Default::default() },
                ("it is BAD", "es ist schlecht"),
                "occurred before",
            ),
        ];
        for (recipe, wrong, why) in cases {
            recipe.check().unwrap();
            let good = ("It is bad.", "Es ist schlecht.");
            let (sizes, report) = taken(&recipe, &[good, wrong, ("Of that.", "Davon.")]);
            assert_eq!(sizes, [1, 1], "{why}: the document is cut where the pair was");
            assert_eq!((report.len(), report[0].removed, report[0].of), (1, 1, 3), "{why}");
            assert_eq!(report[0].examples[0].why, why);
            assert_eq!(report[0].examples[0].place, "d, sentence 2");
        }
    }

    #[test]
    fn disabled_filters_remove_nothing() {
        let (sizes, report) = taken(&FilterRecipe::default(), &[("", "x"), ("", "x")]);
        assert_eq!((sizes, report), (vec![2], vec![]));
        let recipe = FilterRecipe { overlap: Some(OverlapRecipe::default()), ..Default::default() };
        let (sizes, report) = taken(&recipe, &[("Eins.", "Eins."), ("a", "b")]);
        assert_eq!((sizes, report[0].removed), (vec![2], 0));
    }

    #[test]
    fn rejects_thresholds_out_of_range() {
        for (text, part) in [
            ("ratio = 0.5", "filters.ratio is 0.5"),
            ("characters = 2.0", "filters.characters is 2"),
            ("length = [9, 3]", "filters.length is [9, 3]"),
            ("overlap = { near = 0.1 }", "filters.overlap.near is 0.1"),
        ] {
            let recipe: FilterRecipe = toml::from_str(text).unwrap();
            assert!(recipe.check().unwrap_err().to_string().contains(part));
        }
    }
}
