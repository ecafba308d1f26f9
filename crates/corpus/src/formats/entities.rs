//! Character references of XML and WebVTT. Only those for one fixed character are supported;
//! entities cannot be declared, so nothing can expand without bound.

/// Named references for one character. The last three are WebVTT's.
const NAMED: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("lrm", '\u{200e}'),
    ("rlm", '\u{200f}'),
];

/// The longest reference, `&#x10FFFF;` with a few leading zeros.
const LONGEST: usize = 16;

/// Replaces references with their characters. Unknown references are kept: many files have an
/// unescaped `&`.
pub(super) fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(LONGEST).position(|byte| byte == b';');
        let known = end.and_then(|end| character(&rest[1..end]).map(|found| (found, end)));
        let (found, end) = known.unwrap_or(('&', 0));
        decoded.push(found);
        rest = &rest[end + 1..];
    }
    decoded.push_str(rest);
    decoded
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        // A control character would not survive a round trip through XML.
        return char::from_u32(code).filter(|c| !c.is_control());
    }
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
}

/// Replaces the characters that would be read as markup.
pub(super) fn encode(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_references_become_characters() {
        assert_eq!(decode("&lt;a&gt; &amp;amp; &quot;&apos;&#228;&#xE4;"), "<a> &amp; \"'ää");
        assert_eq!(
            decode("AT&T & R&D; &bomb; &; &#xD800; &#0;"),
            "AT&T & R&D; &bomb; &; &#xD800; &#0;"
        );
    }

    proptest! {
        #[test]
        fn encoding_is_undone(text in any::<String>()) {
            prop_assert_eq!(decode(&encode(&text)), text);
        }

        #[test]
        fn decoding_never_panics(text in "[&#x0-9a-z;é<]{0,30}") {
            prop_assert!(decode(&text).len() <= text.len());
        }
    }
}
