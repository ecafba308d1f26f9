//! The directory of a run: its lock, its metrics, and the files needed to write a model.

use std::fs;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use abridge_base::files::replace;
use abridge_corpus::Tokenizer;
use abridge_corpus::prepare::PreparedDirectory;
use abridge_corpus::store::Side;

use crate::event::Event;
use crate::tensorboard::EventWriter;
use crate::{Error, Result};

/// Where a run reads and writes.
#[derive(Clone, Debug)]
pub struct RunPaths<'a> {
    /// A directory that `abridge prepare` wrote.
    pub data: &'a Path,
    /// The directory of the run; created if missing, resumed otherwise.
    pub run: &'a Path,
}

/// A run directory that only this process writes to.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    board: Option<EventWriter>,
    /// Held for the duration of the run, so that no other process writes here.
    _lock: fs::File,
}

impl RunDirectory {
    /// Creates the directory if necessary, and takes its lock.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| {
            Error::Checkpoint(format!(
                "{}: cannot use it as a run directory: {error}",
                path.display()
            ))
        };
        fs::create_dir_all(path.join("checkpoints")).map_err(failed)?;
        let lock = fs::File::create(path.join(".lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_path_buf(), board: None, _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(Error::Checkpoint(format!(
                "{}: another process is training here; wait for it or choose another run directory",
                path.display()
            ))),
            Err(fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Writes the recipe and the tokenizers, and removes the metrics of updates that were made
    /// after the checkpoint and will be repeated.
    ///
    /// The tokenizers are part of every model that the run writes, when the data may be gone.
    pub fn begin(&mut self, recipe: &str, data: &PreparedDirectory, update: u64) -> Result<()> {
        replace(&self.path.join("recipe.toml"), recipe.as_bytes())?;
        let languages = &data.manifest().recipe.languages;
        let languages = format!("{}-{}", languages.source, languages.target);
        let folder = self.path.join("tokenizers");
        fs::create_dir_all(&folder)
            .map_err(|error| abridge_base::Error::io("create", &folder, error))?;
        data.tokenizer(Side::Source)?.save(&folder, "source")?;
        data.tokenizer(Side::Target)?.save(&folder, "target")?;
        replace(&folder.join("languages"), languages.as_bytes())?;
        let metrics = self.path.join("metrics.jsonl");
        if let Some(kept) = until(&metrics, update) {
            replace(&metrics, kept.as_bytes())?;
        }
        // TensorBoard files are optional: errors are ignored.
        self.board = EventWriter::create(&self.path.join("tensorboard"), update).ok();
        Ok(())
    }

    /// Adds an event to the metrics. Errors are ignored, because they should not stop a run.
    pub fn log(&mut self, event: &Event) {
        if let Ok(line) = serde_json::to_string(event) {
            let metrics = self.path.join("metrics.jsonl");
            let file = fs::OpenOptions::new().create(true).append(true).open(metrics);
            drop(file.and_then(|mut file| {
                writeln!(file, "{line}")?;
                // A checkpoint follows, which must not outlive its metrics.
                if matches!(event, Event::Validated { .. }) { file.sync_data() } else { Ok(()) }
            }));
        }
        if let Some(board) = &mut self.board {
            drop(board.write(event));
        }
    }
}

/// Both tokenizers and the pair of languages of a run.
pub fn tokenizers(run: &Path) -> Result<(Tokenizer, Tokenizer, String)> {
    let folder = run.join("tokenizers");
    let languages = fs::read_to_string(folder.join("languages")).unwrap_or_default();
    Ok((Tokenizer::load(&folder, "source")?, Tokenizer::load(&folder, "target")?, languages))
}

/// The metrics up to an update; `None` if there are none.
fn until(metrics: &Path, update: u64) -> Option<String> {
    let file = fs::File::open(metrics).ok()?;
    let lines = std::io::BufReader::new(file).lines().map_while(std::result::Result::ok);
    let kept = lines.filter(|line| {
        let event: Option<serde_json::Value> = serde_json::from_str(line).ok();
        event.and_then(|event| event["update"].as_u64()).is_some_and(|u| u <= update)
    });
    Some(kept.fold(String::new(), |text, line| text + &line + "\n"))
}
