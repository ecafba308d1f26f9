//! What a command may write, decided before its work begins.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::pending::{Pending, parent};
use super::temporary::{Leftovers, Temporary};
use super::{OutputDirectory, kind_of_special};
use crate::{Error, Kind, Result};

/// The inputs and outputs of a command.
#[derive(Debug, Default)]
pub struct Outputs {
    reading: Vec<Reading>,
    /// Where outputs will be, with the folder resolved.
    claimed: HashSet<PathBuf>,
    leftovers: Leftovers,
}

/// Something that is being read.
#[derive(Debug)]
struct Reading {
    /// What the user calls it.
    path: PathBuf,
    identity: Identity,
    /// For a directory, its resolved path: any file in it may be read.
    directory: Option<PathBuf>,
}

/// Identifies a file regardless of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(unix, allow(dead_code, reason = "the path is for systems without inodes"))]
struct Identity {
    inode: Option<(u64, u64)>,
    path: Option<PathBuf>,
}

/// A file that will be written when it is complete.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A file, existing or new.
    File,
    /// A device or a FIFO, written to directly.
    Special,
    Standard,
}

impl Outputs {
    /// A command that reads nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file or directory that the command reads. Of a path into an archive, as in
    /// `a.tar/train.en`, that is the archive. Missing ones are ignored.
    pub fn reading(&mut self, path: &Path) -> &mut Self {
        let mut existing =
            path.ancestors().filter_map(|path| Some((path, fs::metadata(path).ok()?)));
        if let Some((found, metadata)) = existing.next()
            && (found == path || metadata.is_file())
        {
            let path = found;
            self.reading.push(Reading {
                path: path.to_path_buf(),
                identity: Identity::of(path, &metadata),
                directory: path.canonicalize().ok().filter(|_| metadata.is_dir()),
            });
        }
        self
    }

    /// Adds standard input, which may be a file.
    pub fn reading_standard_input(&mut self) -> &mut Self {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            let file = std::io::stdin().as_fd().try_clone_to_owned().map(File::from);
            if let Ok(metadata) = file.and_then(|file| file.metadata())
                && metadata.is_file()
            {
                let path = PathBuf::from("standard input");
                let identity = Identity::of(&path, &metadata);
                self.reading.push(Reading { path, identity, directory: None });
            }
        }
        self
    }

    /// A file that the user names; an existing one is replaced. `-` is standard output.
    pub fn file(&mut self, path: &Path) -> Result<OutputFile> {
        if path == Path::new("-") || path == Path::new("/dev/stdout") {
            return Ok(OutputFile { path: path.to_path_buf(), place: Place::Standard });
        }
        let (resolved, found) = Self::look_at(path)?;
        let mut place = Place::File;
        if let Some(found) = found {
            if found.is_dir() {
                return Err(refused(path, "is a directory", "name a file"));
            }
            let followed = fs::metadata(path);
            let is_special =
                followed.as_ref().is_ok_and(|metadata| kind_of_special(metadata).is_some());
            if is_special {
                place = Place::Special;
            } else if found.is_symlink() {
                let to = fs::read_link(path).unwrap_or_default();
                let problem = format!("is a symbolic link to {}", to.display());
                return Err(refused(path, &problem, "name the file itself"));
            }
            self.check_is_not_read(path, &found)?;
        }
        if matches!(place, Place::File) {
            self.claim(path, resolved)?;
            self.leftovers.clear(path);
            // Checks for write permission by creating a file.
            drop(Temporary::file(path, true)?);
        }
        Ok(OutputFile { path: path.to_path_buf(), place })
    }

    /// A file whose name the user did not give directly, such as one in a directory that the user
    /// names. An existing one is replaced only if `replace`; otherwise `remedy` tells how to.
    pub fn derived(&mut self, path: &Path, replace: bool, remedy: &str) -> Result<OutputFile> {
        if let Ok(metadata) = fs::symlink_metadata(path) {
            // First, so that the error says that it is an input.
            self.check_is_not_read(path, &metadata)?;
            if !replace {
                return Err(refused(path, "already exists", remedy));
            }
        }
        self.file(path)
    }

    /// A directory; `own` lists the files of an existing one that we wrote
    /// ([`OutputDirectory::begin`]).
    pub fn directory(
        &mut self,
        path: &Path,
        own: impl Fn(&Path) -> Option<Vec<String>> + 'static,
    ) -> Result<OutputDirectory> {
        for input in &self.reading {
            let is_inside = match (input.path.canonicalize(), path.canonicalize()) {
                (Ok(input), Ok(path)) => input.starts_with(path),
                _ => false,
            };
            if is_inside {
                let input = input.path.display();
                let problem = format!("would be replaced, but {input} is being read");
                return Err(refused(path, &problem, "name another directory to write"));
            }
        }
        let directory = OutputDirectory::begin(path, own)?;
        self.claim(path, resolve(path)?)?;
        Ok(directory)
    }

    /// Checks the name of an output and its folder; returns the metadata of what exists there.
    fn look_at(path: &Path) -> Result<(PathBuf, Option<Metadata>)> {
        let bytes = path.as_os_str().as_encoded_bytes();
        let is_folder = bytes.ends_with(b"/") || cfg!(windows) && bytes.ends_with(b"\\");
        if is_folder && !path.is_dir() {
            return Err(refused(path, "is not a directory", "create it first, or name a file"));
        }
        let resolved = resolve(path)?;
        Ok((resolved, fs::symlink_metadata(path).ok()))
    }

    fn claim(&mut self, path: &Path, resolved: PathBuf) -> Result<()> {
        if !self.claimed.insert(resolved) {
            let problem = "two outputs would have this name";
            return Err(refused(path, problem, "write them to different places"));
        }
        Ok(())
    }

    fn check_is_not_read(&self, path: &Path, found: &Metadata) -> Result<()> {
        let followed = fs::metadata(path);
        let own = Identity::of(path, followed.as_ref().unwrap_or(found));
        let place = path.canonicalize().ok();
        let reads = |input: &&Reading| {
            let directory = input.directory.as_ref();
            let is_inside = place.as_ref().zip(directory).is_some_and(|(p, d)| p.starts_with(d));
            input.identity == own || is_inside
        };
        let remedy = "name another output";
        match self.reading.iter().find(reads) {
            Some(input) if input.directory.is_some() => {
                let problem = format!("is part of {}, which is being read", input.path.display());
                Err(refused(path, &problem, remedy))
            }
            Some(input) if input.path == path => {
                Err(refused(path, "is being read and would be overwritten", remedy))
            }
            Some(input) => {
                let problem = format!("is {}, which is being read", input.path.display());
                Err(refused(path, &problem, remedy))
            }
            None => Ok(()),
        }
    }
}

