//! Recipes that inherit others: `inherits = "base.toml"`.

use std::path::{Path, PathBuf};

use abridge_base::files::read_text;

use crate::recipe::renamed::rename;
use crate::{Error, Result};

/// The key that names the recipe to inherit, relative to the folder of the inheriting one.
const INHERITS: &str = "inherits";
/// A larger file is no recipe.
const LARGEST: u64 = 16 << 20;

/// Reads a recipe with everything that it inherits. Its own settings take precedence: tables are
/// merged, all other values are replaced.
pub(crate) fn read_table(file: &Path) -> Result<toml::Table> {
    let mut merged = toml::Table::new();
    for (_, table) in read_chain(file)?.into_iter().rev() {
        merge(&mut merged, table);
    }
    Ok(merged)
}

/// Reads a recipe and those that it inherits, each after the one that names it.
pub(crate) fn read_chain(file: &Path) -> Result<Vec<(PathBuf, toml::Table)>> {
    let mut chain: Vec<(PathBuf, toml::Table)> = Vec::new();
    let mut next = Some(file.to_path_buf());
    while let Some(file) = next.take() {
        let failed = |why: String| Error::Recipe(format!("{}: {why}", file.display()));
        let text = read_text(&file, LARGEST).map_err(|error| Error::Recipe(error.to_string()))?;
        let same =
            |(other, _): &(PathBuf, _)| other.canonicalize().ok() == file.canonicalize().ok();
        if chain.iter().any(same) {
            return Err(failed("inherits itself, directly or through others".into()));
        }
        let mut table: toml::Table =
            toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
        rename(&mut table);
        next = match table.remove(INHERITS) {
            None => None,
            Some(toml::Value::String(base)) => Some(file.with_file_name(base)),
            Some(other) => {
                return Err(failed(format!("inherits is {other}, but must name a file")));
            }
        };
        chain.push((file, table));
    }
    Ok(chain)
}

fn merge(below: &mut toml::Table, above: toml::Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => merge(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::TrainRecipe;

    #[test]
    fn own_settings_override_inherited_ones() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| fs::write(file(name), text).unwrap();
        write("base.toml", "seed = 7\n[model]\nwidth = \"tiny\"\nchange = { dropout = 0.1 }\n");
        write("middle.toml", "inherits = \"base.toml\"\nseed = 8\n");
        write(
            "top.toml",
            "inherits = \"middle.toml\"\n[model]\npreset = \"selecting\"\n\
             change = { max_positions = 64 }\n",
        );
        let recipe = TrainRecipe::read(Some(&file("top.toml")), &[]).unwrap();
        assert_eq!((recipe.seed.0, recipe.model.size.as_str()), (8, "tiny"));
        let config = recipe.config(50, 50).unwrap();
        assert_eq!((config.dropout, config.max_positions), (0.1, 64));
        let settings = ["seed=9".to_owned()];
        assert_eq!(TrainRecipe::read(Some(&file("top.toml")), &settings).unwrap().seed.0, 9);
    }

    #[test]
    fn errors_name_cycles_and_missing_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("a.toml"), "inherits = \"b.toml\"").unwrap();
        fs::write(file("b.toml"), "inherits = \"a.toml\"").unwrap();
        fs::write(file("c.toml"), "inherits = \"gone.toml\"").unwrap();
        fs::write(file("d.toml"), "inherits = 3").unwrap();
        for (name, part) in [("a", "inherits itself"), ("c", "gone.toml"), ("d", "name a file")] {
            let error = read_table(&file(&format!("{name}.toml"))).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
