//! A model directory: everything that a translation needs, in one place.
//!
//! `config.toml`, `model.safetensors`, whatever else its maker puts beside them (tokenizers), and
//! `MANIFEST.json` with the size and hash of each file and where the model comes from. It is
//! written beside its final name and renamed, so it is either complete or absent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abridge_base::files::{OutputDirectory, Outputs, read_regular, read_text, write_new};
use abridge_base::manifest::{Manifest, is_plain_name};
use burn::tensor::Device;

use super::{StoredIntegers, TakenOver, TensorFile, WeightPrecision, below, broken};
use crate::{Model, ModelConfig, Part, Result};

/// The first layout had its files by name; this program reads both.
const FORMAT: u32 = 2;
/// Size limits: configurations and other files beside the weights are small.
const LARGEST_CONFIG: u64 = 1 << 20;
const LARGEST_FILE: u64 = 1 << 30;
const WEIGHTS: &str = "model.safetensors";
const CONFIG: &str = "config.toml";

/// A model directory whose files are as they were written.
#[derive(Clone, Debug)]
pub struct ModelDirectory {
    path: PathBuf,
    manifest: Manifest,
    config: ModelConfig,
    /// The model that this memory is on top of; `None` for a whole model.
    below: Option<Box<ModelDirectory>>,
}

impl ModelDirectory {
    /// Writes a model directory, replacing an existing one; `attach` puts further files into the
    /// folder that it is given.
    pub fn write<E: From<crate::Error>>(
        path: &Path,
        model: &Model,
        provenance: BTreeMap<String, String>,
        attach: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        Self::write_in(WeightPrecision::Single, path, model, provenance, attach)
    }

    /// Like [`Self::write`], with weights in another precision.
    pub fn write_in<E: From<crate::Error>>(
        precision: WeightPrecision,
        path: &Path,
        model: &Model,
        provenance: BTreeMap<String, String>,
        attach: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let output = Outputs::new().directory(path, Self::own_files).map_err(crate::Error::from)?;
        Self::write_into(output, precision, model, provenance, attach)
    }

    /// Like [`Self::write_in`], into a directory that was begun before the work.
    pub fn write_into<E: From<crate::Error>>(
        output: OutputDirectory,
        precision: WeightPrecision,
        model: &Model,
        provenance: BTreeMap<String, String>,
        attach: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let folder = output.path();
        let part = below::is_on_top(&provenance).then_some(Part::Context);
        model.save_part(part, precision, &folder.join(WEIGHTS))?;
        let config = model.config().to_toml();
        write_new(&folder.join(CONFIG), config.as_bytes()).map_err(crate::Error::from)?;
        attach(folder)?;
        let publish = || {
            Manifest::of_directory(output.path(), FORMAT, provenance)?.write(output.path())?;
            output.finish()
        };
        publish().map_err(crate::Error::from)?;
        Ok(())
    }

    /// The files of a model directory, no matter who made it; `None` if this is not one.
    pub fn own_files(path: &Path) -> Option<Vec<String>> {
        Manifest::read(path).ok().map(|manifest| manifest.names())
    }

    /// The directories that [`Self::open`] reads: this one and, for a memory, the one of the model
    /// below it.
    pub fn read_by_open(path: &Path) -> Vec<PathBuf> {
        let manifest = Manifest::read(path).ok();
        let below = manifest.and_then(|manifest| below::place(path, &manifest.provenance));
        [path.to_path_buf()].into_iter().chain(below).collect()
    }

    /// Begins a model directory that must be new.
    pub fn begin_new(path: &Path) -> Result<OutputDirectory> {
        if path.symlink_metadata().is_ok() {
            return Err(abridge_base::Error::new("exists already")
                .in_file(path)
                .remedy("choose another directory or remove it")
                .of_kind(abridge_base::Kind::Usage)
                .into());
        }
        Ok(Outputs::new().directory(path, |_| None)?)
    }

    /// Opens a model directory and checks every file against its manifest.
    pub fn open(path: &Path) -> Result<Self> {
        let file = path.join(Manifest::FILE);
        let manifest = Manifest::read(path)
            .map_err(|error| damaged(error, &file, "; is this a model directory?"))?;
        if manifest.format > FORMAT {
            return Err(broken(
                &file,
                format!("format {} is newer than this program", manifest.format),
            ));
        }
        for name in [WEIGHTS, CONFIG] {
            if manifest.files.get(name).is_none() {
                return Err(broken(&file, format!("does not list {name}")));
            }
        }
        manifest.files.verify(path).map_err(|error| damaged(error, path, ""))?;
        let file = path.join(CONFIG);
        let text = read_text(&file, LARGEST_CONFIG).map_err(|error| damaged(error, &file, ""))?;
        let config = ModelConfig::from_toml(&text).map_err(|error| broken(&file, error))?;
        let below = below::find(path, &manifest.provenance)?.map(Box::new);
        Ok(Self { path: path.to_path_buf(), manifest, config, below })
    }

    /// The hash of the weights of the model directory at a path, if there is one. Nothing is
    /// verified.
    pub(super) fn hash_at(path: &Path) -> Option<String> {
        let manifest = Manifest::read(path).ok()?;
        Some(manifest.files.get(WEIGHTS)?.sha256.clone())
    }

    /// The model that this memory is on top of; `None` for a whole model.
    pub fn below(&self) -> Option<&Self> {
        self.below.as_deref()
    }

    /// The provenance of a directory at `memory` that holds only what a network adds to this model:
    /// with it, [`Self::write`] leaves out the weights that are stored here.
    pub fn below_a_memory(
        &self,
        memory: &Path,
        mut provenance: BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        below::name(&mut provenance, memory, self.below().unwrap_or(self));
        provenance
    }

