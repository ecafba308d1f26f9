//! `abridge evaluate`: translation metrics on files.

use std::io::Write;
use std::path::PathBuf;

use abridge_corpus::Format;
use abridge_evaluate::{
    Bleu, ChrF, Evaluation, Files, METRICS, MetricChoice, MetricSettings, NamedMetric, PairedTest,
    PronounChoice, PronounLanguage, Resampling, Smoothing, Ter, Tokenizer,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::comet::CometArguments;

const EXAMPLES: &str = "\
Examples:
  # One system: BLEU, chrF2, chrF2++, TER and the length ratio, with sacreBLEU's signatures
  abridge evaluate system.de --reference test.de

  # Two systems with paired bootstrap resampling, documents, and German pronouns
  abridge evaluate baseline.de system.de --reference test.de --docids test.docids --pronouns de

  # Pronouns only where the source has the ambiguous `it`
  abridge evaluate system.de --reference test.de --source test.en --pronouns de --source-words it

  # For scripts
  abridge evaluate system.de --reference test.de --metrics bleu,chrf --json | jq .bleu.score

  # Chinese, two references, approximate randomisation, a table for a paper
  abridge evaluate a.zh b.zh --reference r1.zh r2.zh --tokenize zh --test randomization --markdown

  # COMET, and COMET that reads two sentences of context
  abridge evaluate system.de -r test.de -s test.en --comet wmt22-comet-da
  abridge evaluate system.de -r test.de -s test.en --comet wmt22-comet-da --comet-context 2";

/// Scores translations against references, exactly as sacreBLEU 2 does.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
// The switches of sacreBLEU are independent of each other.
#[allow(clippy::struct_excessive_bools)]
pub struct EvaluateArguments {
    /// Translations, one file per system; the first is the baseline of comparisons
    #[arg(required = true, value_name = "HYP")]
    hypotheses: Vec<PathBuf>,

    /// Reference translations, one file each
    #[arg(short, long, required = true, num_args = 1.., value_name = "REF")]
    reference: Vec<PathBuf>,

    /// The source text, for --source-words and --comet
    #[arg(short, long, value_name = "SRC")]
    source: Option<PathBuf>,

    /// One document id per line; without it, documents come from the format, a .docids file beside
    /// the reference, or lines that are blank in all files
    #[arg(long, value_name = "FILE")]
    docids: Option<PathBuf>,

    /// The format of the files; otherwise found from name and content
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// An empty line in a reference means that this reference lacks the segment
    #[arg(long)]
    empty_is_missing: bool,

    /// The metrics to compute; default: all, but d-bleu only if documents are known
    #[arg(short, long, value_delimiter = ',', value_name = "METRICS", value_parser = metric_names())]
    metrics: Vec<NamedMetric>,

    /// Print one JSON object with a key per metric, each with score and signature
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// Print Markdown
    #[arg(long)]
    markdown: bool,

    /// Decimals of scores in tables
    #[arg(short = 'w', long, alias = "width", default_value_t = 1, value_name = "N", value_parser = decimals)]
    decimals: usize,

    /// Precision and recall of pronouns per gender in this language: de, fr or en
    #[arg(long, value_name = "LANGUAGE")]
    pronouns: Option<PronounLanguage>,

    /// Count pronouns only in lines whose source has one of these words
    #[arg(long, value_delimiter = ',', requires = "pronouns", requires = "source")]
    source_words: Vec<String>,

    #[command(flatten)]
    comet: CometArguments,
    #[command(flatten)]
    significance: SignificanceArguments,
    #[command(flatten)]
    bleu: BleuArguments,
    #[command(flatten)]
    chrf: ChrFArguments,
    #[command(flatten)]
    ter: TerArguments,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Significance")]
struct SignificanceArguments {
    /// The paired test between the first system and each other one
    #[arg(long, default_value = "bootstrap")]
    test: TestName,

    /// Resamples or trials; default: 1000 for the bootstrap, 10000 for randomization
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: Option<u32>,

    /// The seed of the random generator; sacreBLEU takes it from an environment variable
    #[arg(long, default_value_t = PairedTest::SEED)]
    seed: u64,

    /// Also estimate 95 % confidence intervals by bootstrap resampling
    #[arg(long)]
    confidence: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "BLEU, document BLEU and length ratio")]
struct BleuArguments {
    /// The tokeniser: 13a, intl, char, zh or none
    #[arg(long, default_value = "13a", value_name = "NAME")]
    tokenize: Tokenizer,

    /// Smoothing: exp, floor, add-k or none
    #[arg(long, default_value = "exp", value_name = "METHOD")]
    smooth_method: Smoothing,

    /// The value for floor (default 0.1) and add-k (default 1)
    #[arg(long, value_name = "VALUE")]
    smooth_value: Option<f64>,

    /// Ignore case
    #[arg(long)]
    lowercase: bool,

    /// Leave out n-gram orders that are longer than the text
    #[arg(long)]
    effective_order: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "chrF")]
// Fields are named like the options, which share a prefix so that users of sacreBLEU know them.
#[allow(clippy::struct_field_names)]
struct ChrFArguments {
    /// The longest character n-grams
    #[arg(long, default_value_t = 6, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    chrf_char_order: u8,

