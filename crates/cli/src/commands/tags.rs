//! `abridge tags`: words of a translation that depend on context.

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_corpus::{
    ContrastiveInput, ContrastiveItem, ContrastiveSet, CtxProItem, CtxProSet, Format,
};
use abridge_evaluate::tagger::{
    AnnotatedWord, Tag, TagLanguage, TagRecall, TagReport, tag_document, tag_report, tag_test,
};
use abridge_evaluate::{Files, TestSet, holm};
use anyhow::{Context, ensure};
use clap::Args;
use serde::Serialize;

use super::contrast::probability;

/// Tags the words of translations that depend on context, and compares them with the reference.
///
/// Pronouns, formality, lexical cohesion, verb form and ellipsis, after MuDA, by rules without a
/// parser; the source is English. Give the translation without context first and the one with
/// context second: the table has the F1 of tagged words of each, and tests the difference.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge tags without.de with.de --source test.en --reference test.de --language de
  abridge tags --source test.en --reference test.de --language de --show 20

  # What the rules miss, on annotated words
  abridge tags --annotated ctxpro/formality.en-de --language de
  abridge tags --annotated contrapro-en-de --language de")]
pub struct Tags {
    /// Translations, one file per system; the first is the baseline of comparisons.
    #[arg(value_name = "HYP")]
    hypotheses: Vec<PathBuf>,
    /// The reference translation.
    #[arg(long, short, value_name = "REF", required_unless_present = "annotated")]
    reference: Option<PathBuf>,
    /// The source text, in English.
    #[arg(long, short, value_name = "SRC", required_unless_present = "annotated")]
    source: Option<PathBuf>,
    /// The language of the translations: de, fr or pt.
    #[arg(long, value_name = "CODE")]
    language: TagLanguage,
    /// One document id per line; found as in `evaluate` by default.
    #[arg(long, value_name = "FILE")]
    docids: Option<PathBuf>,
    /// The format of the files; otherwise found from name and content.
    #[arg(long)]
    format: Option<Format>,
    /// Prints the first N lines of the reference with their tagged words.
    #[arg(long, value_name = "N")]
    show: Option<usize>,
    /// Counts how many annotated words of a set the rules find: a ctxPro set or a contrastive set.
    #[arg(long, value_name = "SET", conflicts_with_all = ["hypotheses", "reference", "source"])]
    annotated: Option<PathBuf>,
    /// The seed of the tests.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    json: bool,
}

