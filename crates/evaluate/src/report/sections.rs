//! The report as tables, for a terminal or as Markdown.

use super::table::Table;
use super::{MetricResult, Report, SystemScore};
use crate::pronoun::{PronounCounts, PronounReport};

/// The level below which a difference is marked as significant.
const LEVEL: f64 = 0.05;

/// A table with its title and notes.
struct Section {
    title: String,
    table: Table,
    notes: Vec<String>,
}

impl Report {
    /// For a terminal, with this many decimals.
    pub fn to_text(&self, decimals: usize) -> String {
        let sections = self.sections(decimals).into_iter().map(|section| {
            let mut text = section.table.to_text();
            if !section.title.is_empty() {
                text = format!("{}\n{text}", section.title);
            }
            for note in section.notes {
                text.extend([note.as_str(), "\n"]);
            }
            text
        });
        sections.collect::<Vec<_>>().join("\n")
    }

    /// As Markdown, with this many decimals.
    pub fn to_markdown(&self, decimals: usize) -> String {
        let sections = self.sections(decimals).into_iter().map(|section| {
            let mut text = section.table.to_markdown();
            if !section.title.is_empty() {
                text = format!("### {}\n\n{text}", section.title);
            }
            if !section.notes.is_empty() {
                text.push('\n');
            }
            for note in section.notes {
                text.extend(["- ", &note.replace('|', "\\|"), "\n"]);
            }
            text
        });
        sections.collect::<Vec<_>>().join("\n")
    }

    fn sections(&self, decimals: usize) -> Vec<Section> {
        let mut sections = vec![self.scores(decimals)];
        for metric in self.metrics.iter().filter(|metric| !metric.documents.is_empty()) {
            if self.systems.len() > 1 {
                sections.push(self.documents_of(metric, decimals));
            }
        }
        if self.systems.len() == 1 && !self.documents.is_empty() && !self.metrics.is_empty() {
            sections.push(self.documents_of_one(decimals));
        }
        for (system, pronouns) in self.systems.iter().zip(&self.pronouns) {
            sections.push(pronoun_section(system, pronouns, decimals));
        }
        sections
    }

    fn scores(&self, decimals: usize) -> Section {
        let signatures =
            self.metrics.iter().map(|metric| format!("{}|{}", metric.name, metric.signature));
        let mut notes: Vec<String> = signatures.collect();
        notes.push(format!(
            "set|hash:{}|lines:{}|version:abridge-{}",
            crate::hash::short(&self.set),
            self.lines,
            env!("CARGO_PKG_VERSION")
        ));
        let table = if self.systems.len() == 1 {
            Table {
                words: &[0, 2],
                header: vec!["metric".to_owned(), "score".to_owned(), "details".to_owned()],
                rows: self
                    .metrics
                    .iter()
                    .filter_map(|metric| metric.systems.first().map(|score| (metric, score)))
                    .map(|(metric, score)| {
                        let details = score.details.clone().unwrap_or_default();
                        vec![metric.name.clone(), cell(metric, score, decimals), details]
                    })
                    .collect(),
            }
        } else {
            let names = self.metrics.iter().map(|metric| metric.name.clone());
            Table {
                words: &[0],
                header: std::iter::once("system".to_owned()).chain(names).collect(),
                rows: self
                    .systems
                    .iter()
                    .enumerate()
                    .map(|(index, system)| {
                        let scores = self
                            .metrics
                            .iter()
                            .map(|metric| cell(metric, &metric.systems[index], decimals));
                        std::iter::once(system.clone()).chain(scores).collect()
                    })
                    .collect(),
            }
        };
        if let Some(test) = &self.test {
            notes.push(format!(
                "p: {} against {} ({} samples, seed {}); * marks p < {LEVEL} after Holm's \
                 correction over the table",
                test.resampling, self.systems[0], test.samples, test.seed
            ));
        }
        Section { title: String::new(), table, notes }
    }