    /// The same weights for a context size other than that of the training.
    pub fn with_context_size(mut self, size: usize) -> Result<Self> {
        self.config.context_size = size;
        self.config.check()?;
        Ok(self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The configuration of the network.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Where the model comes from.
    pub fn provenance(&self) -> &BTreeMap<String, String> {
        &self.manifest.provenance
    }

    /// The hash of the weights: the model's name in signatures of results.
    pub fn weights_hash(&self) -> &str {
        self.manifest.files.get(WEIGHTS).map_or("", |file| file.sha256.as_str())
    }

    /// How the weights are stored.
    pub fn precision(&self) -> Result<WeightPrecision> {
        let whole = self.below().unwrap_or(self);
        Ok(TensorFile::open(&whole.path.join(WEIGHTS))?.precision())
    }

    /// The size of the weights in bytes.
    pub fn weights_size(&self) -> u64 {
        let own = self.manifest.files.get(WEIGHTS).map_or(0, |file| file.bytes);
        own + self.below().map_or(0, Self::weights_size)
    }

    /// The size of all files in bytes, with those of the model below.
    pub fn size(&self) -> u64 {
        let own: u64 = self.manifest.files.iter().map(|file| file.bytes).sum();
        own + self.below().map_or(0, Self::size)
    }

    /// Writes the same model with weights in another precision, and all files beside them, into a
    /// new directory.
    /// `notes` are added to its provenance.
    pub fn quantise(
        &self,
        precision: WeightPrecision,
        path: &Path,
        notes: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        let output = Self::begin_new(path)?;
        let mut provenance = below::of_both(self.provenance());
        provenance.extend(notes);
        provenance.insert("precision".into(), precision.to_string());
        provenance.insert("made of".into(), self.weights_hash().into());
        let model = self.load(&Device::flex())?;
        let copy = |folder: &Path| self.copy_others(folder, &[]);
        Self::write_into(output, precision, &model, provenance, copy)?;
        Self::open(path)
    }

    /// Writes the same model with one more file beside it, or another one of that name.
    pub fn with_file(&self, name: &str, bytes: &[u8], output: OutputDirectory) -> Result<()> {
        let model = self.load(&Device::flex())?;
        let provenance = below::of_both(self.provenance());
        Self::write_into(output, self.precision()?, &model, provenance, |folder| {
            self.copy_others(folder, &[name])?;
            Ok(write_new(&folder.join(name), bytes)?)
        })
    }

    /// The names of its files.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.manifest.files.iter().map(|file| file.file.as_str())
    }

    /// Copies all files except the weights, the configuration and `others`; for a memory, also the
    /// search settings of the model below (but not its tokenizers: a memory has its own).
    fn copy_others(&self, folder: &Path, others: &[&str]) -> Result<()> {
        for file in self.names() {
            if [WEIGHTS, CONFIG].contains(&file) || others.contains(&file) {
                continue;
            }
            // Names of a manifest are plain; this one is joined to a folder that is written to.
            debug_assert!(is_plain_name(file));
            let bytes = read_regular(&self.path.join(file), LARGEST_FILE)?;
            write_new(&folder.join(file), &bytes)?;
        }
        if let Some(below) = self.below() {
            let theirs = below.names().filter(|name| name.starts_with("tokenizer."));
            let left_out = self.names().chain(theirs).chain(others.iter().copied());
            below.copy_others(folder, &left_out.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Builds the network with its weights.
    pub fn load(&self, device: &Device) -> Result<Model> {
        self.load_with(device, None)
    }

    /// Like [`Self::load`], for translation only: matrices of integers are unpacked only if somebody
    /// needs their values. [`Model::for_translation`] packs the integers themselves.
    pub fn load_for_translation(&self, device: &Device) -> Result<(Model, StoredIntegers)> {
        let mut integers = StoredIntegers::default();
        let model = self.load_with(device, Some(&mut integers))?;
        Ok((model, integers))
    }

    fn load_with(&self, device: &Device, integers: Option<&mut StoredIntegers>) -> Result<Model> {
        if self.below.is_none() {
            return self.config.load_lazily(&self.path.join(WEIGHTS), device, integers);
        }
        let (model, taken) = self.take_over_with(self.config.init(0, device)?, integers)?;
        if !taken.new.is_empty() || !taken.unused.is_empty() {
            let problems: Vec<String> = taken.new.iter().chain(&taken.unused).cloned().collect();
            return Err(broken(
                &self.path.join(WEIGHTS),
                format!(
                    "does not make a whole network with the model below it: {}",
                    super::several(&problems)
                ),
            ));
        }
        Ok(model)
    }

    /// Copies its weights into a network, by name; see [`Model::take_over`].
    pub fn take_over(&self, model: Model) -> Result<(Model, TakenOver)> {
        self.take_over_with(model, None)
    }

    fn take_over_with(
        &self,
        model: Model,
        mut integers: Option<&mut StoredIntegers>,
    ) -> Result<(Model, TakenOver)> {
        let file = TensorFile::open(&self.path.join(WEIGHTS))?;
        let Some(below) = self.below() else { return model.take_over_lazily(&file, integers) };
        let (model, mut taken) = below.take_over_with(model, integers.as_deref_mut())?;
        let (model, added) = model.take_over_lazily(&file, integers)?;
        taken.new.retain(|name| !added.copied.contains(name));
        taken.copied.extend(added.copied);
        taken.unused.extend(added.unused);
        Ok((model, taken))
    }
}

/// A problem with a file of the directory, as an error of the model.
fn damaged(error: abridge_base::Error, path: &Path, hint: &str) -> crate::Error {
    let (file, problem) = error.into_parts();
    broken(file.as_deref().unwrap_or(path), format!("{problem}{hint}"))
}
