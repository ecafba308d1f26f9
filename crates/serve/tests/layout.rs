//! Batches, scoring, streaming, explanations, pictures and the server agree on which sentence
//! is in which slot of the memory.
//!
//! The expected layout is written out here, independently of the code under test.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use abridge_corpus::batch::{BatchSettings, Batcher, PlannedBatch};
use abridge_corpus::store::{EncodedSide, StoreContent, TokenStore};
use abridge_corpus::{Document, Segment};
use abridge_evaluate::context_order;
use abridge_evaluate::inspect::Inspector;
use abridge_model::tokens::END;
use abridge_model::weights::ModelDirectory;
use abridge_model::{Batch, Dropout, Example, ModelConfig, Packed, Preset, Purpose, SourceBatch};
use abridge_serve::{Keys, Models, ServeSettings, Served};
use abridge_translate::{BeamSettings, Control, ScoreRequest, Translation, Translator, Turn};
use burn::tensor::Device;
use burn::tensor::activation::log_softmax;
use common::small;
use serde_json::json;

/// How many previous sentences a sentence sees.
const CONTEXT: usize = 3;

/// A model and what is expected of it.
struct Case {
    name: &'static str,
    config: ModelConfig,
    /// Whether it translates with the newest sentence in the first slot.
    is_mirrored: bool,
}

fn cases() -> Vec<Case> {
    let case = |name, preset, as_published, is_mirrored| {
        let config = ModelConfig { as_published, ..small::config(preset, CONTEXT) };
        Case { name, config, is_mirrored }
    };
    let mut translations = case("translations", Preset::Grouping, false, false);
    translations.config.target_context = true;
    translations.config.current_in_memory = false;
    vec![
        case("grouping", Preset::Grouping, false, false),
        case("published grouping", Preset::Grouping, true, true),
        case("published caching", Preset::CachingTokens, true, true),
        case("single-encoder", Preset::SingleEncoder, false, false),
        case("published single-encoder", Preset::SingleEncoder, true, false),
        case("published multi-encoder", Preset::MultiEncoder, true, false),
        translations,
    ]
}

/// The sentence in each memory slot of the sentence at `position`.
fn slots(position: usize, is_mirrored: bool) -> Vec<Option<usize>> {
    let back = if is_mirrored { [1, 2, 3] } else { [3, 2, 1] };
    back.map(|back| position.checked_sub(back)).to_vec()
}

impl Case {
    fn write(&self, folder: &Path) -> Translator {
        let folder = &folder.join("model");
        let model = self.config.init(11, &Device::flex()).unwrap();
        let tokenizer = small::tokenizer();
        ModelDirectory::write(folder, &model, BTreeMap::new(), |folder| {
            tokenizer.save(folder, "source").unwrap();
            tokenizer.save(folder, "target").unwrap();
            Ok::<(), abridge_model::Error>(())
        })
        .unwrap();
        Translator::open(folder, &Device::flex()).unwrap()
    }

    /// The sentences, each with its expected slots.
    fn sources(&self, text: &Text, translations: &[Vec<u32>], is_mirrored: bool) -> SourceBatch {
        let example = |source| Example { source, context: slots(source, is_mirrored) };
        let translations = if self.config.target_context { translations } else { &[] };
        SourceBatch {
            sentences: Packed::new(&text.source_tokens),
            translations: Packed::new(translations),
            examples: (0..text.sources.len()).map(example).collect(),
        }
    }

    /// The log-probability of every token of every translation.
    fn expected(
        &self,
        translator: &Translator,
        text: &Text,
        targets: &[Vec<u32>],
        is_mirrored: bool,
    ) -> Vec<Vec<f32>> {
        let source = self.sources(text, targets, is_mirrored);
        log_probabilities(translator, &Batch { source, targets: Packed::new(targets) })
    }
}

fn log_probabilities(translator: &Translator, batch: &Batch) -> Vec<Vec<f32>> {
    let logits = translator.model().forward(batch, &mut Dropout::off()).unwrap();
    let [_, vocabulary] = logits.dims();
    let all: Vec<f32> = log_softmax(logits, 1).into_data().iter::<f32>().collect();
    let tokens = batch.targets.tokens();
    let of = |row: usize| all[row * vocabulary + tokens[row] as usize];
    batch.targets.segments().ranges().map(|range| range.map(of).collect()).collect()
}

/// A document with translations.
struct Text {
    sources: Vec<String>,
    targets: Vec<String>,
    source_tokens: Vec<Vec<u32>>,
    target_tokens: Vec<Vec<u32>>,
}

impl Text {
    fn new() -> Self {
        let (sources, targets) = (small::document(3, 6), small::document(4, 6));
        let tokenizer = small::tokenizer();
        let encode = |sentence: &String| {
            let mut tokens = tokenizer.encode(sentence);
            tokens.push(END);
            tokens
        };
        Self {
            source_tokens: sources.iter().map(encode).collect(),
            target_tokens: targets.iter().map(encode).collect(),
            sources,
            targets,
        }
    }

