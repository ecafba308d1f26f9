//! Finds the files of a model in a directory.
//!
//! Extensions are case-sensitive: the tools that write these files use lower case.

#![allow(clippy::case_sensitive_file_extension_comparisons, reason = "see above")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use abridge_model::weights::Yaml;

use super::{lexicon, refuse};
use crate::Result;

/// The largest file of options, vocabulary or shortlist that is read.
const LARGEST: u64 = 256 << 20;

/// The files of a Marian model.
#[derive(Debug)]
pub(super) struct MarianFiles {
    pub weights: PathBuf,
    /// Options in a separate file instead of in the weights.
    pub options: Option<String>,
    pub source: VocabularyFiles,
    pub target: VocabularyFiles,
    pub shortlist: Option<PathBuf>,
    /// The decoder settings, if there are any.
    pub settings: Option<(PathBuf, Yaml)>,
}

/// The files of a vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VocabularyFiles {
    /// The SentencePiece model.
    pub pieces: PathBuf,
    /// The ids of its pieces, if they differ from the model's own.
    pub ids: Option<PathBuf>,
}

impl MarianFiles {
    /// Finds a model in a directory, or the files that belong to a file of weights.
    pub fn find(path: &Path) -> Result<Self> {
        let (folder, given) = if path.is_dir() {
            (path, None)
        } else {
            (path.parent().unwrap_or(Path::new("")), Some(path.to_path_buf()))
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let files = Files::list(folder)?;
        let settings = files.settings()?;
        let named = |key: &str, place: usize| {
            let (_, yaml) = settings.as_ref()?;
            let value = yaml.get(key)?;
            let name = value.list().get(place).or(Some(value))?.text()?;
            files.named(Path::new(name).file_name()?.to_str()?)
        };
        let weights = match given.or_else(|| named("models", 0)) {
            Some(weights) => weights,
            None => files.weights()?,
        };
        let options = [format!("{}.yml", weights.display()), "model.yml".into()]
            .iter()
            .find_map(|name| files.named(Path::new(name).file_name()?.to_str()?));
        let options = options.map(|file| read_text(&file)).transpose()?;
        let source = files.vocabulary(named("vocabs", 0), ["source", "src"])?;
        let target = files.vocabulary(named("vocabs", 1), ["target", "trg"])?;
        let shortlist = named("shortlist", 0).filter(|file| has_magic(file));
        let shortlist = shortlist
            .or_else(|| files.only(|name, file| name.ends_with(".bin") && has_magic(file)));
        Ok(Self { weights, options, source, target, shortlist, settings })
    }
}

/// The files of a folder, by name.
struct Files {
    folder: PathBuf,
    names: Vec<String>,
}

impl Files {
    fn list(folder: &Path) -> Result<Self> {
        let cannot = |error: std::io::Error| refuse(folder, format!("cannot read it: {error}"));
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            if entry.path().is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(Self { folder: folder.to_path_buf(), names })
    }

    fn named(&self, name: &str) -> Option<PathBuf> {
        self.names.iter().any(|known| known == name).then(|| self.folder.join(name))
    }

    fn all(&self, wanted: impl Fn(&str, &Path) -> bool) -> Vec<PathBuf> {
        let files = self.names.iter().map(|name| (name, self.folder.join(name)));
        files.filter(|(name, file)| wanted(name, file)).map(|(_, file)| file).collect()
    }

    fn only(&self, wanted: impl Fn(&str, &Path) -> bool) -> Option<PathBuf> {
        match self.all(wanted).as_slice() {
            [file] => Some(file.clone()),
            _ => None,
        }
    }

    /// The only `.yml` that names models: the configuration of Marian's decoder.
    fn settings(&self) -> Result<Option<(PathBuf, Yaml)>> {
        let is_settings = |name: &str, file: &Path| {
            let is_yaml = name.ends_with(".yml") || name.ends_with(".yaml");
            is_yaml && !name.contains("vocab") && !name.ends_with(".npz.yml") && file.is_file()
        };
        let mut found = None;
        for file in self.all(is_settings) {
            let yaml = Yaml::parse(&read_text(&file)?).map_err(|problem| refuse(&file, problem))?;
            if yaml.get("models").is_some() && found.replace((file, yaml)).is_some() {
                return Ok(None);
            }
        }
        Ok(found)
    }

    fn weights(&self) -> Result<PathBuf> {
        let found = self.all(|name, file| {
            name.ends_with(".npz") || (name.ends_with(".bin") && !has_magic(file))
        });
        match found.as_slice() {
            [file] => Ok(file.clone()),
            [] => {
                let packed = self.all(|name, _| name.ends_with(".gz") || name.ends_with(".zst"));
                let remedy = match packed.first() {
                    Some(file) => format!("; unpack {} and the others first", file.display()),
                    None => String::new(),
                };
                Err(refuse(
                    &self.folder,
                    format!(
                        "contains no model: neither a config.json of MarianMT nor Marian's .npz \
                         or .bin{remedy}"
                    ),
                ))
            }
            several => {
                let names: Vec<String> =
                    several.iter().map(|file| file.display().to_string()).collect();
                Err(refuse(
                    &self.folder,
                    format!("contains several models; name one: {}", names.join(", ")),
                ))
            }
        }
    }

    /// The vocabulary of a side: the one in the settings, or one with a matching name.
    fn vocabulary(&self, named: Option<PathBuf>, sides: [&str; 2]) -> Result<VocabularyFiles> {
        let ends = |file: &Path, ending: &str| file.to_string_lossy().ends_with(ending);
        if let Some(file) = named.as_ref().filter(|file| ends(file, ".spm")) {
            return Ok(VocabularyFiles { pieces: file.clone(), ids: None });
        }
        let of_side = |name: &str| sides.iter().any(|side| name.starts_with(side));
        let own_pieces = self.only(|name, _| of_side(name) && name.ends_with(".spm"));
        let ids =
            named.or_else(|| self.only(|name, _| name.contains("vocab") && name.ends_with(".yml")));
        if let (Some(pieces), Some(ids)) = (own_pieces.clone(), ids) {
            return Ok(VocabularyFiles { pieces, ids: Some(ids) });
        }
        let shared = || self.only(|name, _| name.contains("vocab") && name.ends_with(".spm"));
        if let Some(pieces) = own_pieces.or_else(shared) {
            return Ok(VocabularyFiles { pieces, ids: None });
        }
        let bpe = self.only(|name, _| name == "source.bpe" || name == "target.bpe");
        Err(match bpe {
            Some(file) => refuse(
                &file,
                "the model uses subword-nmt, but only SentencePiece is supported".into(),
            ),
            None => refuse(
                &self.folder,
                format!(
                    "contains no {} vocabulary: vocab*.spm, {}*.spm, or *vocab.yml with {}.spm",
                    sides[0], sides[1], sides[0]
                ),
            ),
        })
    }
}

fn has_magic(file: &Path) -> bool {
    let mut start = [0; lexicon::MAGIC.len()];
    let read = fs::File::open(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == lexicon::MAGIC
}

/// Reads a small text file.
pub(super) fn read_text(file: &Path) -> Result<String> {
    abridge_base::files::read_text(file, LARGEST)
        .map_err(|error| refuse(file, error.into_parts().1))
}

/// Reads a small file.
pub(super) fn read_bytes(file: &Path) -> Result<Vec<u8>> {
    let bytes = abridge_base::files::read_regular(file, LARGEST);
    bytes.map_err(|error| refuse(file, error.into_parts().1))
}
