//! `abridge shortlist`: a model that scores a fraction of its vocabulary.

use std::io::Write;
use std::path::PathBuf;

use abridge_base::tell;
use abridge_corpus::prepare::PreparedDirectory;
use abridge_corpus::store::Side;
use abridge_corpus::{Lexicon, Tokenizer};
use abridge_model::weights::ModelDirectory;
use abridge_translate::shortlist::{FILE, Shortlist, ShortlistSettings};
use anyhow::bail;
use clap::Args;

/// Writes a model directory that chooses words from a shortlist, which is faster.
///
/// For each sentence the list holds likely translations of its words, as learned from the data that
/// the model was trained on, and words that are common everywhere. Probabilities are normalised
/// over the list. Scoring, sampling, and devices other than the CPU use all words.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge shortlist --model demo/models/grouping --data demo/data demo/models/grouping-short
  abridge translate --model demo/models/grouping-short talk.en
  abridge quantize --model demo/models/grouping-short --to int8 demo/models/grouping-small

Check what it costs on your own data before you use it:
  abridge translate --model demo/models/grouping-short talk.en -o short.de
  abridge evaluate full.de short.de --reference talk.de")]
pub struct ShortlistArguments {
    /// The model directory.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// The prepared data that the model was trained on.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The most frequent words, which are on every list.
    #[arg(long, value_name = "COUNT", default_value_t = ShortlistSettings::default().common)]
    common: usize,
    /// Candidates for each word of a sentence.
    #[arg(long, value_name = "COUNT", default_value_t = ShortlistSettings::default().per_word)]
    per_word: usize,
    /// The model directory to write.
    output: PathBuf,
}

impl ShortlistArguments {
    /// Learns a translation lexicon and writes the directory.
    pub fn run(&self) -> anyhow::Result<()> {
        let output = ModelDirectory::begin_new(&self.output)?;
        let place = super::model::directory(&self.model)?;
        let model = ModelDirectory::open(&place)?;
        let data = PreparedDirectory::open(&self.data)?;
        for (side, name) in [(Side::Source, "source"), (Side::Target, "target")] {
            let tokenizer = Tokenizer::load(&place, name)?;
            if let Some(difference) = tokenizer.difference(&data.tokenizer(side)?) {
                bail!(
                    "the {name} vocabulary of the model differs from that of {}: {difference}; \
                     give the data that the model was trained on",
                    self.data.display()
                );
            }
        }
        let pairs = data.split("train")?;
        let lexicon = Lexicon::learn(&pairs, &mut |round, of| {
            tell!("learning word translations: round {round} of {of}");
        })?;
        let settings = ShortlistSettings { common: self.common, per_word: self.per_word };
        let shortlist = Shortlist::new(&lexicon, &pairs, settings);
        let (split, coverage) = match data.split("valid") {
            Ok(valid) => ("valid", shortlist.coverage(&valid)),
            Err(_) => ("train", shortlist.coverage(&pairs)),
        };
        model.with_file(FILE, &shortlist.to_bytes()?, output)?;
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "words:  {:.0} of {} per sentence on average ({split} split)",
            coverage.mean_length,
            model.config().target_vocabulary
        )?;
        writeln!(
            out,
            "reach:  {:.1} % of the words of the reference translations are on their list",
            100.0 * coverage.covered
        )?;
        writeln!(out, "model:  {}", self.output.display())?;
        writeln!(out, "next:   abridge translate --model {} FILE", self.output.display())?;
        Ok(())
    }
}
