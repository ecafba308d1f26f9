//! Errors with kinds: what is wrong, where, what to do about it, and the exit code.
//!
//! | kind | code | meaning |
//! | --- | --- | --- |
//! | | 0 | done; a closed pipe counts as done |
//! | [`Kind::Usage`] | 1 | usage or configuration |
//! | [`Kind::Data`] | 2 | data |
//! | [`Kind::Partly`] | 3 | partly done |
//! | [`Kind::Model`] | 4 | model file |
//! | [`Kind::Bug`] | 70 | a panic: a bug in this program |
//! | [`Kind::Signal`] | 130, 143 | stopped by a signal |

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What an error is about; it determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command line or a configuration.
    Usage,
    /// Text, or other data that is read or written.
    Data,
    /// Some of the work is done and kept.
    Partly,
    /// A model directory, a checkpoint or a file of weights.
    Model,
    /// A bug in this program.
    Bug,
    /// The signal with this number.
    Signal(u8),
}

impl Kind {
    /// The exit code of a process that fails with such an error.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 1,
            Self::Data => 2,
            Self::Partly => 3,
            Self::Model => 4,
            // `EX_SOFTWARE` of sysexits.h; Rust's own 101 has no agreed meaning.
            Self::Bug => 70,
            // The convention of shells: 128 plus the number of the signal.
            Self::Signal(number) => 128u8.saturating_add(number),
        }
    }
}

/// Implemented by the error types of all crates.
pub trait HasKind: std::error::Error {
    /// What the error is about.
    fn kind(&self) -> Kind;
}

/// A problem, usually with a file: the location, the problem and, if there is one, the remedy.
///
/// Displayed as `train.en:17: invalid UTF-8; convert the file to UTF-8`.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    kind: Kind,
    file: Option<PathBuf>,
    line: Option<usize>,
    problem: String,
    remedy: Option<String>,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error in data; `problem` says what is wrong.
    pub fn new(problem: impl Into<String>) -> Self {
        let (kind, problem) = (Kind::Data, problem.into());
        Self { kind, file: None, line: None, problem, remedy: None, source: None }
    }

    /// An error of the operating system while `doing` something with `file`.
    pub fn io(doing: &str, file: &Path, source: std::io::Error) -> Self {
        let mut error = Self::new(format!("cannot {doing}: {source}")).in_file(file);
        error.source = Some(Box::new(source));
        error
    }

    /// A signal stopped a run; the same command resumes `run`.
    pub fn stopped(signal: usize, run: &Path, is_saved: bool) -> Self {
        let signal = u8::try_from(signal).unwrap_or(u8::MAX);
        let saved = if is_saved { "stopped and saved" } else { "stopped, but not saved" };
        let problem = format!("{saved}; the same command resumes {}", run.display());
        Self::new(problem).of_kind(Kind::Signal(signal))
    }

    /// Some of the work is done and kept; `problem` says why not all of it.
    pub fn partly(problem: impl Into<String>) -> Self {
        Self::new(problem).of_kind(Kind::Partly)
    }

    /// A request that cannot be met.
    pub fn usage(problem: impl Into<String>) -> Self {
        Self::new(problem).of_kind(Kind::Usage)
    }

    /// Changes the kind, which is data by default.
    #[must_use]
    pub fn of_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Adds the underlying error, so that a caller can tell a closed pipe from a full disk.
    #[must_use]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source.get_or_insert_with(|| source.into());
        self
    }

    /// Adds the file with the problem, unless a more specific one is already set.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_path_buf());
        self
    }

    /// Adds the line, counted from 1.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line.get_or_insert(line);
        self
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy.get_or_insert_with(|| remedy.into());
        self
    }

    /// The file with the problem, and the message without the file.
    pub fn into_parts(self) -> (Option<PathBuf>, String) {
        let problem = match self.remedy {
            Some(remedy) => format!("{}; {remedy}", self.problem),
            None => self.problem,
        };
        (self.file, problem)
    }
}

impl HasKind for Error {
    fn kind(&self) -> Kind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}:{line}: ", file.display())?,
            (Some(file), None) => write!(f, "{}: ", file.display())?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.problem)?;
        if let Some(remedy) = &self.remedy {
            write!(f, "; {remedy}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_place_problem_and_remedy() {
        let error = Error::new("invalid UTF-8").remedy("convert it").at_line(17);
        assert_eq!(error.to_string(), "line 17: invalid UTF-8; convert it");
        let error = error.in_file(Path::new("train.en"));
        assert_eq!(error.to_string(), "train.en:17: invalid UTF-8; convert it");
    }

    #[test]
    fn every_kind_has_its_own_exit_code() {
        let kinds = [
            Kind::Usage,
            Kind::Data,
            Kind::Partly,
            Kind::Model,
            Kind::Bug,
            Kind::Signal(2),
            Kind::Signal(15),
        ];
        assert_eq!(kinds.map(Kind::exit_code), [1, 2, 3, 4, 70, 130, 143]);
    }
}
