//! Tables of words in TOML, built in or from a user's file.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// A table from its text; an error names the line.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        Error::new(error.message().to_owned()).at_line(line)
    })
}

/// A table from a file, parsed by `parse`.
pub(crate) fn read<T>(path: &Path, parse: impl Fn(&str) -> Result<T>) -> Result<T> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, e))?;
    parse(&text).map_err(|error| error.in_file(path))
}
