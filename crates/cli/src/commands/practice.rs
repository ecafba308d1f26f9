//! `abridge practice`: shows the built-in practice corpus, or writes it to files.

use std::io::{self, Write};
use std::path::PathBuf;

use abridge_corpus::Document;
use abridge_corpus::practice::{self, PracticeConfig, PracticeLanguage};
use clap::Args;

const EXAMPLES: &str = "\
Examples:
  abridge practice --show 3
      three English-German documents, with pronouns and antecedents marked
  abridge practice --language en-fr --show 1 --seed 7
      a French one of another corpus
  abridge practice --output practice
      train, valid and test as lines with document ids, and the contrastive set";

/// Shows or writes the built-in practice corpus.
///
/// Short documents, written by a small grammar, in which only the preceding sentences determine how
/// `it` and `they` are translated. The same seed gives the same corpus everywhere.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Practice {
    /// The language pair: en-de or en-fr
    #[arg(long, default_value = "en-de", value_name = "PAIR")]
    language: PracticeLanguage,

    /// The seed of the corpus
    #[arg(long, default_value_t = PracticeConfig::default().seed)]
    seed: u64,

    /// How many training documents to show; 3 when nothing is written
    #[arg(long, value_name = "COUNT")]
    show: Option<usize>,

    /// The directory to write to: new or empty
    #[arg(long, short, alias = "out", value_name = "DIR")]
    output: Option<PathBuf>,

    /// Training documents
    #[arg(long, default_value_t = PracticeConfig::default().train_documents, value_name = "COUNT")]
    train_documents: usize,

    /// Validation documents
    #[arg(long, default_value_t = PracticeConfig::default().valid_documents, value_name = "COUNT")]
    valid_documents: usize,

    /// Test documents
    #[arg(long, default_value_t = PracticeConfig::default().test_documents, value_name = "COUNT")]
    test_documents: usize,
}

impl Practice {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<()> {
        let show = self.show.unwrap_or(if self.output.is_some() { 0 } else { 3 });
        let config = PracticeConfig {
            seed: self.seed,
            // Documents do not depend on later ones, so only those shown need to be generated.
            train_documents: match self.output {
                Some(_) => self.train_documents,
                None => show,
            },
            valid_documents: self.valid_documents,
            test_documents: self.test_documents,
            ..PracticeConfig::new(self.language)
        };
        let corpus = practice::generate_annotated(&config)?;
        let mut out = io::stdout().lock();
        for (index, document) in corpus.train.iter().take(show).enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            write!(out, "{document}")?;
        }
        let Some(directory) = &self.output else { return Ok(()) };

        let corpus = corpus.into_practice();
        corpus.write(self.language, directory)?;
        if show > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", directory.display())?;
        for (name, documents) in
            [("train", &corpus.train), ("valid", &corpus.valid), ("test", &corpus.test)]
        {
            writeln!(out, "  {name:<11} {}", sizes(documents))?;
        }
        let items = corpus.contrastive.items.len();
        let candidates = corpus.contrastive.candidates();
        writeln!(out, "  contrastive {items:>6} items, {candidates} candidates")?;
        Ok(())
    }
}

fn sizes(documents: &[Document]) -> String {
    let segments = || documents.iter().flat_map(|document| &document.segments);
    let words = |text: &str| text.split_whitespace().count();
    let source: usize = segments().map(|segment| words(&segment.source)).sum();
    let target: usize = segments().filter_map(|segment| segment.target.as_deref()).map(words).sum();
    format!(
        "{:>6} documents, {} sentences, {source} source and {target} target words",
        documents.len(),
        segments().count()
    )
}
