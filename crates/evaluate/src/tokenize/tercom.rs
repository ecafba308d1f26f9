//! The optional normalisation of TER, after Tercom.

use super::rewrite::isolate;
use super::western;
use crate::metrics::Ter;

/// The line with white space between its words, prepared according to the settings of TER.
pub(crate) fn tokenize(settings: &Ter, line: &str) -> String {
    let mut text = if settings.case_sensitive { line.to_owned() } else { line.to_lowercase() };
    // An empty line stays empty; padding it would be harmless but useless.
    if text.is_empty() {
        return text;
    }
    if settings.normalized {
        text = normalize(&text);
        if settings.asian_support {
            text = isolate(&text, is_asian);
        }
    }
    if settings.no_punctuation {
        text.retain(|character| !is_western_punctuation(character));
        if settings.asian_support {
            text.retain(|character| !is_asian_punctuation(character));
        }
    }
    text
}

/// Joins broken lines, resolves entities, applies the Western rules with the English possessive.
fn normalize(line: &str) -> String {
    let joined = line.replace("\n-", "").replace('\n', " ");
    let padded = format!(" {} ", western::resolve_entities(joined));
    // The padding puts a space after every possessive, even at the end of a line.
    western::number_rules(western::isolate_symbols(&padded).replace("'s ", " 's "))
}

/// Characters that become words: ideographs, strokes, radicals, compatibility forms, enclosed
/// letters up to U+3F22 (the end of sacreBLEU's range) and Asian punctuation.
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

    fn tokens(settings: &Ter, line: &str) -> String {
        words(&tokenize(settings, line)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lower_case_is_the_default() {
        assert_eq!(tokens(&Ter::default(), "The Dog's tail."), "the dog's tail.");
    }

    #[test]
    fn normalisation_cuts_possessives_and_punctuation() {
        let settings = Ter { normalized: true, case_sensitive: true, ..Ter::default() };
        assert_eq!(tokens(&settings, "The Dog's (9-10) tail's"), "The Dog 's ( 9 - 10 ) tail 's");
    }

    #[test]
    fn asian_support_cuts_ideographs_and_drops_their_punctuation() {
        let settings = Ter { normalized: true, asian_support: true, ..Ter::default() };
        assert_eq!(tokens(&settings, "私はペン、ok。"), "私 はペン 、 ok 。");
        let settings = Ter { no_punctuation: true, asian_support: true, ..Ter::default() };
        assert_eq!(tokens(&settings, "私は、ok。 a.b!"), "私はok ab");
    }
}
