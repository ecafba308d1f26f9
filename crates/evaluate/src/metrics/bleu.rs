//! BLEU (Papineni et al., 2002), with the smoothing methods of Chen and Cherry (2014).

use std::str::FromStr;

use abridge_corpus::Error;

use crate::metric::{Metric, ResampleScore, TextMetric};
use crate::ngram::{NgramMatcher, WordNumbers, ngram_total};
use crate::real::Real;
use crate::signature::Field;
use crate::tokenize::Tokenizer;
use crate::whitespace;

/// How n-gram orders without a match are smoothed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Smoothing {
    /// `exp`: the n-th order without a match counts as 1 / 2ⁿ of a match; the default.
    #[default]
    Exponential,
    /// `floor`: an order without a match counts as this many matches (sacreBLEU: 0.1).
    Floor(f64),
    /// `add-k`: this many are added to matches and totals of the orders above 1 (sacreBLEU: 1).
    AddK(f64),
    /// `none`: one order without a match makes the score 0.
    None,
}

impl Smoothing {
    /// The name of the method in signatures and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exponential => "exp",
            Self::Floor(_) => "floor",
            Self::AddK(_) => "add-k",
            Self::None => "none",
        }
    }

    /// The same method with another value; an error for methods without one.
    pub fn with_value(self, value: f64) -> Result<Self, Error> {
        match self {
            Self::Floor(_) if value.is_finite() && value >= 0.0 => Ok(Self::Floor(value)),
            Self::AddK(_) if value.is_finite() && value >= 0.0 => Ok(Self::AddK(value)),
            Self::Floor(_) | Self::AddK(_) => {
                Err(Error::new(format!("invalid smoothing value {value}"))
                    .remedy("give a number that is not negative"))
            }
            Self::Exponential | Self::None => {
                Err(Error::new(format!("smoothing method `{}` takes no value", self.name()))
                    .remedy("leave the value out or choose floor or add-k"))
            }
        }
    }

    fn signature(self) -> String {
        match self {
            Self::Floor(value) | Self::AddK(value) => format!("{}[{value:.2}]", self.name()),
            Self::Exponential | Self::None => self.name().to_owned(),
        }
    }
}

impl FromStr for Smoothing {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "exp" => Ok(Self::Exponential),
            "floor" => Ok(Self::Floor(0.1)),
            "add-k" => Ok(Self::AddK(1.0)),
            "none" => Ok(Self::None),
            _ => Err(Error::new(format!("unknown smoothing method `{name}`"))
                .remedy("choose one of exp, floor, add-k, none")),
        }
    }
}

/// The configuration of BLEU.
#[derive(Clone, Debug, PartialEq)]
pub struct Bleu {
    /// How lines are split into words; default 13a.
    pub tokenizer: Tokenizer,
    /// Smoothing; default exponential.
    pub smoothing: Smoothing,
    /// Whether case is ignored; default no.
    pub lowercase: bool,
    /// Whether orders longer than the text are left out, for single sentences; default no.
    pub effective_order: bool,
    /// The longest n-grams; default 4. As in sacreBLEU, not part of the signature.
    pub max_order: usize,
}

impl Default for Bleu {
    fn default() -> Self {
        Self {
            tokenizer: Tokenizer::default(),
            smoothing: Smoothing::default(),
            lowercase: false,
            effective_order: false,
            max_order: 4,
        }
    }
}

/// The components of a BLEU score.
#[derive(Clone, Debug, PartialEq)]
pub struct BleuScore {
    /// The score, 0 to 100.
    pub score: f64,
    /// The precision of every order in percent, smoothed.
    pub precisions: Vec<f64>,
    /// The brevity penalty, 0 to 1.
    pub brevity_penalty: f64,
    /// The number of words in the hypothesis.
    pub hypothesis_length: usize,
    /// The number of words in the references that are nearest in length.
    pub reference_length: usize,
}

impl BleuScore {
    /// Words of the hypothesis per word of the reference.
    pub fn length_ratio(&self) -> f64 {
        if self.reference_length == 0 {
            return 0.0;
        }
        self.hypothesis_length as f64 / self.reference_length as f64
    }
}

impl Bleu {
    /// The components of the score of summed counts.
    pub fn parts(&self, sums: &[f64]) -> BleuScore {
        self.parts_in(sums)
    }

    /// The number of words in a hypothesis and in the reference that is nearest in length.
    pub(crate) fn lengths(&self, hypothesis: &str, references: &[&str]) -> [f64; 2] {
        let length = |line: &str| whitespace::words(&self.prepare(line)).count();
        let hypothesis = length(hypothesis);
        let reference = closest_length(hypothesis, references.iter().map(|line| length(line)));
        [hypothesis as f64, reference as f64]
    }

    fn prepare(&self, line: &str) -> String {
        let line = whitespace::trim_end(line);
        if self.lowercase {
            // Lower case comes first in sacreBLEU; it creates no white space at the end of a line.
            self.tokenizer.tokenize(&line.to_lowercase()).into_owned()
        } else {
            self.tokenizer.tokenize(line).into_owned()
        }
    }

    fn parts_in<T: Real>(&self, sums: &[T]) -> BleuScore {
        let (lengths, counts) = sums.split_at(2);
        let (correct, total) = counts.split_at(self.max_order);
        let hypothesis_length = lengths[0].wide();
        let reference_length = lengths[1].wide();
        let brevity_penalty = if hypothesis_length >= reference_length {
            1.0
        } else if hypothesis_length > 0.0 {
            (1.0 - reference_length / hypothesis_length).exp()
        } else {
            0.0
        };
        let mut parts = BleuScore {
            score: 0.0,
            precisions: vec![0.0; self.max_order],
            brevity_penalty,
            hypothesis_length: hypothesis_length as usize,
            reference_length: reference_length as usize,
        };
        if correct.iter().all(|&count| count == T::of(0.0)) {
            return parts;
        }
        let used = self.fill_precisions(correct, total, &mut parts.precisions);
        let orders = if self.effective_order { used } else { self.max_order };
        let logarithms: f64 = parts.precisions[..orders].iter().map(|&p| floored_ln(p)).sum();
        parts.score = brevity_penalty * (logarithms / orders as f64).exp();
        parts
    }

