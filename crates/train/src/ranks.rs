//! Processes that train one model together.
//!
//! Each rank takes its share of the micro-batches of an update; gradients are summed over all
//! ranks, so that all take the same step. Rank 0 reports and writes for all.

#[cfg(feature = "mpi")]
mod mpi;

#[cfg(feature = "mpi")]
pub use mpi::MpiRanks;

/// The processes of a run.
pub trait Ranks {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn count(&self) -> usize;

    /// Sums the values over all ranks; afterwards all have bit-identical sums.
    fn sum(&self, values: &mut [f32]);

    /// The same in double precision.
    fn sum_wide(&self, values: &mut [f64]);

    /// Waits for all.
    fn wait(&self);

    /// Ends all processes because one of them cannot continue.
    fn abort(&self, code: u8) -> !;

    /// Whether this is the process that reports and writes.
    fn is_leader(&self) -> bool {
        self.rank() == 0
    }

    /// Whether `yes` is true on any rank.
    fn any(&self, yes: bool) -> bool {
        let mut votes = [f64::from(u8::from(yes))];
        self.sum_wide(&mut votes);
        votes[0] > 0.0
    }
}

/// A single process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Ranks for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        1
    }

    fn sum(&self, _values: &mut [f32]) {}

    fn sum_wide(&self, _values: &mut [f64]) {}

    fn wait(&self) {}

    fn abort(&self, code: u8) -> ! {
        std::process::exit(i32::from(code))
    }
}
