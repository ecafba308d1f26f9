//! The last sentence of a translation, which is all that ctxPro considers.
//!
//! ctxPro splits with the package `sentence-splitter`, which follows the rules of Koehn's and
//! Schroeder's splitter for the Europarl corpus. Scores can only be equal if the splits are, so
//! these are the same rules, applied from the end to find the last space at which a sentence may
//! begin.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// The text after the last sentence boundary; all of it if there is none.
pub fn last_sentence<'a>(text: &'a str, language: &str) -> &'a str {
    let text = text.trim();
    let mut end = text.len();
    while let Some(space) = text[..end].rfind(' ') {
        let before = text[..space].trim_end_matches(' ');
        let after = &text[space + 1..];
        if !before.is_empty() && is_end(before, after, language) {
            return after.trim();
        }
        end = before.len();
    }
    text
}

/// Whether a sentence ends between two parts of a text, whose first does not end, and whose second
/// does not begin, with a space.
fn is_end(before: &str, after: &str, language: &str) -> bool {
    let opened = after.trim_start_matches(is_opening);
    let opened_wide = opened.trim_start_matches(' ');
    // A question or exclamation mark, or several full stops.
    if (before.ends_with(['?', '!']) || before.ends_with("..")) && starts_upper(opened) {
        return true;
    }
    // A mark inside quotation marks or brackets.
    let unclosed = before.trim_end_matches(is_closing);
    if unclosed.len() < before.len()
        && unclosed.trim_end_matches(' ').ends_with(['?', '!', '.'])
        && starts_upper(opened_wide)
    {
        return true;
    }
    // A mark before a quotation. A round bracket alone does not open one.
    let quoted = after.trim_start_matches(|c| c != '(' && is_opening(c));
    if before.ends_with(['?', '!', '.'])
        && quoted.len() < after.len()
        && starts_upper(quoted.trim_start_matches(' '))
    {
        return true;
    }
    // A full stop that is not part of an abbreviation.
    let Some(body) = before.strip_suffix('.') else { return false };
    let word_start = body
        .rfind(|c: char| !is_word(c))
        .map_or(0, |place| place + body[place..].chars().next().map_or(1, char::len_utf8));
    let word = &body[word_start..];
    let digit = opened.starts_with(|c: char| c.is_ascii_digit());
    !(is_abbreviation(word, language) || is_acronym(word))
        && (starts_upper(opened) || digit)
        && !(after.starts_with(|c: char| c.is_ascii_digit()) && before_numbers(word, language))
}

fn starts_upper(text: &str) -> bool {
    text.chars().next().is_some_and(|c| {
        use GeneralCategory::{OtherLetter, UppercaseLetter};
        matches!(c.general_category(), UppercaseLetter | OtherLetter)
    })
}

fn is_opening(c: char) -> bool {
    matches!(c, '\'' | '"' | '(' | '[' | '¿' | '¡')
        || c.general_category() == GeneralCategory::InitialPunctuation
}

fn is_closing(c: char) -> bool {
    matches!(c, '\'' | '"' | ')' | ']') || c.general_category() == GeneralCategory::FinalPunctuation
}

fn is_word(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    c.is_alphanumeric()
        || matches!(c, '_' | '.' | '-')
        || matches!(c.general_category(), NonspacingMark | SpacingMark | EnclosingMark)
}

/// Capitals between full stops, as in `U.S.A`.
fn is_acronym(word: &str) -> bool {
    let word = word.trim_end_matches('.');
    word.rsplit_once('.').is_some_and(|(_, last)| {
        !last.is_empty()
            && last.chars().all(|c| c == '-' || starts_upper(c.encode_utf8(&mut [0; 4])))
    })
}

