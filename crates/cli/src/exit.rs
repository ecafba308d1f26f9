//! Exit codes, all in one place.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | done; a closed pipe counts as done |
//! | 1 | usage or configuration |
//! | 2 | data |
//! | 3 | partly done |
//! | 4 | model file |
//! | 130, 143 | stopped by a signal |

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: u8 = 1;
const DATA: u8 = 2;
const PARTLY: u8 = 3;
const MODEL: u8 = 4;
/// Shells add the number of the signal to this.
const SIGNAL: u8 = 128;

/// A signal stopped a run, which was saved first.
#[derive(Debug)]
pub struct Stopped {
    /// The number of the signal.
    pub signal: usize,
    /// The run directory.
    pub run: PathBuf,
}

impl std::error::Error for Stopped {}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped and saved; the same command goes on with {}", self.run.display())
    }
}

/// Some of the work is done and kept; why not all of it.
#[derive(Debug)]
pub struct Partly(pub String);

impl std::error::Error for Partly {}

impl fmt::Display for Partly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Prints the error, if there is one, and says what the process exits with.
pub fn code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if is_broken_pipe(&error) {
        return ExitCode::SUCCESS;
    }
    if let Some(stopped) = error.downcast_ref::<Stopped>() {
        eprintln!("{stopped}");
        return ExitCode::from(SIGNAL + stopped.signal as u8);
    }
    if let Some(partly) = error.downcast_ref::<Partly>() {
        eprintln!("{partly}");
        return ExitCode::from(PARTLY);
    }
    ExitCode::from(report(&error))
}

/// Prints an error and says what it is in a number.
pub fn report(error: &anyhow::Error) -> u8 {
    eprintln!("error: {}", in_full(error));
    classify(error)
}

/// The error and its causes, leaving out what was said already.
fn in_full(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        match text.as_str() {
            "" => cause,
            said if said.contains(&cause) => text,
            said => format!("{said}: {cause}"),
        }
    })
}

/// Help and version are asked for and succeed; anything else is a mistake in the command line.
pub fn usage(error: &clap::Error) -> ExitCode {
    // Where even this cannot be printed there is nobody to tell.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
}

fn classify(error: &anyhow::Error) -> u8 {
    use abridge_train::Error as Train;
    use abridge_translate::Error as Translate;
    match error.downcast_ref::<Train>() {
        Some(Train::Corpus(_)) => return DATA,
        Some(Train::Model(error)) => return classify_model(error),
        Some(Train::Checkpoint(_)) => return MODEL,
        _ => {}
    }
    let served = error.downcast_ref::<abridge_serve::Error>();
    let translate = match served {
        Some(abridge_serve::Error::Translate(error)) => Some(error),
        _ => error.downcast_ref::<Translate>(),
    };
    match translate {
        Some(Translate::Corpus(_) | Translate::TooLong { .. }) => return DATA,
        Some(Translate::Model(error)) => return classify_model(error),
        _ => {}
    }
    let is_file = |cause: &(dyn std::error::Error + 'static)| cause.is::<std::io::Error>();
    if error.downcast_ref::<abridge_corpus::Error>().is_some() || error.chain().any(is_file) {
        DATA
    } else if let Some(error) = error.downcast_ref::<abridge_model::Error>() {
        classify_model(error)
    } else {
        USAGE
    }
}

fn classify_model(error: &abridge_model::Error) -> u8 {
    if matches!(error, abridge_model::Error::Weights { .. }) { MODEL } else { USAGE }
}

/// `abridge … | head` closes our output early: that is the reader's choice, not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    })
}