    /// Returns how many orders have n-grams at all.
    fn fill_precisions<T: Real>(
        &self,
        correct: &[T],
        total: &[T],
        precisions: &mut [f64],
    ) -> usize {
        let zero = T::of(0.0);
        let hundred = T::of(100.0);
        let mut unmatched_weight = 1.0;
        for (index, precision) in precisions.iter_mut().enumerate() {
            let added = match self.smoothing {
                Smoothing::AddK(value) if index > 0 => T::of(value),
                _ => zero,
            };
            let correct = correct[index] + added;
            let total = total[index] + added;
            if total == zero {
                return index;
            }
            *precision = if correct > zero {
                (hundred * correct / total).wide()
            } else {
                match self.smoothing {
                    Smoothing::Exponential => {
                        unmatched_weight *= 2.0;
                        (hundred / (T::of(unmatched_weight) * total)).wide()
                    }
                    Smoothing::Floor(value) => (T::of(100.0 * value) / total).wide(),
                    Smoothing::AddK(_) | Smoothing::None => 0.0,
                }
            };
        }
        precisions.len()
    }
}

/// The logarithm, with −∞ replaced by a number whose exponential is 0.
fn floored_ln(value: f64) -> f64 {
    if value == 0.0 { -9_999_999_999.0 } else { value.ln() }
}

impl Metric for Bleu {
    fn name(&self) -> String {
        "BLEU".to_owned()
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            Field::new("case", "c", if self.lowercase { "lc" } else { "mixed" }),
            Field::flag("eff", "e", self.effective_order),
            Field::new("tok", "tok", self.tokenizer.name()),
            Field::new("smooth", "s", self.smoothing.signature()),
        ]
    }

    /// Both lengths, then matches per order, then totals per order.
    fn counts(&self) -> usize {
        2 + 2 * self.max_order
    }

    fn score(&self, sums: &[f64]) -> f64 {
        self.parts_in(sums).score
    }

    fn resample_score(&self, sums: &[f32]) -> ResampleScore {
        ResampleScore::Double(self.parts_in(sums).score)
    }

    fn details(&self, sums: &[f64]) -> Option<String> {
        let parts = self.parts(sums);
        let precisions: Vec<String> = parts.precisions.iter().map(|p| format!("{p:.1}")).collect();
        Some(format!(
            "{} (BP = {:.3} ratio = {:.3} hyp_len = {} ref_len = {})",
            precisions.join("/"),
            parts.brevity_penalty,
            parts.length_ratio(),
            parts.hypothesis_length,
            parts.reference_length
        ))
    }
}

impl TextMetric for Bleu {
    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let hypothesis = self.prepare(hypothesis);
        let references: Vec<String> = references.iter().map(|line| self.prepare(line)).collect();
        let mut numbers = WordNumbers::default();
        let references: Vec<Vec<u32>> =
            references.iter().map(|line| numbers.number(whitespace::words(line))).collect();
        let hypothesis = numbers.number(whitespace::words(&hypothesis));

        let mut row = vec![0.0; self.counts()];
        row[0] = hypothesis.len() as f64;
        row[1] = closest_length(hypothesis.len(), references.iter().map(Vec::len)) as f64;
        let mut matcher = NgramMatcher::new(&hypothesis, references.iter().map(Vec::as_slice));
        for order in 1..=self.max_order {
            let counts = matcher.next_order();
            // Matches are clipped to the largest count in any reference.
            let matches: u32 = counts
                .hypothesis
                .iter()
                .enumerate()
                .filter(|&(_, &count)| count > 0)
                .map(|(name, &count)| {
                    let most = counts.references.iter().map(|r| r[name]).max().unwrap_or(0);
                    count.min(most)
                })
                .sum();
            row[1 + order] = f64::from(matches);
            row[1 + self.max_order + order] = ngram_total(hypothesis.len(), order) as f64;
        }
        row
    }
}

/// The nearest reference length; the shorter one of two equally near ones.
fn closest_length(length: usize, references: impl Iterator<Item = usize>) -> usize {
    references.min_by_key(|&reference| (reference.abs_diff(length), reference)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::sentence_score;

    #[test]
    fn a_perfect_translation_scores_100_and_a_foreign_one_0() {
        let bleu = Bleu::default();
        let text = "one two three four five";
        assert!((sentence_score(&bleu, text, &[text]) - 100.0).abs() < 1e-9);
        assert!(sentence_score(&bleu, "six seven", &[text]).abs() < 1e-9);
        assert!(sentence_score(&bleu, "", &[text]).abs() < 1e-9);
    }

    #[test]
    fn the_nearest_reference_length_prefers_the_shorter() {
        assert_eq!(closest_length(5, [7, 3, 9].into_iter()), 3);
        assert_eq!(closest_length(5, [6, 3].into_iter()), 6);
    }

    #[test]
    fn smoothing_values_belong_to_two_methods() {
        let floor: Smoothing = "floor".parse().unwrap();
        assert_eq!(floor.with_value(0.5).unwrap().signature(), "floor[0.50]");
        assert!("exp".parse::<Smoothing>().unwrap().with_value(1.0).is_err());
        assert!(floor.with_value(f64::NAN).is_err());
    }
}
