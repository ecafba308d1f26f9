//! The learning rate over time: a linear rise, then the inverse square root.

use serde::{Deserialize, Serialize};

/// The inverse square root schedule with warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// The highest rate, reached at the end of the warm-up.
    pub peak: f64,
    /// Updates until the peak.
    pub warm_up: u64,
}

impl Default for Schedule {
    /// The paper's: 5e-4 after 2,500 updates.
    fn default() -> Self {
        Self { peak: 5e-4, warm_up: 2500 }
    }
}

impl Schedule {
    /// The rate of update `update`, counted from 1.
    ///
    /// As published, an update uses the rate after the one before it, so the very first has rate 0:
    /// it only starts the optimiser's averages.
    pub fn rate(&self, update: u64) -> f64 {
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
        let schedule = Schedule { peak: 1e-3, warm_up: 0 };
        assert!((schedule.rate(1) - 1e-3).abs() < 1e-12);
        assert!(schedule.rate(5).is_finite());
    }
}