    /// The longest word n-grams of chrf++
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    chrf_word_order: u8,

    /// The weight of recall relative to precision
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    chrf_beta: u32,

    /// Include white space in character n-grams
    #[arg(long)]
    chrf_whitespace: bool,

    /// Ignore case
    #[arg(long)]
    chrf_lowercase: bool,

    /// Smooth as chrF++.py, NLTK and Moses do
    #[arg(long)]
    chrf_eps_smoothing: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "TER")]
// Fields are named like the options; the switches of Tercom are independent of each other.
#[allow(clippy::struct_excessive_bools, clippy::struct_field_names)]
struct TerArguments {
    /// Match case
    #[arg(long)]
    ter_case_sensitive: bool,

    /// Split Chinese and Japanese text into characters, with the two switches below
    #[arg(long)]
    ter_asian_support: bool,

    /// Remove punctuation
    #[arg(long)]
    ter_no_punct: bool,

    /// Separate punctuation from words and resolve entities
    #[arg(long)]
    ter_normalized: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TestName {
    Bootstrap,
    Randomization,
    None,
}

fn metric_names() -> impl TypedValueParser<Value = NamedMetric> {
    PossibleValuesParser::new(METRICS.iter().map(|metric| metric.name))
        .try_map(|name| NamedMetric::find(&name).ok_or("there is no such metric"))
}

fn decimals(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count <= 12 => Ok(count),
        _ => Err("give a number from 0 to 12".to_owned()),
    }
}

/// Reads, computes and prints.
pub fn run(arguments: &EvaluateArguments) -> anyhow::Result<()> {
    let settings = settings(arguments)?;
    let files = Files {
        hypotheses: arguments.hypotheses.clone(),
        references: arguments.reference.clone(),
        source: arguments.source.clone(),
        docids: arguments.docids.clone(),
        format: arguments.format,
        empty_is_missing: arguments.empty_is_missing,
    };
    let set = files.read()?;
    let is_chosen = !arguments.metrics.is_empty();
    let mut metrics: Vec<MetricChoice> = Vec::new();
    for &metric in if is_chosen { &arguments.metrics[..] } else { METRICS } {
        let choice = MetricChoice::text(metric, &settings);
        let is_possible = is_chosen || !choice.is_of_documents() || set.documents.is_some();
        // chrF++ without words is chrF.
        let is_new = metrics.iter().all(|other| other.metric().name() != choice.metric().name());
        if is_possible && is_new {
            metrics.push(choice);
        }
    }
    if let Some(comet) = arguments.comet.metric(&set)? {
        metrics.push(MetricChoice::Comet(comet));
    }
    let report = Evaluation {
        systems: set.systems,
        references: set.references,
        sources: set.sources,
        documents: set.documents,
        metrics,
        test: arguments.significance.test(),
        confidence: arguments.significance.confidence(),
        pronouns: arguments.pronouns.map(|language| PronounChoice {
            language,
            source_words: arguments.source_words.iter().map(|word| word.to_lowercase()).collect(),
        }),
    }
    .run()?;
    let text = if arguments.json {
        report.to_json()
    } else if arguments.markdown {
        report.to_markdown(arguments.decimals)
    } else {
        report.to_text(arguments.decimals)
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

impl SignificanceArguments {
    fn test(&self) -> Option<PairedTest> {
        let test = match self.test {
            TestName::Bootstrap => PairedTest::bootstrap(),
            TestName::Randomization => PairedTest::randomization(),
            TestName::None => return None,
        };
        let samples = self.samples.map_or(test.samples, |samples| samples as usize);
        Some(PairedTest { samples, seed: self.seed, ..test })
    }

    fn confidence(&self) -> Option<(usize, u64)> {
        let bootstrap = match self.test() {
            Some(test) if test.resampling == Resampling::Bootstrap => test.samples,
            _ => PairedTest::bootstrap().samples,
        };
        self.confidence.then_some((bootstrap, self.seed))
    }
}

/// The settings of the metrics on the command line.
fn settings(arguments: &EvaluateArguments) -> anyhow::Result<MetricSettings> {
    let EvaluateArguments { bleu, chrf, ter, .. } = arguments;
    let smoothing = match bleu.smooth_value {
        // A wrong setting is a usage error, not a data error, so its type is dropped here.
        Some(value) => bleu.smooth_method.with_value(value).map_err(|e| anyhow::anyhow!("{e}"))?,
        None => bleu.smooth_method,
    };
    Ok(MetricSettings {
        bleu: Bleu {
            tokenizer: bleu.tokenize,
            smoothing,
            lowercase: bleu.lowercase,
            effective_order: bleu.effective_order,
            ..Bleu::default()
        },
        chrf: ChrF {
            character_order: chrf.chrf_char_order.into(),
            word_order: 0,
            beta: chrf.chrf_beta,
            lowercase: chrf.chrf_lowercase,
            whitespace: chrf.chrf_whitespace,
            epsilon_smoothing: chrf.chrf_eps_smoothing,
        },
        chrf_word_order: chrf.chrf_word_order.into(),
        ter: Ter {
            normalized: ter.ter_normalized,
            no_punctuation: ter.ter_no_punct,
            asian_support: ter.ter_asian_support,
            case_sensitive: ter.ter_case_sensitive,
        },
    })
}
