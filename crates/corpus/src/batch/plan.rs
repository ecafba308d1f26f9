//! Which sentences go into which batch of an epoch.

/// The targets of one batch, as sentence numbers of the token store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedBatch {
    /// Sentence numbers; consecutive ones of a document form a run.
    pub sentences: Vec<usize>,
}

/// The batches of one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchPlan {
    /// The batches in the order in which they are trained on.
    pub batches: Vec<PlannedBatch>,
    /// Sentences left out because they are too long; only shuffled batches drop any.
    pub dropped: Vec<usize>,
}
