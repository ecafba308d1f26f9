//! chrF (Popović, 2015) and chrF++ (Popović, 2017).

use crate::metric::{Metric, ResampleScore, TextMetric};
use crate::ngram::{NgramMatcher, WordNumbers, ngram_total};
use crate::real::Real;
use crate::signature::Field;
use crate::whitespace;

/// The configuration of chrF. The default is chrF2; see [`ChrF::plus_plus`] for chrF2++.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChrF {
    /// The longest character n-grams; default 6.
    pub character_order: usize,
    /// The longest word n-grams; default 0, and 2 in chrF++.
    pub word_order: usize,
    /// How many times as important recall is as precision; default 2.
    pub beta: u32,
    /// Whether case is ignored; default no.
    pub lowercase: bool,
    /// Whether white space is part of the character n-grams; default no.
    pub whitespace: bool,
    /// Whether orders without n-grams count as a tiny value, as in chrF++.py, NLTK and Moses,
    /// instead of being left out; default no.
    pub epsilon_smoothing: bool,
}

impl Default for ChrF {
    fn default() -> Self {
        Self {
            character_order: 6,
            word_order: 0,
            beta: 2,
            lowercase: false,
            whitespace: false,
            epsilon_smoothing: false,
        }
    }
}

/// Counts per order: n-grams of the hypothesis, of the reference, and matches.
const COUNTS: usize = 3;

impl ChrF {
    /// chrF2++: word unigrams and bigrams count too.
    pub fn plus_plus() -> Self {
        Self { word_order: 2, ..Self::default() }
    }

    fn characters(&self, line: &str) -> Vec<u32> {
        let kept = |character: &char| self.whitespace || !whitespace::is_space(*character);
        line.chars().filter(kept).map(u32::from).collect()
    }

    fn f_score<T: Real>(&self, sums: &[T]) -> T {
        let zero = T::of(0.0);
        let epsilon = T::of(1e-16);
        let factor = T::of(f64::from(self.beta).powi(2));
        let weight = T::of(1.0 + f64::from(self.beta).powi(2));
        let mut score = zero;
        let (mut precisions, mut recalls, mut orders) = (zero, zero, 0u32);
        for counts in sums.chunks_exact(COUNTS) {
            let (hypothesis, reference, matches) = (counts[0], counts[1], counts[2]);
            let precision = if hypothesis > zero { matches / hypothesis } else { epsilon };
            let recall = if reference > zero { matches / reference } else { epsilon };
            let denominator = factor * precision + recall;
            score = score
                + if denominator > zero {
                    weight * precision * recall / denominator
                } else {
                    epsilon
                };
            if hypothesis > zero && reference > zero {
                precisions = precisions + precision;
                recalls = recalls + recall;
                orders += 1;
            }
        }
        if self.epsilon_smoothing {
            let all = (self.character_order + self.word_order) as f64;
            return T::of(100.0) * score / T::of(all);
        }
        if orders == 0 || precisions + recalls == zero {
            return zero;
        }
        let orders = T::of(f64::from(orders));
        let (precision, recall) = (precisions / orders, recalls / orders);
        let score = weight * precision * recall / (factor * precision + recall);
        T::of(100.0) * score
    }

    /// Adds the counts of all orders of one kind of token to the row of every reference.
    fn add_orders(
        rows: &mut [Vec<f64>],
        hypothesis: &[u32],
        references: &[Vec<u32>],
        max_order: usize,
    ) {
        let mut matcher = NgramMatcher::new(hypothesis, references.iter().map(Vec::as_slice));
        for order in 1..=max_order {
            let counts = matcher.next_order();
            for ((row, reference), tokens) in rows.iter_mut().zip(counts.references).zip(references)
            {
                let matches: u32 =
                    counts.hypothesis.iter().zip(reference).map(|(&h, r)| h.min(r)).sum();
                let there = ngram_total(tokens.len(), order);
                // If the reference is too short for the order, the hypothesis counts as too short.
                let here = if there == 0 { 0 } else { ngram_total(hypothesis.len(), order) };
                row.extend([here as f64, there as f64, f64::from(matches)]);
            }
        }
    }
}

