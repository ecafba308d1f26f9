//! Reads the splits of a recipe, and filters the training text.

use super::filter::{FilterReport, Filters};
use super::recipe::SplitRecipe;
use super::splits::SplitDocuments;
use super::{Progress, Request};
use crate::{Document, Result};

/// The splits in the order of the recipe, and what was taken out of them.
pub(super) fn read_splits(
    request: &Request<'_>,
    progress: &mut dyn Progress,
) -> Result<(Vec<SplitDocuments>, Vec<FilterReport>)> {
    let recipe = request.recipe;
    let named = recipe.splits();
    progress.stage("reading", named.len() as u64);
    // What training text must not overlap with comes first.
    let (train, others): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|split| split.split == "train");
    let mut read: Vec<SplitDocuments> = Vec::new();
    for split in others {
        read.push(SplitDocuments::read(&split.name(), split.files, request.data)?);
        progress.reached(read.len() as u64);
    }
    let mut splits = Vec::new();
    let mut reports = Vec::new();
    for split in train {
        let (documents, report) = read_training(split, request, &read)?;
        splits.push(documents);
        reports.extend(report);
        progress.reached((read.len() + splits.len()) as u64);
    }
    splits.extend(read);
    Ok((splits, reports))
}

fn read_training(
    split: SplitRecipe<'_>,
    request: &Request<'_>,
    others: &[SplitDocuments],
) -> Result<(SplitDocuments, Vec<FilterReport>)> {
    let name = split.name();
    let mut documents = SplitDocuments::read(&name, split.files, request.data)?;
    let recipe = request.recipe.filters_of(split.corpus);
    let mut report = Vec::new();
    if !recipe.is_off() {
        let languages = &request.recipe.languages;
        let own = recipe.overlap.as_ref().is_some_and(|overlap| overlap.splits);
        let own = others.iter().filter(|_| own).flat_map(|split| &split.documents);
        let further: Vec<Document> = match &recipe.overlap {
            Some(overlap) => overlap.read(request.data, languages)?,
            None => Vec::new(),
        };
        let mut filters = Filters::new(recipe, languages, own.chain(&further))?;
        let kept = documents.documents.into_iter().flat_map(|document| filters.apply(document));
        documents = SplitDocuments::new(&name, kept.collect())?;
        report = filters.finish(&name);
    }
    documents.cut(split.corpus.and_then(|corpus| corpus.cut_documents));
    Ok((documents, report))
}
