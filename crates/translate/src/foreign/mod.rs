//! Imports models of other toolkits into model directories.
//!
//! The format is detected: a MarianMT directory of transformers, or Marian's own `.npz` or `.bin`
//! with its vocabularies. Everything is read and checked before anything is written.

mod files;
mod lexicon;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abridge_base::files::OutputDirectory;
use abridge_corpus::Tokenizer;
use abridge_corpus::tokenizer::sentencepiece::{ForeignVocabulary, Imported, ListedPieces};
use abridge_corpus::tokenizer::{is_language_code, language_code};
use abridge_model::tokens::{END, PAD};
use abridge_model::weights::{
    ForeignModel, ForeignRows, Generation, ModelDirectory, WeightPrecision, Yaml,
};
use abridge_model::{Model, Packed};
use burn::tensor::Device;

use self::files::{MarianFiles, VocabularyFiles, read_bytes, read_text};
use crate::settings::{BeamSettings, Stop};
use crate::shortlist::{self, Shortlist};
use crate::{Error, Result, settings};

/// A model of another toolkit, read and checked.
pub struct ForeignTranslator {
    toolkit: &'static str,
    path: PathBuf,
    model: Model,
    precision: WeightPrecision,
    tokenizers: [Tokenizer; 2],
    search: BeamSettings,
    shortlist: Option<Shortlist>,
    languages: Option<String>,
    codes: Vec<String>,
}

impl ForeignTranslator {
    /// Whether a path could be such a model.
    pub fn is_one(path: &Path) -> bool {
        let ending = path.extension().and_then(|ending| ending.to_str());
        path.is_dir() || matches!(ending, Some("npz" | "bin"))
    }

    /// Reads the model at a path. `language` is the default target language of a multilingual
    /// model, for sentences that name none.
    pub fn open(path: &Path, language: Option<&str>, device: &Device) -> Result<Self> {
        if path.is_dir() && ForeignModel::is_marian_mt(path) {
            Self::marian_mt(path, language, device)
        } else {
            Self::marian(path, language, device)
        }
    }

    fn marian(path: &Path, language: Option<&str>, device: &Device) -> Result<Self> {
        let files = MarianFiles::find(path)?;
        let foreign = ForeignModel::marian(&files.weights, files.options.as_deref())?;
        let source = vocabulary(&files.source)?;
        let is_shared = match (&files.source.ids, &files.target.ids) {
            (Some(source), Some(target)) => source == target,
            _ => files.source == files.target,
        };
        let target = if is_shared { source.clone() } else { vocabulary(&files.target)? };
        let rows = ForeignRows { source: source.rows(), target: target.rows(), silent: &[] };
        let model = foreign.load(rows, device)?;
        let read_list = |file: &PathBuf| {
            let bytes = read_bytes(file)?;
            lexicon::parse(&bytes, [&source, &target], is_shared)
                .map_err(|problem| refuse(file, problem))
        };
        let shortlist = files.shortlist.as_ref().map(read_list).transpose()?;
        let pieces = [(&source, &files.source.pieces), (&target, &files.target.pieces)];
        let (tokenizers, codes) = tokenizers(path, pieces, language)?;
        let search = files.settings.map(|(file, yaml)| marian_search(&file, &yaml)).transpose()?;
        let languages = languages_of_name(&files.weights);
        let this = Self {
            toolkit: "Marian",
            path: files.weights,
            model,
            precision: foreign.precision(),
            tokenizers,
            search: search.unwrap_or_default(),
            shortlist,
            languages,
            codes,
        };
        this.tried()
    }

    fn marian_mt(path: &Path, language: Option<&str>, device: &Device) -> Result<Self> {
        let (foreign, generation) = ForeignModel::marian_mt(path)?;
        let own = path.join("target_vocab.json");
        let source = json_vocabulary(&path.join("vocab.json"))?;
        let target = if own.exists() { json_vocabulary(&own)? } else { source.clone() };
        if source.rows()[END as usize] != Some(generation.end) {
            return Err(refuse(
                &path.join("config.json"),
                format!(
                    "eos_token_id is {}, but `</s>` is {} in vocab.json",
                    generation.end,
                    source.rows()[END as usize].unwrap_or_default()
                ),
            ));
        }
        let silent = if generation.renormalise { &generation.forbidden[..] } else { &[] };
        let rows = ForeignRows { source: source.rows(), target: target.rows(), silent };
        let model = foreign.load(rows, device)?;
        let spm = ["source.spm", "target.spm"].map(|name| path.join(name));
        let pieces = [(&source, &spm[0]), (&target, &spm[1])];
        let (tokenizers, codes) = tokenizers(path, pieces, language)?;
        let search = generation_search(path, &generation, &target)?;
        let this = Self {
            toolkit: "MarianMT",
            path: path.to_path_buf(),
            model,
            precision: foreign.precision(),
            tokenizers,
            search,
            shortlist: None,
            languages: languages_of_tokenizer(path),
            codes,
        };
        this.tried()
    }

