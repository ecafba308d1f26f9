//! A line of a cue: what comes before its text, the text with its tags, and what follows.

use super::super::Format;
use super::super::entities;
use super::units::{self, Unit};

/// Longer runs between `<` and `>` are text.
const LONGEST_TAG: usize = 256;

/// A parsed line of a cue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MarkedLine {
    /// Spaces, tags, dashes and notes before the text, as written.
    pub before: String,
    /// The words.
    pub units: Vec<Unit>,
    /// Tags between the words: the number of words before each, and the tag.
    tags: Vec<(usize, String)>,
    /// Tags, notes and spaces after the text, as written.
    pub after: String,
    /// Whether the line begins with the mark of a new speaker: a dash, `>>` or a voice tag.
    pub new_speaker: bool,
    /// Whether the line is sung, which musical notes indicate.
    pub sung: bool,
}

#[derive(Clone, Debug)]
enum Token<'a> {
    Text(&'a str),
    Tag(&'a str),
}

/// Parses a line.
pub(super) fn parse(line: &str, format: Format) -> MarkedLine {
    let mut marked = MarkedLine::default();
    let mut tokens = tokens(line);
    take_before(&mut tokens, &mut marked);
    take_after(&mut tokens, &mut marked);

    let mut plain = String::new();
    let mut tags = Vec::new();
    for token in tokens {
        match token {
            Token::Text(text) if format == Format::Vtt => plain.push_str(&entities::decode(text)),
            Token::Text(text) => plain.push_str(text),
            Token::Tag(tag) => tags.push((plain.len(), tag)),
        }
    }
    let located = units::located(&plain);
    marked.tags = tags
        .into_iter()
        .map(|(offset, tag)| {
            // A tag inside a word goes before the word if it opens, after it if it closes.
            let begun = located.iter().filter(|(start, _)| *start < offset).count();
            let inside = located[..begun]
                .last()
                .is_some_and(|(start, unit)| start + unit.text.len() > offset);
            (begun - usize::from(inside && !is_closing(tag)), tag.to_owned())
        })
        .collect();
    marked.units = located.into_iter().map(|(_, unit)| unit).collect();
    marked
}

/// Splits a line into text and tags.
fn tokens(line: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut from) = (line, 0);
    while let Some(at) = rest[from..].find(['<', '{']).map(|at| from + at) {
        match tag_length(&rest[at..]) {
            Some(length) => {
                if at > 0 {
                    tokens.push(Token::Text(&rest[..at]));
                }
                tokens.push(Token::Tag(&rest[at..at + length]));
                (rest, from) = (&rest[at + length..], 0);
            }
            None => from = at + 1,
        }
    }
    if !rest.is_empty() {
        tokens.push(Token::Text(rest));
    }
    tokens
}

/// The length of the tag (`<i>`, `</i>`, `<c.red>`, `<00:01.000>`) or override (`{\an8}`) with which
/// a text begins.
fn tag_length(text: &str) -> Option<usize> {
    let (close, closing) = if text.starts_with('<') { ('>', b'>') } else { ('}', b'}') };
    let end = text.bytes().take(LONGEST_TAG).position(|byte| byte == closing)?;
    let inner = &text[1..end];
    let is_tag = if close == '}' {
        inner.starts_with('\\')
    } else {
        let name = inner.strip_prefix('/').unwrap_or(inner);
        let timestamp = || {
            inner.contains(':') && inner.bytes().all(|b| b.is_ascii_digit() || b":.".contains(&b))
        };
        !name.contains('<')
            && (name.starts_with(|c: char| c.is_ascii_alphabetic()) || inner == "/" || timestamp())
    };
    is_tag.then_some(end + 1)
}

fn is_closing(tag: &str) -> bool {
    tag.starts_with("</")
}

fn is_note(character: char) -> bool {
    "♪♫♬♩".contains(character)
}

fn take_before(tokens: &mut Vec<Token<'_>>, marked: &mut MarkedLine) {
    let mut taken = 0;
    for token in tokens.iter_mut() {
        match token {
            Token::Tag(tag) => {
                marked.before.push_str(tag);
                marked.new_speaker |= tag.starts_with("<v ") || tag.starts_with("<v.");
            }
            Token::Text(text) => {
                let length = opening_length(text);
                let opening = &text[..length];
                marked.before.push_str(opening);
                marked.sung |= opening.contains(is_note);
                marked.new_speaker |= opening.contains(['-', '–', '—', '>']);
                if length < text.len() {
                    *text = &text[length..];
                    break;
                }
            }
        }
        taken += 1;
    }
    tokens.drain(..taken);
}

