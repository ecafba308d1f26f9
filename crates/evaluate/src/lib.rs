//! Translation quality. For files: BLEU, chrF and TER equal to sacreBLEU's, document BLEU, COMET,
//! paired significance tests and a pronoun report. For models: accuracy on contrastive sets and the
//! gain from context.

#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod comet;
mod contrast;
mod controls;
mod ctxpro;
mod cxmi;
mod difference;
mod documents;
mod edit_distance;
mod examples;
pub mod footprint;
mod hash;
mod holm;
mod input;
pub mod inspect;
mod metric;
mod metrics;
mod ngram;
mod normal;
pub mod picture;
pub mod profile;
mod pronoun;
mod random;
mod real;
mod references;
mod report;
mod signature;
mod significance;
pub mod tagger;
mod tokenize;
pub mod whitespace;

pub use contrast::{
    Accuracy, ComparisonRow, Composition, ContrastiveComparison, ContrastiveReport, ControlReport,
    Identity, McNemar, MeanAccuracy, Scores, check_context, check_languages, context_order,
    is_preferred, limit_context, part_file, read_scores, score_set, score_with_controls, set_hash,
    write_scores,
};
pub use controls::{
    Control, ControlTest, ControlTests, Controls, Draw, Example, MeanDifference, Reading, Spread,
};
pub use ctxpro::{
    CtxProContext, CtxProReport, CtxProRow, CtxProTask, ctxpro_hash, ctxpro_tests, has_expected,
};
pub use cxmi::{
    CxmiReport, CxmiSettings, Gain, SentenceGain, WordGain, cxmi, cxmi_sentences, documents_hash,
};
pub use difference::{Compared, compare_words};
pub use documents::{DocumentLines, Documents};
pub use examples::{
    PronounExample, PronounTranslation, examples_page, examples_summary, examples_text,
    pronoun_examples, pronoun_sentences, translate_examples,
};
pub use holm::holm;
pub use input::{Files, TestSet};
pub use metric::{
    Metric, ResampleScore, Score, Statistics, TextMetric, corpus_score, sentence_score,
};
pub use metrics::{
    Bleu, BleuScore, ChrF, DocumentBleu, LengthRatio, METRICS, MetricSettings, NamedMetric,
    Smoothing, Ter,
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
pub use significance::{
    Comparison, Interval, PairedTest, Resampling, compare, compare_with, interval,
};
pub use tokenize::Tokenizer;
