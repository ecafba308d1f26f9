//! Tables of words in TOML, built in or from a user's file.

use std::path::Path;

use abridge_base::files::read_text;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// A larger file is no table of words.
const LARGEST: u64 = 64 << 20;

/// A table from its text; an error names the line.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        Error::new(error.message().to_owned()).at_line(line)
    })
}

/// A table from a file, parsed by `parse`.
pub(crate) fn read<T>(path: &Path, parse: impl Fn(&str) -> Result<T>) -> Result<T> {
    let text = read_text(path, LARGEST)?;
    parse(&text).map_err(|error| error.in_file(path))
}
