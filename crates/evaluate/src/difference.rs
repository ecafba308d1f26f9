//! Which words of two translations differ.

/// A word, and whether the other text has it at the same place.
pub type Compared<'a> = (&'a str, bool);

/// The words of two texts; those outside of a longest common subsequence differ.
pub fn compare_words<'a>(one: &'a str, other: &'a str) -> [Vec<Compared<'a>>; 2] {
    let words: [Vec<&str>; 2] = [one, other].map(|text| text.split_whitespace().collect());
    let [left, right] = &words;
    // `common[i][j]`: words in common from `left[i]` and `right[j]` on.
    let mut common = vec![vec![0_usize; right.len() + 1]; left.len() + 1];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            common[i][j] = if left[i] == right[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let mut compared =
        words.clone().map(|words| words.into_iter().map(|word| (word, false)).collect());
    let [out_left, out_right]: &mut [Vec<Compared<'a>>; 2] = &mut compared;
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if left[i] == right[j] {
            (out_left[i].1, out_right[j].1) = (true, true);
            (i, j) = (i + 1, j + 1);
        } else if common[i + 1][j] >= common[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that differ in brackets.
    fn marked(one: &str, other: &str) -> [String; 2] {
        compare_words(one, other).map(|words| {
            let marked = words.iter().map(|(word, same)| match same {
                true => (*word).to_owned(),
                false => format!("[{word}]"),
            });
            marked.collect::<Vec<_>>().join(" ")
        })
    }

    #[test]
    fn words_outside_of_the_longest_common_subsequence_differ() {
        assert_eq!(marked("Er ist alt.", "Sie ist alt."), ["[Er] ist alt.", "[Sie] ist alt."]);
        assert_eq!(marked("a b c d", "b x d"), ["[a] b [c] d", "b [x] d"]);
        assert_eq!(marked("same words", "same words"), ["same words", "same words"]);
        assert_eq!(marked("", "all new"), ["", "[all] [new]"]);
    }
}