/// Words with one punctuation mark cut off, at the end or else at the beginning.
fn words_and_punctuation(line: &str) -> impl Iterator<Item = &str> {
    whitespace::words(line).flat_map(|word| {
        let mut characters = word.chars();
        let (first, last) = (characters.next(), characters.next_back());
        let cut = match (first, last) {
            (_, Some(last)) if last.is_ascii_punctuation() => Some(word.len() - 1),
            (Some(first), Some(_)) if first.is_ascii_punctuation() => Some(1),
            _ => None,
        };
        let (left, right) = cut.map_or((word, None), |place| {
            let (left, right) = word.split_at(place);
            (left, Some(right))
        });
        std::iter::once(left).chain(right)
    })
}

impl Metric for ChrF {
    fn name(&self) -> String {
        format!("chrF{}{}", self.beta, "+".repeat(self.word_order))
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            Field::new("case", "c", if self.lowercase { "lc" } else { "mixed" }),
            Field::flag("eff", "e", !self.epsilon_smoothing),
            Field::new("nc", "nc", self.character_order.to_string()),
            Field::new("nw", "nw", self.word_order.to_string()),
            Field::flag("space", "s", self.whitespace),
        ]
    }

    fn counts(&self) -> usize {
        COUNTS * (self.character_order + self.word_order)
    }

    /// The counts of the best-scoring reference; the first one in case of ties.
    fn score(&self, sums: &[f64]) -> f64 {
        self.f_score(sums)
    }

    fn resample_score(&self, sums: &[f32]) -> ResampleScore {
        ResampleScore::Single(self.f_score(sums))
    }
}

impl TextMetric for ChrF {
    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let lowered: Vec<String>;
        let lowered_hypothesis: String;
        let (hypothesis, references): (&str, Vec<&str>) = if self.lowercase {
            lowered = references.iter().map(|line| line.to_lowercase()).collect();
            lowered_hypothesis = hypothesis.to_lowercase();
            (&lowered_hypothesis, lowered.iter().map(String::as_str).collect())
        } else {
            (hypothesis, references.to_vec())
        };

        let mut rows = vec![Vec::with_capacity(self.counts()); references.len()];
        let characters: Vec<Vec<u32>> =
            references.iter().map(|line| self.characters(line)).collect();
        Self::add_orders(
            &mut rows,
            &self.characters(hypothesis),
            &characters,
            self.character_order,
        );
        if self.word_order > 0 {
            let mut numbers = WordNumbers::default();
            let words: Vec<Vec<u32>> =
                references.iter().map(|line| numbers.number(words_and_punctuation(line))).collect();
            let hypothesis = numbers.number(words_and_punctuation(hypothesis));
            Self::add_orders(&mut rows, &hypothesis, &words, self.word_order);
        }

        let mut best = Vec::new();
        let mut best_score = -1.0;
        for row in rows {
            let score: f64 = self.f_score(&row);
            if score > best_score {
                best_score = score;
                best = row;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::sentence_score;

    #[test]
    fn one_mark_is_cut_off_each_word() {
        let words: Vec<&str> = words_and_punctuation("(hi) \"oh well!? a . «x»").collect();
        assert_eq!(words, ["(hi", ")", "\"", "oh", "well!", "?", "a", ".", "«x»"]);
    }

    #[test]
    fn equal_texts_score_100_and_empty_ones_0() {
        for chrf in [ChrF::default(), ChrF::plus_plus()] {
            assert!((sentence_score(&chrf, "ein Satz.", &["ein Satz."]) - 100.0).abs() < 1e-9);
            assert!(sentence_score(&chrf, "", &["ein Satz."]).abs() < 1e-9);
            assert!(sentence_score(&chrf, "ein Satz.", &[""]).abs() < 1e-9);
        }
        assert_eq!(ChrF::plus_plus().name(), "chrF2++");
    }

    #[test]
    fn the_best_reference_counts() {
        let chrf = ChrF::default();
        let row = chrf.count("aber", &["oder", "aber"]);
        assert!((chrf.score(&row) - 100.0).abs() < 1e-9);
    }
}
