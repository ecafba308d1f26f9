//! Sentences as text for a terminal.

use std::fmt::Write;

use abridge_base::message::printable;

use super::{InspectedSentence, Kept, times};

/// Words of the memory listed for each word of a translation.
const NAMED: usize = 4;
/// Words with lower weights are not listed.
const FAINT: f32 = 0.02;
/// Fewer nats decide nothing: a fifth less probable.
const DECIDING: f32 = 0.2;

impl InspectedSentence {
    /// The text, the groups as a grid, and what each word of the translation attended to.
    pub fn to_terminal(&self, colours: bool) -> String {
        let bold = |text: &str| {
            if colours { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
        };
        let mut text = format!("{}. {}\n", self.position + 1, bold(&printable(&self.source)));
        let _ = writeln!(text, "   {}\n", printable(&self.translation));
        match &self.kept {
            Kept::Groups(groups) => {
                let tokens: Vec<String> = self.source_tokens.iter().map(|t| printable(t)).collect();
                let grid = groups.grid(&tokens);
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
        if self.context.is_empty() {
            return text;
        }
        let targets: Vec<String> = self.target_tokens.iter().map(|t| printable(t)).collect();
        let width = targets.iter().map(|t| t.chars().count()).max().unwrap_or(0);
        let mut list = |title: &str, words: &dyn Fn(usize) -> Vec<String>| {
            let lines: Vec<String> = (0..targets.len())
                .map(|target| (target, words(target)))
                .filter(|(_, words)| !words.is_empty())
                .map(|(target, words)| {
                    format!("   {:<width$}  {}\n", targets[target], words.join("  "))
                })
                .collect();
            if !lines.is_empty() {
                let _ = writeln!(text, "   {title}:\n\n{}", lines.concat());
            }
        };
        list("earlier words that decided, and how many times less probable without", &|target| {
            let words = self.deciding(target, NAMED).into_iter();
            let words = words.filter(|(_, _, nats)| *nats >= DECIDING);
            words.map(|(distance, word, nats)| named(word, distance, &times(nats))).collect()
        });
        list("where it looked in its memory (share of attention)", &|target| {
            let words = self.strongest(target, NAMED).into_iter();
            let words = words.filter(|(_, _, weight)| *weight >= FAINT);
            words.map(|(distance, word, w)| named(word, distance, &format!("{w:.2}"))).collect()
        });
        text
    }
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "   {line}");
        all
    })
}

fn named(word: &str, distance: usize, value: &str) -> String {
    let word = printable(word);
    match distance {
        0 => format!("{word} {value}"),
        distance => format!("{word} ({distance} back) {value}"),
    }
}
