//! One small file per command.

pub mod contrast;
pub mod demo;
pub mod evaluate;
pub mod import;
pub mod models;
pub mod practice;
pub mod prepare;
pub mod serve;
pub mod train;
pub mod translate;

use std::str::FromStr;

/// Parses a named choice for the command line, keeping the library's error message.
fn parse<T: FromStr<Err = abridge_model::Error>>(name: &str) -> Result<T, String> {
    name.parse().map_err(|error: abridge_model::Error| error.to_string())
}
