//! Contrastive scores and gains from context, with a small untrained model.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_corpus::{ContrastiveItem, ContrastiveSet, Document, Segment, Tokenizer};
use abridge_evaluate::{CxmiSettings, Identity, cxmi, limit_context, part_file, score_set};
use abridge_model::weights::ModelDirectory;
use abridge_model::{ModelSize, Preset};
use abridge_translate::{ScoreRequest, Translator};
use burn::tensor::Device;

const NOUNS: [&str; 6] = ["Hund", "Katze", "Pferd", "Lampe", "Tisch", "Buch"];
const PRONOUNS: [&str; 3] = ["Er", "Sie", "Es"];

fn sentence(index: usize) -> String {
    format!("Die Zahl {index} nennt {} und {}.", NOUNS[index % 6], NOUNS[index / 6 % 6])
}

fn translator(folder: &std::path::Path) -> Translator {
    let lines: Vec<String> =
        (0..40).map(sentence).chain(PRONOUNS.map(|word| format!("{word} war da."))).collect();
    let settings = TrainSettings { vocabulary_size: 80, ..TrainSettings::default() };
    let tokenizer = Tokenizer::train(&count_words(&lines, 1), settings, &mut |_| {}).unwrap();
    let size = tokenizer.vocabulary_size();
    let model = Preset::Grouping.config(ModelSize::Tiny, size, size, 2).init(7, &Device::flex());
    let path = folder.join("model");
    ModelDirectory::write(&path, &model.unwrap(), BTreeMap::new(), |folder| {
        tokenizer.save(folder, "source").unwrap();
        tokenizer.save(folder, "target").unwrap();
        Ok::<_, abridge_model::Error>(())
    })
    .unwrap();
    Translator::open(&path, &Device::flex()).unwrap()
}

fn set(items: usize) -> ContrastiveSet {
    let item = |index: usize| ContrastiveItem {
        source: sentence(index),
        context: (0..index % 4).map(|before| sentence(index + before + 1)).collect(),
        candidates: PRONOUNS[..2 + index % 2]
            .iter()
            .map(|word| format!("{word} war da."))
            .collect(),
        ..ContrastiveItem::default()
    };
    ContrastiveSet { items: (0..items).map(item).collect(), notes: Vec::new() }
}

#[test]
fn an_interrupted_run_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let translator = translator(folder.path());
    let set = set(230);
    let all = score_set(&translator, &set, None, &mut |_| {}).unwrap();
    let identity = Identity::new(&translator, &set, 2);

    // The first part of a run, and half of the line that it was writing.
    let part = part_file(&folder.path().join("scores"));
    let first = ContrastiveSet { items: set.items[..150].to_vec(), notes: Vec::new() };
    score_set(&translator, &first, Some((&part, &identity)), &mut |_| {}).unwrap();
    let mut kept = std::fs::read(&part).unwrap();
    kept.extend(b"-1.5\t-");
    std::fs::write(&part, kept).unwrap();

    let mut done = Vec::new();
    let found =
        score_set(&translator, &set, Some((&part, &identity)), &mut |count| done.push(count));
    assert_eq!(found.unwrap(), all);
    assert_eq!(done, [150, 80]);

    // All scores exist, so nothing is computed.
    done.clear();
    score_set(&translator, &set, Some((&part, &identity)), &mut |count| done.push(count)).unwrap();
    assert_eq!(done, [230]);

    let other = Identity { context: 1, ..identity };
    let error = score_set(&translator, &set, Some((&part, &other)), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("another context size: 2, not 1"), "{error}");
}

#[test]
fn scores_depend_on_context_and_not_on_the_batch() {
    let folder = tempfile::tempdir().unwrap();
    let translator = translator(folder.path());
    let set = set(12);
    let together = score_set(&translator, &set, None, &mut |_| {}).unwrap();
    for (item, scores) in set.items.iter().zip(&together) {
        let alone = ContrastiveSet { items: vec![item.clone()], notes: Vec::new() };
        let alone = &score_set(&translator, &alone, None, &mut |_| {}).unwrap()[0];
        for (score, alone) in scores.iter().zip(alone) {
            assert!((score - alone).abs() < 1e-5, "{score} {alone}");
        }
    }
    let mut limited = set.clone();
    limit_context(&mut limited, 0);
    let without = score_set(&translator, &limited, None, &mut |_| {}).unwrap();
    for ((item, with), without) in set.items.iter().zip(&together).zip(&without) {
        assert_eq!(item.context.is_empty(), (with[0] - without[0]).abs() < 1e-6);
    }
}

#[test]
fn a_gain_is_the_difference_of_two_scores() {
    let folder = tempfile::tempdir().unwrap();
    let translator = translator(folder.path());
    let document = |id: &str, first: usize| {
        let segments =
            (first..first + 3).map(|n| Segment::pair(sentence(n), sentence(n + 1))).collect();
        Document::new(id, segments)
    };
    let documents = [document("a", 1), document("b", 11)];
    let settings = CxmiSettings { context: 2, seed: 1 };
    let report = cxmi(&translator, &documents, settings, &mut |_| {}).unwrap();
    assert_eq!(report.lines.len(), 4);
    for line in &report.lines {
        let document = documents.iter().find(|document| document.id == line.document).unwrap();
        let segment = &document.segments[line.sentence - 1];
        let reference = [segment.target.clone().unwrap()];
        let score = |context: &[String]| {
            let request = ScoreRequest {
                source: &segment.source,
                context,
                context_translations: &[],
                shown: None,
                candidates: &reference,
            };
            translator.score(&[request], &|_| {}).unwrap()[0][0].sum
        };
        let before = &document.segments[..line.sentence - 1];
        let before: Vec<String> = before.iter().map(|segment| segment.source.clone()).collect();
        assert!((line.gain - (score(&before) - score(&[]))).abs() < 1e-4, "{line:?}");
        let text: Vec<&str> = line.words.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(text.join(" "), reference[0]);
    }
    let again = cxmi(&translator, &documents, settings, &mut |_| {}).unwrap();
    assert_eq!(report, again);

    let one = [Document::new("a", documents[0].segments[..2].to_vec())];
    let error = cxmi(&translator, &one, settings, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("several documents"), "{error}");
    let short = [Document::new("a", documents[0].segments[..1].to_vec())];
    let error = cxmi(&translator, &short, settings, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("no sentence has context"), "{error}");
}
