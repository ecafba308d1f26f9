//! Bawden's sets as JSON: numbered blocks of two sentences each, with correct and wrong
//! translations of both.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::file::TextFile;
use super::{ContrastiveItem, ContrastiveSet};
use crate::{Error, Result};

/// A block of the anaphora set has one source, a block of the lexical choice set one per example.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Block {
    Anaphora {
        src: [String; 2],
        trg: Vec<Pair>,
    },
    LexicalChoice {
        #[serde(rename = "type", default)]
        kind: Option<String>,
        examples: Vec<Example>,
    },
}

#[derive(Debug, Deserialize)]
struct Example {
    src: [String; 2],
    trg: Pair,
}

/// The previous sentence and the sentence itself, with correct and wrong translations.
#[derive(Debug, Deserialize)]
struct Pair {
    /// In half of the anaphora set, the context is translated with a less common word, and the
    /// translation is correct only in that context.
    #[serde(alias = "semi-correct")]
    correct: [String; 2],
    incorrect: [String; 2],
    #[serde(rename = "type", default)]
    kind: Option<String>,
}

/// Reads the set.
pub(super) fn read(file: &TextFile) -> Result<ContrastiveSet> {
    let blocks: BTreeMap<String, Block> = serde_json::from_str(&file.text[file.start()..])
        .map_err(|error| {
            file.error(error.line().max(1), format!("not one of Bawden's sets: {error}"))
                .remedy("give anaphora.json or lexical-choice.json as published")
        })?;
    let mut blocks: Vec<_> = blocks.into_iter().collect();
    // The names are numbers; as strings, 10 would come before 2.
    blocks.sort_by_key(|(name, _)| (name.parse::<usize>().unwrap_or(usize::MAX), name.clone()));
    let mut set = ContrastiveSet::default();
    for (name, block) in blocks {
        match block {
            Block::Anaphora { src, trg } => {
                for (index, pair) in trg.into_iter().enumerate() {
                    set.items.push(item(format!("{name}.{index}"), &src, pair, None, file)?);
                }
            }
            Block::LexicalChoice { kind, examples } => {
                for (index, example) in examples.into_iter().enumerate() {
                    let id = format!("{name}.{index}");
                    set.items.push(item(id, &example.src, example.trg, kind.clone(), file)?);
                }
            }
        }
    }
    Ok(set)
}

fn item(
    id: String,
    source: &[String; 2],
    pair: Pair,
    kind: Option<String>,
    file: &TextFile,
) -> Result<ContrastiveItem> {
    let [context, reference] = pair.correct;
    let [other_context, wrong] = pair.incorrect;
    if context != other_context {
        return Err(Error::new(format!(
            "example {id}: the two translations have different contexts"
        ))
        .in_file(&file.path)
        .remedy("both translations of a pair follow the same sentence"));
    }
    let mut item = ContrastiveItem {
        id,
        source: source[1].clone(),
        context: vec![source[0].clone()],
        target_context: vec![context],
        candidates: vec![reference, wrong],
        category: pair.kind.or(kind),
        ..ContrastiveItem::default()
    };
    item.find_pronouns();
    Ok(item)
}
