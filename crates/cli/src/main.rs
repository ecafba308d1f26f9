//! The `abridge` binary. It reads the command line, calls a library, and turns errors into exit
//! codes.

#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod commands;
mod exit;
mod progress;

use std::process::ExitCode;

use abridge_machine::allocator::Counted;
use clap::{CommandFactory, Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Translates documents, not sentences: context-aware machine translation.
#[derive(Debug, Parser)]
#[command(
    name = "abridge",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "`abridge --version --verbose` also shows the processor instructions in use, \
                  devices and threads."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Average(commands::average::Average),
    Bench(commands::bench::Bench),
    Compare(commands::compare::Compare),
    Completions(commands::completions::Completions),
    Contrast(Box<commands::contrast::Contrast>),
    #[command(name = "ctxpro")]
    CtxPro(Box<commands::ctxpro::CtxPro>),
    Cxmi(commands::cxmi::Cxmi),
    Demo(commands::demo::Demo),
    Evaluate(Box<commands::evaluate::EvaluateArguments>),
    Examples(Box<commands::examples::Examples>),
    Import(commands::import::Import),
    Inspect(Box<commands::inspect::Inspect>),
    Man(commands::man::Man),
    Mentions(Box<commands::mentions::Mentions>),
    Models(commands::models::Models),
    Practice(commands::practice::Practice),
    Prepare(Box<commands::prepare::Prepare>),
    Profile(commands::profile::Profile),
    Quantize(commands::quantize::Quantize),
    Reproduce(Box<commands::reproduce::Reproduce>),
    Score(commands::score::ScoreArguments),
    Serve(Box<commands::serve::Serve>),
    Shortlist(commands::shortlist::ShortlistArguments),
    Tags(Box<commands::tags::Tags>),
    Train(commands::train::Train),
    Translate(Box<commands::translate::Translate>),
}

/// Logs to standard error what `RUST_LOG` asks for, such as `info` or `abridge_serve=debug`.
fn log() {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::prelude::*;
    let wanted = std::env::var("RUST_LOG").ok().and_then(|text| text.parse().ok());
    let wanted = wanted.unwrap_or_else(|| Targets::new().with_default(LevelFilter::ERROR));
    // If standard error is closed, a message about that would panic.
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    tracing_subscriber::registry().with(lines.with_filter(wanted)).init();
}

fn main() -> ExitCode {
    exit::guarded(run)
}

fn run() -> ExitCode {
    // clap prints the version as soon as it meets the flag, so the pair of flags is handled here.
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let asks = |long: &str, short: &str| arguments.iter().any(|a| a == long || a == short);
    if arguments.len() == 2 && asks("--version", "-V") && asks("--verbose", "-v") {
        return exit::code(commands::version::run());
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    log();
    exit::code(match cli.command {
        Command::Average(command) => command.run(),
        Command::Bench(command) => command.run(),
        Command::Compare(command) => command.run(),
        Command::Completions(command) => command.run(Cli::command()),
        Command::Contrast(command) => command.run(),
        Command::CtxPro(command) => command.run(),
        Command::Cxmi(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Evaluate(arguments) => commands::evaluate::run(&arguments),
        Command::Examples(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Man(command) => command.run(Cli::command()),
        Command::Mentions(command) => command.run(),
        Command::Models(command) => command.run(),
        Command::Practice(command) => command.run(),
        Command::Prepare(command) => command.run(),
        Command::Profile(command) => command.run(),
        Command::Quantize(command) => command.run(),
        Command::Reproduce(command) => command.run(),
        Command::Score(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Shortlist(command) => command.run(),
        Command::Tags(command) => command.run(),
        Command::Train(command) => command.run(),
        Command::Translate(command) => command.run(),
    })
}
