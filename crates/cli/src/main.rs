//! The `abridge` binary. It reads the command line, calls a room, and turns errors into exit codes.

mod commands;
mod exit;

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
    Evaluate(Box<commands::evaluate::EvaluateArguments>),
}

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let result = match Cli::parse().command {
        Command::Evaluate(arguments) => commands::evaluate::run(&arguments),
    };
    exit::code(result)
}
