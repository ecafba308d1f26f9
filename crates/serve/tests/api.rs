//! The API over real sockets: its responses, which must equal the library's results.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Fixture, by_library, document, quick};
use serde_json::{Value, json};

#[test]
fn documents_equal_library_sessions() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let document = document(3, 40);
    let expected = by_library(&fixture.translator("de"), None, &document);
    let body = json!({"sentences": document, "options": quick()});
    let answer = server.post("/v1/translate", &body);
    assert_eq!(answer.translations(), expected);
    let body = answer.json();
    assert_eq!(body["model"], "en-de");
    assert_eq!(body["scores"].as_array().unwrap().len(), 40);
    assert!(body["signature"].as_str().unwrap().contains("|beam:2|"), "{body}");

    // Less context, and previous sentences as "before".
    let alone = by_library(&fixture.translator("de"), Some(0), &document);
    assert_ne!(alone, expected, "context changes something");
    let body = json!({"sentences": document, "context": 0, "options": quick()});
    assert_eq!(server.post("/v1/translate", &body).translations(), alone);
    let (before, rest) = document.split_at(7);
    let body = json!({"before": before, "sentences": rest, "options": quick()});
    assert_eq!(server.post("/v1/translate", &body).translations(), expected[7..]);

    // Another model by name or by language.
    let french = by_library(&fixture.translator("fr"), None, &document);
    for choice in [json!({"model": "en-fr"}), json!({"source": "en", "target": "fr"})] {
        let mut body = json!({"sentences": document, "options": quick()});
        body.as_object_mut().unwrap().extend(choice.as_object().unwrap().clone());
        assert_eq!(server.post("/v1/translate", &body).translations(), french);
    }
}

#[test]
fn texts_keep_their_layout() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let text = "  The lamp is old. It was broken.\n\n\tShe left again!\n";
    let answer = server.post("/v1/translate", &json!({"text": text, "options": quick()}));
    let body = answer.json();
    let sentences: Vec<String> = serde_json::from_value(body["sentences"].clone()).unwrap();
    assert_eq!(sentences, ["The lamp is old.", "It was broken.", "She left again!"]);
    let expected = by_library(&fixture.translator("de"), None, &sentences);
    assert_eq!(answer.translations(), expected);
    let whole = format!("  {} {}\n\n\t{}\n", expected[0], expected[1], expected[2]);
    assert_eq!(body["text"], whole.as_str());
}

#[test]
fn sessions_continue_where_they_stopped() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let document = document(4, 12);
    let expected = by_library(&fixture.translator("de"), None, &document);
    let created = server.post("/v1/sessions", &json!({"before": &document[..2]}));
    assert_eq!(created.status, 201, "{created:?}");
    let created = created.json();
    assert_eq!((&created["sentences"], &created["context_size"]), (&json!(2), &json!(2)));
    let path = format!("/v1/sessions/{}", created["id"].as_str().unwrap());
    let mut found = Vec::new();
    for sentences in document[2..].chunks(3) {
        let body = json!({"sentences": sentences, "options": quick()});
        found.extend(server.post(&format!("{path}/translate"), &body).translations());
    }
    assert_eq!(found, expected[2..]);
    let shown = server.get(&path).json();
    assert_eq!((&shown["sentences"], &shown["remembered"]), (&json!(12), &json!(2)));
    // A failed request leaves the session unchanged.
    let refused = server.post(&format!("{path}/translate"), &json!({"sentences": [1]}));
    assert_eq!((refused.status, refused.code().as_str()), (422, "invalid"));
    assert_eq!(server.get(&path).json()["sentences"], 12);

    assert_eq!(server.request("DELETE", &path, &[], b"").status, 204);
    for answer in [server.get(&path), server.request("DELETE", &path, &[], b"")] {
        assert_eq!((answer.status, answer.code().as_str()), (410, "session_gone"));
    }
}

