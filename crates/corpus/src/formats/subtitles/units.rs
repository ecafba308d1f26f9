//! Units of text between which a line may be broken: words. Chinese and Japanese text has no spaces
//! and may be broken between almost any two characters.

/// A piece of text that is never broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub text: String,
    /// Whether a space precedes it, unless it begins a line.
    pub spaced: bool,
}

impl Unit {
    /// Its length in characters.
    pub fn length(&self) -> usize {
        self.text.chars().count()
    }
}

/// The units of a text, with the byte offset at which each begins.
pub(super) fn located(text: &str) -> Vec<(usize, Unit)> {
    let mut units: Vec<(usize, Unit)> = Vec::new();
    let mut previous = None;
    for (offset, character) in text.char_indices() {
        if is_space(character) {
            previous = None;
            continue;
        }
        match (previous, units.last_mut()) {
            (Some(previous), Some((_, unit))) if !breaks(previous, character) => {
                unit.text.push(character);
            }
            _ => {
                let spaced = previous.is_none() && !units.is_empty();
                units.push((offset, Unit { text: character.into(), spaced }));
            }
        }
        previous = Some(character);
    }
    units
}

/// The units of a text.
pub(super) fn units(text: &str) -> Vec<Unit> {
    located(text).into_iter().map(|(_, unit)| unit).collect()
}

/// Joins units into text, with a space where there was one.
pub(super) fn join<'a>(units: impl IntoIterator<Item = &'a Unit>) -> String {
    let mut text = String::new();
    for unit in units {
        if unit.spaced && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&unit.text);
    }
    text
}

/// Whether a space is needed between the end of one line and the beginning of the next.
pub(super) fn spaced_after(last: &Unit, next: &Unit) -> bool {
    let wide = |character: Option<char>| character.is_some_and(is_wide);
    !(wide(last.text.chars().last()) && wide(next.text.chars().next()))
}

/// Whitespace at which a line may be broken. No-break spaces are part of a word.
fn is_space(character: char) -> bool {
    character.is_whitespace() && !['\u{a0}', '\u{2007}', '\u{202f}'].contains(&character)
}

/// Whether a line may be broken between two characters without a space.
fn breaks(left: char, right: char) -> bool {
    (is_wide(left) || is_wide(right)) && !opens(left) && !stays_with_left(right)
}

/// Chinese characters, kana and full-width forms.
fn is_wide(character: char) -> bool {
    matches!(
        character,
        '\u{2e80}'..='\u{303f}' | '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
            | '\u{ff01}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}'
    )
}

/// Characters that a line cannot end with.
fn opens(character: char) -> bool {
    "([{<「『（［｛〈《【〔“‘¿¡".contains(character)
}

/// Characters that a line cannot begin with.
fn stays_with_left(character: char) -> bool {
    character.is_ascii_punctuation() && !opens(character)
        || "」』）］｝〉》】〕”’、。，．・：；？！…‥ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ々〜～"
            .contains(character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str) -> Vec<String> {
        units(text).into_iter().map(|unit| unit.text).collect()
    }

    #[test]
    fn words_are_units() {
        assert_eq!(texts("  A cat\u{a0}! \t sleeps. "), ["A", "cat\u{a0}!", "sleeps."]);
        assert_eq!(texts(""), Vec::<String>::new());
    }

    #[test]
    fn wide_characters_are_units_with_their_punctuation() {
        assert_eq!(
            texts("「猫」は寝た。OK です"),
            ["「猫」", "は", "寝", "た。", "OK", "で", "す"]
        );
        assert_eq!(join(&units("「猫」は寝た。OK です")), "「猫」は寝た。OK です");
    }

    proptest! {
        #[test]
        fn joining_gives_the_text_back(words in prop::collection::vec("[a-zé猫は。「」!]{1,5}", 0..8)) {
            let text = words.join(" ");
            prop_assert_eq!(join(&units(&text)), text);
        }

        #[test]
        fn nothing_but_spaces_is_lost(text in any::<String>()) {
            let kept: String = text.chars().filter(|c| !is_space(*c)).collect();
            let units = located(&text);
            prop_assert_eq!(units.iter().map(|(_, unit)| unit.text.as_str()).collect::<String>(), kept);
            for (offset, unit) in units {
                prop_assert!(text[offset..].starts_with(&unit.text));
            }
        }
    }
}
