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
    Practice(commands::practice::Practice),
    Prepare(Box<commands::prepare::Prepare>),
}

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let result = match Cli::parse().command {
        Command::Practice(command) => command.run(),
        Command::Prepare(command) => command.run(),
    };
    exit::code(result)
}
