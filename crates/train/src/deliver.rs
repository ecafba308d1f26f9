//! The end product of a run: a model directory that every other command takes.

use std::path::Path;

use abridge_corpus::prepare::PreparedDirectory;
use abridge_corpus::store::Side;
use abridge_model::weights::ModelDirectory;

use crate::trainer::Training;
use crate::{Error, Result};

impl Training {
    /// Writes the best network so far, with the tokenizers of the data that it was trained on.
    pub fn write_model(&self, data: &Path, out: &Path) -> Result<()> {
        let data = PreparedDirectory::open(data)?;
        let state = self.state();
        let languages = &data.manifest().recipe.languages;
        let provenance = [
            ("languages", format!("{}-{}", languages.source, languages.target)),
            ("updates", state.best_update.to_string()),
            ("data", state.origin.data.clone()),
            ("valid loss", state.best_loss.map(|loss| loss.to_string()).unwrap_or_default()),
        ];
        let provenance = provenance.map(|(key, value)| (key.to_owned(), value)).into();
        let model = self.best_model()?;
        ModelDirectory::write(out, &model, provenance, |folder| -> Result<(), Error> {
            data.tokenizer(Side::Source)?.save(folder, "source")?;
            data.tokenizer(Side::Target)?.save(folder, "target")?;
            Ok(())
        })
    }
}
