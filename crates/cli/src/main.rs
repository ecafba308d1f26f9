//! The `abridge` binary. It reads the command line, calls a room, and turns errors into exit codes.

mod commands;
mod exit;
mod progress;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Translates documents, not sentences: context-aware machine translation.
#[derive(Debug, Parser)]
#[command(name = "abridge", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Contrast(commands::contrast::Contrast),
    Demo(commands::demo::Demo),
    Evaluate(Box<commands::evaluate::EvaluateArguments>),
    Import(commands::import::Import),
    Models(commands::models::Models),
    Practice(commands::practice::Practice),
    Prepare(Box<commands::prepare::Prepare>),
    Serve(Box<commands::serve::Serve>),
    Train(commands::train::Train),
    Translate(commands::translate::Translate),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        // Where nobody reads our errors any more, a message about that would be a panic.
        .log_internal_errors(false)
        .init();
    exit::code(match cli.command {
        Command::Contrast(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Evaluate(arguments) => commands::evaluate::run(&arguments),
        Command::Import(command) => command.run(),
        Command::Models(command) => command.run(),
        Command::Practice(command) => command.run(),
        Command::Prepare(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Train(command) => command.run(),
        Command::Translate(command) => command.run(),
    })
}
