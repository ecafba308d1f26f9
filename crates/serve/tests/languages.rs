//! A model with several target languages: a request names one of them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use abridge_corpus::Tokenizer;
use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_model::Preset;
use abridge_model::weights::ModelDirectory;
use abridge_serve::{Keys, Models, ServeSettings, Served};
use abridge_translate::Translator;
use burn::tensor::Device;
use common::{Answer, Running, by_library_with_scores, document, quick, small};
use serde_json::json;

/// Writes a random model with German and French as target languages.
fn write_model(path: &Path) {
    let settings = TrainSettings { vocabulary_size: 60, ..TrainSettings::default() };
    let (counts, languages) = (count_words(&document(1, 200), 1), ["de", "fr"].map(str::to_owned));
    let source = Tokenizer::train_towards(&counts, settings, &languages, &mut |_| {}).unwrap();
    let model = small::config(Preset::Grouping, 2).init(7, &Device::flex()).unwrap();
    let provenance = [("languages".to_owned(), "en-mul".to_owned())].into();
    ModelDirectory::write(path, &model, provenance, |folder| {
        source.save(folder, "source").unwrap();
        small::tokenizer().save(folder, "target").unwrap();
        Ok::<(), abridge_model::Error>(())
    })
    .unwrap();
}

fn scores(answer: &Answer) -> Vec<f64> {
    assert_eq!(answer.status, 200, "{answer:?}");
    serde_json::from_value(answer.json()["scores"].clone()).unwrap()
}

fn alike(a: &[f64], b: &[f64]) -> bool {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5)
}

#[test]
fn a_request_names_one_of_a_models_languages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("several");
    write_model(&path);
    let open = || Translator::open(&path, &Device::flex()).unwrap().with_threads(1).unwrap();
    let served = Served { name: "several".into(), translator: open() };
    let listen = "127.0.0.1:0".parse().unwrap();
    let settings = ServeSettings { listen, threads: 2, ..ServeSettings::default() };
    let models = Models::new(vec![served]).unwrap();
    let server = Running::new(models, Keys::parse("").unwrap(), settings);

    let document = document(3, 9);
    let [german, french] = ["de", "fr"].map(|language| {
        by_library_with_scores(&open().towards(language).unwrap(), None, &document).1
    });
    assert!(!alike(&german, &french), "scores depend on the language");
    let body = |target: &str| json!({"sentences": document, "target": target, "options": quick()});
    assert!(alike(&scores(&server.post("/v1/translate", &body("de"))), &german));
    assert!(alike(&scores(&server.post("/v1/translate", &body("fr"))), &french));
    let answer = server.post("/v1/translate", &body("ru"));
    assert_eq!(answer.code(), "unknown_model");
    assert!(answer.body.contains("several (en to de, fr)"), "{answer:?}");
    let answer = server.post("/v1/translate", &json!({"sentences": document}));
    assert_eq!(answer.code(), "invalid");
    assert!(answer.body.contains("into de, fr"), "{answer:?}");

    // A session keeps its language.
    let session = server.post("/v1/sessions", &json!({"target": "fr"})).json();
    let next = format!("/v1/sessions/{}/translate", session["id"].as_str().unwrap());
    let mut found = Vec::new();
    for part in document.chunks(4) {
        let body = json!({"sentences": part, "options": quick()});
        found.extend(scores(&server.post(&next, &body)));
    }
    assert!(alike(&found, &french));

    // A file is named after its language, and so is what the signature describes.
    let translated = ["de", "fr"].map(|target| {
        let path = format!("/v1/files?name=talk.en&target={target}&beam=1");
        let answer = server.request("POST", &path, &[("Content-Type", "text/plain")], b"it is.");
        assert_eq!(answer.status, 200, "{answer:?}");
        let named = format!("talk.{target}");
        assert!(answer.head.contains(&named), "{}", answer.head);
        let signature = server.post("/v1/translate", &body(target)).json()["signature"].clone();
        assert!(signature.as_str().unwrap().contains(&format!("|target:{target}|")));
        signature
    });
    assert_ne!(translated[0], translated[1]);
    let described = server.get("/openapi.json").json();
    let targets = &described["components"]["schemas"]["TranslateRequest"]["properties"]["target"];
    assert_eq!(targets["enum"], json!(["de", "fr", null]));

    let languages = server.get("/languages").json();
    assert_eq!(languages[0]["code"], "en");
    assert_eq!(languages[0]["targets"], json!(["de", "fr"]));
    assert_eq!(server.get("/v1/models").json()["models"][0]["targets"], json!(["de", "fr"]));
}
