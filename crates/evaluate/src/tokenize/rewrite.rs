//! The two rewriting steps used by all tokenisers.
//!
//! Both go from left to right and match each character at most once, like a global regular
//! expression substitution; this determines the result for runs such as `...`.

/// Puts spaces around every chosen character.
pub(super) fn isolate(line: &str, chosen: impl Fn(char) -> bool) -> String {
    let mut output = String::with_capacity(line.len() + line.len() / 2);
    for character in line.chars() {
        if chosen(character) {
            output.push(' ');
            output.push(character);
            output.push(' ');
        } else {
            output.push(character);
        }
    }
    output
}

/// Which member of a pair gets spaces on both sides.
#[derive(Clone, Copy)]
pub(super) enum Isolate {
    First,
    Second,
}

/// Finds pairs of neighbours and puts spaces around one member of each. Pairs do not overlap.
pub(super) fn isolate_in_pairs(
    line: &str,
    member: Isolate,
    first: impl Fn(char) -> bool,
    second: impl Fn(char) -> bool,
) -> String {
    let mut output = String::with_capacity(line.len() + line.len() / 4);
    let mut characters = line.chars().peekable();
    while let Some(left) = characters.next() {
        let right = if first(left) { characters.next_if(|&right| second(right)) } else { None };
        match (right, member) {
            (None, _) => output.push(left),
            (Some(right), Isolate::First) => output.extend([' ', left, ' ', right]),
            (Some(right), Isolate::Second) => output.extend([left, ' ', right, ' ']),
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_do_not_overlap() {
        let point = |character| character == '.';
        let other = |character| character != '1';
        assert_eq!(isolate_in_pairs("a...", Isolate::Second, other, point), "a . . . ");
        assert_eq!(isolate_in_pairs("..a1.", Isolate::First, point, other), " . .a1.");
    }
}
