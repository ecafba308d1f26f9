//! The file that an interrupted job leaves beside its output, so that it can resume.
//!
//! A header names the input, model and settings; then comes one line per finished sentence, in
//! reading order. A line that was cut off by a crash is translated again.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_base::files::{Outputs, read_regular};
use abridge_base::{Error, tell};
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::render::Record;

/// What a job depends on: if any of it differs, so may the translations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub format: u32,
    /// Where the input was; its content may have moved.
    #[serde(default)]
    pub path: String,
    /// The hash of its sentences.
    pub input: String,
    pub model: String,
    pub settings: String,
}

/// The file of a job that is running.
#[derive(Debug)]
pub struct Partial {
    path: PathBuf,
    file: File,
}

impl Partial {
    /// Starts or resumes a job; returns the sentences that are already finished.
    pub fn open(
        output: &Path,
        header: &Header,
        resume: bool,
    ) -> anyhow::Result<(Self, Vec<Record>)> {
        let path = partial_of(output);
        let failed = || format!("cannot write {}", path.display());
        let found = if path.symlink_metadata().is_ok() {
            Some(read_regular(&path, u64::MAX)?)
        } else {
            None
        };
        let (records, length) = match &found {
            Some(bytes) if resume => read(&path, bytes, header)?,
            Some(_) => {
                tell!(
                    "note: {} belongs to an interrupted job; starting over (--resume continues it)",
                    path.display()
                );
                (Vec::new(), 0)
            }
            None => (Vec::new(), 0),
        };
        // Either new, or recognised as ours: a foreign file is never written to.
        let mut file = OpenOptions::new()
            .create_new(found.is_none())
            .write(true)
            .open(&path)
            .with_context(failed)?;
        let mut start = || -> std::io::Result<()> {
            file.set_len(length)?;
            std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(length))?;
            if length == 0 {
                writeln!(file, "{}", serde_json::to_string(header)?)?;
            }
            Ok(())
        };
        start().with_context(failed)?;
        Ok((Self { path, file }, records))
    }

    /// Adds a finished sentence.
    pub fn push(&mut self, record: &Record) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.file.write_all(&line).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// The output is complete; this is no longer needed.
    pub fn finish(self) -> anyhow::Result<()> {
        drop(self.file);
        fs::remove_file(&self.path)
            .with_context(|| format!("cannot remove {}", self.path.display()))
    }
}

/// The finished sentences of an earlier run, and the length of the file up to the last of them.
fn read(path: &Path, bytes: &[u8], header: &Header) -> anyhow::Result<(Vec<Record>, u64)> {
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let Some(first) = lines.next().filter(|line| line.ends_with(b"\n")) else {
        return Ok((Vec::new(), 0));
    };
    let found: Header = serde_json::from_slice(first)
        .with_context(|| format!("{}: damaged; remove it to start over", path.display()))?;
    for (name, found, expected) in [
        ("another input", &found.input, &header.input),
        ("another model", &found.model, &header.model),
        ("other settings", &found.settings, &header.settings),
        ("another format", &found.format.to_string(), &header.format.to_string()),
    ] {
        if found != expected {
            bail!(
                "{}: the interrupted job had {name}; give the same, or leave --resume out to start over",
                path.display()
            );
        }
    }
    let mut length = first.len() as u64;
    let mut records = Vec::new();
    for line in lines {
        let Some(text) = line.strip_suffix(b"\n") else { break };
        let Ok(record) = serde_json::from_slice(text) else { break };
        records.push(record);
        length += line.len() as u64;
    }
    Ok((records, length))
}

/// Where the finished sentences of an output are kept.
pub fn partial_of(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    output.with_file_name(name)
}

/// Fails if a foreign file has the name under which the sentences of an output would be kept.
pub fn check(output: &Path, outputs: &mut Outputs) -> abridge_base::Result<()> {
    let path = partial_of(output);
    outputs.file(&path)?;
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let bytes = read_regular(&path, u64::MAX)?;
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    // A first line that was cut off by a kill is ours as well.
    let is_ours = serde_json::from_slice::<Header>(first).is_ok()
        || bytes.len() == first.len() && (bytes.is_empty() || bytes.starts_with(b"{\"format\":"));
    if is_ours {
        return Ok(());
    }
    let problem = "does not belong to an interrupted job, but would be used for one";
    Err(Error::usage(problem).in_file(&path).remedy("move it away, or name another output"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let [input, model, settings] = ["a", "b", "c"].map(str::to_owned);
        Header { format: 1, path: "a.en".into(), input, model, settings }
    }

    fn record(text: &str) -> Record {
        Record { text: text.into(), ..Record::default() }
    }

    #[test]
    fn resumes_after_a_cut_at_any_byte() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.de");
        let (mut partial, _) = Partial::open(&output, &header(), false).unwrap();
        for text in ["eins", "zw\nei", "drei"] {
            partial.push(&record(text)).unwrap();
        }
        let path = folder.path().join("out.de.partial");
        let whole = fs::read(&path).unwrap();
        for kept in 0..=whole.len() {
            fs::write(&path, &whole[..kept]).unwrap();
            let (mut partial, records) = Partial::open(&output, &header(), true).unwrap();
            assert!(records.iter().zip(["eins", "zw\nei", "drei"]).all(|(r, t)| r.text == t));
            partial.push(&record("mehr")).unwrap();
            let (partial, again) = Partial::open(&output, &header(), true).unwrap();
            assert_eq!(again.len(), records.len() + 1, "after {kept} bytes");
            drop(partial);
        }
        let mut other = header();
        other.model = "x".into();
        let error = Partial::open(&output, &other, true).unwrap_err().to_string();
        assert!(error.contains("another model"), "{error}");
        let (partial, records) = Partial::open(&output, &other, false).unwrap();
        assert!(records.is_empty());
        partial.finish().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn foreign_files_of_that_name_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.de");
        let path = folder.path().join("out.de.partial");
        check(&output, &mut Outputs::new()).unwrap();
        let line = serde_json::to_string(&header()).unwrap();
        for ours in ["", "{\"format\":1,\"inp", &line, &format!("{line}\n{{}}")] {
            fs::write(&path, ours).unwrap();
            check(&output, &mut Outputs::new()).unwrap();
        }
        for theirs in ["my notes", "my\nnotes\n", "{}\n", "{\"format\":7}\n"] {
            fs::write(&path, theirs).unwrap();
            let error = check(&output, &mut Outputs::new()).unwrap_err().to_string();
            assert!(error.contains("does not belong to an interrupted job"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
        }
    }
}
