//! Marian models, `.bin` (as Firefox has them) and `.npz`.
//!
//! Both hold named items, one of which holds the options of the network. Every supported network is
//! a value of [`ModelConfig`](crate::ModelConfig); an unsupported option is refused by name.

mod bin;
mod items;
mod names;
mod npz;
mod options;
mod yaml;

use std::path::Path;

pub use yaml::Yaml;

use self::items::Items;
use self::names::marian_name;
use self::options::{Options, Tables};
use super::foreign::{ForeignModel, TableNames};
use super::{Stored, WeightPrecision, broken};
use crate::Result;

impl ForeignModel {
    /// Reads a Marian model, `.bin` or `.npz`; `options` are Marian's, for a file that does not
    /// contain them.
    pub fn marian(path: &Path, options: Option<&str>) -> Result<Self> {
        let is_npz = path.extension().is_some_and(|extension| extension == "npz");
        let items = if is_npz { npz::read(path)? } else { bin::read(path)? };
        let text = items.text().or(options).ok_or_else(|| {
            broken(path, "it contains no options; put Marian's NAME.yml beside it")
        })?;
        let yaml = Yaml::parse(text)
            .map_err(|problem| broken(path, format!("Marian's options: {problem}")))?;
        let (config, tables) = Options { yaml: &yaml, path }.config()?;
        let named = config.clone();
        let (source, target) = match tables {
            Tables::One => ("Wemb", "Wemb"),
            Tables::Two => ("encoder_Wemb", "decoder_Wemb"),
        };
        Ok(Self {
            config,
            first_word: None,
            precision: if items.is_int8 { WeightPrecision::Int8 } else { WeightPrecision::Single },
            stored: Box::new(items),
            name_of: Box::new(move |name| marian_name(name, &named)),
            is_transposed: false,
            tables: TableNames { source, target, bias: "decoder_ff_logit_out_b" },
            ignored: Vec::new(),
        })
    }
}

impl Stored for Items {
    fn path(&self) -> &Path {
        Items::path(self)
    }

    fn names(&self) -> Vec<&str> {
        Items::names(self).collect()
    }

    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        Items::shape(self, name).map(<[usize]>::to_vec)
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        let values = self.values(name).map(<[f32]>::to_vec);
        values.ok_or_else(|| broken(Items::path(self), format!("item {name} is missing")))
    }
}
