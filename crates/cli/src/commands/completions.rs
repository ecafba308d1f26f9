//! `abridge completions`: completion scripts for shells.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

/// Prints a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge completions bash > ~/.local/share/bash-completion/completions/abridge
  abridge completions zsh > ~/.zfunc/_abridge
  abridge completions fish > ~/.config/fish/completions/abridge.fish")]
pub struct Completions {
    /// Which shell.
    shell: Shell,
}

impl Completions {
    /// Prints the script for `command`.
    pub fn run(&self, mut command: clap::Command) -> anyhow::Result<()> {
        // Generated in memory first: a closed pipe is then an error to handle, not a panic.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "abridge", &mut script);
        std::io::stdout().lock().write_all(&script)?;
        Ok(())
    }
}
