//! Contrastive sets: which of several translations a model prefers.
//!
//! A candidate's score is its log-probability per token, the end included. An example is right if
//! its reference scores strictly higher than every alternative.

mod checks;
mod comparison;
mod identity;
mod report;
mod scoring;

pub use checks::{check_context, check_languages, limit_context};
pub use comparison::{Comparison as ContrastiveComparison, ComparisonRow, McNemar};
pub use identity::{Identity, context_order, set_hash};
pub use report::{Accuracy, ContrastiveReport, is_preferred};
pub use scoring::{part_file, read_scores, score_set, write_scores};
