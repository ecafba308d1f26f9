//! The learning rate schedule: linear warm-up, inverse square root decay and, on request, a linear
//! cool-down to 0.

use serde::{Deserialize, Serialize};

/// The inverse square root schedule with warm-up, and with a cool-down if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// The highest rate, reached at the end of the warm-up.
    pub peak: f64,
    /// Updates until the peak.
    pub warm_up: u64,
    /// The last updates of a run whose length is known: beyond the paper. Written only where there is
    /// one, so that older recipes stay the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cool_down: Option<CoolDown>,
}

/// A linear fall to 0, at which the run stops. Most of the noise of a high rate settles there, as it
/// does when checkpoints are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoolDown {
    /// The last update before the fall.
    pub from: u64,
    /// The last update of the run.
    pub until: u64,
}

impl Default for Schedule {
    /// The paper's: 5e-4 after 2,500 updates.
    fn default() -> Self {
        Self { peak: 5e-4, warm_up: 2500, cool_down: None }
    }
}

impl Schedule {
    /// The rate of update `update`, counted from 1.
    ///
    /// As published, an update uses the rate after the previous update, so the very first has rate
    /// 0: it only initialises the optimiser's running means.
    pub fn rate(&self, update: u64) -> f64 {
        match self.cool_down {
            Some(CoolDown { from, until }) if update > from => {
                let left = (until + 1).saturating_sub(update) as f64;
                self.rate_before_cool_down(from) * left / (until + 1 - from) as f64
            }
            _ => self.rate_before_cool_down(update),
        }
    }

    fn rate_before_cool_down(&self, update: u64) -> f64 {
        let done = update.saturating_sub(1) as f64;
        let warm_up = self.warm_up as f64;
        if done < warm_up {
            self.peak * done / warm_up
        } else {
            self.peak * (warm_up.max(1.0) / done.max(1.0)).sqrt()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rises_to_the_peak_and_falls_with_the_square_root() {
        let schedule = Schedule::default();
        assert!(schedule.rate(1).abs() < 1e-20);
        assert!((schedule.rate(1251) - 2.5e-4).abs() < 1e-12);
        assert!((schedule.rate(2501) - 5e-4).abs() < 1e-12);
        assert!((schedule.rate(10_001) - 2.5e-4).abs() < 1e-12);
    }

    #[test]
    fn works_without_a_warm_up() {
        let schedule = Schedule { peak: 1e-3, warm_up: 0, cool_down: None };
        assert!((schedule.rate(1) - 1e-3).abs() < 1e-12);
        assert!(schedule.rate(5).is_finite());
    }

    #[test]
    fn falls_to_zero_in_the_end() {
        let cool_down = Some(CoolDown { from: 10_001, until: 10_100 });
        let schedule = Schedule { cool_down, ..Schedule::default() };
        let before = Schedule::default();
        for update in [1, 2501, 10_000, 10_001] {
            assert!((schedule.rate(update) - before.rate(update)).abs() < 1e-20);
        }
        assert!((schedule.rate(10_051) - 1.25e-4).abs() < 1e-6, "{}", schedule.rate(10_051));
        assert!(schedule.rate(10_100) > 0.0, "the last update still moves");
        assert!(schedule.rate(10_101).abs() < 1e-20);
    }
}
