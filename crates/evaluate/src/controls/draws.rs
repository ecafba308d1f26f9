//! Which contexts are scored beside the true one.
//!
//! One random context per example is a matter of luck on a small set, so a control that is drawn is
//! scored with several draws, and the true context is compared with their mean.

use std::fmt;

use abridge_model::random;
use serde::{Deserialize, Serialize};

use super::control::Control;

/// What is scored in addition to the true context.
#[derive(Clone, Copy, Debug, Default)]
pub struct Controls<'a> {
    /// The controls.
    pub controls: &'a [Control],
    /// The seed of the random control.
    pub seed: u64,
    /// How many random contexts every example gets.
    pub draws: usize,
}

/// One context of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// The control.
    pub control: Control,
    /// Which of its draws, from 1.
    pub number: usize,
}

/// A result in several draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean over the draws.
    pub mean: f64,
    /// The lowest result of a draw.
    pub lowest: f64,
    /// The highest.
    pub highest: f64,
}

impl Controls<'_> {
    /// How many random contexts every example gets by default.
    pub const DRAWS: usize = 3;

    /// Every context that is scored: the controls in their order, each with all of its draws.
    pub fn contexts(&self) -> Vec<Draw> {
        let of = |&control: &Control| {
            (1..=self.draws_of(control)).map(move |number| Draw { control, number })
        };
        self.controls.iter().flat_map(of).collect()
    }

    /// Results in the order of [`Self::contexts`], by control.
    pub fn by_control<'r, T>(&self, mut results: &'r [T]) -> Vec<(Control, &'r [T])> {
        let groups = self.controls.iter().map(|&control| {
            let (own, rest) = results.split_at(self.draws_of(control));
            results = rest;
            (control, own)
        });
        groups.collect()
    }

    fn draws_of(&self, control: Control) -> usize {
        if control.is_drawn() { self.draws.max(1) } else { 1 }
    }
}

impl Draw {
    /// The seed of this draw; the first has the seed that the user gave.
    pub(crate) fn seed(self, seed: u64) -> u64 {
        if self.number == 1 { seed } else { random::key(&[seed, self.number as u64]) }
    }
}

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            1 => self.control.fmt(f),
            number => write!(f, "{} {number}", self.control),
        }
    }
}

impl Spread {
    /// The mean and the range of some results.
    pub fn of(results: impl IntoIterator<Item = f64>) -> Self {
        let (mut sum, mut count) = (0.0, 0.0);
        let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
        for result in results {
            sum += result;
            count += 1.0;
            lowest = result.min(lowest);
            highest = result.max(highest);
        }
        Self { mean: sum / count, lowest, highest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_random_contexts_are_drawn_several_times() {
        let controls = [Control::None, Control::Random, Control::Only(2)];
        let three = Controls { controls: &controls, seed: 5, draws: 3 };
        let contexts = three.contexts();
        let names: Vec<String> = contexts.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["none", "random", "random 2", "random 3", "only-2"]);
        let grouped: Vec<usize> =
            three.by_control(&contexts).iter().map(|(_, own)| own.len()).collect();
        assert_eq!(grouped, [1, 3, 1]);
        // A single draw is the one that the seed has always given; the others differ.
        let seeds: Vec<u64> = contexts[1..4].iter().map(|draw| draw.seed(5)).collect();
        assert_eq!(seeds[0], 5);
        assert!(seeds[1] != 5 && seeds[2] != 5 && seeds[1] != seeds[2]);
    }

    #[test]
    fn a_spread_is_the_mean_and_the_range() {
        let found = Spread::of([0.5, 0.25, 0.75]);
        assert_eq!(found, Spread { mean: 0.5, lowest: 0.25, highest: 0.75 });
    }
}
