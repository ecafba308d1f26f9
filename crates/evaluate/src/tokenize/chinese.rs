//! The `zh` tokeniser: Chinese characters become words, the rest follows the Western rules.

use super::rewrite::isolate;
use super::western;
use crate::whitespace;

pub(super) fn tokenize(line: &str) -> String {
    western::rules(&isolate(whitespace::trim(line), is_chinese))
}

/// The characters that sacreBLEU's `zh` tokeniser isolates.
///
/// Its table is meant to list the ideographs beyond the Basic Multilingual Plane, but writes them
/// as four-digit escapes followed by a stray digit. Compared as strings, these bounds select U+2001
/// to U+2A6D and U+2F81 to U+2FA1 instead: general punctuation such as the em dash and mathematical
/// symbols are isolated, and ideographs of extension B are not. Equal scores require the same set.
fn is_chinese(character: char) -> bool {
    matches!(
        character,
        '\u{2001}'..='\u{2a6d}'
            | '\u{2e80}'..='\u{2eff}'
            | '\u{2f00}'..='\u{2fdf}'
            | '\u{2ff0}'..='\u{303f}'
            | '\u{3100}'..='\u{312f}'
            | '\u{31a0}'..='\u{31bf}'
            | '\u{31c0}'..='\u{31ef}'
            | '\u{3200}'..='\u{4db5}'
            | '\u{4e00}'..='\u{9fbb}'
            | '\u{f900}'..='\u{fa2d}'
            | '\u{fa30}'..='\u{fa6a}'
            | '\u{fa70}'..='\u{fad9}'
            | '\u{fe10}'..='\u{fe1f}'
            | '\u{fe30}'..='\u{fe4f}'
            | '\u{ff00}'..='\u{ffef}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_punctuation_is_isolated_and_extension_b_is_not() {
        assert!(is_chinese('—') && is_chinese('∑') && is_chinese('中') && is_chinese('！'));
        assert!(!is_chinese('\u{20000}') && !is_chinese('カ') && !is_chinese('한'));
    }
}
