//! The cost of context: operation memory and time of translating a document.
//!
//! A document is translated sentence by sentence with a memory of the C previous sentences.
//! Operation memory is the peak of allocated bytes beyond those before the document began, which
//! are the weights; it includes the memory itself. The weights need not be trained.

use std::collections::VecDeque;
use std::fmt::Write;
use std::time::Instant;

use abridge_machine::allocator::Counted;
use abridge_model::config::Context;
use abridge_model::lean::LeanDecoder;
use abridge_model::tokens::{END, SPECIAL_TOKENS};
use abridge_model::{Model, Packed, Purpose, Remembered, Result, SentenceInContext, random};
use abridge_translate::{BeamSettings, beam_search_with};
use serde::Serialize;

use crate::picture::{LineChart, Series};

/// The size of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileSettings {
    /// Tokens per sentence and translation.
    pub tokens: usize,
    /// Sentences translated with a full memory.
    pub sentences: usize,
    /// The beam size.
    pub beam: usize,
}

impl Default for ProfileSettings {
    fn default() -> Self {
        Self { tokens: 25, sentences: 2, beam: 5 }
    }
}

/// The cost of one model at one context size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfilePoint {
    /// The name of the model.
    pub model: String,
    /// The context size.
    pub context: usize,
    /// Peak of allocated bytes beyond the weights.
    pub operation_bytes: usize,
    /// Bytes that the memory keeps between two sentences.
    pub memory_bytes: usize,
    /// Seconds per sentence: encoding and translating.
    pub seconds: f64,
}

/// Translates a document of random words and measures it; the program must use the counting
/// allocator.
pub fn profile(
    name: &str,
    model: &Model,
    settings: &ProfileSettings,
    allocator: &Counted,
) -> Result<ProfilePoint> {
    let context = model.config().context_size;
    let lean = model.lean_decoder();
    let begin = || Document::with_full_memory(model, lean.as_ref(), settings);
    // The first translation makes lasting allocations: tables, threads, lazy weights. Some of them
    // are made only with context.
    begin()?.translate_next(context)?;
    let before = allocator.current();
    allocator.reset();
    let mut document = begin()?;
    let start = Instant::now();
    for sentence in context..context + settings.sentences {
        document.translate_next(sentence)?;
    }
    Ok(ProfilePoint {
        model: name.to_owned(),
        context,
        operation_bytes: allocator.peak().saturating_sub(before),
        memory_bytes: document.past.iter().map(Remembered::size_in_bytes).sum(),
        seconds: start.elapsed().as_secs_f64() / settings.sentences.max(1) as f64,
    })
}

/// A document while it is translated.
struct Document<'a> {
    model: &'a Model,
    lean: Option<&'a LeanDecoder>,
    settings: &'a ProfileSettings,
    past: VecDeque<Remembered>,
}

impl<'a> Document<'a> {
    /// A document of which as many sentences have been read as the context holds.
    fn with_full_memory(
        model: &'a Model,
        lean: Option<&'a LeanDecoder>,
        settings: &'a ProfileSettings,
    ) -> Result<Self> {
        let mut document = Self { model, lean, settings, past: VecDeque::new() };
        for sentence in 0..model.config().context_size {
            document.remember(sentence)?;
        }
        Ok(document)
    }

    fn sentence(&self, number: usize) -> Packed {
        let words = (self.model.config().source_vocabulary - SPECIAL_TOKENS).max(1) as u64;
        let word = |i: usize| {
            SPECIAL_TOKENS as u32 + (random::value(number as u64, i as u64) % words) as u32
        };
        let length = self.settings.tokens.max(1) - 1;
        Packed::new([(0..length).map(word).chain([END]).collect::<Vec<u32>>()])
    }

    fn keep(&mut self, remembered: &Remembered) {
        self.past.push_back(remembered.owned());
        if self.past.len() > self.model.config().context_size {
            self.past.pop_front();
        }
    }

