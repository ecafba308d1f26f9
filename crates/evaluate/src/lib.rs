//! Translation quality on files: BLEU, chrF and TER that equal sacreBLEU's, document BLEU, paired
//! significance tests, a report on pronouns, and the accuracy on contrastive sets.

mod bleu;
mod chrf;
pub mod comet;
mod contrast;
mod derived;
mod documents;
mod edit_distance;
mod hash;
mod input;
pub mod inspect;
mod metric;
mod ngram;
pub mod picture;
mod pronoun;
mod random;
mod real;
mod references;
mod report;
mod signature;
mod significance;
mod ter;
mod tokenize;
pub mod whitespace;

pub use bleu::{Bleu, BleuScore, Smoothing};
pub use chrf::ChrF;
pub use contrast::{Accuracy, ContrastiveReport, is_preferred};
pub use derived::{DocumentBleu, LengthRatio};
pub use documents::{DocumentLines, Documents};
pub use input::{Files, TestSet};
pub use metric::{
    Metric, ResampleScore, Score, Statistics, TextMetric, corpus_score, sentence_score,
};
pub use pronoun::{
    PronounCounts, PronounInput, PronounLanguage, PronounReport, PronounRow, SourceFilter,
    pronoun_report,
};
pub use random::{Coins, NumpyRandom};
pub use references::{ReferenceCount, References};
pub use report::{
    DocumentSize, Evaluation, MetricChoice, MetricResult, PronounChoice, Report, System,
    SystemScore,
};
pub use signature::{Field, SACREBLEU_VERSION, Signature};
pub use significance::{Comparison, Interval, PairedTest, Resampling, compare, interval};
pub use ter::Ter;
pub use tokenize::Tokenizer;
