//! Where sentences end, inside a cue and between cues.

use super::units::Unit;

/// Marks that end a sentence.
const TERMINATORS: &str = ".!?…。！？｡．؟۔।॥";
/// What may stand between the mark and the space.
const CLOSERS: &str = "\"'“”’»›)]}」』）】〉》";
/// Closing marks that French sets apart with a space; the others could as well be opening.
const SPACED_CLOSERS: &str = "»›”’)]}";
/// Titles and other abbreviations that do not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "mr.", "mrs.", "ms.", "dr.", "prof.", "st.", "sgt.", "lt.", "capt.", "col.", "gen.", "sen.",
    "rev.", "hr.", "fr.", "nr.", "mme.", "mlle.", "sra.", "sr.", "vs.", "approx.", "bzw.", "ca.",
    "d.h.", "evtl.", "ggf.", "inkl.", "mio.", "mrd.", "vgl.", "z.b.",
];

/// Whether a sentence ends in running text after the first `count` of `words`, not the last ones.
pub(super) fn ends_between(words: &[Unit], count: usize) -> bool {
    let (Some(word), Some(next)) = (last_word(&words[..count]), words.get(count)) else {
        return false;
    };
    let goes_on = is_number(word) || is_letter(word) || is_closer(next) || starts_small(next);
    let trails_off = is_ellipsis(word) && !starts_large(next);
    ends_sentence(word) && !goes_on && !trails_off
}

/// Whether a sentence ends with the last word of a cue; `next` is the first of the following cue.
pub(super) fn ends_at_break(words: &[Unit], next: Option<&Unit>) -> bool {
    let Some(word) = last_word(words) else { return false };
    let goes_on = next.is_some_and(|next| {
        let small = starts_small(next) || next.text.starts_with(['.', '…']);
        is_closer(next) || (is_ellipsis(word) && small)
    });
    ends_sentence(word) && !goes_on
}

/// The last word that is not a closing mark set apart.
pub(super) fn last_word(words: &[Unit]) -> Option<&Unit> {
    words.iter().rev().find(|word| !is_closer(word)).or_else(|| words.last())
}

/// Whether a word carries a mark that ends a sentence.
pub(super) fn ends_sentence(word: &Unit) -> bool {
    let bare = bare(word);
    let small_letter = is_letter(word) && starts_small(word);
    bare.ends_with(|c| TERMINATORS.contains(c))
        && !small_letter
        && !ABBREVIATIONS.contains(&bare.to_lowercase().as_str())
}

fn is_closer(word: &Unit) -> bool {
    word.text.chars().all(|c| SPACED_CLOSERS.contains(c))
}

fn bare(word: &Unit) -> &str {
    word.text.trim_end_matches(|c| CLOSERS.contains(c))
}

fn is_ellipsis(word: &Unit) -> bool {
    bare(word).ends_with("..") || bare(word).ends_with('…')
}

/// `3.` may be an ordinal.
fn is_number(word: &Unit) -> bool {
    let digits = bare(word).strip_suffix('.').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `J.` may be a name and `z.` the first half of an abbreviation; `I.` is a word.
fn is_letter(word: &Unit) -> bool {
    let mut characters = bare(word).chars();
    let letter = characters.next().is_some_and(|c| c.is_alphabetic() && c != 'I');
    letter && characters.as_str() == "."
}

fn first_letter(word: &Unit) -> Option<char> {
    word.text.chars().find(|c| c.is_alphanumeric())
}

fn starts_small(word: &Unit) -> bool {
    first_letter(word).is_some_and(char::is_lowercase)
}

fn starts_large(word: &Unit) -> bool {
    first_letter(word).is_some_and(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::super::units::units;
    use super::*;

    fn inner(text: &str) -> Vec<bool> {
        let words = units(text);
        (1..words.len()).map(|count| ends_between(&words, count)).collect()
    }

    #[test]
    fn sentences_end_inside_a_cue() {
        assert_eq!(inner("Yes. No"), [true]);
        assert_eq!(inner("\"Yes!\" Go"), [true]);
        assert_eq!(inner("Mr. Lee"), [false]);
        assert_eq!(inner("J. Lee"), [false]);
        assert_eq!(inner("So do I. Really"), [false, false, true]);
        assert_eq!(inner("am 3. Mai"), [false, false]);
        assert_eq!(inner("Stop! he"), [false]);
        assert_eq!(inner("Well... maybe"), [false]);
        assert_eq!(inner("Well... Maybe"), [true]);
        assert_eq!(inner("寝た。猫"), [false, true]);
        assert_eq!(inner("« Oui. » Il"), [false, false, true]);
        assert_eq!(inner("Quoi ? Rien"), [false, true]);
        assert_eq!(inner("Das ist z. B. Rot"), [false; 4]);
    }

    #[test]
    fn sentences_end_at_the_end_of_a_cue() {
        let ends = |last: &str, next: &str| ends_at_break(&units(last), units(next).first());
        assert!(ends("yes.", "no") && ends("Yes?", "") && ends("1984.", "It"));
        assert!(ends("Oui. »", "Il") && !ends("Oui.", "» Il") && !ends("z.", "B."));
        assert!(!ends("and", "So") && !ends("Mr.", "Lee"));
        assert!(!ends("but...", "...still") && !ends("but…", "still") && ends("but...", "Still"));
    }
}