#[test]
fn streams_send_the_same_sentences_one_by_one() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let document = document(5, 11);
    let expected = by_library(&fixture.translator("de"), None, &document);
    let body = json!({"sentences": document, "options": quick()}).to_string();
    let headers = [("Content-Type", "application/json"), ("Accept", "text/event-stream")];
    let answer = server.request("POST", "/v1/translate", &headers, body.as_bytes());
    assert!(answer.head.contains("text/event-stream"), "{answer:?}");
    let events = answer.events();
    assert_eq!(events.len(), 13);
    assert_eq!(events[0], ("start".into(), json!({"sentences": document})));
    for (index, (name, data)) in events[1..12].iter().enumerate() {
        assert_eq!(name, "sentence");
        assert_eq!((&data["index"], &data["source"]), (&json!(index), &json!(document[index])));
        assert_eq!(data["translation"], expected[index].as_str());
        assert!(data["score"].is_number());
    }
    assert_eq!(events[12].0, "done");
    assert_eq!(events[12].1["translations"], json!(expected));

    // In a session, and with "stream" in the body.
    let id = server.post("/v1/sessions", &json!({})).json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{id}/translate");
    let body = |part: &[String]| json!({"sentences": part, "stream": true, "options": quick()});
    let mut found: Vec<Value> = Vec::new();
    for part in document.chunks(4) {
        let events = server.post(&path, &body(part)).events();
        assert_eq!(events.last().unwrap().0, "done");
        let sentences = events.into_iter().filter(|(name, _)| name == "sentence");
        found.extend(sentences.map(|(_, data)| data["translation"].clone()));
    }
    assert_eq!(found, expected.iter().map(|text| json!(text)).collect::<Vec<_>>());
}

#[test]
fn files_come_back_in_their_format() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let srt = "1\n00:00:01,000 --> 00:00:02,000\nThe lamp is old.\n\n\
               2\n00:00:02,000 --> 00:00:03,000\nIt was broken.\n";
    let send = |name: &str, body: &str| {
        let path = format!("/v1/files?name={name}&beam=1");
        server.request("POST", &path, &[("Content-Type", "text/plain")], body.as_bytes())
    };
    let answer = send("film.srt", srt);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.head.contains("filename=\"film.de.srt\""), "{}", answer.head);
    let lines: Vec<&str> = answer.body.lines().collect();
    assert_eq!(
        (lines[1], lines[5]),
        ("00:00:01,000 --> 00:00:02,000", "00:00:02,000 --> 00:00:03,000")
    );
    assert!(!answer.body.contains("lamp is old"));

    let vtt = srt.replace(',', ".");
    let answer = send("film.vtt", &format!("WEBVTT\n\n{vtt}"));
    assert!(answer.body.starts_with("WEBVTT\n\n1\n00:00:01.000"), "{answer:?}");
    let answer = send("a.jsonl", "{\"id\": \"x\", \"source\": [\"It is.\", \"He saw.\"]}\n");
    let line: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(line["target"].as_array().unwrap().len(), 2);
    let answer = send("a.txt", "The lamp. It is.\n\nShe left.\n");
    assert_eq!((answer.status, answer.body.lines().count()), (200, 3));

    // The same as a form.
    let form = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"film.srt\"\r\n\r\n{srt}\r\n--b--\r\n"
    );
    let headers = [("Content-Type", "multipart/form-data; boundary=b")];
    let formed = server.request("POST", "/v1/files?beam=1", &headers, form.as_bytes());
    assert_eq!(formed.body, send("film.srt", srt).body);

    // As a stream, with the whole file at the end.
    let headers = [("Content-Type", "text/plain"), ("Accept", "text/event-stream")];
    let path = "/v1/files?name=film.srt&beam=1";
    let events = server.request("POST", path, &headers, srt.as_bytes()).events();
    assert_eq!(events[0].1["documents"], json!([2]));
    assert_eq!(events.len(), 4);
    assert_eq!(events[3].1["content"], formed.body.as_str());

    for (name, body) in [("a.srt", "no subtitles"), ("a.jsonl", "{}\n")] {
        let answer = send(name, body);
        assert_eq!((answer.status, answer.code().as_str()), (422, "invalid"));
        assert!(answer.body.contains(&format!("{name}:1")), "{answer:?}");
    }
}