    fn documents_of(&self, metric: &MetricResult, decimals: usize) -> Section {
        let header = ["document".to_owned(), "lines".to_owned()];
        Section {
            title: format!("{} per document", metric.name),
            table: Table {
                words: &[0],
                header: header.into_iter().chain(self.systems.iter().cloned()).collect(),
                rows: self
                    .documents
                    .iter()
                    .zip(&metric.documents)
                    .map(|(document, scores)| {
                        let scores = scores.iter().map(|&score| number(metric, score, decimals));
                        [document.id.clone(), document.lines.to_string()]
                            .into_iter()
                            .chain(scores)
                            .collect()
                    })
                    .collect(),
            },
            notes: Vec::new(),
        }
    }

    fn documents_of_one(&self, decimals: usize) -> Section {
        let header = ["document".to_owned(), "lines".to_owned()];
        let names = self.metrics.iter().map(|metric| metric.name.clone());
        Section {
            title: "Per document".to_owned(),
            table: Table {
                words: &[0],
                header: header.into_iter().chain(names).collect(),
                rows: self
                    .documents
                    .iter()
                    .enumerate()
                    .map(|(place, document)| {
                        let scores = self
                            .metrics
                            .iter()
                            .map(|metric| number(metric, metric.documents[place][0], decimals));
                        [document.id.clone(), document.lines.to_string()]
                            .into_iter()
                            .chain(scores)
                            .collect()
                    })
                    .collect(),
            },
            notes: Vec::new(),
        }
    }
}

fn number(metric: &MetricResult, score: f64, decimals: usize) -> String {
    let decimals = decimals + metric.extra_decimals;
    format!("{score:.decimals$}")
}

/// `53.9 (53.2 ± 11.3, p = 0.002*)`
fn cell(metric: &MetricResult, score: &SystemScore, decimals: usize) -> String {
    let mut parts = Vec::new();
    if let Some(interval) = &score.interval {
        let mean = number(metric, interval.mean, decimals);
        parts.push(format!("{mean} ± {}", number(metric, interval.half_width, decimals)));
    }
    if let Some(comparison) = &score.comparison {
        // Equal translations have no difference, for which a small p means nothing.
        let significant = score.holm.is_some_and(|p| p < LEVEL) && comparison.difference != 0.0;
        let mark = if significant { "*" } else { "" };
        parts.push(format!("p = {:.4}{mark}", comparison.p_value));
    }
    let score = number(metric, score.score, decimals);
    if parts.is_empty() { score } else { format!("{score} ({})", parts.join(", ")) }
}

fn pronoun_section(system: &str, pronouns: &PronounReport, decimals: usize) -> Section {
    let row = |name: String, counts: &PronounCounts| {
        let percent = |value: f64, of: usize| {
            if of == 0 { "–".to_owned() } else { format!("{value:.decimals$}") }
        };
        vec![
            name,
            percent(counts.precision(), counts.hypothesis),
            percent(counts.recall(), counts.reference),
            percent(counts.f_score(), counts.hypothesis + counts.reference),
            counts.hypothesis.to_string(),
            counts.reference.to_string(),
            counts.matched.to_string(),
        ]
    };
    let mut rows = vec![row("all".to_owned(), &pronouns.total)];
    for gender in &pronouns.genders {
        rows.push(row(gender.name.to_owned(), &gender.counts));
        if gender.forms.len() > 1 {
            rows.extend(
                gender.forms.iter().map(|form| row(format!("– {}", form.name), &form.counts)),
            );
        }
    }
    let header =
        ["pronouns", "precision", "recall", "F1", "in hypothesis", "in reference", "matched"];
    Section {
        title: format!("Pronouns of {system} ({} lines)", pronouns.lines),
        table: Table { words: &[0], header: header.map(str::to_owned).to_vec(), rows },
        notes: vec![format!("pronouns|{}", pronouns.signature)],
    }
}
