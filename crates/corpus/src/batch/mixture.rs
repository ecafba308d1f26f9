//! The shares of the corpora in a training run, and when they change.

use crate::{Error, Result};

/// Shares of corpora, phase by phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    phases: Vec<Phase>,
}

/// The shares of one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// The last update with these shares; the last phase never ends.
    pub until: Option<u64>,
    /// One weight per corpus: its share of the target tokens is its weight over the sum of all.
    pub weights: Vec<f64>,
}

impl Mixture {
    /// The same shares from the first update on.
    pub fn constant(weights: Vec<f64>) -> Result<Self> {
        Self::new(vec![Phase { until: None, weights }])
    }

    /// A mixture of phases, which must be in order and each give some corpus a positive weight.
    pub fn new(phases: Vec<Phase>) -> Result<Self> {
        let wrong = |problem: String, remedy: &str| Err(Error::new(problem).remedy(remedy));
        let count = phases.first().map_or(0, |phase| phase.weights.len());
        let mut last = 0;
        for (index, phase) in phases.iter().enumerate() {
            let number = index + 1;
            if phase.weights.len() != count {
                return wrong(
                    format!("phase {number} of the mixture has {} weights", phase.weights.len()),
                    "give each phase a weight for every corpus",
                );
            }
            if let Some(weight) = phase.weights.iter().find(|w| !w.is_finite() || **w < 0.0) {
                return wrong(
                    format!("a weight of phase {number} of the mixture is {weight}"),
                    "weights must be finite and 0 or more",
                );
            }
            if phase.weights.iter().all(|&weight| weight == 0.0) {
                return wrong(
                    format!("phase {number} of the mixture draws from no corpus"),
                    "give at least one corpus a weight above 0",
                );
            }
            match phase.until {
                Some(until) if until <= last => {
                    return wrong(
                        format!("phase {number} of the mixture ends at update {until}"),
                        "each phase must end after the previous one",
                    );
                }
                None if number < phases.len() => {
                    return wrong(
                        format!("phase {number} of the mixture has no end, but others follow"),
                        "set `until` to its last update",
                    );
                }
                until => last = until.unwrap_or(u64::MAX),
            }
        }
        if count == 0 {
            return wrong("the mixture has no corpus".into(), "name at least one");
        }
        Ok(Self { phases })
    }

    /// Weights for corpora of the given sizes at a temperature: size to the power of
    /// 1 / temperature, so 1 keeps the corpora in proportion and infinity makes all equal.
    pub fn by_size(sizes: &[usize], temperature: f64) -> Vec<f64> {
        // Relative to the largest, so that no power overflows.
        let largest = sizes.iter().copied().max().unwrap_or(0).max(1) as f64;
        sizes.iter().map(|&size| (size as f64 / largest).powf(1.0 / temperature)).collect()
    }

    /// The number of corpora.
    pub fn corpora(&self) -> usize {
        self.phases[0].weights.len()
    }

    /// The phase of an update, counted from 0, and its weights.
    pub fn at(&self, update: u64) -> (usize, &[f64]) {
        let last = self.phases.len() - 1;
        let ends = self.phases[..last].iter();
        let phase = ends.take_while(|phase| phase.until.is_some_and(|until| until < update));
        let phase = phase.count();
        (phase, &self.phases[phase].weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_must_be_in_order() {
        let phase = |until, weights: &[f64]| Phase { until, weights: weights.to_vec() };
        let mixture =
            Mixture::new(vec![phase(Some(10), &[1.0, 0.0]), phase(Some(20), &[0.5, 0.5])]).unwrap();
        assert_eq!([1, 10, 11, 20, 21, 99].map(|u| mixture.at(u).0), [0, 0, 1, 1, 1, 1]);
        for (phases, part) in [
            (vec![], "no corpus"),
            (vec![phase(None, &[0.0])], "draws from no corpus"),
            (vec![phase(None, &[-1.0])], "0 or more"),
            (vec![phase(None, &[f64::NAN, 1.0])], "0 or more"),
            (vec![phase(None, &[1.0]), phase(None, &[1.0])], "no end, but others follow"),
            (vec![phase(Some(5), &[1.0]), phase(Some(5), &[1.0])], "ends at update 5"),
            (vec![phase(Some(5), &[1.0]), phase(None, &[1.0, 1.0])], "for every corpus"),
        ] {
            let error = Mixture::new(phases).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn temperature_flattens_sizes() {
        let shares = |temperature| Mixture::by_size(&[900, 100], temperature);
        assert_eq!(shares(1.0), [1.0, 1.0 / 9.0]);
        assert!((shares(2.0)[1] - 1.0 / 3.0).abs() < 1e-12);
        assert!(shares(100.0)[1] > 0.97);
    }
}
