//! What a result with controls shows.

use std::fmt;

use serde::Serialize;

use super::control::Control;
use super::difference::MeanDifference;
use super::draws::Controls;
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
    /// How many of its contexts every example had.
    pub draws: usize,
    /// The gain of the true context over it, or over the mean of its draws, as the mean over
    /// groups.
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
    /// How many random contexts every example had.
    pub draws: usize,
    /// Whether each of the three is significant after the correction.
    pub significant: [bool; 3],
    /// The same in words.
    pub text: String,
}

impl ControlTests {
    /// Runs the tests; `right` tells which examples were right with the true context, then with
    /// each of [`Controls::contexts`].
    pub fn new(strata: &[Vec<usize>], controls: Controls<'_>, right: &[Vec<bool>]) -> Self {
        assert_eq!(right.len(), controls.contexts().len() + 1, "the true context and each draw");
        let (truth, others) = (&right[0], controls.by_control(&right[1..]));
        let beyond: Vec<MeanDifference> = others
            .iter()
            .map(|(_, draws)| MeanDifference::from_draws(strata, truth, draws))
            .collect();
        let place = |wanted: Control| others.iter().position(|&(control, _)| control == wanted);
        let random_gain = place(Control::None).zip(place(Control::Random)).map(|(none, random)| {
            let over_random =
                MeanDifference::from_draws(strata, &others[none].1[0], others[random].1);
            (none, random, over_random.reversed())
        });
        let all = beyond.iter().chain(random_gain.as_ref().map(|(.., gain)| gain));
        let corrected = holm(&all.map(|test| test.p_value).collect::<Vec<_>>());
        let tests = others.iter().enumerate().map(|(place, &(control, draws))| ControlTest {
            control,
            draws: draws.len(),
            beyond: beyond[place],
            holm: corrected[place],
        });
        let reading = random_gain.map(|(none, random, random_gain)| {
            let mut reading = Reading {
                gain: beyond[none],
                random_gain,
                beyond_random: beyond[random],
                draws: others[random].1.len(),
                significant: [none, others.len(), random].map(|test| corrected[test] < LEVEL),
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
        let drawn = match self.draws {
            1 => String::new(),
            draws => format!(" (mean of {draws} draws)"),
        };
        match (gain, beyond) {
            (false, false) => f.write_str("No gain from context can be shown."),
            (true, false) => write!(
                f,
                "The context gains {:.1} points, but a random context{drawn} gains {:.1}: the gain \
                 does not come from what the context says.",
                points(&self.gain),
                points(&self.random_gain)
            ),
            (false, true) => write!(
                f,
                "The true context is {:.1} points better than a random one{drawn}, but not better \
                 than none: a wrong context harms, the right one does not help.",
                points(&self.beyond_random)
            ),
            (true, true) if random => write!(
                f,
                "The context gains {:.1} points, of which a random context{drawn} gains {:.1}; {:.1} \
                 come from what the context says.",
                points(&self.gain),
                points(&self.random_gain),
                points(&self.beyond_random)
            ),
            (true, true) => write!(
                f,
                "The context gains {:.1} points; a random context{drawn} has no significant \
                 gain ({:+.1}).",
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
        let controls = Controls { controls: &CONTROLS, seed: 1, draws: 1 };
        ControlTests::new(&strata, controls, &[right(truth), right(none), right(random)])
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
    fn the_true_context_is_compared_with_the_mean_of_all_draws() {
        let strata = [(0..200).collect(), (200..400).collect()];
        let controls = Controls { controls: &CONTROLS, seed: 1, draws: 3 };
        // One lucky draw, two others: 50 % on average.
        let right = [60, 40, 60, 45, 45].map(right);
        let report = ControlTests::new(&strata, controls, &right);
        assert_eq!([report.tests[0].draws, report.tests[1].draws], [1, 3]);
        assert!((report.tests[1].beyond.difference - 0.1).abs() < 1e-12, "{report:?}");
        let reading = report.reading.unwrap();
        assert!((reading.random_gain.difference - 0.1).abs() < 1e-12, "{reading:?}");
        assert!(
            reading.text.contains("a random context (mean of 3 draws) gains 10.0"),
            "{reading}"
        );
    }

    #[test]
    fn p_values_are_corrected_for_all_tests_of_the_table() {
        let report = report(42, 40, 41);
        let row = &report.tests[0];
        assert!((row.holm - 3.0 * row.beyond.p_value).abs() < 1e-12, "{row:?}");
        assert!(row.beyond.p_value < row.holm);
    }
}