/// The length of spaces, notes, a dash or `>>` before the first word.
fn opening_length(text: &str) -> usize {
    let skip = |text: &str, skipped: &dyn Fn(char) -> bool| {
        text.len() - text.trim_start_matches(skipped).len()
    };
    let light = |c: char| c.is_whitespace() || is_note(c);
    let mut length = skip(text, &light);
    let rest = &text[length..];
    let dash = match rest.chars().next() {
        Some(mark @ ('-' | '–' | '—')) => mark.len_utf8(),
        Some('>') if rest.starts_with(">>") => skip(rest, &|c| c == '>'),
        _ => 0,
    };
    // Two dashes are a break in speech (`--and then`), a dash before a digit is a minus sign, and a
    // long dash before a lower-case letter is a remark inside a sentence: no new speaker.
    let next = rest[dash..].chars().next();
    let after = rest[dash..].trim_start().chars().next();
    let remark = rest.starts_with(['–', '—']) && after.is_some_and(char::is_lowercase);
    let number = next.is_some_and(|c| "-–—".contains(c) || c.is_ascii_digit());
    if dash > 0 && !number && !remark {
        length += dash;
        length += skip(&text[length..], &light);
    }
    length
}

fn take_after(tokens: &mut Vec<Token<'_>>, marked: &mut MarkedLine) {
    let mut parts = Vec::new();
    while let Some(token) = tokens.last_mut() {
        match token {
            Token::Tag(tag) => parts.push(*tag),
            Token::Text(text) => {
                let kept = text.trim_end_matches(|c: char| c.is_whitespace() || is_note(c)).len();
                parts.push(&text[kept..]);
                marked.sung |= text[kept..].contains(is_note);
                *text = &text[..kept];
                if kept > 0 {
                    break;
                }
            }
        }
        tokens.pop();
    }
    marked.after = parts.into_iter().rev().collect();
}

impl MarkedLine {
    /// The length of the text, by which translations are split.
    pub fn length(&self) -> usize {
        self.units.iter().map(Unit::length).sum()
    }

    /// The line with other words; tags keep their relative positions.
    pub fn render(&self, words: &[Unit], format: Format) -> String {
        let mut line = self.before.clone();
        let mut tags = self.placed(words.len()).into_iter().peekable();
        for index in 0..=words.len() {
            while let Some((_, tag)) =
                tags.next_if(|(place, tag)| *place == index && is_closing(tag))
            {
                line.push_str(tag);
            }
            if let Some(word) = words.get(index).filter(|word| index > 0 && word.spaced) {
                debug_assert!(!word.text.is_empty());
                line.push(' ');
            }
            while let Some((_, tag)) = tags.next_if(|(place, _)| *place == index) {
                line.push_str(tag);
            }
            if let Some(word) = words.get(index) {
                line.push_str(&escape(&word.text, format));
            }
        }
        line.push_str(&self.after);
        line
    }

    /// Only the tags of the line, for a line without words.
    pub fn only_tags(&self) -> String {
        let outer = |text: &str| -> String {
            tokens(text)
                .into_iter()
                .filter_map(|token| match token {
                    Token::Tag(tag) => Some(tag.to_owned()),
                    Token::Text(_) => None,
                })
                .collect()
        };
        let inner = self.tags.iter().map(|(_, tag)| tag.as_str());
        outer(&self.before) + &inner.collect::<String>() + &outer(&self.after)
    }

    /// The tags with their positions among `count` words: opening tags are rounded down and closing
    /// ones up, so that no pair becomes empty.
    fn placed(&self, count: usize) -> Vec<(usize, &str)> {
        let old = self.units.len().max(1);
        let mut least = 0;
        self.tags
            .iter()
            .map(|(place, tag)| {
                let scaled = place * count;
                let place = if is_closing(tag) { scaled.div_ceil(old) } else { scaled / old };
                least = place.max(least);
                (least, tag.as_str())
            })
            .collect()
    }
}

