//! White space as Python's `str` defines it, because the scores to be matched come from Python.
//!
//! Python counts the four information separators U+001C to U+001F as white space; Unicode's
//! `White_Space` property (and so Rust) does not. Everything else is the same.

/// Whether Python's `str.split` would split at this character.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// The words between white space; none is empty.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(is_space).filter(|word| !word.is_empty())
}

/// The line without white space at its end.
pub fn trim_end(line: &str) -> &str {
    line.trim_end_matches(is_space)
}

/// The line without white space at both ends.
pub fn trim(line: &str) -> &str {
    line.trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_separators_and_wide_spaces_split() {
        let found: Vec<&str> = words("\u{a0}a\u{1c}b\u{3000} c\u{200b}d\n").collect();
        assert_eq!(found, ["a", "b", "c\u{200b}d"]);
        assert_eq!(trim_end(" a \u{1f}"), " a");
        assert_eq!(trim(" a\u{85}"), "a");
    }
}
