//! The word in which two translations differ.

/// The first words, in lower case and without punctuation, in which two sentences differ; `None`
/// when they do not differ in a word.
pub(super) fn difference(reference: &str, other: &str) -> Option<(String, String)> {
    words(reference).zip(words(other)).find(|(left, right)| left != right)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_replaced_word() {
        let pair = |left: &str, right: &str| Some((left.to_owned(), right.to_owned()));
        assert_eq!(difference("Er rollt.", "Sie rollt."), pair("er", "sie"));
        assert_eq!(difference("Ich mag es!", "Ich mag ihn!"), pair("es", "ihn"));
        assert_eq!(difference("Qu'elles dorment", "Qu'ils dorment"), pair("elles", "ils"));
        assert_eq!(difference("Gleich.", "Gleich!"), None);
    }
}
