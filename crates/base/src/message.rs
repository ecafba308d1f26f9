//! Messages on standard error, and words for them.
//!
//! Writing a message never fails: if standard error is full or closed, the message is dropped,
//! while `eprintln!` would panic. File names may contain anything, so control characters are
//! escaped: a terminal would interpret them.

use std::fmt;
use std::io::Write;

/// Writes a line to standard error, as `eprintln!` does, and never fails.
#[macro_export]
macro_rules! tell {
    ($($argument:tt)*) => {
        $crate::message::write_line(::core::format_args!($($argument)*))
    };
}

/// Writes a line to standard error; errors are ignored.
pub fn write_line(message: fmt::Arguments<'_>) {
    let mut line = printable(&message.to_string());
    line.push('\n');
    // There is nowhere left to report a failure.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// The text with control characters escaped, except newlines and tabs.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && character != '\n' && character != '\t' {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// A number with a noun that takes an s: `1 line`, `2 lines`.
pub fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular() {
        let lines = [0, 1, 2].map(|number| counted(number, "line"));
        assert_eq!(lines, ["0 lines", "1 line", "2 lines"]);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\x1b[31mb\nc\td\u{9b}e\r"), "a\\u{1b}[31mb\nc\td\\u{9b}e\\r");
        assert_eq!(printable("Straße, 東京"), "Straße, 東京");
    }
}