/// Escapes a word so that it cannot be read as markup or as a timing line.
fn escape(word: &str, format: Format) -> String {
    if format == Format::Vtt { entities::encode(word) } else { word.replace("-->", "→") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn srt(line: &str) -> MarkedLine {
        parse(line, Format::Srt)
    }

    fn replaced(line: &str, words: &str) -> String {
        srt(line).render(&units::units(words), Format::Srt)
    }

    #[test]
    fn tags_around_the_text_stay_around_it() {
        assert_eq!(replaced("<i>Hello there.</i>", "Hallo."), "<i>Hallo.</i>");
        assert_eq!(replaced("{\\an8}- <b>Hi</b>  ", "Na du"), "{\\an8}- <b>Na du</b>  ");
        assert_eq!(replaced("♪ La la ♪", "Tra la"), "♪ Tra la ♪");
        assert_eq!(replaced("<v Ann Lee>Hi", "Hallo"), "<v Ann Lee>Hallo");
    }

    #[test]
    fn tags_between_words_move_in_proportion() {
        assert_eq!(
            replaced("It is <i>very</i> cold", "Es ist sehr kalt"),
            "Es ist <i>sehr</i> kalt"
        );
        assert_eq!(replaced("a <i>b</i> c", "x y"), "<i>x y</i>");
        assert_eq!(replaced("<i>Hello</i> world", "Hallo Welt"), "<i>Hallo</i> Welt");
        assert_eq!(replaced("a <i>b</i>", ""), "<i></i>");
        assert_eq!(srt("a b<i>c</i>d e").tags, [(1, "<i>".into()), (2, "</i>".into())]);
    }

    #[test]
    fn invalid_tags_are_text() {
        for line in ["1 < 2 and 2 > 1", "I <3 you", "{braces}", "<", "a <b c"] {
            assert_eq!(units::join(&srt(line).units), line);
        }
        assert_eq!(srt("x --> y").render(&units::units("x --> y"), Format::Srt), "x → y");
        assert_eq!(escape("--->", Format::Srt), "-→");
    }

    #[test]
    fn speakers_and_songs_are_recognised() {
        for line in ["- Hi", "-Hi", "– Hi", ">> Hi", "<i>- Hi</i>", "<v Ann>Hi"] {
            assert!(srt(line).new_speaker, "{line}");
            assert_eq!(srt(line).units[0].text, "Hi");
        }
        for line in ["Hi - there", "--and", "-5 degrees", "> x", "– he said"] {
            assert!(!srt(line).new_speaker, "{line}");
        }
        assert!(srt("♪ la").sung && srt("la ♫").sung && !srt("la").sung);
    }

    #[test]
    fn webvtt_text_is_decoded_and_encoded() {
        let line = parse("Salt &amp; <c.red>pepper</c> &lt;3", Format::Vtt);
        assert_eq!(units::join(&line.units), "Salt & pepper <3");
        assert_eq!(line.render(&line.units, Format::Vtt), "Salt &amp; <c.red>pepper</c> &lt;3");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn the_same_words_give_the_same_line(
            words in prop::collection::vec("(<i>|<b>|\\{\\\\an8\\})?[a-z猫]{1,4}[.,]?(</i>|</b>)?", 0..6),
            before in "( |<i>|- |♪ )?",
            after in "( |</i>| ♪)?",
        ) {
            let text = format!("{before}{}{after}", words.join(" "));
            let line = srt(&text);
            prop_assert_eq!(line.render(&line.units, Format::Srt), text);
        }

        #[test]
        fn no_tag_is_lost(
            line in "(<i>|</i>|<c.x>|\\{\\\\i1\\}|[a-z]| |- |♪|<|>|&amp;){0,16}",
            words in "([a-z]{1,3} ){0,6}",
            vtt in any::<bool>(),
        ) {
            let format = if vtt { Format::Vtt } else { Format::Srt };
            let marked = parse(&line, format);
            let tags = |line: &str| parse(line, format).only_tags();
            prop_assert_eq!(marked.only_tags(), tags(&line));
            let out = marked.render(&units::units(&words), format);
            prop_assert_eq!(tags(&out), tags(&line));
        }

        #[test]
        fn arbitrary_lines_never_panic(line in any::<String>(), words in any::<String>()) {
            for format in [Format::Srt, Format::Vtt] {
                let marked = parse(&line, format);
                let _ = marked.render(&units::units(&words), format);
                let _ = marked.only_tags();
            }
        }
    }
}
