//! Compares the pronouns of a translation with its reference: precision and recall per gender.
//!
//! No contrastive alternatives are needed: pronouns are found by their form and counted line by
//! line, so that an ordinary test set shows the effect of context on them. A pronoun matches if the
//! reference has one of the same gender in the same line, whatever its grammatical case (`er` for
//! `ihn`); single forms are counted, too. Forms that are mostly other words (French `le`, `la`,
//! `lui`) are left out.

mod language;

use abridge_base::message::counted;
use abridge_corpus::{Error, Result};
pub use language::PronounLanguage;
use language::words;
use serde::Serialize;

use crate::references::References;
use crate::signature::{Field, Signature};

/// The texts to count in.
#[derive(Clone, Debug)]
pub struct PronounInput<'a> {
    /// The language of the translation.
    pub language: PronounLanguage,
    /// The translation.
    pub hypotheses: &'a [String],
    /// Its references. If there are several, the one that shares most pronouns with a line counts.
    pub references: &'a References,
    /// Counts only lines whose source has one of these words.
    pub only: Option<SourceFilter<'a>>,
}

/// Selects lines by words of their source, such as `it` for the pronouns that need context.
#[derive(Clone, Copy, Debug)]
pub struct SourceFilter<'a> {
    /// The source.
    pub sources: &'a [String],
    /// The words, in lower case.
    pub words: &'a [String],
}

/// How often pronouns were found, and how often they were right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PronounCounts {
    /// In the translation.
    pub hypothesis: usize,
    /// In the reference.
    pub reference: usize,
    /// In both, line by line.
    pub matched: usize,
}

impl PronounCounts {
    /// The share of the translation's pronouns that the reference has, in percent.
    pub fn precision(&self) -> f64 {
        percent(self.matched, self.hypothesis)
    }

    /// The share of the reference's pronouns that the translation has, in percent.
    pub fn recall(&self) -> f64 {
        percent(self.matched, self.reference)
    }

    /// The harmonic mean of precision and recall, in percent.
    pub fn f_score(&self) -> f64 {
        percent(2 * self.matched, self.hypothesis + self.reference)
    }

    fn add(&mut self, hypothesis: usize, reference: usize) {
        self.hypothesis += hypothesis;
        self.reference += reference;
        self.matched += hypothesis.min(reference);
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// The counts of one form or gender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PronounRow {
    /// The gender or the form.
    pub name: &'static str,
    /// Its counts.
    pub counts: PronounCounts,
    /// The forms of a gender.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<PronounRow>,
}

/// The pronouns of a translation compared with those of its reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PronounReport {
    /// How many lines were counted.
    pub lines: usize,
    /// All genders together.
    pub total: PronounCounts,
    /// The genders.
    pub genders: Vec<PronounRow>,
    /// What was counted.
    pub signature: Signature,
}

/// Counts the pronouns of a translation.
pub fn pronoun_report(input: &PronounInput<'_>) -> Result<PronounReport> {
    let lines = input.hypotheses.len();
    check_lines("reference", lines, input.references.len())?;
    if let Some(filter) = &input.only {
        check_lines("source", lines, filter.sources.len())?;
    }
    let empty = |name| PronounRow { name, counts: PronounCounts::default(), forms: Vec::new() };
    let mut genders: Vec<PronounRow> = input
        .language
        .genders()
        .iter()
        .map(|gender| PronounRow {
            forms: gender.forms.iter().map(|form| empty(form)).collect(),
            ..empty(gender.name)
        })
        .collect();
    let mut counted = 0;
    for (line, hypothesis) in input.hypotheses.iter().enumerate() {
        if input.only.is_some_and(|filter| !filter.takes(line)) {
            continue;
        }
        counted += 1;
        let here = input.language.find(hypothesis);
        let there = nearest(input.language, &here, &input.references.of_segment(line));
        for (gender, row) in genders.iter_mut().enumerate() {
            row.counts.add(of_gender(&here, gender), of_gender(&there, gender));
            for (form, row) in row.forms.iter_mut().enumerate() {
                let count = |found: &[(usize, usize)]| {
                    found.iter().filter(|&&pronoun| pronoun == (gender, form)).count()
                };
                row.counts.add(count(&here), count(&there));
            }
        }
    }
    let mut total = PronounCounts::default();
    for PronounRow { counts, .. } in &genders {
        total.hypothesis += counts.hypothesis;
        total.reference += counts.reference;
        total.matched += counts.matched;
    }
    Ok(PronounReport { lines: counted, total, genders, signature: signature(input) })
}

impl SourceFilter<'_> {
    fn takes(&self, line: usize) -> bool {
        words(&self.sources[line]).any(|word| self.words.contains(&word.text.to_lowercase()))
    }
}

fn of_gender(found: &[(usize, usize)], gender: usize) -> usize {
    found.iter().filter(|pronoun| pronoun.0 == gender).count()
}

