//! The international tokeniser of mteval-v14: Unicode punctuation and symbols become words.
//!
//! Punctuation inside a number stays. So does a full stop after a number at the end of the line,
//! because no non-digit follows; mteval-v14 has this quirk and sacreBLEU keeps it.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::rewrite::{Isolate, isolate, isolate_in_pairs};

pub(super) fn tokenize(line: &str) -> String {
    let text = isolate_in_pairs(line, Isolate::Second, is_not_number, is_punctuation);
    let text = isolate_in_pairs(&text, Isolate::First, is_punctuation, is_not_number);
    isolate(&text, is_symbol)
}

fn is_not_number(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_digit();
    }
    character.general_category_group() != GeneralCategoryGroup::Number
}

fn is_punctuation(character: char) -> bool {
    if character.is_ascii_alphanumeric() || character == ' ' {
        return false;
    }
    character.general_category_group() == GeneralCategoryGroup::Punctuation
}

fn is_symbol(character: char) -> bool {
    if character.is_ascii_alphanumeric() || character == ' ' {
        return false;
    }
    character.general_category_group() == GeneralCategoryGroup::Symbol
}