    /// Encodes an empty sentence, to check that the network works before it is written.
    fn tried(self) -> Result<Self> {
        self.model.read(&Packed::new([[END]]))?;
        Ok(self)
    }

    /// The toolkit that it comes from.
    pub fn toolkit(&self) -> &'static str {
        self.toolkit
    }

    /// The network.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The tokenizers of the source and the target language.
    pub fn tokenizers(&self) -> &[Tokenizer; 2] {
        &self.tokenizers
    }

    /// How its weights were stored.
    pub fn precision(&self) -> WeightPrecision {
        self.precision
    }

    /// The codes of the target languages, if each sentence has to name one.
    pub fn codes(&self) -> &[String] {
        &self.codes
    }

    /// Whether it came with a shortlist.
    pub fn has_shortlist(&self) -> bool {
        self.shortlist.is_some()
    }

    /// Its default search settings.
    pub fn search(&self) -> &BeamSettings {
        &self.search
    }

    /// Writes the model directory.
    pub fn write(&self, precision: WeightPrecision, output: OutputDirectory) -> Result<()> {
        let shortlist = self.shortlist.as_ref().map(Shortlist::to_bytes).transpose()?;
        let mut provenance = BTreeMap::from([
            ("imported from".to_owned(), self.path.display().to_string()),
            ("toolkit".to_owned(), self.toolkit.to_owned()),
        ]);
        if let Some(languages) = &self.languages {
            provenance.insert("languages".into(), languages.clone());
        }
        ModelDirectory::write_into(output, precision, &self.model, provenance, |folder| {
            for (tokenizer, name) in self.tokenizers.iter().zip(["source", "target"]) {
                tokenizer.save(folder, name)?;
            }
            let write = |name: &str, bytes: &[u8]| {
                let file = folder.join(name);
                std::fs::write(&file, bytes)
                    .map_err(|error| refuse(&file, format!("cannot write it: {error}")))
            };
            write(settings::FILE, self.search.to_toml().as_bytes())?;
            match shortlist {
                Some(bytes) => write(shortlist::FILE, &bytes),
                None => Ok(()),
            }
        })
    }
}

/// The words of a Marian vocabulary.
fn vocabulary(files: &VocabularyFiles) -> Result<ForeignVocabulary> {
    let Some(file) = &files.ids else {
        let pieces = Imported::native_pieces(&files.pieces);
        return pieces
            .and_then(|pieces| ForeignVocabulary::new(&pieces))
            .map_err(|error| of_vocabulary(&files.pieces, &error));
    };
    let yaml = Yaml::parse(&read_text(file)?).map_err(|problem| refuse(file, problem))?;
    let Yaml::Map(entries) = yaml else {
        return Err(refuse(file, "not a list of words and their ids".into()));
    };
    let ids = entries.into_iter().map(|(piece, id)| {
        let id = id.text().and_then(|id| id.parse().ok());
        id.map(|id| (piece.clone(), id))
            .ok_or_else(|| refuse(file, format!("the id of `{piece}` is not a number")))
    });
    let ids: Vec<(String, u64)> = ids.collect::<Result<_>>()?;
    ForeignVocabulary::of_ids(ids).map_err(|error| of_vocabulary(file, &error))
}

/// The words of a `vocab.json`.
fn json_vocabulary(file: &Path) -> Result<ForeignVocabulary> {
    let ids: BTreeMap<String, u64> = serde_json::from_str(&read_text(file)?)
        .map_err(|error| refuse(file, format!("not a list of words and their ids: {error}")))?;
    ForeignVocabulary::of_ids(ids).map_err(|error| of_vocabulary(file, &error))
}

