//! The optional normalisation of TER, after Tercom.

use super::rewrite::isolate;
use super::western;

/// What happens to a line before its words are compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tercom {
    pub(crate) normalized: bool,
    pub(crate) no_punctuation: bool,
    pub(crate) asian_support: bool,
    pub(crate) case_sensitive: bool,
}

impl Tercom {
    /// The line with white space between its words.
    pub(crate) fn tokenize(self, line: &str) -> String {
        let mut text = if self.case_sensitive { line.to_owned() } else { line.to_lowercase() };
        // An empty line stays empty, where padding would be harmless but wasted.
        if text.is_empty() {
            return text;
        }
        if self.normalized {
            text = normalize(&text);
            if self.asian_support {
                text = isolate(&text, is_asian);
            }
        }
        if self.no_punctuation {
            text.retain(|character| !is_western_punctuation(character));
            if self.asian_support {
                text.retain(|character| !is_asian_punctuation(character));
            }
        }
        text
    }
}

/// Joins broken lines, resolves entities, applies the Western rules with the English possessive.
fn normalize(line: &str) -> String {
    let joined = line.replace("\n-", "").replace('\n', " ");
    let padded = format!(" {} ", western::resolve_entities(joined));
    // The padding makes every possessive, also the last word of a line, one that a space follows.
    western::number_rules(western::isolate_symbols(&padded).replace("'s ", " 's "))
}

/// Characters that become words: ideographs, strokes, radicals, compatibility forms, enclosed
/// letters up to U+3F22 (so far does the range of sacreBLEU reach) and Asian punctuation.
///
/// Rules of Tercom for runs of hiragana and katakana are left out on purpose: in sacreBLEU they are
/// anchored to the start of the line, where the padding of `normalize` has put a space, and so never
/// apply.
fn is_asian(character: char) -> bool {
    is_asian_punctuation(character)
        || matches!(
            character,
            '\u{2e80}'..='\u{2eff}'
                | '\u{31c0}'..='\u{31ef}'
                | '\u{3200}'..='\u{4dbf}'
                | '\u{4e00}'..='\u{9fff}'
                | '\u{f900}'..='\u{faff}'
                | '\u{fe30}'..='\u{fe4f}'
        )
}

fn is_western_punctuation(character: char) -> bool {
    matches!(character, '.' | ',' | '?' | ':' | ';' | '!' | '"' | '(' | ')')
}

fn is_asian_punctuation(character: char) -> bool {
    matches!(
        character,
        '\u{3001}' | '\u{3002}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}'
            | '\u{ff61}'..='\u{ff65}' | '\u{30fb}'
            | '\u{ff0e}' | '\u{ff0c}' | '\u{ff1f}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff01}'
            | '\u{ff02}' | '\u{ff08}' | '\u{ff09}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whitespace::words;

    fn tokens(options: Tercom, line: &str) -> String {
        words(&options.tokenize(line)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lower_case_is_the_default() {
        assert_eq!(tokens(Tercom::default(), "The Dog's tail."), "the dog's tail.");
    }

    #[test]
    fn normalisation_cuts_possessives_and_punctuation() {
        let options = Tercom { normalized: true, case_sensitive: true, ..Tercom::default() };
        assert_eq!(tokens(options, "The Dog's (9-10) tail's"), "The Dog 's ( 9 - 10 ) tail 's");
    }

    #[test]
    fn asian_support_cuts_ideographs_and_drops_their_punctuation() {
        let options = Tercom { normalized: true, asian_support: true, ..Tercom::default() };
        assert_eq!(tokens(options, "私はペン、ok。"), "私 はペン 、 ok 。");
        let options = Tercom { no_punctuation: true, asian_support: true, ..Tercom::default() };
        assert_eq!(tokens(options, "私は、ok。 a.b!"), "私はok ab");
    }
}