impl OutputFile {
    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it will be a file, and not a device or standard output.
    pub fn is_file(&self) -> bool {
        matches!(self.place, Place::File)
    }

    /// Writes the whole file.
    pub fn write(&self, content: &[u8]) -> Result<()> {
        let mut writer = self.open()?;
        writer.write_all(content).map_err(|error| self.failed(error))?;
        writer.finish()
    }

    /// Begins to write. The file appears when [`Writer::finish`] is called.
    pub fn open(&self) -> Result<Writer> {
        Ok(Writer {
            path: self.path.clone(),
            stream: match self.place {
                Place::File => Stream::Pending(Pending::new(&self.path)?),
                Place::Special => Stream::Open(self.open_special()?),
                Place::Standard => Stream::Standard(std::io::stdout()),
            },
        })
    }

    /// Begins to write a file that can be watched while it grows: a new file appears at once; an
    /// existing one stays until [`Writer::finish`].
    pub fn open_growing(&self) -> Result<Writer> {
        if matches!(self.place, Place::File) {
            // Only created, never opened: no link is followed and nothing is overwritten.
            match File::create_new(&self.path) {
                Ok(file) => {
                    return Ok(Writer { path: self.path.clone(), stream: Stream::Open(file) });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        self.open()
    }

    fn open_special(&self) -> Result<File> {
        File::options().write(true).open(&self.path).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::io("write", &self.path, error)
    }
}

/// An output that is being written.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    stream: Stream,
}

#[derive(Debug)]
enum Stream {
    Pending(Pending),
    Open(File),
    Standard(std::io::Stdout),
}

impl Writer {
    /// Syncs the output to disk and puts it in place.
    pub fn finish(self) -> Result<()> {
        let failed = |error| Error::io("write", &self.path, error);
        match self.stream {
            Stream::Pending(pending) => pending.commit(&self.path),
            Stream::Open(file) => {
                let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
                if is_file { file.sync_all().map_err(failed) } else { Ok(()) }
            }
            Stream::Standard(mut out) => out.flush().map_err(failed),
        }
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.stream {
            Stream::Pending(pending) => pending.handle().write(bytes),
            Stream::Open(file) => file.write(bytes),
            Stream::Standard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.stream {
            Stream::Pending(pending) => pending.handle().flush(),
            Stream::Open(file) => file.flush(),
            Stream::Standard(out) => out.flush(),
        }
    }
}

impl Identity {
    fn of(path: &Path, metadata: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let _ = path;
            Self { inode: Some((metadata.dev(), metadata.ino())), path: None }
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            Self { inode: None, path: path.canonicalize().ok() }
        }
    }
}

/// The path with its folder resolved; the folder must exist.
fn resolve(path: &Path) -> Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(refused(path, "is not the name of a file", "name a file"));
    };
    let folder = parent(path);
    if !folder.is_dir() {
        let problem = if folder.exists() {
            format!("{} is not a directory", folder.display())
        } else {
            format!("the directory {} does not exist", folder.display())
        };
        return Err(refused(path, &problem, "create it first, or name another path"));
    }
    let folder = folder.canonicalize().map_err(|error| Error::io("write", path, error))?;
    Ok(folder.join(name))
}

/// A usage error for an output that must not be written.
pub(super) fn refused(path: &Path, problem: &str, remedy: &str) -> Error {
    Error::new(problem).in_file(path).remedy(remedy).of_kind(Kind::Usage)
}
