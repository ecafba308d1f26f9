//! Normalisation of text before tokenization: no control characters, NFKC, single spaces.
//!
//! This is a fast equivalent of the normaliser in `tokenizer.json` (`Nmt`, `NFKC`, collapsed
//! spaces, stripped ends); property tests compare the two.

use std::borrow::Cow;

use unicode_normalization_alignments::UnicodeNormalization;

/// The normalised text: what `decode(encode(text))` gives back.
pub fn normalise(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let cleaned = text.chars().filter(|&c| !is_removed(c)).map(map_space);
    let mut output = String::with_capacity(text.len() + 8);
    if text.chars().all(is_stable) {
        push_with_single_spaces(&mut output, cleaned);
    } else {
        let cleaned: String = cleaned.collect();
        push_with_single_spaces(&mut output, cleaned.nfkc().map(|(c, _)| c));
    }
    // The reference strips every kind of whitespace at the ends, not only U+0020.
    let trimmed = output.trim();
    if trimmed.len() == output.len() { Cow::Owned(output) } else { Cow::Owned(trimmed.to_owned()) }
}

/// Printable ASCII, with single spaces only between words: nothing to do, nothing to copy.
fn is_plain(text: &str) -> bool {
    let mut previous = b' ';
    for &byte in text.as_bytes() {
        if !(0x20..0x7F).contains(&byte) || (byte == b' ' && previous == b' ') {
            return false;
        }
        previous = byte;
    }
    previous != b' ' || text.is_empty()
}

/// Characters that NFKC leaves unchanged in any sequence of such characters.
///
/// No compatibility characters and no combining marks: ASCII, accented Latin letters, and common
/// typographic punctuation. Everything else takes the slow path.
fn is_stable(c: char) -> bool {
    matches!(c,
        '\0'..='\u{7F}'
        | '\u{C0}'..='\u{131}'
        | '\u{2018}'..='\u{201E}'
        | '\u{2013}' | '\u{2014}' | '\u{AB}' | '\u{BB}' | '\u{20AC}')
}

fn is_removed(c: char) -> bool {
    matches!(c,
        '\u{1}'..='\u{8}' | '\u{B}' | '\u{E}'..='\u{1F}' | '\u{7F}' | '\u{8F}' | '\u{9F}')
}

fn map_space(c: char) -> char {
    match c {
        '\u{9}'
        | '\u{A}'
        | '\u{C}'
        | '\u{D}'
        | '\u{1680}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2581}'
        | '\u{FEFF}'
        | '\u{FFFD}' => ' ',
        other => other,
    }
}

fn push_with_single_spaces(output: &mut String, chars: impl Iterator<Item = char>) {
    for c in chars {
        if c == ' ' && output.ends_with(' ') {
            continue;
        }
        output.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(normalise("A plain line, nothing more."), Cow::Borrowed(_)));
        assert!(matches!(normalise(""), Cow::Borrowed(_)));
    }

    #[test]
    fn spaces_and_compatibility_characters() {
        assert_eq!(normalise("  two\u{a0}\tspaces  "), "two spaces");
        assert_eq!(normalise("\u{fb01}ne \u{bd}"), "fine 1\u{2044}2");
        assert_eq!(normalise("u\u{308}ber"), "über");
        assert_eq!(normalise("Stra\u{df}e – „ja“"), "Straße – „ja“");
        assert_eq!(normalise("a\u{7}b"), "ab");
        assert_eq!(normalise(" \u{feff} "), "");
    }

    #[test]
    fn nfkc_leaves_stable_characters_unchanged() {
        for c in ('\0'..='\u{3000}').filter(|&c| is_stable(c)) {
            let text = String::from(c);
            assert_eq!(text.as_str().nfkc().map(|(c, _)| c).collect::<String>(), text);
        }
    }
}