    fn words(&self, sentence: usize) -> Vec<&str> {
        self.sources[sentence].split(' ').collect()
    }
}

fn assert_close(what: &str, ours: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    for (place, (ours, expected)) in ours.iter().zip(expected).enumerate() {
        assert_eq!(ours.len(), expected.len(), "{what}, sentence {place}");
        for (ours, expected) in ours.iter().zip(expected) {
            assert!((ours - expected).abs() < 1e-4, "{what}, sentence {place}: {ours}, {expected}");
        }
    }
}

#[test]
fn batches_are_in_the_order_of_training() {
    let text = Text::new();
    let side = |sentences: &[Vec<u32>]| {
        let mut side = EncodedSide { vocabulary_size: 60, ..EncodedSide::default() };
        for tokens in sentences {
            side.ids.extend(&tokens[..tokens.len() - 1]);
            side.ends.push(side.ids.len());
        }
        side
    };
    let content = StoreContent {
        documents: vec![("document".into(), text.sources.len())],
        source: side(&text.source_tokens),
        target: Some(side(&text.target_tokens)),
    };
    let store = Arc::new(TokenStore::from_bytes(content.to_bytes().unwrap()).unwrap());
    for case in cases() {
        let layout = case.config.layout(Purpose::Training);
        let settings = BatchSettings { layout, ..BatchSettings::default() };
        let batcher = Batcher::new(Arc::clone(&store), settings).unwrap();
        // In reverse, so that positions in the batch differ from positions in the document.
        let sentences: Vec<usize> = (0..text.sources.len()).rev().collect();
        let batch = batcher.build(&PlannedBatch { sentences: sentences.clone() });
        for (example, &position) in batch.source.examples.iter().zip(&sentences) {
            let tokens = |sentence: usize| batch.source.sentences.get(sentence);
            assert_eq!(tokens(example.source), text.source_tokens[position], "{}", case.name);
            let found: Vec<Option<&[u32]>> =
                example.context.iter().map(|sentence| sentence.map(tokens)).collect();
            let expected: Vec<Option<&[u32]>> = slots(position, false)
                .into_iter()
                .map(|sentence| sentence.map(|sentence| text.source_tokens[sentence].as_slice()))
                .collect();
            assert_eq!(found, expected, "{}, sentence {position}", case.name);
        }
        assert_eq!(batch.source.translations.is_empty(), !case.config.target_context);
    }
}

#[test]
fn scores_are_those_of_the_expected_slots() {
    let text = Text::new();
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let translator = case.write(folder.path());
        let requests: Vec<ScoreRequest<'_>> = (0..text.sources.len())
            .map(|position| ScoreRequest {
                source: &text.sources[position],
                context: &text.sources[..position],
                context_translations: &text.targets[..position],
                shown: None,
                candidates: &text.targets[position..=position],
            })
            .collect();
        let scores = translator.score(&requests, &|_| {}).unwrap();
        let scores: Vec<Vec<f32>> =
            scores.into_iter().map(|mut of| of.remove(0).token_scores).collect();
        let expected = case.expected(&translator, &text, &text.target_tokens, case.is_mirrored);
        assert_close(case.name, &scores, &expected);
        // The order must matter, or nothing is tested.
        let other = case.expected(&translator, &text, &text.target_tokens, !case.is_mirrored);
        let differ = expected[5].iter().zip(&other[5]).any(|(a, b)| (a - b).abs() > 1e-4);
        assert!(differ, "{}: slots in any order give the same scores", case.name);
        let order = if case.is_mirrored { "newest-first" } else { "oldest-first" };
        assert_eq!(context_order(&translator), order, "{}", case.name);
    }
}

fn settings() -> BeamSettings {
    BeamSettings { beam: 1, ..small::settings() }
}

fn stream(translator: &Translator, text: &Text) -> Vec<Translation> {
    let mut session = translator.session(None).unwrap();
    let control = Control { attention: true, ..Control::default() };
    let mut translations = Vec::new();
    for sentence in &text.sources {
        let mut turns = [Turn { session: &mut session, sentences: vec![sentence.as_str()] }];
        let found = translator.translate_turns(&mut turns, &settings(), &control).unwrap();
        translations.extend(found.into_iter().flatten());
    }
    translations
}

