//! One error type: what is wrong, where, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of everything in this crate that reads or writes.
pub type Result<T> = std::result::Result<T, Error>;

/// Something is wrong with the data: the place, the problem and, where there is one, the remedy.
///
/// Displayed as `train.en:17: invalid UTF-8; convert the file to UTF-8`.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    file: Option<PathBuf>,
    line: Option<usize>,
    problem: String,
    remedy: Option<String>,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error that says what is wrong.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { file: None, line: None, problem: problem.into(), remedy: None, source: None }
    }

    /// An error of the operating system while `doing` something with `file`.
    pub fn io(doing: &str, file: &Path, source: std::io::Error) -> Self {
        let mut error = Self::new(format!("cannot {doing}: {source}")).in_file(file);
        error.source = Some(Box::new(source));
        error
    }

    /// Adds the error underneath, so that a caller can tell a closed pipe from a full disk.
    #[must_use]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source.get_or_insert_with(|| source.into());
        self
    }

    /// Adds the file in which it was found, unless a place nearer to the problem is known already.
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
}