/// The pronouns of the reference that shares most of these; the first one in case of ties.
fn nearest(
    language: PronounLanguage,
    here: &[(usize, usize)],
    references: &[&str],
) -> Vec<(usize, usize)> {
    let mut best: Option<(usize, Vec<(usize, usize)>)> = None;
    for reference in references {
        let there = language.find(reference);
        let shared = (0..language.genders().len())
            .map(|gender| of_gender(here, gender).min(of_gender(&there, gender)))
            .sum();
        if best.as_ref().is_none_or(|(most, _)| shared > *most) {
            best = Some((shared, there));
        }
    }
    best.map_or_else(Vec::new, |(_, there)| there)
}

fn check_lines(what: &str, lines: usize, others: usize) -> Result<()> {
    if lines == others {
        return Ok(());
    }
    let lines = counted(lines, "line");
    Err(Error::new(format!("the hypothesis has {lines} but the {what} has {others}"))
        .remedy("give files of the same test set"))
}

fn signature(input: &PronounInput<'_>) -> Signature {
    let mut fields = vec![
        Field::new("nrefs", "#", input.references.count().to_string()),
        Field::new("lang", "l", input.language.code()),
    ];
    if let Some(filter) = &input.only {
        fields.push(Field::new("where", "w", filter.words.join("+")));
    }
    fields.push(Field::new("version", "v", concat!("abridge-", env!("CARGO_PKG_VERSION"))));
    Signature::custom(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(
        language: PronounLanguage,
        hypotheses: &[&str],
        references: &[&str],
    ) -> PronounReport {
        let hypotheses: Vec<String> = hypotheses.iter().map(|&line| line.to_owned()).collect();
        let references = References::single(references.iter().copied()).unwrap();
        let input =
            PronounInput { language, hypotheses: &hypotheses, references: &references, only: None };
        pronoun_report(&input).unwrap()
    }

    fn counts(report: &PronounReport, name: &str) -> (usize, usize, usize) {
        let row = report.genders.iter().find(|row| row.name == name).unwrap();
        (row.counts.hypothesis, row.counts.reference, row.counts.matched)
    }

    #[test]
    fn german_genders_are_counted_line_by_line() {
        let found = report(
            PronounLanguage::German,
            &["Es ist neu. Ich mag es.", "Er kommt.", "Sie lacht."],
            &["Sie ist neu. Ich mag sie.", "Ich sehe ihn.", "Sie lacht, sagt er."],
        );
        assert_eq!(counts(&found, "neuter"), (2, 0, 0));
        assert_eq!(counts(&found, "feminine or plural"), (1, 3, 1));
        assert_eq!(counts(&found, "masculine"), (1, 2, 1));
        assert_eq!((found.total.hypothesis, found.total.reference, found.total.matched), (4, 5, 2));
        assert!((found.total.precision() - 50.0).abs() < 1e-9);
        assert!((found.total.recall() - 40.0).abs() < 1e-9);
        let masculine = &found.genders[0];
        assert_eq!(masculine.forms[0].counts.matched, 0, "er is not ihn");
    }

    #[test]
    fn a_capital_inside_a_sentence_is_polite() {
        let found =
            report(PronounLanguage::German, &["Haben Sie das? „Sie kam.“"], &["Sie habe ich."]);
        assert_eq!(counts(&found, "polite"), (1, 0, 0));
        assert_eq!(counts(&found, "feminine or plural"), (1, 1, 1));
    }

    #[test]
    fn french_clitics_and_inversions_are_found() {
        let found = report(
            PronounLanguage::French,
            &["Qu’elle vienne, c'est tout. Vient-il ?"],
            &["Qu'il vienne, ça suffit. Viennent-elles ?"],
        );
        assert_eq!(counts(&found, "feminine"), (1, 0, 0));
        assert_eq!(counts(&found, "masculine"), (1, 1, 1));
        assert_eq!(counts(&found, "neutral"), (1, 1, 1));
        assert_eq!(counts(&found, "feminine plural"), (0, 1, 0));
    }

    #[test]
    fn a_filter_takes_lines_by_their_source() {
        let hypotheses = ["Es kam.".to_owned(), "Es kam.".to_owned()];
        let sources = ["It came.".to_owned(), "The dog came.".to_owned()];
        let references = References::single(["Er kam.", "Es kam."]).unwrap();
        let words = ["it".to_owned()];
        let input = PronounInput {
            language: PronounLanguage::German,
            hypotheses: &hypotheses,
            references: &references,
            only: Some(SourceFilter { sources: &sources, words: &words }),
        };
        let found = pronoun_report(&input).unwrap();
        assert_eq!(found.lines, 1);
        assert_eq!(counts(&found, "neuter"), (1, 0, 0));
        assert!(found.signature.to_string().starts_with("nrefs:1|lang:de|where:it|"));
        assert!(pronoun_report(&PronounInput { hypotheses: &hypotheses[..1], ..input }).is_err());
    }
}
