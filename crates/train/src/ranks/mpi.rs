//! Ranks over MPI.

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Equivalence;
use mpi::traits::{Communicator, CommunicatorCollectives};

use super::Ranks;
use crate::{Error, Result};

/// The processes that `mpirun` or a batch system started.
pub struct MpiRanks {
    world: SimpleCommunicator,
    /// MPI is finalised when this is dropped.
    _universe: Universe,
}

impl std::fmt::Debug for MpiRanks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.count())
    }
}

impl MpiRanks {
    /// Joins the others; without `mpirun` there is one rank. Only once per process.
    pub fn join() -> Result<Self> {
        // Workers compute on their own threads, but only one thread calls MPI.
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| Error::Workers("MPI was started twice in this process".into()))?;
        Ok(Self { world: universe.world(), _universe: universe })
    }

    /// Each rank sums its share of the values and sends the sums to all others, so that all ranks have
    /// the same bits; an all-reduce may round differently on each. Each rank sends and receives less
    /// than twice the values, however many ranks there are.
    fn sum_all<T: Equivalence + Copy + Default>(&self, values: &mut [T]) {
        if self.count() == 1 {
            return;
        }
        let share = values.len().div_ceil(self.count());
        let mut all = values.to_vec();
        all.resize(share * self.count(), T::default());
        let mut own = vec![T::default(); share];
        self.world.reduce_scatter_block_into(&all[..], &mut own[..], SystemOperation::sum());
        self.world.all_gather_into(&own[..], &mut all[..]);
        values.copy_from_slice(&all[..values.len()]);
    }
}

impl Ranks for MpiRanks {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn count(&self) -> usize {
        self.world.size() as usize
    }

    fn sum(&self, values: &mut [f32]) {
        self.sum_all(values);
    }

    fn sum_wide(&self, values: &mut [f64]) {
        self.sum_all(values);
    }

    fn wait(&self) {
        self.world.barrier();
    }

    fn abort(&self, code: u8) -> ! {
        self.world.abort(i32::from(code))
    }
}
