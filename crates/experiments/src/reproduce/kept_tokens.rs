//! Figures 4, 6 and 7: which tokens of a sentence grouping and selecting combine.

use std::sync::atomic::AtomicBool;

use abridge_corpus::{ContrastiveInput, ContrastiveSet};
use abridge_evaluate::inspect::{GroupedSentence, Inspector};
use abridge_evaluate::picture::{Svg, Text, page, text_width};
use abridge_model::Preset;
use anyhow::Context;
use maud::{PreEscaped, html};

use super::data::Data;
use super::grid::Progress;
use super::run::{Report, Reproduction};
use super::table::Pair;
use crate::observer::Observer;

/// Sentences to draw: one as in Figure 4 and three as in Figures 6 and 7.
const SENTENCES: usize = 4;
/// The number of words of a sentence that is interesting and fits on a page.
const WORDS: std::ops::RangeInclusive<usize> = 6..=14;

impl Reproduction {
    pub(super) fn kept_tokens(
        &self,
        pair: Pair,
        grid: &[(Preset, usize)],
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> anyhow::Result<Report> {
        let found = self.train(pair, grid, observer, stop)?;
        if found.progress != Progress::Done {
            return Ok(self.unfinished(&found));
        }
        let sentences = sentences(&found.data)?;
        let device = self.device.open()?;
        let mut by_model: Vec<(&str, Vec<GroupedSentence>)> = Vec::new();
        // Only the first seed is shown.
        for cell in &found.cells[..grid.len()] {
            let preset = cell.cell.preset;
            let groups = Inspector::open(&cell.model(), &device)?.groups(&sentences)?;
            by_model.push((
                preset.paper_name(),
                groups.with_context(|| format!("{preset} has no groups to draw"))?,
            ));
        }
        let rows: Vec<Svg> = sentences
            .iter()
            .enumerate()
            .map(|(place, sentence)| {
                let grids = by_model.iter().map(|(name, grouped)| {
                    let GroupedSentence { tokens, groups } = &grouped[place];
                    Svg::stacked(&[heading(name, 12.0), groups.grid(tokens).draw()], 6.0)
                });
                Svg::stacked(
                    &[heading(sentence, 15.0), side_by_side(&grids.collect::<Vec<_>>())],
                    8.0,
                )
            })
            .collect();
        let picture = Svg::stacked(&rows, 28.0);
        let title = self.table.title();
        let drawn = picture.standalone(title);
        let body = html! {
            p { "Sentences of the contrastive set. In Latent Grouping, each token is distributed \
                 over the groups; in Latent Selecting, each group selects tokens." }
            figure { (PreEscaped(picture.inline(title))) }
        };
        let page = page(title, body, None);
        let listed: Vec<String> =
            sentences.iter().map(|sentence| format!("- {sentence}")).collect();
        let text = format!("# {title}\n\n{}\n", listed.join("\n"));
        let files = [("html", page.as_bytes()), ("svg", drawn.as_bytes())];
        self.written(pair, &found, &files, &text)
    }
}

/// Distinct sentences of suitable length, evenly spread over the contrastive set, or over the test
/// set if there is none.
fn sentences(data: &Data) -> anyhow::Result<Vec<String>> {
    let all: Vec<String> = match &data.contrastive {
        Some(input) => {
            let set = ContrastiveSet::read(&ContrastiveInput { context: 1, ..input.clone() })?;
            set.items.into_iter().map(|item| item.source).collect()
        }
        None => data.test.iter().flat_map(|d| &d.segments).map(|s| s.source.clone()).collect(),
    };
    let mut fitting: Vec<String> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for sentence in all {
        let fits = WORDS.contains(&sentence.split_whitespace().count());
        let list = if fits { &mut fitting } else { &mut others };
        if list.last() != Some(&sentence) {
            list.push(sentence);
        }
    }
    let list = if fitting.is_empty() { others } else { fitting };
    anyhow::ensure!(!list.is_empty(), "there is no sentence to draw");
    let count = list.len().min(SENTENCES);
    Ok((0..count).map(|n| list[(2 * n + 1) * list.len() / (2 * count)].clone()).collect())
}

fn heading(text: &str, size: f64) -> Svg {
    let mut svg = Svg::new(text_width(text, size) + 8.0, size * 1.5);
    svg.text(0.0, size * 1.1, text, &Text::sized(size));
    svg
}

fn side_by_side(pictures: &[Svg]) -> Svg {
    const GAP: f64 = 40.0;
    let height = pictures.iter().map(Svg::height).fold(0.0, f64::max);
    let width: f64 = pictures.iter().map(|picture| picture.width() + GAP).sum();
    let mut row = Svg::new((width - GAP).max(0.0), height);
    let mut x = 0.0;
    for picture in pictures {
        row.place(x, 0.0, picture);
        x += picture.width() + GAP;
    }
    row
}
