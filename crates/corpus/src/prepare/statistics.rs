//! The paper's data table: documents, sentences per document, tokens per sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::store::StoreContent;
use crate::tokenizer::special::UNKNOWN;

/// The statistics of one split.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitStatistics {
    /// `train`, `valid` or `test`, after the name of the corpus if there are several.
    pub name: String,
    /// The number of documents.
    pub documents: usize,
    /// The number of sentences in all documents.
    pub sentences: usize,
    /// The source side.
    pub source: SideStatistics,
    /// The target side, if there is one.
    pub target: Option<SideStatistics>,
    /// The number of its token files, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<usize>,
}

/// The statistics of one side of a split.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideStatistics {
    /// All tokens, without `</s>`.
    pub tokens: usize,
    /// Tokens that are `<unk>`.
    pub unknown: usize,
    /// Tokens in the longest sentence.
    pub longest: usize,
}

impl SplitStatistics {
    /// The statistics of a store's content.
    pub fn of(name: &str, content: &StoreContent) -> Self {
        let side = |side: &crate::store::EncodedSide| {
            let mut start = 0;
            let mut longest = 0;
            for &end in &side.ends {
                longest = longest.max(end - start);
                start = end;
            }
            SideStatistics {
                tokens: side.ids.len(),
                unknown: side.ids.iter().filter(|&&id| id == UNKNOWN).count(),
                longest,
            }
        };
        Self {
            name: name.to_owned(),
            documents: content.documents.len(),
            sentences: content.source.ends.len(),
            source: side(&content.source),
            target: content.target.as_ref().map(side),
            shards: None,
        }
    }

    /// Adds the statistics of another shard of the split.
    pub fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.sentences += other.sentences;
        let sides = [
            (Some(&mut self.source), Some(&other.source)),
            (self.target.as_mut(), other.target.as_ref()),
        ];
        for (side, other) in sides {
            if let (Some(side), Some(other)) = (side, other) {
                side.tokens += other.tokens;
                side.unknown += other.unknown;
                side.longest = side.longest.max(other.longest);
            }
        }
    }

    /// Sentences per document.
    pub fn sentences_per_document(&self) -> f64 {
        self.sentences as f64 / self.documents.max(1) as f64
    }

    /// Tokens per sentence on a side, without `</s>`.
    pub fn tokens_per_sentence(&self, side: &SideStatistics) -> f64 {
        side.tokens as f64 / self.sentences.max(1) as f64
    }
}

/// The table of all splits, ready to print; both Markdown and readable plain text.
#[derive(Debug)]
pub struct DataTable<'a> {
    /// The codes of the languages.
    pub languages: (&'a str, &'a str),
    /// One row each.
    pub splits: &'a [SplitStatistics],
}

impl fmt::Display for DataTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, target) = self.languages;
        let head = [
            "split".to_owned(),
            "docs".to_owned(),
            "sentences".to_owned(),
            "sent/doc".to_owned(),
            format!("tok/sent {source}"),
            format!("tok/sent {target}"),
            format!("unknown {source}"),
            format!("unknown {target}"),
        ];
        let mut rows = vec![head];
        for split in self.splits {
            let tokens = |side: &SideStatistics| format!("{:.1}", split.tokens_per_sentence(side));
            let missing = || "-".to_owned();
            rows.push([
                split.name.clone(),
                split.documents.to_string(),
                split.sentences.to_string(),
                format!("{:.1}", split.sentences_per_document()),
                tokens(&split.source),
                split.target.as_ref().map_or_else(missing, tokens),
                split.source.unknown.to_string(),
                split.target.as_ref().map_or_else(missing, |side| side.unknown.to_string()),
            ]);
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..8).map(|column| width(column).unwrap_or(0)).collect();
        for (index, row) in rows.iter().enumerate() {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                if column == 0 {
                    write!(f, "| {cell:<width$} |")?;
                } else {
                    write!(f, " {cell:>width$} |")?;
                }
            }
            writeln!(f)?;
            if index == 0 {
                write!(f, "| {} |", "-".repeat(widths[0]))?;
                for &width in &widths[1..] {
                    write!(f, " {}: |", "-".repeat(width - 1))?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::EncodedSide;

    #[test]
    fn rows_line_up() {
        let content = StoreContent {
            documents: vec![("a".into(), 2), ("b".into(), 1)],
            source: EncodedSide { ids: vec![5, 6, 3, 7], ends: vec![2, 2, 4], vocabulary_size: 9 },
            target: None,
        };
        let statistics = [SplitStatistics::of("test", &content)];
        assert_eq!(statistics[0].source, SideStatistics { tokens: 4, unknown: 1, longest: 2 });
        let table = DataTable { languages: ("en", "de"), splits: &statistics }.to_string();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{table}");
        assert!(lines[2].starts_with("| test  |    2 |         3 |      1.5 |"), "{table}");
    }
}
