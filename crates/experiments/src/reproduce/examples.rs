//! Table 10: translations of three models that differ in a pronoun.

use std::sync::atomic::AtomicBool;

use abridge_corpus::{ContrastiveInput, ContrastiveSet};
use abridge_evaluate::{
    examples_page, examples_summary, examples_text, limit_context, pronoun_examples,
    translate_examples,
};
use abridge_model::Preset;
use abridge_translate::Translator;
use anyhow::Context;

use super::grid::Progress;
use super::run::{Report, Reproduction};
use super::table::Pair;
use crate::observer::Observer;

/// Examples of the set to translate, evenly spread.
const MOST: usize = 1000;
/// Differences shown in the text; the page shows all.
const SHOWN: usize = 10;

impl Reproduction {
    pub(super) fn examples(
        &self,
        pair: Pair,
        grid: &[(Preset, usize)],
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> anyhow::Result<Report> {
        let found = self.train(pair, grid, observer, stop)?;
        let input = found
            .data
            .contrastive
            .as_ref()
            .context("--table examples needs a contrastive set; give one with --contrastive")?;
        if found.progress != Progress::Done {
            return Ok(self.unfinished(&found));
        }
        // Only the first seed is shown.
        let cells = &found.cells[..grid.len()];
        let names: Vec<String> =
            cells.iter().map(|cell| cell.cell.preset.paper_name().to_owned()).collect();
        let context = grid.iter().map(|&(_, context)| context).max().unwrap_or(0);
        let mut set = ContrastiveSet::read(&ContrastiveInput { context, ..input.clone() })?;
        limit_context(&mut set, context);
        let every = set.items.len().div_ceil(MOST).max(1);
        set.items = set.items.into_iter().step_by(every).collect();
        let device = self.device.open()?;
        let translators = cells
            .iter()
            .map(|cell| Translator::open(&cell.model(), &device))
            .collect::<Result<Vec<_>, _>>()?;
        let (mut done, all) = (0, set.items.len() * translators.len());
        let translations = translate_examples(&translators, &set, &mut |more| {
            done += more;
            observer.status(&format!("{done} of {all} translations"));
        })?;
        observer.idle();
        let examples = pronoun_examples(&set, &translations);
        let shown = &examples[..examples.len().min(SHOWN)];
        let text = format!(
            "# {}\n\n```text\n{}{}```\n",
            self.table.title(),
            examples_text(shown, &names),
            examples_summary(&examples, &names, set.items.len())
        );
        let page = examples_page(&examples, &names);
        self.written(pair, &found, &[("html", page.as_bytes()), ("md", text.as_bytes())], &text)
    }
}