impl Tags {
    /// Tags and reports.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        if let Some(set) = &self.annotated {
            let examples = annotated(set)?;
            ensure!(!examples.is_empty(), "{} has no annotated words", set.display());
            let recall = TagRecall::new(&examples, self.language);
            if self.json {
                writeln!(out, "{:#}", serde_json::json!({ "tags": { "annotated": recall } }))?;
            } else {
                write!(out, "{recall}")?;
            }
            return Ok(());
        }
        let files = Files {
            hypotheses: self.hypotheses.clone(),
            references: self.reference.iter().cloned().collect(),
            source: self.source.clone(),
            docids: self.docids.clone(),
            format: self.format,
            empty_is_missing: false,
        };
        let test_set = files.read()?;
        let sources = test_set.sources.as_ref().context("--source is missing")?;
        let references: Vec<String> = (0..sources.len())
            .map(|line| test_set.references.of_segment(line)[0].to_owned())
            .collect();
        let report = |lines: &[String]| {
            let documents = test_set.documents.as_ref();
            tag_report(sources, lines, &references, documents, self.language)
        };
        // Comparing the reference with itself counts its tagged words.
        let own = report(&references)?;
        let mut reports: Vec<(String, TagReport)> = Vec::new();
        for system in &test_set.systems {
            reports.push((system.name.clone(), report(&system.lines)?));
        }
        if self.json {
            let systems: Vec<serde_json::Value> = reports
                .iter()
                .map(|(name, report)| serde_json::json!({ "system": name, "report": report }))
                .collect();
            let value = serde_json::json!({ "tags": {
                "reference": own, "systems": systems, "tests": self.tests(&own, &reports),
            }});
            writeln!(out, "{value:#}")?;
            return Ok(());
        }
        write!(out, "{}", self.table(&own, &reports))?;
        if let Some(count) = self.show {
            writeln!(out)?;
            for line in self.tagged_lines(&test_set, sources, &references, count) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    /// Every tag of every other system against the first system, corrected together.
    fn tests(&self, own: &TagReport, reports: &[(String, TagReport)]) -> Vec<TagTest> {
        let mut tests = Vec::new();
        for (tag, _) in &own.tags {
            for (name, report) in reports.iter().skip(1) {
                let baseline = &reports[0].1;
                tests.push(TagTest {
                    tag: *tag,
                    system: name.clone(),
                    better_by: f_score(report, *tag) - f_score(baseline, *tag),
                    p_value: tag_test(baseline, report, *tag, self.seed),
                    holm: 1.0,
                });
            }
        }
        let corrected = holm(&tests.iter().map(|test| test.p_value).collect::<Vec<_>>());
        for (test, holm) in tests.iter_mut().zip(corrected) {
            test.holm = holm;
        }
        tests
    }

    /// F1 of each tag and system, with tests against the first system.
    fn table(&self, own: &TagReport, reports: &[(String, TagReport)]) -> String {
        let mut parts = vec![format!("{:<18} {:>12}", "F1 of tagged words", "in reference")];
        parts.extend(reports.iter().map(|(name, _)| format!(" {:>14}", shortened(name))));
        parts.push("\n".to_owned());
        for (tag, counts) in &own.tags {
            parts.push(format!("{:<18} {:>12}", tag.to_string(), counts.reference));
            let scores = reports.iter().map(|(_, report)| f_score(report, *tag));
            parts.extend(scores.map(|score| format!(" {score:>14.1}")));
            parts.push("\n".to_owned());
        }
        let tests = self.tests(own, reports);
        if !tests.is_empty() {
            parts.push(format!(
                "\n{:<34} {:>9} {:>9} {:>9}\n",
                format!("against {}", shortened(&reports[0].0)),
                "better by",
                "p",
                "Holm's p"
            ));
        }
        parts.extend(tests.iter().map(|test| {
            let name = format!("{}, {}", test.tag, shortened(&test.system));
            let (p, holm) = (probability(test.p_value), probability(test.holm));
            format!("{name:<34} {:>9.1} {p:>9} {holm:>9}\n", test.better_by)
        }));
        parts.concat()
    }

    /// The first lines of the reference that have tagged words.
    fn tagged_lines(
        &self,
        test_set: &TestSet,
        sources: &[String],
        references: &[String],
        count: usize,
    ) -> Vec<String> {
        let whole = 0..sources.len();
        let documents = test_set.documents.as_ref();
        let ranges: Vec<_> = documents.map_or_else(
            || std::iter::once(whole).collect(),
            |documents| documents.iter().map(|document| document.lines.clone()).collect(),
        );
        let mut lines = Vec::new();
        for range in ranges {
            let (sources, references) = (&sources[range.clone()], &references[range]);
            let tagged = tag_document(sources, references, self.language);
            for ((source, reference), tagged) in sources.iter().zip(references).zip(tagged) {
                if !tagged.is_empty() && lines.len() < count {
                    let words: Vec<String> =
                        tagged.iter().map(|word| format!("{} ({})", word.word, word.tag)).collect();
                    lines.push(format!("{source}\n  {reference}\n  {}", words.join(", ")));
                }
            }
        }
        lines
    }
}

/// A system against the first one, by the F1 of a tag.
#[derive(Debug, Serialize)]
struct TagTest {
    tag: Tag,
    system: String,
    /// Points of F1.
    better_by: f64,
    p_value: f64,
    /// The p-value, corrected for all tests of the table.
    holm: f64,
}

fn f_score(report: &TagReport, tag: Tag) -> f64 {
    let found = report.tags.iter().find(|(other, _)| *other == tag);
    found.map_or(0.0, |(_, counts)| counts.f_score())
}

/// The annotated words of a ctxPro set or a contrastive set.
fn annotated(path: &Path) -> anyhow::Result<Vec<AnnotatedWord>> {
    if let Ok(set) = CtxProSet::read(path) {
        let word = |item: CtxProItem| AnnotatedWord {
            kind: item.rule,
            source: item.source,
            reference: item.reference,
            word: item.expected,
        };
        return Ok(set.items.into_iter().map(word).collect());
    }
    let mut found = None;
    for target in ["de", "fr", "pt"] {
        found = found.or(ContrastiveSet::read(&ContrastiveInput::new(path, "en", target)).ok());
    }
    let set = found.with_context(|| {
        format!("{}: neither a ctxPro set nor a contrastive set", path.display())
    })?;
    let word = |mut item: ContrastiveItem| {
        let pronoun = item.pronoun?;
        Some(AnnotatedWord {
            kind: pronoun.clone(),
            source: item.source,
            reference: item.candidates.swap_remove(0),
            word: pronoun,
        })
    };
    Ok(set.items.into_iter().filter_map(word).collect())
}

fn shortened(name: &str) -> String {
    let file = std::path::Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    file.chars().take(14).collect()
}
