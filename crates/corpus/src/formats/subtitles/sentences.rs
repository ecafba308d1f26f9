//! Where sentences end, inside a cue and between cues.

use super::units::Unit;

/// Marks that end a sentence.
const TERMINATORS: &str = ".!?…。！？｡．؟۔।॥";
/// What may stand between the mark and the space.
const CLOSERS: &str = "\"'”’»›)]}」』）】〉》";
/// Titles that end with a full stop and go on.
const TITLES: &[&str] = &[
    "mr.", "mrs.", "ms.", "dr.", "prof.", "st.", "sgt.", "lt.", "capt.", "col.", "gen.", "sen.",
    "rev.", "hr.", "fr.", "nr.", "mme.", "mlle.", "vs.", "bzw.", "z.b.", "d.h.", "sra.", "sr.",
];

/// Whether a sentence ends after a word in running text, before `next`.
pub(super) fn ends_between(word: &Unit, next: &Unit) -> bool {
    ends_sentence(word)
        && !(is_number(word) || is_initial(word))
        && !starts_small(next)
        && (!is_ellipsis(word) || starts_large(next))
}

/// Whether a sentence ends with the last word of a cue; `next` is the first of the following cue.
pub(super) fn ends_at_break(word: &Unit, next: Option<&Unit>) -> bool {
    let goes_on = |next: &Unit| starts_small(next) || next.text.starts_with(['.', '…']);
    ends_sentence(word) && !(is_ellipsis(word) && next.is_some_and(goes_on))
}

/// Whether a word carries a mark that ends a sentence.
pub(super) fn ends_sentence(word: &Unit) -> bool {
    let bare = bare(word);
    bare.ends_with(|c| TERMINATORS.contains(c)) && !TITLES.contains(&bare.to_lowercase().as_str())
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

/// `J.` may be a name; `I.` is a word.
fn is_initial(word: &Unit) -> bool {
    let mut characters = bare(word).chars();
    let letter = characters.next().is_some_and(|c| c.is_uppercase() && c != 'I');
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
        units(text).windows(2).map(|pair| ends_between(&pair[0], &pair[1])).collect()
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
    }

    #[test]
    fn sentences_end_at_the_end_of_a_cue() {
        let ends = |last: &str, next: &str| ends_at_break(&units(last)[0], units(next).first());
        assert!(ends("yes.", "no") && ends("Yes?", "") && ends("1984.", "It"));
        assert!(!ends("and", "So") && !ends("Mr.", "Lee"));
        assert!(!ends("but...", "...still") && !ends("but…", "still") && ends("but...", "Still"));
    }
}
