//! The scale of the loss where products are in half precision.
//!
//! The smallest positive number of half precision is 6e-8, and gradients are smaller than that. Multiplied
//! by the scale they are not. The largest is 65,504: if the scale is too large, gradients are infinite and
//! the update is skipped. The scale is found by trying.

use serde::{Deserialize, Serialize};

/// Updates at a scale before a larger one is tried.
const PATIENCE: u64 = 1000;
/// The largest; no gradient needs more.
const MOST: f64 = 65_536.0;

/// A scale, and how long it has worked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossScale {
    /// What the loss is multiplied by, a power of two, so that nothing is rounded.
    pub scale: f64,
    /// Updates in a row whose gradients were finite.
    pub good: u64,
}

impl Default for LossScale {
    fn default() -> Self {
        // The loss is a sum over all tokens of a batch, so its gradients are large.
        Self { scale: 1024.0, good: 0 }
    }
}

impl LossScale {
    /// After an update with finite gradients.
    pub fn succeeded(&mut self) {
        self.good += 1;
        if self.good >= PATIENCE {
            *self = Self { scale: (self.scale * 2.0).min(MOST), good: 0 };
        }
    }

    /// After an update whose gradients were not finite; returns whether a smaller scale may help.
    pub fn failed(&mut self) -> bool {
        let can_shrink = self.scale > 1.0;
        *self = Self { scale: (self.scale / 2.0).max(1.0), good: 0 };
        can_shrink
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinks_at_once_and_grows_with_patience() {
        let mut scale = LossScale::default();
        let before = scale.scale;
        assert!(scale.failed());
        assert!((scale.scale - before / 2.0).abs() < 1e-12);
        for _ in 0..PATIENCE - 1 {
            scale.succeeded();
        }
        assert!((scale.scale - before / 2.0).abs() < 1e-12);
        scale.succeeded();
        assert_eq!(scale, LossScale::default());
        for _ in 0..20 * PATIENCE {
            scale.succeeded();
        }
        assert!((scale.scale - MOST).abs() < 1e-12);
        // At last the scale is not to blame.
        let shrunk = std::iter::repeat_with(|| scale.failed()).take_while(|can| *can).count();
        assert_eq!(shrunk, 16);
        assert!((scale.scale - 1.0).abs() < 1e-12);
    }
}