/// Abbreviations that do not end a sentence, in any of the languages.
const COMMON: &[&str] = &[
    "Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Sr", "Jr", "Gen", "Sen", "No", "no", "pp", "etc", "vs",
    "esp", "al", "cf", "Fig", "fig", "Inc", "Corp", "Co", "Bros", "Ph.D", "PhD", "Jan", "Feb",
    "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Okt", "Nov", "Dec",
];
const TITLES: &[&str] = &[
    "Adj", "Adm", "Adv", "Capt", "Cmdr", "Col", "Comdr", "Con", "Cpl", "DR", "Hosp", "Insp", "MM",
    "MR", "MRS", "MS", "Maj", "Msgr", "Op", "Ord", "Pfc", "Ph", "Pvt", "Rep", "Reps", "Res", "Rev",
    "Rt", "Sens", "Sfc", "Sgt", "Supt", "Surg", "v",
];
const GERMAN: &[&str] = &[
    "Asst", "Bart", "Bldg", "Brig", "Ens", "Gov", "Hon", "Lt", "Messrs", "Mlle", "Mme", "Mio",
    "Mrd", "bzw", "usw", "d.h", "D.h", "z.B", "u.a", "MwSt", "ggf", "vgl", "z.T", "sogen", "sog",
    "ff", "Buchst", "u.s.w", "u.ä", "Std", "evtl", "Zt", "Chr", "u.U", "o.ä", "Ltd", "z.Zt", "jun",
    "sen", "SA", "k.o", "dgl", "dergl", "zzt", "usf", "bzgl", "Nos", "Art", "Nr", "ca", "Ca",
];
const FRENCH: &[&str] = &[
    "art", "av", "boul", "ca", "c.-à-d", "chap", "dir", "éd", "e.g", "env", "ex", "hab", "ibid",
    "id", "i.e", "inf", "MM", "ms", "N.B", "p.ex", "pl", "P.S", "sec", "sect", "sing", "suiv",
    "sup", "tél", "vb", "vol", "fr", "fém", "masc", "auj",
];
const PORTUGUESE: &[&str] = &[
    "Art", "Ca", "DRA", "Dra", "Dras", "Drs", "Eng", "Exmo", "Exa", "Lda", "Ltda", "Sra", "Sras",
    "Srs", "Srta", "Sto", "dr", "dra", "sr", "sra", "srs", "sras", "prof", "Profa", "profa", "i.e",
    "e.g", "p.ex", "pág", "págs", "séc", "tel", "vol", "cap", "ed", "ex", "Ex", "Cia", "Av", "Ten",
    "Cel", "Pe", "Est", "est", "seg", "col", "art", "op", "cit", "rev", "adj", "adv", "num", "núm",
    "org", "un", "us", "sc", "t", "us", "med", "tes", "des", "dec", "com", "cont", "trim", "of",
    "Me", "Al", "Mal", "Rel", "Ir",
];

fn is_abbreviation(word: &str, language: &str) -> bool {
    let single = |c: char| match language {
        "de" => c.is_ascii_alphabetic() || "ÄÖÜ".contains(c),
        "fr" => c.is_ascii_alphabetic() || c == 'Œ',
        "pt" => c.is_ascii_uppercase() || "ÁÂÃÀÇÉÊÍÓÔÕÚflmnpstv".contains(c),
        _ => c.is_ascii_uppercase(),
    };
    let mut characters = word.chars();
    if let (Some(c), None) = (characters.next(), characters.next()) {
        return single(c) || (language == "de" && ('1'..='9').contains(&c));
    }
    if matches!(language, "de" | "pt") && is_roman(word) {
        return true;
    }
    // Ordinal numbers of German.
    if language == "de" && word.parse().is_ok_and(|n: u8| n < 100) && !word.starts_with('0') {
        return true;
    }
    // In these languages, these are abbreviations only before numbers.
    if matches!(word, "No" | "pp" | "Art" | "p") && matches!(language, "pt" | "en") {
        return false;
    }
    let own = match language {
        "de" => GERMAN,
        "fr" => FRENCH,
        "pt" => PORTUGUESE,
        _ => &[],
    };
    let titles = if language == "fr" { &[][..] } else { TITLES };
    [COMMON, titles, own].into_iter().any(|list| list.contains(&word))
}

/// Whether the word is an abbreviation when a number follows.
fn before_numbers(word: &str, language: &str) -> bool {
    matches!(language, "pt" | "en") && matches!(word, "No" | "Art" | "pp" | "p")
}

/// Roman numerals from 1 to 20, in upper or lower case.
fn is_roman(word: &str) -> bool {
    const UNITS: [&str; 10] = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"];
    let lower = word.to_lowercase();
    let one_case = lower == word || word.to_uppercase() == word;
    let unit = lower.strip_prefix('x').unwrap_or(&lower);
    one_case && !lower.is_empty() && (UNITS.contains(&unit) || lower == "xx")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_a_capital_follows() {
        let last = |text| last_sentence(text, "de");
        assert_eq!(last("Das ist gut. Komm!"), "Komm!");
        assert_eq!(last("Wirklich? Ja, wirklich! das ist es"), "Ja, wirklich! das ist es");
        assert_eq!(last("Na ja... Vielleicht."), "Vielleicht.");
        assert_eq!(last("Er sagte „Geh.“ Sie ging."), "Er sagte „Geh.“ Sie ging.");
        assert_eq!(last("Er sagte \"Geh.\" Sie ging."), "Sie ging.");
        assert_eq!(last("Er kam. «Und nun?»"), "«Und nun?»");
        assert_eq!(last("  Nur einer  "), "Nur einer");
        assert_eq!(last(""), "");
    }

    #[test]
    fn abbreviations_and_acronyms_do_not_end_sentences() {
        let whole =
            ["Fragen Sie Dr. Weiß.", "Am 3. Mai.", "In den U.S.A. Im Jahr", "Karl II. Kam."];
        for text in whole {
            assert_eq!(last_sentence(text, "de"), text);
        }
        assert_eq!(last_sentence("Kap. 3 Das", "fr"), "3 Das");
        assert_eq!(last_sentence("See No. 3 now", "en"), "See No. 3 now");
        assert_eq!(last_sentence("He said No. But why", "en"), "But why");
    }
}
