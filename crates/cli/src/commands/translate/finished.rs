//! The record that one of many translations is finished: `.abridge/NAME.json` beside it.
//!
//! One file for each output, so that several machines can work in one folder.

use std::path::{Path, PathBuf};

use abridge_base::files::{Outputs, read_regular};
use abridge_base::{Error, Result, hash};
use serde::{Deserialize, Serialize};

use super::partial::{Header, partial_of};

/// The folder of the records.
const FOLDER: &str = ".abridge";
/// The largest record that is read; they have a few hundred bytes.
const LARGEST: u64 = 1 << 20;

/// A translation that is complete.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finished {
    /// The input, model and settings it was made with.
    made: Header,
    /// The SHA-256 of the output.
    output: String,
}

/// Where the record of an output is.
pub fn record_of(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or_default().to_owned();
    name.push(".json");
    output.with_file_name(FOLDER).join(name)
}

/// Whether a record is there; an error if something else has its name.
pub fn is_ours(record: &Path) -> Result<bool> {
    Ok(read(record)?.is_some())
}

/// Whether an output was finished with the present input, model and settings. If the input was
/// changed, it is made again; if it is the translation of another file, if the model or the settings
/// differ, or if it was changed since, this is an error.
pub fn is_finished(record: &Path, output: &Path, header: &Header) -> Result<bool> {
    let Some(finished) = read(record)?.filter(|_| output.is_file()) else { return Ok(false) };
    // An output with a partial file belongs to an interrupted job, whatever it contains.
    if partial_of(output).exists() {
        return Ok(false);
    }
    let is_changed = hash::of_bytes(read_regular(output, u64::MAX)?) != finished.output;
    let Header { path, input, model, settings, .. } = &finished.made;
    // Records of older versions name no path.
    let is_others = *input != header.input && *path != header.path && !path.is_empty();
    let problem = if is_changed {
        "was changed after it was made"
    } else if is_others {
        let problem = format!("is the translation of {path}, not of this file");
        let remedy = "write files of the same name into different directories, or give the \
                      directory above them, which keeps their paths";
        return Err(Error::usage(problem).in_file(output).remedy(remedy));
    } else if *model != header.model {
        "was made with another model"
    } else if *settings != header.settings {
        "was made with other settings"
    } else {
        return Ok(*input == header.input);
    };
    let remedy = "move it away, or translate all files again with --force";
    Err(Error::usage(problem).in_file(output).remedy(remedy))
}

/// Records that an output is finished; `records` are those that were written before.
pub fn save(records: &mut Outputs, record: &Path, header: &Header, output: &[u8]) -> Result<()> {
    if let Some(folder) = record.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
    }
    let finished = Finished { made: header.clone(), output: hash::of_bytes(output) };
    let text = serde_json::to_string(&finished)
        .map_err(|error| Error::new(format!("cannot record a translation: {error}")))?;
    records.file(record)?.write((text + "\n").as_bytes())
}

fn read(record: &Path) -> Result<Option<Finished>> {
    if record.symlink_metadata().is_err() {
        return Ok(None);
    }
    let finished = serde_json::from_slice(&read_regular(record, LARGEST)?);
    finished.map(Some).map_err(|_| {
        Error::usage("is not the record of a finished translation, but would be used as one")
            .in_file(record)
            .remedy("move it away")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_finished_only_with_the_same_input_model_and_settings() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("a.de");
        let record = record_of(&output);
        let [input, model, settings] = ["a", "b", "c"].map(str::to_owned);
        let header = Header { format: 1, path: "a.en".into(), input, model, settings };
        assert!(!is_finished(&record, &output, &header).unwrap());
        std::fs::write(&output, "eins").unwrap();
        save(&mut Outputs::new(), &record, &header, b"eins").unwrap();
        assert!(is_finished(&record, &output, &header).unwrap());
        let other = Header { input: "x".into(), ..header.clone() };
        assert!(!is_finished(&record, &output, &other).unwrap());
        let moved = Header { path: "b.en".into(), ..header.clone() };
        assert!(is_finished(&record, &output, &moved).unwrap());
        let other = Header { path: "b.en".into(), input: "x".into(), ..header.clone() };
        let error = is_finished(&record, &output, &other).unwrap_err().to_string();
        assert!(error.contains("is the translation of a.en"), "{error}");
        let other = Header { model: "x".into(), ..header.clone() };
        let error = is_finished(&record, &output, &other).unwrap_err().to_string();
        assert!(error.contains("another model") && error.contains("--force"), "{error}");
        std::fs::write(&output, "zwei").unwrap();
        let error = is_finished(&record, &output, &header).unwrap_err().to_string();
        assert!(error.contains("was changed"), "{error}");
        std::fs::write(partial_of(&output), "").unwrap();
        assert!(!is_finished(&record, &output, &header).unwrap());
        std::fs::remove_file(&output).unwrap();
        assert!(!is_finished(&record, &output, &header).unwrap());
        std::fs::write(&record, "my notes").unwrap();
        assert!(is_ours(&record).unwrap_err().to_string().contains("move it away"));
    }
}
