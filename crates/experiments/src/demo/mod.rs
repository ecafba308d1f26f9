//! The demo: a model without context and one with it, trained side by side on the practice corpus.
//!
//! | file | what |
//! | --- | --- |
//! | `train` | trains both, one core each |
//! | [`compare`] | compares them |
//! | [`pronouns`] | which pronouns of a translation are right |
//! | `page` | the comparison as a page |

pub mod compare;
mod page;
pub mod pronouns;
mod train;

use std::path::{Path, PathBuf};

use abridge_base::files::{OutputFile, Outputs};
use abridge_corpus::practice::PracticeConfig;
use abridge_corpus::prepare::{Description, Recipe, Request, Silent, prepare_practice};
use abridge_evaluate::picture::is_own_page;

use compare::DemoComparison;

/// The two models that are compared.
pub const PRESETS: [&str; 2] = ["sentence", "grouping"];

/// A demo and its directory.
#[derive(Clone, Debug)]
pub struct Demo {
    /// The directory of the corpus, the two models and the report.
    pub out: PathBuf,
    /// Updates per model.
    pub updates: u64,
}

impl Demo {
    /// Writes and prepares the practice corpus, unless it exists.
    pub fn prepare(&self) -> anyhow::Result<Description> {
        std::fs::create_dir_all(&self.out)?;
        // Find out now, not after training, if the page cannot be written.
        self.report_file()?;
        let config = PracticeConfig::default();
        let recipe = Recipe::practice(config.language);
        let request = Request {
            recipe: &recipe,
            data: Path::new(""),
            output: &self.data(),
            threads: 2,
            force: false,
        };
        Ok(prepare_practice(&config, &request, &mut Silent)?.description().clone())
    }

    /// Compares the two models and writes the page.
    pub fn compare(&self) -> anyhow::Result<DemoComparison> {
        let comparison = DemoComparison::make(self)?;
        let page = comparison.page(&self.commands(&comparison.sentences));
        self.report_file()?.write(page.as_bytes())?;
        Ok(comparison)
    }

    /// The page with translations, accuracy, learning curves and pictures of the memory.
    pub fn report(&self) -> PathBuf {
        self.out.join("report.html")
    }

    /// The file of the page. The page of an earlier demo is replaced; another file is not.
    fn report_file(&self) -> abridge_base::Result<OutputFile> {
        let report = self.report();
        let remedy = "move it away, or name another directory with --output";
        Outputs::new().derived(&report, is_own_page(&report), remedy)
    }

    fn data(&self) -> PathBuf {
        self.out.join("data")
    }

    fn model(&self, preset: &str) -> PathBuf {
        self.out.join("models").join(preset)
    }

    fn run_directory(&self, preset: &str) -> PathBuf {
        self.out.join("runs").join(preset)
    }

    /// Commands to try next; `sentences` are those of the compared document.
    pub fn commands(&self, sentences: &str) -> [String; 3] {
        let model = self.model("grouping");
        let (model, text) = (model.display(), self.data().join("text"));
        let text = text.display();
        [
            format!("abridge translate --model {model} {text}/test.en"),
            format!("abridge inspect --model {model} {text}/test.en --sentences {sentences}"),
            format!("abridge contrast --model {model} --set {text}/contrastive.json"),
        ]
    }
}
