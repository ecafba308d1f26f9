//! Splits a translation over the cues or lines of its source, by length.

use std::ops::Range;

use super::units::Unit;

/// The factor on the distance of a break after punctuation, which is preferred.
const AFTER_PUNCTUATION: f64 = 0.5;

/// Splits `units` into ranges, one per weight, with lengths in proportion to the weights. No range
/// is empty if there are enough units; otherwise the heaviest get one unit each.
///
/// If the weights are the lengths of a segmentation of the same units, the result is that
/// segmentation.
pub(super) fn by_length(units: &[Unit], weights: &[usize]) -> Vec<Range<usize>> {
    let (count, parts) = (units.len(), weights.len());
    if count < parts {
        return one_each(count, weights);
    }
    let lengths: Vec<usize> = std::iter::once(0)
        .chain(units.iter().scan(0, |sum, unit| {
            *sum += unit.length();
            Some(*sum)
        }))
        .collect();
    let total = lengths[count] as f64;
    let whole: usize = weights.iter().map(|weight| (*weight).max(1)).sum();
    let mut ranges = Vec::with_capacity(parts);
    let (mut start, mut passed) = (0, 0);
    for (part, weight) in weights.iter().enumerate() {
        passed += (*weight).max(1);
        let end = if part + 1 == parts {
            count
        } else {
            let aim = total * passed as f64 / whole as f64;
            let distance = |end: usize| {
                let distance = (lengths[end] as f64 - aim).abs();
                if ends_phrase(&units[end - 1]) { distance * AFTER_PUNCTUATION } else { distance }
            };
            let candidates = start + 1..=count - (parts - part - 1);
            candidates.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(count)
        };
        ranges.push(start..end);
        start = end;
    }
    ranges
}

/// With fewer units than parts, the heaviest parts, in order, get one each.
fn one_each(count: usize, weights: &[usize]) -> Vec<Range<usize>> {
    let mut heaviest: Vec<usize> = (0..weights.len()).collect();
    heaviest.sort_by_key(|part| std::cmp::Reverse(weights[*part]));
    heaviest.truncate(count);
    let mut start = 0;
    (0..weights.len())
        .map(|part| {
            let end = start + usize::from(heaviest.contains(&part));
            let range = start..end;
            start = end;
            range
        })
        .collect()
}

fn ends_phrase(unit: &Unit) -> bool {
    unit.text.ends_with(|c: char| c.is_ascii_punctuation() || "…–—。、！？".contains(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::units::{join, units};
    use super::*;

    fn split(text: &str, weights: &[usize]) -> Vec<String> {
        let units = units(text);
        by_length(&units, weights).into_iter().map(|range| join(&units[range])).collect()
    }

    #[test]
    fn lengths_follow_the_weights() {
        assert_eq!(split("one two three four", &[1, 1]), ["one two", "three four"]);
        assert_eq!(split("one two three four", &[1, 9]), ["one", "two three four"]);
        assert_eq!(split("one two three four", &[0, 0, 0, 0]), ["one", "two", "three", "four"]);
    }

    #[test]
    fn a_break_after_punctuation_is_preferred() {
        assert_eq!(
            split("As he came home, it had rained", &[10, 13]),
            ["As he came home,", "it had rained"]
        );
    }

    #[test]
    fn too_few_words_go_to_the_longest_parts() {
        assert_eq!(split("one two", &[5, 1, 9]), ["one", "", "two"]);
        assert_eq!(split("", &[5, 1]), ["", ""]);
        assert_eq!(split("one", &[]), Vec::<String>::new());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn nothing_is_lost_and_no_part_is_empty(
            text in "([a-zé猫。,]{1,9} ?){0,20}",
            weights in prop::collection::vec(0..60usize, 1..9),
        ) {
            let units = units(&text);
            let ranges = by_length(&units, &weights);
            prop_assert_eq!(ranges.len(), weights.len());
            prop_assert_eq!(ranges[0].start, 0);
            prop_assert_eq!(ranges[ranges.len() - 1].end, units.len());
            for pair in ranges.windows(2) {
                prop_assert_eq!(pair[0].end, pair[1].start);
            }
            if units.len() >= weights.len() {
                prop_assert!(ranges.iter().all(|range| !range.is_empty()));
            }
        }

        #[test]
        fn the_source_is_split_where_it_was(
            lines in prop::collection::vec("[a-z]{1,9}( [a-z,.]{1,9}){0,5}", 1..6),
        ) {
            let weights: Vec<usize> = lines
                .iter()
                .map(|line| units(line).iter().map(Unit::length).sum())
                .collect();
            prop_assert_eq!(split(&lines.join(" "), &weights), lines);
        }
    }
}
