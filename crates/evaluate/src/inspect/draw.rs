//! Sentences as pictures.

use super::page::STRONG;
use super::{ContextSentence, GroupKind, Groups, InspectedSentence, Kept, distance_in_words};
use crate::picture::{Grid, Svg, Text, text_width};

impl Groups {
    /// Tokens against groups.
    pub fn grid(&self, tokens: &[String]) -> Grid {
        let count = self.weights.first().map_or(0, Vec::len);
        Grid {
            title: match self.kind {
                GroupKind::Grouping => "how each token is distributed over the groups".into(),
                GroupKind::Selecting => "which tokens each group selects".into(),
            },
            rows: tokens.to_vec(),
            columns: (1..=count).map(|group| group.to_string()).collect(),
            weights: self.weights.clone(),
            breaks: Vec::new(),
        }
    }
}

impl InspectedSentence {
    /// The tokens of the translation against the earlier words; full strength means twenty times
    /// less probable without the word.
    pub fn influence_grid(&self) -> Option<Grid> {
        let decided: Vec<ContextSentence> = self
            .context
            .iter()
            .filter(|sentence| !sentence.influence.is_empty())
            .map(|sentence| {
                let shade = |nats: &f32| (nats / STRONG).clamp(0.0, 1.0);
                let shades = |row: &Vec<f32>| row.iter().map(shade).collect();
                let influence = sentence.influence.iter().map(shades).collect();
                ContextSentence { influence, ..sentence.clone() }
            })
            .collect();
        grid_of(&self.target_tokens, &decided, "earlier words that decided", |sentence| {
            (sentence.tokens.clone(), &sentence.influence)
        })
    }

    /// The tokens of the translation against the words of the memory.
    pub fn attention_grid(&self) -> Option<Grid> {
        grid_of(&self.target_tokens, &self.context, "attention by word", |sentence| {
            (sentence.tokens.clone(), &sentence.words)
        })
    }

    /// The tokens of the translation against the rows of memory entries.
    pub fn entry_grid(&self) -> Option<Grid> {
        grid_of(&self.target_tokens, &self.context, "attention by memory entry", |sentence| {
            let rows = sentence.entry.first().map_or(0, Vec::len);
            ((1..=rows).map(|row| row.to_string()).collect(), &sentence.entry)
        })
    }

    /// Everything about the sentence in one picture.
    pub fn draw(&self) -> Svg {
        let heading = |text: &str, size: f64| {
            let mut svg = Svg::new(text_width(text, size) + 8.0, size * 1.5);
            svg.text(0.0, size * 1.1, text, &Text::sized(size));
            svg
        };
        let mut parts = vec![
            heading(&format!("{}. {}", self.position + 1, self.source), 15.0),
            heading(&self.translation, 13.0),
        ];
        match &self.kept {
            Kept::Groups(groups) => parts.push(groups.grid(&self.source_tokens).draw()),
            Kept::Note(note) => parts.push(heading(note, 12.0)),
        }
        let grids = [self.influence_grid(), self.attention_grid(), self.entry_grid()];
        parts.extend(grids.into_iter().flatten().map(|grid| grid.draw()));
        let inner = Svg::stacked(&parts, 10.0);
        let mut framed = Svg::new(inner.width() + 24.0, inner.height() + 24.0);
        framed.place(12.0, 12.0, &inner);
        framed
    }
}

/// Rows of the translation against columns of several sentences.
fn grid_of(
    rows: &[String],
    context: &[ContextSentence],
    what: &str,
    part: impl Fn(&ContextSentence) -> (Vec<String>, &Vec<Vec<f32>>),
) -> Option<Grid> {
    let mut grid =
        Grid { rows: rows.to_vec(), weights: vec![Vec::new(); rows.len()], ..Grid::default() };
    let mut names = Vec::new();
    for sentence in context {
        let (columns, weights) = part(sentence);
        grid.breaks.push(grid.columns.len());
        grid.columns.extend(columns);
        names.push(distance_in_words(sentence.distance));
        for (row, weights) in grid.weights.iter_mut().zip(weights) {
            row.extend(weights);
        }
    }
    grid.title = format!("{what}: {}", names.join(", "));
    (!grid.columns.is_empty()).then_some(grid)
}