/// The tokenizers of both sides, and the codes of languages that sentences have to start with.
fn tokenizers(
    path: &Path,
    [source, target]: [(&ForeignVocabulary, &PathBuf); 2],
    language: Option<&str>,
) -> Result<([Tokenizer; 2], Vec<String>)> {
    let codes = source.0.pieces().iter().filter(|piece| is_language_code(piece));
    let codes: Vec<String> = codes.cloned().collect();
    let start = language.map(language_code);
    if let Some(start) = start.as_ref().filter(|start| !codes.contains(start)) {
        let problem = if codes.is_empty() {
            format!("it translates into only one language; {start} cannot be chosen")
        } else {
            format!("{start} is not one of its languages: {}", codes.join(" "))
        };
        return Err(refuse(path, problem));
    }
    let list = ListedPieces::new(source.0, start.as_deref());
    let import = |file: &Path, list| {
        Tokenizer::import_listed(file, list).map_err(|error| of_vocabulary(file, &error))
    };
    let source = import(source.1, list)?;
    let target = import(target.1, ListedPieces::new(target.0, None))?;
    Ok(([source, target], if start.is_some() { Vec::new() } else { codes }))
}

/// The settings of Marian's decoder: `beam-size`, and the power of the length that scores are
/// divided by.
fn marian_search(file: &Path, yaml: &Yaml) -> Result<BeamSettings> {
    let number = |key: &str| -> Result<Option<f64>> {
        let Some(text) = yaml.get(key).and_then(Yaml::text) else { return Ok(None) };
        let number = text.parse().map(Some);
        number.map_err(|_| refuse(file, format!("{key} is {text:?}, not a number")))
    };
    let defaults = BeamSettings::default();
    let search = BeamSettings {
        beam: number("beam-size")?.map_or(defaults.beam, |beam| beam as usize),
        length_penalty: number("normalize")?.unwrap_or(0.0),
        ..defaults
    };
    search.check().map_err(|error| refuse(file, error.to_string()))?;
    Ok(search)
}

/// The generation settings of transformers.
fn generation_search(
    path: &Path,
    generation: &Generation,
    target: &ForeignVocabulary,
) -> Result<BeamSettings> {
    let ours = target.ours();
    let mut forbidden = Vec::new();
    for &word in &generation.forbidden {
        let ours = ours.get(word as usize).copied().ok_or_else(|| {
            refuse(
                path,
                format!("bad_words_ids names the word {word}, but there are {}", ours.len()),
            )
        })?;
        // Padding is never generated anyway.
        if ours != PAD {
            forbidden.push(ours);
        }
    }
    let defaults = BeamSettings::default();
    let search = BeamSettings {
        beam: generation.beam.unwrap_or(1),
        length_penalty: generation.length_penalty.unwrap_or(1.0),
        // transformers also counts the start and end tokens.
        max_length: generation
            .max_length
            .map_or(defaults.max_length, |length| length.saturating_sub(2)),
        forbidden,
        stop: if generation.early_stopping { Stop::Full } else { Stop::Outscored },
        free_end: generation.forced_end,
        ..defaults
    };
    search.check().map_err(|error| refuse(path, error.to_string()))?;
    Ok(search)
}

/// The languages of `model.enpt.intgemm.alphas.bin`, as Firefox names its files.
fn languages_of_name(weights: &Path) -> Option<String> {
    let name = weights.file_name()?.to_str()?.strip_prefix("model.")?.split('.').next()?;
    let is_pair = name.len() == 4 && name.bytes().all(|byte| byte.is_ascii_lowercase());
    is_pair.then(|| format!("{}-{}", &name[..2], &name[2..]))
}

/// The languages of a MarianMT tokenizer.
fn languages_of_tokenizer(path: &Path) -> Option<String> {
    let text = read_text(&path.join("tokenizer_config.json")).ok()?;
    let settings: serde_json::Value = serde_json::from_str(&text).ok()?;
    let language = |key: &str| {
        let code = settings.get(key)?.as_str()?;
        let is_code = (2..=3).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_lowercase());
        is_code.then(|| code.to_owned())
    };
    Some(format!("{}-{}", language("source_lang")?, language("target_lang")?))
}

/// A vocabulary is part of a model, so its errors are errors of the model.
fn of_vocabulary(file: &Path, error: &abridge_corpus::Error) -> Error {
    let problem = error.to_string();
    let named = format!("{}: ", file.display());
    refuse(file, problem.strip_prefix(&named).unwrap_or(&problem).to_owned())
}

fn refuse(file: &Path, problem: String) -> Error {
    Error::Model(abridge_model::Error::Weights { file: file.to_path_buf(), problem })
}
