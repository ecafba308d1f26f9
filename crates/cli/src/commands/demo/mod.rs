//! `abridge demo`: the whole walk on what is built in, in a few minutes.

mod compare;
mod pronouns;
mod report;
mod terminal;
mod train;

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_corpus::practice::PracticeConfig;
use abridge_corpus::prepare::{Recipe, Request, Silent, prepare_practice};
use clap::Args;

use compare::Comparison;

/// Trains a model without and one with context on the built-in corpus, and shows the difference.
///
/// Needs no data and no network; a few minutes on two cores. Writes `report.html` with
/// translations, accuracy, learning curves and pictures of the memory. Run again, it finds what is
/// there. Interrupted, it goes on where it was.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge demo
  abridge demo --out /tmp/demo --updates 300")]
pub struct Demo {
    /// Where the corpus, the two models and the report go.
    #[arg(long, default_value = "demo", value_name = "DIR")]
    out: PathBuf,
    /// Updates of each model; fewer are faster and worse.
    #[arg(long, default_value_t = 1000)]
    updates: u64,
}

/// The two models that are compared.
const PRESETS: [&str; 2] = ["sentence", "grouping"];

impl Demo {
    /// Prepares, trains, compares and says what to try next.
    pub fn run(&self) -> anyhow::Result<()> {
        let data = self.out.join("data");
        let config = PracticeConfig::default();
        let recipe = Recipe::practice(config.language);
        let request = Request {
            recipe: &recipe,
            data: Path::new(""),
            output: &data,
            threads: 2,
            force: false,
        };
        let manifest = prepare_practice(&config, &request, &mut Silent)?.manifest().clone();
        let mut out = std::io::stdout().lock();
        writeln!(out, "The practice corpus, written by a small grammar inside this program:\n")?;
        writeln!(out, "{}", manifest.table())?;
        drop(out);
        self.train_both(&data)?;

        let comparison = Comparison::make(self, &data)?;
        let commands = self.commands(&comparison.sentences);
        let report = self.out.join("report.html");
        super::write_whole(&report, comparison.page(&commands).as_bytes())?;
        let mut out = std::io::stdout().lock();
        comparison.print(&mut out)?;
        writeln!(out, "Learning curves, and pictures of what the memory keeps, are in")?;
        writeln!(out, "  {}\n", report.display())?;
        writeln!(out, "Both models stay in {}. Try:\n", self.out.join("models").display())?;
        for command in commands {
            writeln!(out, "  {command}")?;
        }
        Ok(())
    }

    fn model(&self, preset: &str) -> PathBuf {
        self.out.join("models").join(preset)
    }

    fn run_directory(&self, preset: &str) -> PathBuf {
        self.out.join("runs").join(preset)
    }

    /// What to try next.
    fn commands(&self, sentences: &str) -> [String; 3] {
        let model = self.model("grouping");
        let (model, text) = (model.display(), self.out.join("data/text"));
        let text = text.display();
        [
            format!("abridge translate --model {model} {text}/test.en"),
            format!("abridge inspect --model {model} {text}/test.en --sentences {sentences}"),
            format!("abridge contrast --model {model} --set {text}/contrastive.json"),
        ]
    }
}
