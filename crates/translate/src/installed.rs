//! Models by name: the one that is built in, and those in the folder of installed models.
//!
//! The built-in model is part of the program (feature `built-in`). Every command takes model
//! directories, so it is unpacked into the folder of installed models the first time it is used.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use abridge_base::files::{Outputs, write_new};
use abridge_base::{Error, Kind};
use abridge_model::weights::ModelDirectory;

use crate::Result;

/// The variable that names the folder of installed models.
const VARIABLE: &str = "ABRIDGE_MODELS";
/// Where built-in models are unpacked. A name that no installed model can have.
const UNPACKED: &str = ".built-in";

/// The folder of installed models.
#[derive(Clone, Debug)]
pub struct InstalledModels {
    folder: PathBuf,
}

/// An installed model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledModel {
    /// What commands call it.
    pub name: String,
    /// Its model directory; none for a built-in model that has not been used yet.
    pub path: Option<PathBuf>,
    /// Whether it is part of the program.
    pub is_built_in: bool,
}

/// A model that is part of the program.
#[derive(Clone, Copy)]
struct BuiltIn {
    name: &'static str,
    /// Names and contents of its files.
    files: &'static [(&'static str, &'static [u8])],
}

/// The models that are part of the program; the first is the default.
const BUILT_IN: &[BuiltIn] = &[
    #[cfg(feature = "built-in")]
    BuiltIn { name: abridge_en_de::NAME, files: abridge_en_de::FILES },
];

impl InstalledModels {
    /// The models in a folder, which need not exist yet.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf() }
    }

    /// The user's: `$ABRIDGE_MODELS`, or `abridge/models` in the user's data folder.
    pub fn of_user() -> Result<Self> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let data = || {
            if cfg!(windows) {
                return set("LOCALAPPDATA").map(PathBuf::from);
            }
            let home = || set("HOME").map(|home| Path::new(&home).join(".local/share"));
            set("XDG_DATA_HOME").map(PathBuf::from).or_else(home)
        };
        let folder = set(VARIABLE).map(PathBuf::from);
        let folder = folder.or_else(|| data().map(|data| data.join("abridge/models")));
        let folder = folder.ok_or_else(|| {
            Error::usage("no folder of installed models is known, because HOME is not set")
                .remedy(format!("set {VARIABLE} to a folder, or name a model directory"))
        });
        Ok(Self { folder: folder.map_err(abridge_model::Error::from)? })
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The directory of a model: a path, the name of one of the user's installed models, or, where
    /// none is named, that of the default model.
    pub fn locate(model: Option<&Path>) -> Result<PathBuf> {
        let Some(path) = model else {
            let none = || {
                Error::usage("this build has no built-in model").remedy("name a model directory")
            };
            let name = Self::default_name().ok_or_else(none).map_err(abridge_model::Error::from)?;
            return Self::of_user()?.find(name);
        };
        match path.to_str() {
            Some(name) if !name.contains(['/', '\\']) && !path.exists() => {
                Self::of_user()?.find(name)
            }
            // What is wrong with another path is said when it is opened.
            _ => Ok(path.to_path_buf()),
        }
    }

    /// The model that is used when none is named.
    pub fn default_name() -> Option<&'static str> {
        BUILT_IN.first().map(|model| model.name)
    }

    /// The directory of an installed model; a built-in one is unpacked if it has to be.
    pub fn find(&self, name: &str) -> Result<PathBuf> {
        let installed = self.folder.join(name);
        if is_plain(name) && installed.is_dir() {
            return Ok(installed);
        }
        let unpacked = match BUILT_IN.iter().find(|model| model.name == name) {
            Some(model) => self.unpack(*model),
            None => Err(Error::new("there is no such model directory or installed model")
                .in_file(Path::new(name))
                .remedy("`abridge models --installed` lists those that are installed")
                .of_kind(Kind::Model)),
        };
        Ok(unpacked.map_err(abridge_model::Error::from)?)
    }

    /// All of them by name, the built-in ones first.
    pub fn list(&self) -> Vec<InstalledModel> {
        let built_in = BUILT_IN.iter().map(|model| {
            let path = Some(self.place(*model)).filter(|path| model.is_at(path));
            InstalledModel { name: model.name.to_owned(), path, is_built_in: true }
        });
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut others: Vec<InstalledModel> = entries
            .filter_map(|entry| {
                let (name, path) = (entry.file_name().into_string().ok()?, entry.path());
                let is_model = is_plain(&name) && ModelDirectory::own_files(&path).is_some();
                is_model.then_some(InstalledModel { name, path: Some(path), is_built_in: false })
            })
            .collect();
        others.sort_by(|one, other| one.name.cmp(&other.name));
        built_in.chain(others).collect()
    }

    /// Where a built-in model is unpacked: another version has another place.
    fn place(&self, model: BuiltIn) -> PathBuf {
        let hash = abridge_base::hash::of_bytes(model.manifest());
        self.folder.join(UNPACKED).join(format!("{}-{}", model.name, &hash[..12]))
    }

    fn unpack(&self, model: BuiltIn) -> abridge_base::Result<PathBuf> {
        let path = self.place(model);
        if model.is_at(&path) {
            return Ok(path);
        }
        let cannot = |error: Error| {
            let (file, problem) = error.into_parts();
            Error::new(format!("cannot unpack the built-in model: {problem}"))
                .in_file(file.as_deref().unwrap_or(&path))
                .remedy(format!("set {VARIABLE} to a folder that can be written to"))
                .of_kind(Kind::Usage)
        };
        // What is there is an unpacked model that was damaged since.
        let output = Outputs::new().directory(&path, ModelDirectory::own_files).map_err(cannot)?;
        for (name, bytes) in model.files {
            write_new(&output.path().join(name), bytes).map_err(cannot)?;
        }
        match output.finish() {
            // Another process may have been faster.
            Err(error) if !model.is_at(&path) => Err(cannot(error)),
            _ => Ok(path),
        }
    }
}

