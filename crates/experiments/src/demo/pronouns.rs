//! Which pronouns of a translation are right.

/// Pronouns of the practice corpus' German.
const PRONOUNS: [&str; 7] = ["er", "sie", "es", "ihn", "ihm", "ihr", "ihnen"];

/// A word of a translation; for a pronoun, whether the reference has it at the same position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word.
    pub text: &'a str,
    /// Whether it is the right pronoun.
    pub right: Option<bool>,
}

/// The words of a translation.
pub fn words<'a>(translation: &'a str, reference: &str) -> Vec<Word<'a>> {
    let expected: Vec<&str> = reference.split(' ').collect();
    let word = |(place, text): (usize, &'a str)| {
        let bare = text.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
        let right = PRONOUNS.contains(&bare.as_str()).then(|| expected.get(place) == Some(&text));
        Word { text, right }
    };
    translation.split(' ').enumerate().map(word).collect()
}

/// Marks right pronouns green and wrong ones red or, without colours, wrong ones with asterisks.
pub fn marked(translation: &str, reference: &str, colours: bool) -> String {
    let words = words(translation, reference).into_iter().map(|Word { text, right }| match right {
        Some(true) if colours => format!("\u{1b}[32m{text}\u{1b}[0m"),
        Some(false) if colours => format!("\u{1b}[31m{text}\u{1b}[0m"),
        Some(false) => format!("*{text}*"),
        _ => text.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_pronouns_are_marked() {
        assert_eq!(marked("Er sah sie .", "Er sah ihn .", false), "Er sah *sie* .");
        let coloured = marked("Er sah sie.", "Er sah ihn.", true);
        assert!(coloured.starts_with("\u{1b}[32mEr") && coloured.contains("\u{1b}[31msie."));
    }
}
