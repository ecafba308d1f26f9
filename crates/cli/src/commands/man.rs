//! `abridge man`: the manual pages, made from the same text as `--help`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

/// Writes a manual page for each command into a directory.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge man ~/.local/share/man/man1
  abridge man man && man man/abridge-train.1")]
pub struct Man {
    /// Where the pages go; created if missing.
    directory: PathBuf,
}

impl Man {
    /// Writes the pages of `command`.
    pub fn run(&self, mut command: clap::Command) -> anyhow::Result<()> {
        command.build();
        fs::create_dir_all(&self.directory)
            .with_context(|| format!("cannot create {}", self.directory.display()))?;
        let mut pages = vec![write_page(&command, "abridge", &self.directory)?];
        for subcommand in command.get_subcommands().filter(|c| c.get_name() != "help") {
            let name = format!("abridge-{}", subcommand.get_name());
            pages.push(write_page(subcommand, &name, &self.directory)?);
        }
        let mut out = std::io::stdout().lock();
        for page in pages {
            writeln!(out, "{}", page.display())?;
        }
        Ok(())
    }
}

fn write_page(command: &clap::Command, name: &str, directory: &Path) -> anyhow::Result<PathBuf> {
    let file = directory.join(format!("{name}.1"));
    let mut page = Vec::new();
    let manual = clap_mangen::Man::new(command.clone().display_name(name.to_owned()));
    manual.title(name.to_uppercase()).render(&mut page)?;
    abridge_base::files::Outputs::new().file(&file)?.write(&page)?;
    Ok(file)
}
