//! One small file per command.

pub mod average;
pub mod bench;
mod comet;
pub mod compare;
pub mod completions;
pub mod contrast;
pub mod ctxpro;
pub mod cxmi;
pub mod demo;
pub mod evaluate;
pub mod examples;
pub mod import;
pub mod inspect;
pub mod man;
pub mod mentions;
mod model;
pub mod models;
pub mod practice;
pub mod prepare;
pub mod profile;
mod prose;
pub mod quantize;
pub mod reproduce;
pub mod score;
pub mod serve;
pub mod shortlist;
pub mod tags;
pub mod train;
pub mod translate;
pub mod version;

use std::path::Path;
use std::str::FromStr;

use abridge_base::tell;
use abridge_model::DeviceKind;
use abridge_translate::Translator;
use anyhow::Context;

/// Parses a named choice for the command line, keeping the library's error message.
fn parse<T: FromStr<Err = abridge_model::Error>>(name: &str) -> Result<T, String> {
    name.parse().map_err(|error: abridge_model::Error| error.to_string())
}

/// Rejects a number that is too large before anything is made of that size.
fn check_at_most(option: &str, number: usize, most: usize) -> anyhow::Result<()> {
    anyhow::ensure!(number <= most, "{option} is {number}, but at most {most} is possible");
    Ok(())
}

/// Opens a model directory, with a note if its weights have to be unpacked.
fn open(model: &Path, device: DeviceKind, to: Option<&str>) -> anyhow::Result<Translator> {
    open_at(model, device, None, to)
}

/// Like [`open`], with `context` sentences if given; warns if the model was trained with fewer.
/// `to` is the target language of a multilingual model.
fn open_at(
    model: &Path,
    device: DeviceKind,
    context: Option<usize>,
    to: Option<&str>,
) -> anyhow::Result<Translator> {
    let model = &model::directory(model)?;
    let mut translator = Translator::open_at(model, &device.open()?, context)?;
    if let Some(to) = to {
        translator =
            translator.towards(to).with_context(|| format!("--to {to}, {}", model.display()))?;
    }
    if let Some(warning) = translator.context_warning(model, context) {
        tell!("warning: {warning}");
    }
    if let Some(precision) = translator.unpacked() {
        tell!(
            "note: the {precision} weights of {} are unpacked to f32: only the CPU multiplies them \
             as they are",
            model.display()
        );
    }
    Ok(translator)
}

/// Whether to use colours on a stream: it is a terminal and `NO_COLOR` is not set
/// (<https://no-color.org>).
fn colours(stream: &impl std::io::IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
