//! Contrastive sets: which of several translations a model prefers.
//!
//! A candidate's score is its log-probability per token, including the end token. An example is
//! right if its reference scores strictly higher than every alternative.

mod checks;
mod comparison;
mod composition;
mod control_report;
mod identity;
mod mean;
mod report;
mod scoring;

pub use checks::{check_context, check_languages, limit_context};
pub use comparison::{ComparisonRow, ContrastiveComparison, McNemar};
pub use composition::Composition;
pub use control_report::ControlReport;
pub use identity::{Identity, context_order, set_hash};
pub use mean::MeanAccuracy;
pub use report::{Accuracy, ContrastiveReport, is_preferred};
pub use scoring::{Scores, part_file, read_scores, score_set, score_with_controls, write_scores};
