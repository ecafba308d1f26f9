//! How errors are printed, and the exit codes of the process. Codes follow from the kind of the
//! error ([`abridge_base::error`]).

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;

use abridge_base::error::Kind;
use abridge_base::tell;
use abridge_experiments::failure;

/// Prints the error, if there is one, and returns the exit code.
pub fn code(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Err(error) if !is_broken_pipe(&error) => ExitCode::from(report(&error)),
        _ => ExitCode::SUCCESS,
    }
}

/// Prints an error and returns its exit code.
pub fn report(error: &anyhow::Error) -> u8 {
    let kind = kind(error);
    match kind {
        Kind::Partly | Kind::Signal(_) => tell!("{}", failure::message(error)),
        _ => tell!("error: {}", failure::message(error)),
    }
    kind.exit_code()
}

/// The kind of an error; the server's errors are known only here.
pub fn kind(error: &anyhow::Error) -> Kind {
    failure::kind(error, &[failure::kind_of::<abridge_serve::Error>])
}

/// Help and version are asked for and succeed; anything else is a mistake in the command line.
pub fn usage(error: &clap::Error) -> ExitCode {
    // If even this cannot be printed, there is nothing left to do.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(Kind::Usage.exit_code()) } else { ExitCode::SUCCESS }
}

/// Runs a command. A panic becomes a message on how to report it, and an exit code of its own.
pub fn guarded(command: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(describe));
    abridge_machine::crash::watch();
    catch_unwind(AssertUnwindSafe(command))
        .unwrap_or_else(|_| ExitCode::from(Kind::Bug.exit_code()))
}

/// Reports a panic as a bug, with what to do about it, unless a device failed: that becomes an error.
fn describe(panic: &PanicHookInfo<'_>) {
    if abridge_model::device::is_guarded() {
        return;
    }
    let what = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tell!(
        "this is a bug in abridge: {what} ({place})\n\
         Outputs are either complete or unchanged. Please report it where you got abridge from: this \
         message, the command, and the output of `abridge --version --verbose`; RUST_BACKTRACE=1 adds \
         a backtrace."
    );
    let trace = std::backtrace::Backtrace::capture();
    if trace.status() == std::backtrace::BacktraceStatus::Captured {
        tell!("{trace}");
    }
}

/// `abridge … | head` closes our output early: that is the reader's choice, not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn codes_follow_from_the_kind_whatever_is_wrapped_around() {
        let weights = || abridge_model::Error::Weights { file: "m".into(), problem: "p".into() };
        let config = || abridge_model::Error::Config("c".into());
        let data = || abridge_base::Error::new("d");
        let code = |error: anyhow::Error| {
            let wrapped = Err::<(), _>(error).context("while working").unwrap_err();
            kind(&wrapped).exit_code()
        };
        assert_eq!(code(weights().into()), 4);
        assert_eq!(code(config().into()), 1);
        assert_eq!(code(data().into()), 2);
        assert_eq!(code(abridge_train::Error::from(weights()).into()), 4);
        assert_eq!(code(abridge_train::Error::from(data()).into()), 2);
        assert_eq!(code(abridge_translate::Error::from(weights()).into()), 4);
        assert_eq!(code(abridge_translate::Error::from(config()).into()), 1);
        assert_eq!(code(abridge_base::Error::partly("half").into()), 3);
        let stopped = abridge_base::Error::stopped(2, std::path::Path::new("run"), true);
        assert_eq!(code(stopped.into()), 130);
        assert_eq!(code(std::io::Error::other("disk").into()), 2);
        assert_eq!(code(anyhow::anyhow!("a wish")), 1);
    }

    #[test]
    fn a_panic_has_its_own_exit_code() {
        let code = guarded(|| panic!("as a test"));
        let _ = std::panic::take_hook();
        assert_eq!(code, ExitCode::from(70));
    }
}
