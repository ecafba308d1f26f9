//! The tokeniser of mteval-v13a, and its rules for Western languages, which other tokenisers share.

use super::rewrite::{Isolate, isolate, isolate_in_pairs};

/// `13a`: joins broken lines, resolves four XML entities, applies the Western rules.
pub(super) fn mteval13a(line: &str) -> String {
    let mut text = String::with_capacity(line.len() + 2);
    text.push(' ');
    text.push_str(line);
    text.push(' ');
    if line.contains("<skipped>") {
        text = text.replace("<skipped>", "");
    }
    if line.contains('\n') {
        text = text.replace("-\n", "").replace('\n', " ");
    }
    rules(&resolve_entities(text))
}

/// The entities that mteval resolves, one after the other: `&amp;lt;` becomes `<`.
pub(super) fn resolve_entities(text: String) -> String {
    if !text.contains('&') {
        return text;
    }
    text.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
}

/// Isolates symbols, full stops and commas outside numbers, and dashes after digits.
pub(super) fn rules(text: &str) -> String {
    number_rules(isolate_symbols(text))
}

/// Spaces around every ASCII symbol other than the apostrophe, the dash, the comma and the full stop.
pub(super) fn isolate_symbols(text: &str) -> String {
    isolate(
        text,
        |character| matches!(character, ' '..='&' | '('..='+' | '/' | ':'..='@' | '['..='`' | '{'..='~'),
    )
}

/// The rules about full stops, commas and dashes beside digits.
pub(super) fn number_rules(mut text: String) -> String {
    let is_digit = |character: char| character.is_ascii_digit();
    let is_other = |character: char| !character.is_ascii_digit();
    let is_point = |character: char| matches!(character, '.' | ',');
    if text.contains(is_point) {
        text = isolate_in_pairs(&text, Isolate::Second, is_other, is_point);
        text = isolate_in_pairs(&text, Isolate::First, is_point, is_other);
    }
    if text.contains('-') {
        text = isolate_in_pairs(&text, Isolate::Second, is_digit, |character| character == '-');
    }
    text
}
