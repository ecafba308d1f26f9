//! The directory of a run: its lock, its metrics, and the files needed to write a model.

use std::fs;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use abridge_base::Kind;
use abridge_base::files::{Outputs, read_text, replace};
use abridge_corpus::Tokenizer;
use abridge_corpus::prepare::PreparedDirectory;
use abridge_corpus::store::Side;

use crate::event::Event;
use crate::tensorboard::EventWriter;
use crate::{Error, Result};

/// The names of what a run writes into its directory.
const LOCK: &str = ".lock";
const RECIPE: &str = "recipe.toml";
const METRICS: &str = "metrics.jsonl";
const TOKENIZERS: &str = "tokenizers";
const CHECKPOINTS: &str = "checkpoints";
const BOARD: &str = "tensorboard";
/// A larger recipe was not written by this program.
const LARGEST_RECIPE: u64 = 16 << 20;

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
    /// Creates the directory if necessary, and takes its lock. A directory that is not one of a run
    /// may contain other files, but none under the names of a run.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| {
            Error::Checkpoint(format!(
                "{}: cannot use it as a run directory: {error}",
                path.display()
            ))
        };
        let is_there = |name: &&str| path.join(name).symlink_metadata().is_ok();
        // A copy of a run may lack its hidden files.
        let is_run = [LOCK, "checkpoints/last"].iter().any(is_there);
        let names = [RECIPE, METRICS, TOKENIZERS, CHECKPOINTS, BOARD];
        if let Some(foreign) = names.into_iter().find(is_there).filter(|_| !is_run) {
            let error = abridge_base::Error::new("was not written by a run and would be replaced");
            let remedy = "move it away, or choose another run directory";
            return Err(error
                .in_file(&path.join(foreign))
                .remedy(remedy)
                .of_kind(Kind::Usage)
                .into());
        }
        fs::create_dir_all(path).map_err(failed)?;
        // The lock comes first: it tells a run from other directories.
        let lock = open_lock(&path.join(LOCK))?;
        fs::create_dir_all(path.join(CHECKPOINTS)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_path_buf(), board: None, _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(Error::Checkpoint(format!(
                "{}: another process is training here; wait for it or choose another run directory",
                path.display()
            ))),
            Err(fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Writes the recipe, unless nothing in it changes, and the tokenizers, and removes the metrics of
    /// updates that were made after the checkpoint and will be repeated.
    ///
    /// The tokenizers are part of every model that the run writes, when the data may be gone.
    pub fn begin(
        &mut self,
        recipe: &str,
        reading: &[PathBuf],
        data: &PreparedDirectory,
        update: u64,
    ) -> Result<()> {
        let file = self.path.join(RECIPE);
        if read_text(&file, LARGEST_RECIPE).ok().as_deref() != Some(recipe) {
            let mut outputs = Outputs::new();
            for input in reading {
                outputs.reading(input);
            }
            outputs.file(&file)?.write(recipe.as_bytes())?;
        }
        let languages = &data.description().recipe.languages;
        let languages = format!("{}-{}", languages.source, languages.target);
        let folder = self.path.join(TOKENIZERS);
        fs::create_dir_all(&folder)
            .map_err(|error| abridge_base::Error::io("create", &folder, error))?;
        data.tokenizer(Side::Source)?.save(&folder, "source")?;
        data.tokenizer(Side::Target)?.save(&folder, "target")?;
        replace(&folder.join("languages"), languages.as_bytes())?;
        let metrics = self.path.join(METRICS);
        if let Some(kept) = until(&metrics, update) {
            replace(&metrics, kept.as_bytes())?;
        }
        // TensorBoard files are optional: errors are ignored.
        self.board = EventWriter::create(&self.path.join(BOARD), update).ok();
        Ok(())
    }

    /// Adds an event to the metrics. Errors are ignored, because they should not stop a run.
    pub fn log(&mut self, event: &Event) {
        if let Ok(line) = serde_json::to_string(event) {
            let metrics = self.path.join(METRICS);
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

/// Opens the file that a run locks, without following a link and without changing what it holds.
fn open_lock(path: &Path) -> Result<fs::File> {
    let failed = |error| abridge_base::Error::io("create", path, error);
    match fs::File::create_new(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        created => return Ok(created.map_err(failed)?),
    }
    if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        let error = abridge_base::Error::new("is not a file").in_file(path);
        let remedy = "move it away, or choose another run directory";
        return Err(error.remedy(remedy).of_kind(Kind::Usage).into());
    }
    Ok(fs::File::options().append(true).open(path).map_err(failed)?)
}

/// Both tokenizers and the pair of languages of a run.
pub fn tokenizers(run: &Path) -> Result<(Tokenizer, Tokenizer, String)> {
    let folder = run.join(TOKENIZERS);
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
