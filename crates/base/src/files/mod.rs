//! All files are read and written through this module.
//!
//! **Reading**: [`open_regular`] and [`read_regular`] reject devices, FIFOs and sockets, which
//! would hang or never end, and files that are too large for their purpose.
//!
//! **Writing**: before its work begins, a command tells [`Outputs`] what it reads and what it will
//! write. That decides whether each output may be written: never over a file that is being read,
//! never over something that this command did not make unless it was told to, never two outputs
//! under one name, never into a folder that does not exist.
//!
//! An output is written under a fresh, unguessable name beside its target (so no link can be
//! planted there), synced, and renamed; its folder is synced after that. Whatever happens in
//! between, a target is either complete or unchanged. A file that replaces another keeps its mode
//! and, where allowed, its owner. A directory replaces another only if every file in it is ours
//! ([`OutputDirectory`]).

mod directory;
mod input;
mod output;
mod pending;
mod temporary;

pub use directory::{OutputDirectory, clear_leftovers, remove_files};
pub use input::{kind_of_special, open_regular, read_regular, read_text};
pub use output::{OutputFile, Outputs, Writer};
pub use pending::{replace, sync_directory, write_new};

#[cfg(test)]
mod tests;
