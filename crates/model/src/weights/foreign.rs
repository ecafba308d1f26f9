//! Models of other toolkits: the same networks under other names, with other token ids.
//!
//! Special tokens have fixed ids here ([`crate::tokens`]), and each toolkit has its own. The rows
//! of embedding tables are therefore put into our order when such a model is read, and the
//! tokenizer numbers its pieces in the same way. Special tokens that only abridge has get a row of
//! zeros and a bias that keeps them out of every translation.

use std::path::Path;

use burn::tensor::Device;

use super::{Stored, Wanted, WeightPrecision, broken, fill};
use crate::config::FirstWord;
use crate::{Model, ModelConfig, Result};

/// The score of words that the model does not have. Its exponential is negligible beside that of
/// any other word, and yet it is small enough for the mean over all words in label smoothing.
const NEVER: f32 = -100.0;

const SOURCE_TABLE: &str = "source_embedding.weight";
const TARGET_TABLE: &str = "decoder.embedding.weight";
const OUTPUT_BIAS: &str = "decoder.output_bias";

/// A model of another toolkit, whose values are read and whose network is not yet built.
pub struct ForeignModel {
    /// Its configuration, with the vocabulary sizes of the file.
    pub(super) config: ModelConfig,
    /// The word that translations start with, by its id there; `None` is a zero vector.
    pub(super) first_word: Option<u32>,
    pub(super) precision: WeightPrecision,
    pub(super) stored: Box<dyn Stored>,
    /// The stored name of a parameter.
    pub(super) name_of: NameOf,
    /// Whether linear layers are stored as `[outputs, inputs]`.
    pub(super) is_transposed: bool,
    pub(super) tables: TableNames,
    /// Stored tensors that are not used.
    pub(super) ignored: Vec<String>,
}

pub(super) type NameOf = Box<dyn Fn(&str) -> Option<String>>;

/// The stored names of tensors that have a row for each word.
pub(super) struct TableNames {
    pub source: &'static str,
    pub target: &'static str,
    pub bias: &'static str,
}

/// The words of both languages: for each of our ids the row in the stored table.
#[derive(Clone, Copy, Debug)]
pub struct ForeignRows<'a> {
    /// Of the source language.
    pub source: &'a [Option<u32>],
    /// Of the target language.
    pub target: &'a [Option<u32>],
    /// Stored ids of target words that are never written and do not count in probabilities.
    pub silent: &'a [u32],
}

impl ForeignModel {
    /// The file that its weights are in.
    pub fn path(&self) -> &Path {
        self.stored.path()
    }

    /// How many words its tables have: source and target.
    pub fn vocabularies(&self) -> [usize; 2] {
        [self.config.source_vocabulary, self.config.target_vocabulary]
    }

    /// How its weights are stored.
    pub fn precision(&self) -> WeightPrecision {
        self.precision
    }

    /// Builds the network, with words in our order.
    pub fn load(&self, rows: ForeignRows<'_>, device: &Device) -> Result<Model> {
        let sides = [("source", rows.source), ("target", rows.target)];
        for ((side, rows), stored) in sides.into_iter().zip(self.vocabularies()) {
            let words = rows.iter().flatten().count();
            if words != stored {
                return Err(broken(
                    self.path(),
                    format!(
                        "its {side} embedding has {stored} rows, but the vocabulary has {words} \
                         words; they belong to different models"
                    ),
                ));
            }
        }
        let mut config = self.config.clone();
        config.source_vocabulary = rows.source.len();
        config.target_vocabulary = rows.target.len();
        config.first_word = self.first_word(rows.target)?;
        let model = config.init(0, device)?;
        let width = config.width;
        let table = |name, ours, width, absent, silent| Table { name, ours, width, absent, silent };
        let mut tables = vec![
            table(self.tables.target, rows.target, Some(width), 0.0, &[][..]),
            table(self.tables.bias, rows.target, None, NEVER, rows.silent),
        ];
        if !config.shared_embeddings {
            tables.push(table(self.tables.source, rows.source, Some(width), 0.0, &[]));
        }
        let stored = Renumbered { stored: &*self.stored, tables };
        let wanted = model.parameters().into_iter().map(|parameter| {
            let name = match parameter.name.as_str() {
                SOURCE_TABLE => Some((self.tables.source.to_owned(), false)),
                TARGET_TABLE => Some((self.tables.target.to_owned(), false)),
                OUTPUT_BIAS => Some((self.tables.bias.to_owned(), false)),
                other => (self.name_of)(other).map(|name| (name, self.is_transposed)),
            };
            let (stored_name, transposed) = name.ok_or_else(|| {
                broken(
                    self.path(),
                    format!("this toolkit has no parameter like {}", parameter.name),
                )
            })?;
            let transposed = transposed && parameter.shape.len() == 2;
            Ok(Wanted { parameter, stored_name, transposed })
        });
        fill(model, &stored, wanted.collect::<Result<_>>()?, &self.ignored, None)
    }

    fn first_word(&self, rows: &[Option<u32>]) -> Result<FirstWord> {
        let Some(word) = self.first_word else { return Ok(FirstWord::Zero) };
        let ours = rows.iter().position(|row| *row == Some(word)).ok_or_else(|| {
            broken(
                self.path(),
                format!("translations start with the word {word}, which is not in the vocabulary"),
            )
        })?;
        Ok(FirstWord::Word(ours as u32))
    }
}

/// Tensors, some of which have their rows in another order.
struct Renumbered<'a> {
    stored: &'a dyn Stored,
    tables: Vec<Table<'a>>,
}

/// A tensor with a row for each word.
struct Table<'a> {
    name: &'a str,
    /// For each of our ids the stored row.
    ours: &'a [Option<u32>],
    /// Values per row; none for a vector.
    width: Option<usize>,
    /// The values of rows that are not stored.
    absent: f32,
    /// Stored rows that get the same values.
    silent: &'a [u32],
}

impl Renumbered<'_> {
    fn table(&self, name: &str) -> Option<&Table<'_>> {
        self.tables.iter().find(|table| table.name == name)
    }
}

impl Stored for Renumbered<'_> {
    fn path(&self) -> &Path {
        self.stored.path()
    }

    fn names(&self) -> Vec<&str> {
        self.stored.names()
    }

    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        let Some(table) = self.table(name) else { return self.stored.shape(name) };
        let rows = table.ours.iter().flatten().count();
        let expected = rows * table.width.unwrap_or(1);
        match self.stored.shape(name) {
            // A model without a bias has a bias of zero.
            None if table.width.is_some() => None,
            Some(shape) if elements(&shape) != Some(expected) => Some(shape),
            _ => Some([table.ours.len()].into_iter().chain(table.width).collect()),
        }
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        let Some(table) = self.table(name) else { return self.stored.read(name) };
        let width = table.width.unwrap_or(1);
        let values = match self.stored.shape(name) {
            Some(_) => self.stored.read(name)?,
            None => vec![0.0; table.ours.iter().flatten().count()],
        };
        let mut ours = Vec::with_capacity(table.ours.len() * width);
        for row in table.ours {
            let row = row.filter(|row| !table.silent.contains(row)).map(|row| row as usize * width);
            match row.and_then(|start| values.get(start..start + width)) {
                Some(row) => ours.extend_from_slice(row),
                None => ours.extend(std::iter::repeat_n(table.absent, width)),
            }
        }
        Ok(ours)
    }
}

/// The number of elements; `None` if no file could hold them.
fn elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size))
}
