//! Every recipe in the repository parses and gives the model that it names.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use abridge_corpus::prepare::Recipe;
use abridge_model::config::ShortenerConfig;
use abridge_model::{ModelSize, Preset};
use abridge_train::TrainRecipe;

fn recipes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes")
}

#[test]
fn every_row_of_the_paper_has_its_recipe() {
    for (folder, width) in
        [("en-de", ModelSize::Base), ("en-fr", ModelSize::Base), ("small", ModelSize::Small)]
    {
        for preset in Preset::ALL {
            let file = recipes().join(folder).join(format!("{preset}.toml"));
            let comment = fs::read_to_string(&file).unwrap();
            assert!(comment.contains("Table"), "{} names no table", file.display());
            assert!(comment.contains(preset.paper_name()), "{}", file.display());
            for context_size in [1, 3] {
                let settings = [format!("model.context_size={context_size}")];
                let recipe = TrainRecipe::read(Some(&file), &settings).unwrap();
                let mut expected = preset.config(width, 100, 100, context_size);
                expected.dropout = if width == ModelSize::Base { 0.3 } else { 0.2 };
                // English-French uses eleven groups for both.
                if let (
                    "en-fr",
                    Some(ShortenerConfig::Grouping(c) | ShortenerConfig::Selecting(c)),
                ) = (folder, &mut expected.shortener)
                {
                    c.groups = 11;
                }
                assert_eq!(recipe.config(100, 100).unwrap(), expected, "{}", file.display());
            }
        }
    }
}

#[test]
fn the_papers_recipes_have_the_papers_hyper_parameters() {
    for pair in ["en-de", "en-fr"] {
        let file = recipes().join(pair).join("grouping.toml");
        let mut recipe = TrainRecipe::read(Some(&file), &[]).unwrap();
        recipe.model = TrainRecipe::default().model;
        assert_eq!(recipe, TrainRecipe::default(), "the defaults are Table 4 of the paper");
    }
}

#[test]
fn every_recipe_parses() {
    let mut trained = 0;
    let mut prepared = 0;
    let mut folders = vec![recipes()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "toml") {
                let text = fs::read_to_string(&path).unwrap();
                if text.contains("[languages]") {
                    Recipe::load(&path).unwrap();
                    prepared += 1;
                } else {
                    TrainRecipe::read(Some(&path), &[]).unwrap();
                    trained += 1;
                }
            }
        }
    }
    // Ten models and their base recipe, three times, and one for the practice corpus; two corpora
    // of the paper and a small one. There may be more.
    assert!(trained > 3 * 11 && prepared >= 3, "{trained} and {prepared} recipes");
}