impl BuiltIn {
    fn manifest(self) -> &'static [u8] {
        let name = abridge_base::manifest::Manifest::FILE;
        self.files.iter().find(|(file, _)| *file == name).map_or(&[], |(_, bytes)| bytes)
    }

    /// Whether it is unpacked there, as far as names and sizes tell; opening it checks the hashes.
    fn is_at(self, path: &Path) -> bool {
        let is_there = |(name, bytes): &(&str, &[u8])| {
            fs::metadata(path.join(name)).is_ok_and(|file| file.len() == bytes.len() as u64)
        };
        !self.files.is_empty() && self.files.iter().all(is_there)
    }
}

/// Whether a name is one part of a path, and not hidden.
fn is_plain(name: &str) -> bool {
    abridge_base::manifest::is_plain_name(name) && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_installed_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let models = InstalledModels::at(folder.path());
        for name in ["xx-yy", "..", "../xx", ".built-in", ""] {
            let error = models.find(name).unwrap_err().to_string();
            assert!(error.contains("abridge models --installed"), "{name}: {error}");
        }
        assert!(models.list().iter().all(|model| model.is_built_in));
    }

    #[cfg(feature = "built-in")]
    #[test]
    fn the_built_in_model_is_unpacked_once_and_mended() {
        let folder = tempfile::tempdir().unwrap();
        let models = InstalledModels::at(&folder.path().join("not there yet"));
        let name = InstalledModels::default_name().unwrap();
        assert_eq!(models.list()[0].path, None);
        let path = models.find(name).unwrap();
        ModelDirectory::open(&path).unwrap();
        assert_eq!(models.list()[0].path, Some(path.clone()));
        let written = || fs::metadata(path.join("config.toml")).unwrap().modified().unwrap();
        let before = written();
        assert_eq!(models.find(name).unwrap(), path);
        assert_eq!(written(), before, "it is not written again");
        fs::write(path.join("config.toml"), "").unwrap();
        assert_eq!(models.find(name).unwrap(), path);
        ModelDirectory::open(&path).unwrap();
    }

    #[cfg(feature = "built-in")]
    #[test]
    fn an_installed_model_hides_a_built_in_one_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let models = InstalledModels::at(folder.path());
        let name = InstalledModels::default_name().unwrap();
        let own = folder.path().join(name);
        fs::create_dir(&own).unwrap();
        assert_eq!(models.find(name).unwrap(), own);
    }

    #[cfg(all(unix, feature = "built-in"))]
    #[test]
    fn a_folder_that_cannot_be_written_is_named_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = InstalledModels::at(&file).find("en-de").unwrap_err().to_string();
        assert!(error.contains("cannot unpack") && error.contains(VARIABLE), "{error}");
    }
}
