//! Figure 5: the memory needed to translate the test set, with the models of the other tables.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use abridge_base::files::replace;
use abridge_evaluate::footprint::{Footprint, footprint};
use abridge_machine::allocator::Counted;
use abridge_model::Preset;
use abridge_model::tokens::END;
use abridge_translate::{BeamSettings, Translator};

use super::cell::{Cell, Outcome, Stored};
use super::data::Data;
use super::grid::Progress;
use super::run::{Report, Reproduction, Trained};
use super::table::Pair;
use crate::observer::Observer;

/// The context size of the models that are also measured at larger ones, as in the paper.
const LARGEST_TRAINED: usize = 3;
/// Sentences to measure, evenly spread over the test set.
const SENTENCES: usize = 100;

impl Reproduction {
    pub(super) fn memory(
        &self,
        pair: Pair,
        grid: &[(Preset, usize)],
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> anyhow::Result<Report> {
        let mut trained: Vec<(Preset, usize)> = Vec::new();
        for &(preset, context) in grid {
            let place = (preset, context.min(LARGEST_TRAINED));
            if !trained.contains(&place) {
                trained.push(place);
            }
        }
        let found = self.train(pair, &trained, observer, stop)?;
        let mut outcomes: Vec<(Cell, Option<Outcome>)> = Vec::new();
        for &seed in &self.seeds {
            for &(preset, context) in grid {
                let measured = Cell { pair, preset, context, seed, variant: 0 };
                let place = Cell { context: context.min(LARGEST_TRAINED), ..measured };
                let cell = found.cells.iter().find(|stored| stored.cell == place);
                // Unfinished cells are not measured.
                let cell = cell.filter(|stored| {
                    found.progress == Progress::Done && stored.outcome().is_some()
                });
                let outcome = cell
                    .map(|cell| {
                        observer.status(&format!("memory of {}", measured.name()));
                        self.footprint(cell, context, &found.data)
                    })
                    .transpose()?;
                outcomes.push((measured, outcome.map(|found| self::outcome(&found))));
            }
        }
        observer.idle();
        let notes = self.memory_notes(pair, &found, grid);
        self.report(pair, grid, &outcomes, notes, found.progress)
    }

    fn memory_notes(&self, pair: Pair, found: &Trained, grid: &[(Preset, usize)]) -> Vec<String> {
        let all: usize = found.data.test.iter().map(|document| document.segments.len()).sum();
        let mut notes = vec![
            format!("scale {}, models trained on {}", self.scale.name(), self.data_name(pair)),
            format!(
                "means over {} of the {all} sentences of the test set, one at a time, beam {}",
                all.min(SENTENCES),
                BeamSettings::default().beam
            ),
            "operation: everything in use at the peak beyond the weights, counted in the same way \
             for all models: the memory of previous sentences, encoder states, keys and values of \
             every layer, hypotheses"
                .to_owned(),
            "with attention matrices: the same, if the scores and weights of a layer were kept for \
             all pairs of tokens, as in the paper's software; because of them, single- and \
             multi-encoder grow with the square of the context. The fused attention here keeps one \
             row at a time, so both grow linearly"
                .to_owned(),
            "kept: what is kept between two sentences, memory entries with keys and values of \
             every layer; for single- and multi-encoder only token ids, because they encode the \
             context again"
                .to_owned(),
            "the paper's Figure 5 plots GPU memory, without numbers".to_owned(),
        ];
        if grid.iter().any(|&(_, context)| context > LARGEST_TRAINED) {
            notes.insert(
                2,
                format!(
                    "context sizes above {LARGEST_TRAINED}: the models of {LARGEST_TRAINED}, which \
                     were not trained with more; their memory can be measured, but their \
                     translations mean little"
                ),
            );
        }
        notes
    }

    /// Measures a cell at a context size, unless this was already done.
    fn footprint(&self, cell: &Stored, context: usize, data: &Data) -> anyhow::Result<Footprint> {
        let file = cell.directory.join(format!("memory-{context}.json"));
        let kept = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let found = self.measure(&cell.model(), context, data)?;
        replace(&file, serde_json::to_string(&found)?.as_bytes())?;
        Ok(found)
    }

    fn measure(&self, model: &Path, context: usize, data: &Data) -> anyhow::Result<Footprint> {
        let translator = Translator::open_at(model, &self.device.open()?, Some(context))?;
        let longest = translator.model().config().max_positions - 1;
        let tokens = |text: &str| {
            let mut tokens = translator.source().encode(text);
            tokens.truncate(longest);
            tokens.push(END);
            tokens
        };
        let documents: Vec<Vec<Vec<u32>>> = data
            .test
            .iter()
            .map(|document| document.segments.iter().map(|s| tokens(&s.source)).collect())
            .collect();
        let beam = BeamSettings::default();
        Ok(footprint(translator.model(), &documents, SENTENCES, &beam, &Counted)?)
    }
}

/// Operation memory in MiB, kept memory in KiB.
fn outcome(found: &Footprint) -> Outcome {
    let scores = [
        ("operation".to_owned(), found.operation / f64::from(1 << 20)),
        ("with matrices".to_owned(), found.with_matrices / f64::from(1 << 20)),
        ("kept".to_owned(), found.kept / 1024.0),
    ];
    Outcome { scores: scores.into(), ..Outcome::default() }
}