#[test]
fn translations_report_their_attention() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let options = json!({"beam": 2, "max_length": 8, "attention": true});
    let sentences = ["the old lamp.", "it is broken."];
    let answer = server.post("/v1/translate", &json!({"sentences": sentences, "options": options}));
    assert_eq!(answer.status, 200, "{answer:?}");
    let looked = &answer.json()["attention"][1];
    assert_eq!(looked["source"], json!(["it", "is", "broken.", "⏎"]));
    let before = looked["context"].as_array().unwrap().iter().find(|c| c["distance"] == 1).unwrap();
    assert_eq!(before["words"], json!(["the", "old", "lamp.", "⏎"]));
    let sum = |rows: &Value| -> Vec<f64> {
        let row = |row: &Value| row.as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).sum();
        rows.as_array().unwrap().iter().map(row).collect()
    };
    // The weight that a target word gives to the memory is distributed over its words.
    let context = looked["context"].as_array().unwrap();
    for target in 0..looked["target"].as_array().unwrap().len() {
        let all: f64 = context.iter().map(|c| sum(&c["entry_weights"])[target]).sum();
        assert!((all - 1.0).abs() < 0.01, "{all}");
        let words: f64 = context.iter().map(|c| sum(&c["weights"])[target]).sum();
        assert!(words <= all + 0.01 && words > 0.0);
    }
    let alone = server.post("/v1/translate", &json!({"sentences": [""], "options": options}));
    assert_eq!(alone.json()["attention"], json!([null]));
}

#[test]
fn libretranslate_clients_are_understood() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let languages = server.get("/languages").json();
    assert_eq!(languages[0]["targets"], json!(["de", "fr"]));
    assert_eq!(languages[0]["name"], "English");
    let body = json!({"q": "The lamp.", "source": "en", "target": "de", "format": "text"});
    let one = server.post("/translate", &body).json()["translatedText"].clone();
    assert!(one.is_string());
    let body = json!({"q": ["The lamp.", "The lamp."], "source": "auto", "target": "de"});
    let several = server.post("/translate", &body).json();
    assert_eq!(several["translatedText"], json!([one, one]), "texts are independent");
    assert_eq!(several["detectedLanguage"]["language"], "en");
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let answer = server.request("POST", "/translate", &form, b"q=The+lamp.&source=en&target=de");
    assert_eq!(answer.json()["translatedText"], one);
    let body = json!({"q": "x", "source": "de", "target": "en"});
    let refused = server.post("/translate", &body);
    assert_eq!(refused.status, 404);
    assert!(refused.json()["error"].as_str().unwrap().contains("en-de"));
}

#[test]
fn operators_see_what_they_need() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    assert_eq!((server.get("/livez").status, server.get("/readyz").status), (200, 200));
    let models = server.get("/v1/models").json();
    assert_eq!(models["models"][0]["context_size"], 2);
    assert_eq!(server.get("/info").json()["limits"]["segments"], 256);
    server.post("/v1/translate", &json!({"sentences": ["it is."], "options": quick()}));
    let metrics = server.get("/metrics").body;
    assert!(
        metrics.contains("abridge_requests_total{path=\"/v1/translate\",status=\"200\"}"),
        "{metrics}"
    );
    let description = server.get("/openapi.json").json();
    assert!(description["openapi"].as_str().unwrap().starts_with("3."));
    // With this server's models and limits, so that clients can offer them.
    let schemas = &description["components"]["schemas"];
    let fields = &schemas["TranslateRequest"]["properties"];
    assert_eq!(fields["model"]["enum"], json!(["en-de", "en-fr", null]));
    assert_eq!(fields["context"]["maximum"], 2);
    assert_eq!(schemas["LibreRequest"]["properties"]["source"]["enum"], json!(["en", "auto"]));
    let parameters = description["paths"]["/v1/files"]["post"]["parameters"].as_array().unwrap();
    let target = parameters.iter().find(|parameter| parameter["name"] == "target").unwrap();
    assert_eq!(target["schema"]["enum"], json!(["de", "fr"]));
    let page = server.get("/");
    assert_eq!(page.status, 200);
    assert!(page.head.contains("content-security-policy") && page.body.contains("<!doctype html>"));
    assert_eq!(
        (server.get("/nowhere").status, server.get("/nowhere").code()),
        (404, "not_found".into())
    );
    assert_eq!(server.get("/v1/translate").status, 405);
}
