//! Sentences as lines of a terminal.

use std::fmt::Write;

use super::{InspectedSentence, Kept};

/// Words of the memory that are named for each word of a translation.
const NAMED: usize = 4;
/// Weights below this are not worth a name.
const FAINT: f32 = 0.02;

impl InspectedSentence {
    /// The text, the groups as a grid, and where each word of the translation looked.
    pub fn to_terminal(&self, colours: bool) -> String {
        let bold = |text: &str| {
            if colours { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
        };
        let mut text = format!("{}. {}\n", self.position + 1, bold(&self.source));
        let _ = writeln!(text, "   {}\n", self.translation);
        match &self.kept {
            Kept::Groups(groups) => {
                let grid = groups.grid(&self.source_tokens);
                let _ = writeln!(
                    text,
                    "   {}:\n\n{}",
                    grid.title,
                    indented(&grid.to_terminal(colours))
                );
            }
            Kept::Note(note) => {
                let _ = writeln!(text, "   {note}\n");
            }
        }
        if !self.context.is_empty() {
            let _ = writeln!(
                text,
                "   where the translation looked in its memory (0 is the sentence itself, 1 the \
                 one before):\n"
            );
            let width = self.target_tokens.iter().map(|t| t.chars().count()).max().unwrap_or(0);
            for (target, token) in self.target_tokens.iter().enumerate() {
                let words: Vec<String> = self
                    .strongest(target, NAMED)
                    .into_iter()
                    .filter(|(_, _, weight)| *weight >= FAINT)
                    .map(|(distance, word, weight)| format!("{word} ({distance}) {weight:.2}"))
                    .collect();
                let _ = writeln!(text, "   {token:<width$}  {}", words.join("  "));
            }
            text.push('\n');
        }
        text
    }
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "   {line}");
        all
    })
}
