//! Every file that is read or written goes through here.
//!
//! **Reading**: [`open_regular`] and [`read_regular`] refuse devices, FIFOs and sockets, which would
//! hang or never end, and files that are larger than they can be.
//!
//! **Writing**: a command names what it reads and what it will write to [`Outputs`] before its work
//! begins. That decides whether each output may be written at all: never a file that is being read,
//! never something that this command did not make unless it was told to, never two outputs under
//! one name, never into a folder that is not there.
//!
//! An output is written under a fresh, unguessable name beside its target (so no link can be laid
//! where it will be), synced, and renamed; its folder is synced after that. A target is complete or
//! as it was, whatever happens in between. A file that replaces another keeps its mode and, where
//! that is allowed, its owner. A directory replaces another only if every file in there is ours
//! ([`OutputDirectory`]).

mod directory;
mod input;
mod output;
mod pending;
mod temporary;

pub use directory::{OutputDirectory, remove_files};
pub use input::{kind_of_special, open_regular, read_regular, read_text};
pub use output::{OutputFile, Outputs, Writer};
pub use pending::{replace, sync_directory, write_new};

#[cfg(test)]
mod tests;
