//! `abridge tags`: words of a translation that depend on context.

use std::io::Write;
use std::path::PathBuf;

use abridge_corpus::{ContrastiveInput, ContrastiveSet, CtxProSet, Format};
use abridge_evaluate::tagger::{Tag, TagLanguage, TagReport, tag_document, tag_report, tag_test};
use abridge_evaluate::{Files, TestSet, holm};
use anyhow::{Context, ensure};
use clap::Args;

use super::contrast::probability;

/// Tags the words of translations that depend on context, and compares them with the reference's.
///
/// Pronouns, formality, lexical cohesion, verb form and ellipsis, after MuDA, by rules without a
/// parser; the source is English. Give the translation of a model without context first and that
/// with context second: the table has the F1 of tagged words of each, and tests the difference.
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
    /// Prints so many lines of the reference with their tagged words.
    #[arg(long, value_name = "N")]
    show: Option<usize>,
    /// How many of a set's annotated words the rules find: a set of ctxPro, or a contrastive set.
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
            write!(out, "{}", self.recall(set)?)?;
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
        // The reference beside itself counts its words.
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
            let value = serde_json::json!({ "tags": { "reference": own, "systems": systems } });
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

    /// F1 of each tag and system, with tests against the first system.
    fn table(&self, own: &TagReport, reports: &[(String, TagReport)]) -> String {
        let mut parts = vec![format!("{:<18} {:>12}", "F1 of tagged words", "in reference")];
        parts.extend(reports.iter().map(|(name, _)| format!(" {:>14}", shortened(name))));
        parts.push("\n".to_owned());
        let mut tests: Vec<(String, f64)> = Vec::new();
        for (tag, counts) in &own.tags {
            parts.push(format!("{:<18} {:>12}", tag.to_string(), counts.reference));
            for (name, report) in reports {
                let found = report.tags.iter().find(|(other, _)| other == tag);
                let score = found.map_or(0.0, |(_, counts)| counts.f_score());
                parts.push(format!(" {score:>14.1}"));
                if *name != reports[0].0 {
                    let p_value = tag_test(&reports[0].1, report, *tag, self.seed);
                    tests.push((format!("{tag}, {}", shortened(name)), p_value));
                }
            }
            parts.push("\n".to_owned());
        }
        let corrected = holm(&tests.iter().map(|(_, p)| *p).collect::<Vec<_>>());
        if !tests.is_empty() {
            parts.push(format!(
                "\n{:<34} {:>9} {:>9}\n",
                format!("against {}", shortened(&reports[0].0)),
                "p",
                "Holm's p"
            ));
        }
        parts.extend(tests.iter().zip(corrected).map(|((name, p), corrected)| {
            format!("{name:<34} {:>9} {:>9}\n", probability(*p), probability(corrected))
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

    /// How many of the annotated words of a set the rules find, and with which tag.
    fn recall(&self, path: &std::path::Path) -> anyhow::Result<String> {
        let examples = annotated(path)?;
        let mut counts = vec![0usize; Tag::ALL.len()];
        let (mut found, mut others, mut present) = (0, 0, 0);
        for (source, reference, expected) in &examples {
            let tagged = tag_document(&[source], &[reference], self.language).remove(0);
            let is_expected = |word: &str| word.trim_end_matches('\'') == expected.as_str();
            let mut any = false;
            for (place, tag) in Tag::ALL.into_iter().enumerate() {
                let has = tagged.iter().any(|word| word.tag == tag && is_expected(&word.word));
                counts[place] += usize::from(has);
                any |= has;
            }
            found += usize::from(any);
            others += tagged.iter().filter(|word| !is_expected(&word.word)).count();
            let words = reference.to_lowercase();
            present += usize::from(
                words.split(|c: char| !c.is_alphanumeric()).any(|word| word == expected),
            );
        }
        ensure!(!examples.is_empty(), "the set has no annotated words");
        let share = |count: usize| 100.0 * count as f64 / examples.len() as f64;
        let mut parts = vec![format!(
            "{} annotated words, {present} of them whole words of the reference\n",
            examples.len()
        )];
        parts.extend(Tag::ALL.into_iter().zip(&counts).filter(|(_, count)| **count > 0).map(
            |(tag, &count)| format!("{:<18} {count:>6} {:>6.1} %\n", tag.to_string(), share(count)),
        ));
        parts.push(format!("{:<18} {found:>6} {:>6.1} %\n", "any tag", share(found)));
        parts.push(format!(
            "{:<18} {:>6} {:>6.1} %\n",
            "missed",
            examples.len() - found,
            share(examples.len() - found)
        ));
        parts.push(format!("{:<18} {others:>6}\n", "other words tagged"));
        Ok(parts.concat())
    }
}

/// Source, reference and annotated word of each example of a set.
fn annotated(path: &std::path::Path) -> anyhow::Result<Vec<(String, String, String)>> {
    if let Ok(set) = CtxProSet::read(path) {
        let items = set.items.into_iter();
        return Ok(items
            .map(|item| (item.source, item.reference, item.expected.to_lowercase()))
            .collect());
    }
    let mut found = None;
    for target in ["de", "fr", "pt"] {
        found = found.or(ContrastiveSet::read(&ContrastiveInput::new(path, "en", target)).ok());
    }
    let set = found.with_context(|| {
        format!("{}: neither a set of ctxPro nor a contrastive set", path.display())
    })?;
    let items = set.items.into_iter();
    Ok(items
        .filter_map(|mut item| Some((item.source, item.candidates.swap_remove(0), item.pronoun?)))
        .collect())
}

fn shortened(name: &str) -> String {
    let file = std::path::Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    file.chars().take(14).collect()
}