#[test]
fn streams_and_explanations_have_the_expected_slots() {
    let text = Text::new();
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let translator = case.write(folder.path());
        let translations = stream(&translator, &text);
        let best: Vec<Vec<u32>> =
            translations.iter().map(|found| found.hypotheses[0].tokens.clone()).collect();
        let scores: Vec<Vec<f32>> =
            translations.iter().map(|found| found.hypotheses[0].token_scores.clone()).collect();
        // The memory holds the tokens of the text, which may differ from the tokens found.
        let remembered: Vec<Vec<u32>> = translations
            .iter()
            .map(|found| {
                let mut tokens = translator.target().encode(found.text());
                tokens.push(END);
                tokens
            })
            .collect();
        let source = case.sources(&text, &remembered, case.is_mirrored);
        let batch = Batch { source, targets: Packed::new(&best) };
        assert_close(case.name, &scores, &log_probabilities(&translator, &batch));

        for (position, translation) in translations.iter().enumerate() {
            let explanation = translator.explain(translation);
            let mut seen: Vec<usize> = Vec::new();
            for sentence in explanation.target.iter().flat_map(|word| &word.memory) {
                if sentence.is_translation {
                    continue;
                }
                let words: Vec<&str> =
                    sentence.words.iter().map(|(word, _)| word.as_str()).collect();
                let expected = text.words(position - sentence.back);
                assert_eq!(words, expected, "{}, {} before {position}", case.name, sentence.back);
                seen.push(sentence.back);
            }
            seen.sort_unstable();
            seen.dedup();
            let first = usize::from(!case.config.current_in_memory);
            let last = position.min(CONTEXT);
            assert_eq!(seen, (first..=last).collect::<Vec<_>>(), "{}", case.name);
        }
    }
}

#[test]
fn pictures_show_the_expected_slots() {
    let text = Text::new();
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let translator = case.write(folder.path());
        let inspector = Inspector::open(&folder.path().join("model"), &Device::flex()).unwrap();
        let segments = text.sources.iter().zip(&text.targets);
        let segments =
            segments.map(|(source, target)| Segment::pair(source.clone(), target.clone()));
        let document = Document::new("document", segments.collect());
        let inspected = inspector.document(&document, &settings(), &mut |_| {}).unwrap();

        let model = translator.model();
        let source = case.sources(&text, &[], case.is_mirrored);
        let targets = Packed::new(&text.target_tokens);
        let attended = model.attended(&model.sources(&source).unwrap(), &targets).unwrap();
        for (sentence, attended) in inspected.sentences.iter().zip(&attended) {
            let position = sentence.position;
            let distances: Vec<usize> = sentence.context.iter().map(|c| c.distance).collect();
            let first = usize::from(!case.config.current_in_memory);
            let expected: Vec<usize> = (first..=position.min(CONTEXT)).rev().collect();
            assert_eq!(distances, expected, "{}, sentence {position}", case.name);
            let held = slots(position, case.is_mirrored);
            let weights = attended.mean().memory;
            for context in &sentence.context {
                let tokens = &text.source_tokens[position - context.distance];
                let pieces = tokens[..tokens.len() - 1]
                    .iter()
                    .map(|&token| translator.source().piece(token).unwrap().replace('▁', ""));
                let shown = context.tokens.iter().map(|piece| piece.replace(['▁', '·'], ""));
                let (pieces, shown): (Vec<String>, Vec<String>) =
                    (pieces.collect(), shown.collect());
                assert_eq!(shown[..pieces.len()], pieces, "{}", case.name);
                let slot = held
                    .iter()
                    .position(|sentence| *sentence == Some(position - context.distance))
                    .unwrap_or(CONTEXT);
                let of_slot = |row: &Vec<f32>| -> Vec<f32> {
                    let rows = row.iter().zip(&attended.rows);
                    rows.filter(|(_, row)| row.slot == slot).map(|(weight, _)| *weight).collect()
                };
                let expected: Vec<Vec<f32>> = weights.iter().map(of_slot).collect();
                assert_close(case.name, &context.entry, &expected);
            }
        }
    }
}

#[test]
fn the_server_shows_the_expected_slots() {
    let text = Text::new();
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let translator = case.write(folder.path()).with_threads(1).unwrap();
        let models = Models::new(vec![Served { name: "model".into(), translator }]).unwrap();
        let settings = ServeSettings {
            listen: "127.0.0.1:0".parse().unwrap(),
            threads: 1,
            ..ServeSettings::default()
        };
        let server = common::Running::new(models, Keys::parse("").unwrap(), settings);
        let options = json!({"beam": 1, "max_length": 8, "attention": true});
        let request = json!({"sentences": text.sources, "options": options});
        let answer = server.post("/v1/translate", &request);
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        for position in 0..text.sources.len() {
            let context = answer["attention"][position]["context"].as_array().unwrap();
            let distances: Vec<usize> =
                context.iter().map(|c| c["distance"].as_u64().unwrap() as usize).collect();
            let first = usize::from(!case.config.current_in_memory);
            let expected: Vec<usize> = (first..=position.min(CONTEXT)).rev().collect();
            assert_eq!(distances, expected, "{}, sentence {position}", case.name);
            for (context, distance) in context.iter().zip(distances) {
                let mut words = text.words(position - distance);
                words.push("⏎");
                assert_eq!(context["words"], json!(words), "{}", case.name);
            }
        }
    }
}