    fn remember(&mut self, number: usize) -> Result<()> {
        for reading in self.model.read(&self.sentence(number))? {
            self.keep(&reading.remembered);
        }
        Ok(())
    }

    fn translate_next(&mut self, number: usize) -> Result<()> {
        let readings = self.model.read(&self.sentence(number))?;
        for reading in &readings {
            let layout = self.model.config().layout(Purpose::Inference);
            let context = layout.context(|back| self.past.iter().rev().nth(back - 1));
            let sources =
                self.model.sources_from_memory(&[SentenceInContext { reading, context }])?;
            let length = self.settings.tokens;
            let search = BeamSettings {
                beam: self.settings.beam,
                min_length: length,
                max_length: length,
                early_exit: false,
                ..BeamSettings::default()
            };
            beam_search_with(self.model, self.lean, &sources, &search);
            self.keep(&reading.remembered);
        }
        Ok(())
    }
}

/// Whether a model has context.
pub fn has_context(model: &abridge_model::ModelConfig) -> bool {
    model.context != Context::None
}

const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// The points as Markdown, with the cost of each additional context sentence.
pub fn profile_table(points: &[ProfilePoint]) -> String {
    let mut table = String::from(
        "| model | C | operation memory, MiB | kept, KiB | seconds per sentence |\n\
         | --- | ---: | ---: | ---: | ---: |\n",
    );
    for point in points {
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| {} | {} | {:.2} | {:.1} | {:.3} |",
            point.model,
            point.context,
            point.operation_bytes as f64 / MEBIBYTE,
            point.memory_bytes as f64 / 1024.0,
            point.seconds
        );
    }
    table
}

/// The paper's memory figure: operation memory over context size.
pub fn memory_chart(points: &[ProfilePoint]) -> LineChart {
    chart(points, "Operation memory of inference", "MiB beyond the weights", |point| {
        point.operation_bytes as f64 / MEBIBYTE
    })
}

/// Time per sentence over context size.
pub fn time_chart(points: &[ProfilePoint]) -> LineChart {
    chart(points, "Time of inference", "seconds per sentence", |point| point.seconds)
}

fn chart(
    points: &[ProfilePoint],
    title: &str,
    y: &str,
    value: fn(&ProfilePoint) -> f64,
) -> LineChart {
    let furthest = points.iter().map(|point| point.context).max().unwrap_or(0);
    let mut series: Vec<Series> = Vec::new();
    for point in points {
        let place = (point.context as f64, value(point));
        match series.iter_mut().find(|series| series.name == point.model) {
            Some(series) => series.points.push(place),
            None => series.push(Series {
                name: point.model.clone(),
                points: vec![place],
                dashed: false,
                colour: series.len(),
            }),
        }
    }
    for series in &mut series {
        // A model without context is drawn as a horizontal line.
        if let [(start, value)] = series.points[..]
            && furthest as f64 > start
        {
            series.points.push((furthest as f64, value));
            series.dashed = true;
        }
    }
    LineChart {
        title: title.into(),
        x: "context size (sentences)".into(),
        y: y.into(),
        series,
        from_zero: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(model: &str, context: usize) -> ProfilePoint {
        ProfilePoint {
            model: model.into(),
            context,
            operation_bytes: (context + 1) << 20,
            memory_bytes: context << 10,
            seconds: 0.5,
        }
    }

    #[test]
    fn a_model_without_context_is_a_horizontal_line() {
        let points = [point("sentence", 0), point("grouping", 0), point("grouping", 10)];
        let chart = memory_chart(&points);
        assert_eq!(chart.series[0].points, [(0.0, 1.0), (10.0, 1.0)]);
        assert!(chart.series[0].dashed && !chart.series[1].dashed);
        assert_eq!(chart.series[1].points, [(0.0, 1.0), (10.0, 11.0)]);
        assert!(profile_table(&points).contains("| grouping | 10 | 11.00 | 10.0 | 0.500 |"));
    }
}
