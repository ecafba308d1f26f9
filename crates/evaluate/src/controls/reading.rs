//! What a result with controls shows.

use std::fmt;

use serde::Serialize;

use super::control::Control;
use super::difference::MeanDifference;
use crate::holm::holm;

/// The level below which a corrected p-value counts as significant.
const LEVEL: f64 = 0.05;

/// The true context compared with each control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlTests {
    /// One per control.
    pub tests: Vec<ControlTest>,
    /// The conclusion, if the controls include no context and a random one.
    pub reading: Option<Reading>,
}

/// The true context compared with one control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ControlTest {
    /// Which control.
    pub control: Control,
    /// The gain of the true context over it, as the mean over groups.
    pub beyond: MeanDifference,
    /// The p-value of that test, corrected for the number of tests in this table.
    pub holm: f64,
}

/// What the controls without context and with a random one show together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The gain of the true context over none.
    pub gain: MeanDifference,
    /// The gain of a random context over none.
    pub random_gain: MeanDifference,
    /// The gain of the true context over a random one.
    pub beyond_random: MeanDifference,
    /// Whether each of the three is significant after the correction.
    pub significant: [bool; 3],
    /// The same in words.
    pub text: String,
}

impl ControlTests {
    /// Runs the tests; `right` tells which examples were right with the true context, then with
    /// each control.
    pub fn new(strata: &[Vec<usize>], controls: &[Control], right: &[Vec<bool>]) -> Self {
        assert_eq!(right.len(), controls.len() + 1, "results of the true context and each control");
        let (truth, others) = (&right[0], &right[1..]);
        let beyond: Vec<MeanDifference> =
            others.iter().map(|other| MeanDifference::new(strata, truth, other)).collect();
        let place = |wanted: Control| controls.iter().position(|&control| control == wanted);
        let random_gain = place(Control::None).zip(place(Control::Random)).map(|(none, random)| {
            (none, random, MeanDifference::new(strata, &others[random], &others[none]))
        });
        let all = beyond.iter().chain(random_gain.as_ref().map(|(.., gain)| gain));
        let corrected = holm(&all.map(|test| test.p_value).collect::<Vec<_>>());
        let tests = controls.iter().enumerate().map(|(place, &control)| ControlTest {
            control,
            beyond: beyond[place],
            holm: corrected[place],
        });
        let reading = random_gain.map(|(none, random, random_gain)| {
            let mut reading = Reading {
                gain: beyond[none],
                random_gain,
                beyond_random: beyond[random],
                significant: [none, controls.len(), random].map(|test| corrected[test] < LEVEL),
                text: String::new(),
            };
            reading.text = reading.to_string();
            reading
        });
        Self { tests: tests.collect(), reading }
    }
}

impl Reading {
    /// Whether there is a gain from the content of the context: the true context is better than
    /// none and better than a random one.
    pub fn shows_gain(&self) -> bool {
        let [gain, _, beyond] = self.significant;
        gain && self.gain.difference > 0.0 && beyond && self.beyond_random.difference > 0.0
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = |difference: &MeanDifference| 100.0 * difference.difference;
        let [gain, random, beyond] = self.significant;
        let (gain, beyond) =
            (gain && self.gain.difference > 0.0, beyond && self.beyond_random.difference > 0.0);
        let random = random && self.random_gain.difference > 0.0;
        match (gain, beyond) {
            (false, false) => f.write_str("No gain from context can be shown."),
            (true, false) => write!(
                f,
                "The context gains {:.1} points, but a random context gains {:.1}: the gain does \
                 not come from what the context says.",
                points(&self.gain),
                points(&self.random_gain)
            ),
            (false, true) => write!(
                f,
                "The true context is {:.1} points better than a random one, but not better than \
                 none: a wrong context harms, the right one does not help.",
                points(&self.beyond_random)
            ),
            (true, true) if random => write!(
                f,
                "The context gains {:.1} points, of which a random context gains {:.1}; {:.1} come \
                 from what the context says.",
                points(&self.gain),
                points(&self.random_gain),
                points(&self.beyond_random)
            ),
            (true, true) => write!(
                f,
                "The context gains {:.1} points; a random context has no significant gain \
                 ({:+.1}).",
                points(&self.gain),
                points(&self.random_gain)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROLS: [Control; 2] = [Control::None, Control::Random];

    /// The first `right` of each hundred are right.
    fn right(count: usize) -> Vec<bool> {
        (0..400).map(|i| i % 100 < count).collect()
    }

    fn report(truth: usize, none: usize, random: usize) -> ControlTests {
        let strata = [(0..200).collect(), (200..400).collect()];
        ControlTests::new(&strata, &CONTROLS, &[right(truth), right(none), right(random)])
    }

    fn text(truth: usize, none: usize, random: usize) -> String {
        report(truth, none, random).reading.unwrap().text
    }

    #[test]
    fn a_gain_from_a_random_context_is_reported() {
        assert!(text(60, 40, 60).contains("does not come from what the context says"));
        assert!(text(60, 40, 50).contains("of which a random context gains 10.0"));
        assert!(text(60, 40, 40).starts_with("The context gains 20.0 points; a random context"));
        assert!(text(50, 50, 30).contains("a wrong context harms"));
        assert_eq!(text(40, 40, 40), "No gain from context can be shown.");
        // A random context that is better than the true one is not a gain.
        assert_eq!(text(30, 40, 50), "No gain from context can be shown.");
        let shows = |truth, none, random| report(truth, none, random).reading.unwrap().shows_gain();
        assert!(shows(60, 40, 50) && !shows(60, 40, 60) && !shows(50, 50, 30));
    }

    #[test]
    fn p_values_are_corrected_for_all_tests_of_the_table() {
        let report = report(42, 40, 41);
        let row = &report.tests[0];
        assert!((row.holm - 3.0 * row.beyond.p_value).abs() < 1e-12, "{row:?}");
        assert!(row.beyond.p_value < row.holm);
    }
}
