//! Compares the two models.

use abridge_corpus::{ContrastiveInput, ContrastiveSet, Document, Input, read};
use abridge_evaluate::inspect::{InspectedDocument, Inspector};
use abridge_evaluate::picture::Series;
use abridge_evaluate::{ContrastiveReport, score_set};
use abridge_model::{DeviceKind, Packed, tokens};
use abridge_translate::{BeamSettings, Translator};
use anyhow::Context;

use super::{Demo, PRESETS};

/// The results that the demo shows.
pub struct DemoComparison {
    /// A document that neither model has seen, with its reference.
    pub document: Document,
    /// The range of its sentences in the test file, from 1, as for `abridge inspect`.
    pub sentences: String,
    /// The translations of both models, sentence by sentence.
    pub translations: [Vec<String>; 2],
    /// How often each prefers the right pronoun.
    pub accuracy: [ContrastiveReport; 2],
    /// The memory size of a context sentence, by its number of tokens.
    pub memory: Vec<Memory>,
    /// Vectors per sentence in the memory.
    pub rows: usize,
    /// Learning curves.
    pub curves: Vec<Series>,
    /// What the memory keeps of the document.
    pub inspected: InspectedDocument,
}

/// Memory of one context sentence.
pub struct Memory {
    /// Tokens of the sentence, including the end token.
    pub tokens: usize,
    /// Bytes of its entry with keys and values for every layer.
    pub grouped: usize,
    /// Bytes if each token were kept.
    pub every_token: usize,
}

impl DemoComparison {
    /// Translates, scores, measures and inspects.
    pub fn make(demo: &Demo) -> anyhow::Result<Self> {
        let device = DeviceKind::Cpu.open()?;
        let sentence = Translator::open(&demo.model("sentence"), &device)?;
        let inspector = Inspector::open(&demo.model("grouping"), &device)?;
        let grouping = inspector.translator();
        let text = demo.data().join("text");
        let corpus = read(&Input::parallel(text.join("test.en"), text.join("test.de")))?;
        let place = most_pronouns(&corpus.documents)
            .context("the practice corpus has no test documents")?;
        let document = corpus.documents[place].clone();
        let before: usize = corpus.documents[..place].iter().map(|d| d.segments.len()).sum();
        let sentences = format!("{}-{}", before + 1, before + document.segments.len());
        let settings = BeamSettings::default();
        let sources: Vec<String> = document.segments.iter().map(|s| s.source.clone()).collect();
        let translate = |translator: &Translator| -> anyhow::Result<Vec<String>> {
            let documents = std::slice::from_ref(&sources);
            Ok(translator.translate_documents(documents, &settings, &|_| {})?.remove(0))
        };
        let translations = [translate(&sentence)?, translate(grouping)?];

        let mut input = ContrastiveInput::new(text.join("contrastive.json"), "en", "de");
        input.context = grouping.model().config().context_size;
        let set = ContrastiveSet::read(&input)?;
        let score = |translator: &Translator| -> anyhow::Result<ContrastiveReport> {
            Ok(ContrastiveReport::new(&set, &score_set(translator, &set, None, &mut |_| {})?))
        };
        let accuracy = [score(&sentence)?, score(grouping)?];

        // With the model's own translation as the target, the attention is that of the translation.
        let mut own = document.clone();
        for (segment, translation) in own.segments.iter_mut().zip(&translations[1]) {
            segment.target = Some(translation.clone());
        }
        let inspected = inspector.document(&own, &settings, &mut |_| {})?;
        let sizes = [5, 10, 20, 40];
        let memory = sizes.map(|tokens| memory(grouping, tokens)).into_iter();
        let memory = memory.collect::<anyhow::Result<Vec<_>>>()?;
        let rows = rows(grouping)?;
        let curves = PRESETS.into_iter().enumerate();
        let curves = curves.flat_map(|(i, preset)| curves_of(demo, preset, i)).collect();
        Ok(Self { document, sentences, translations, accuracy, memory, rows, curves, inspected })
    }
}

/// The document with the most sentences with a pronoun.
fn most_pronouns(documents: &[Document]) -> Option<usize> {
    let pronouns = |document: &Document| {
        let sentences = document.segments.iter();
        sentences.filter(|s| s.source.split(' ').any(|w| w == "it" || w == "It")).count()
    };
    let size = |place: &usize| {
        let document = &documents[*place];
        (pronouns(document), document.segments.len())
    };
    (0..documents.len()).max_by_key(size)
}

fn sentence_of(tokens: usize) -> Packed {
    let mut sentence = vec![7; tokens - 1];
    sentence.push(tokens::END);
    Packed::new([sentence])
}

/// Vectors of an entry.
fn rows(translator: &Translator) -> anyhow::Result<usize> {
    let read = translator.model().read(&sentence_of(10))?.remove(0).remembered;
    Ok(read.entry.as_ref().map_or(0, |entry| entry.rows.dims()[0]))
}

/// Measures an entry, and what one would take with a vector, a key and a value per layer for every
/// token.
fn memory(translator: &Translator, tokens: usize) -> anyhow::Result<Memory> {
    let read = translator.model().read(&sentence_of(tokens))?.remove(0).remembered;
    let config = translator.model().config();
    let per_row = config.width * (1 + 2 * config.decoder_layers);
    Ok(Memory {
        tokens,
        grouped: read.values() * size_of::<f32>(),
        every_token: tokens * per_row * size_of::<f32>(),
    })
}

/// Updates averaged into one point of a curve.
const SMOOTHED: usize = 20;

/// The training and validation losses, from the run's metrics; empty if they are missing.
fn curves_of(demo: &Demo, preset: &str, colour: usize) -> Vec<Series> {
    let metrics = demo.run_directory(preset).join("metrics.jsonl");
    let text = std::fs::read_to_string(metrics).unwrap_or_default();
    let events = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let events: Vec<serde_json::Value> = events.collect();
    let points = |kind: &str| -> Vec<(f64, f64)> {
        let of_kind = events.iter().filter(|event| event["event"] == kind);
        of_kind.filter_map(|e| Some((e["update"].as_f64()?, e["loss"].as_f64()?))).collect()
    };
    let mean = |part: &[(f64, f64)]| {
        let sum = part.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
        (sum.0 / part.len() as f64, sum.1 / part.len() as f64)
    };
    // The steep fall at the start would hide the difference between the two.
    let all = points("updated");
    let shown = if all.len() > 10 * SMOOTHED { &all[all.len() / 10..] } else { &all[..] };
    let training = shown.chunks(SMOOTHED).map(mean).collect();
    [(training, "training", true), (points("validated"), "validation", false)]
        .into_iter()
        .filter(|(points, _, _)| !points.is_empty())
        .map(|(points, what, dashed)| {
            let name = format!("{preset}, {what}");
            Series { name, points, dashed, colour }
        })
        .collect()
}
