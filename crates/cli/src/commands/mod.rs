//! One small file per command.

mod import;
mod models;

use std::str::FromStr;

pub use import::Import;
pub use models::Models;

/// Parses a named choice for the command line, keeping the library's error message.
fn parse<T: FromStr<Err = abridge_model::Error>>(name: &str) -> Result<T, String> {
    name.parse().map_err(|error: abridge_model::Error| error.to_string())
}
