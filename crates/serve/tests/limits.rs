//! Limits, keys, overload, deadlines and shutdown, over real sockets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write;
use std::time::{Duration, Instant};

use abridge_serve::{Keys, ServeSettings, Server};
use common::{Answer, Fixture, by_library_with_scores, document, quick, send};
use serde_json::{Value, json};

/// Work that takes seconds: a random network never ends a sentence.
fn slow(sentences: usize) -> Value {
    json!({"sentences": document(1, sentences), "options": {"beam": 8, "max_length": 1000}})
}

#[test]
fn malformed_requests_are_refused() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let json_type = [("Content-Type", "application/json")];
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let unknown = json!({"sentences": ["a"], "beams": 3}).to_string();
    let both = json!({"sentences": ["a"], "text": "a"}).to_string();
    let cases: [(&[u8], u16, &str); 9] = [
        (b"", 400, "malformed"),
        (b"{\"sentences\": [", 400, "malformed"),
        (b"{\"sentences\": [\"\xff\xfe\"]}", 400, "malformed"),
        (b"{\"sentences\": [\"\\ud800\"]}", 400, "malformed"),
        (deep.as_bytes(), 422, "invalid"),
        (b"{}", 422, "invalid"),
        (unknown.as_bytes(), 422, "invalid"),
        (both.as_bytes(), 422, "invalid"),
        (b"{\"sentences\": \"a\"}", 422, "invalid"),
    ];
    for (body, status, code) in cases {
        let answer = server.request("POST", "/v1/translate", &json_type, body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(50)]).into_owned();
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{shown}: {answer:?}");
    }
    let nested = format!("{{\"sentences\": {deep}}}");
    let answer = server.request("POST", "/v1/translate", &json_type, nested.as_bytes());
    assert!([400, 422].contains(&answer.status), "{answer:?}");
    let plain = server.request("POST", "/v1/translate", &[("Content-Type", "text/plain")], b"{}");
    assert_eq!((plain.status, plain.code().as_str()), (415, "unsupported_media_type"));
    let latin = server.request("POST", "/v1/files?name=a.txt", &[], b"fine\nl\xe4rm\n");
    assert_eq!(latin.status, 422);
    assert!(latin.body.contains("a.txt:2"), "{latin:?}");
}

#[test]
fn requests_over_the_limits_are_refused_with_an_index() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let refused = |body: Value| {
        let answer = server.post("/v1/translate", &body);
        (answer.status, answer.code(), answer.json()["error"]["index"].clone())
    };
    let many = json!({"sentences": vec!["a."; 257]});
    assert_eq!(refused(many), (413, "too_large".into(), Value::Null));
    let long = json!({"sentences": ["a.", "never ".repeat(2000)]});
    assert_eq!(refused(long), (413, "too_large".into(), json!(1)));
    for options in [json!({"beam": 17}), json!({"beam": 0}), json!({"max_length": 5000})] {
        let body = json!({"sentences": ["a."], "options": options});
        assert_eq!(refused(body), (422, "invalid".into(), Value::Null), "{options}");
    }
    let far = json!({"sentences": ["a."], "context": 3});
    assert_eq!(refused(far), (422, "invalid".into(), Value::Null));
    assert_eq!(refused(json!({"sentences": ["a."], "model": "x"})).0, 404);
    let huge = vec![b' '; (1 << 20) + 1];
    let answer =
        server.request("POST", "/v1/translate", &[("Content-Type", "application/json")], &huge);
    assert_eq!(answer.status, 413);
    // Without a content length, in chunks.
    let mut stream = server.connect();
    stream
        .write_all(b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        .unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(1 << 16));
    for _ in 0..17 {
        let _ = stream.write_all(chunk.as_bytes());
    }
    assert_eq!(Answer::read(stream).status, 413);
}

#[test]
fn low_limits_still_let_plain_requests_pass() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| {
        settings.limits.tokens = 16;
        settings.limits.beam = 1;
    });
    let answer = server.post("/v1/translate", &json!({"sentences": ["it is."]}));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["cut"], json!([0]), "a random network never ends");
}

#[test]
fn keys_are_required() {
    let fixture = Fixture::new();
    let key = "0123456789abcdef0123";
    let server = fixture.start_with_keys(&format!("me: {key}"), |_| {});
    let refused = server.get("/v1/models");
    assert_eq!((refused.status, refused.code().as_str()), (401, "unauthorized"));
    assert!(refused.head.contains("www-authenticate: bearer"));
    for path in ["/info", "/metrics", "/languages"] {
        assert_eq!(server.get(path).status, 401, "{path}");
    }
    for path in ["/livez", "/readyz", "/", "/openapi.json"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    let bearer = format!("Bearer {key}");
    for header in [("Authorization", bearer.as_str()), ("X-API-Key", key)] {
        assert_eq!(server.request("GET", "/v1/models", &[header], b"").status, 200);
    }
    let wrong = [("Authorization", "Bearer 0123456789abcdef0124")];
    assert_eq!(server.request("GET", "/v1/models", &wrong, b"").status, 401);
    let body = |key: &str| json!({"q": "it is.", "source": "en", "target": "de", "api_key": key});
    assert_eq!(server.post("/translate", &body(key)).status, 200);
    assert_eq!(server.post("/translate", &body("wrong")).status, 401);
    assert_eq!(server.get(&format!("/languages?api_key={key}")).status, 200);
    let body = format!("api_key={key}");
    assert_eq!(server.request("GET", "/languages", &[], body.as_bytes()).status, 200);
}

#[test]
fn other_machines_need_a_key() {
    let fixture = Fixture::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let start = |insecure: bool| {
        let listen = "0.0.0.0:0".parse().unwrap();
        let settings = ServeSettings { listen, insecure, ..ServeSettings::default() };
        runtime.block_on(Server::start(fixture.models(), Keys::default(), settings))
    };
    let error = start(false).unwrap_err().to_string();
    assert!(error.contains("--keys") && error.contains("--insecure"), "{error}");
    assert!(start(true).is_ok());
}

#[test]
fn excess_requests_are_rejected_and_the_rest_is_served() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| {
        settings.limits.at_work = 1;
        settings.limits.waiting = 2;
        settings.limits.wait = Duration::from_millis(300);
        settings.limits.deadline = Duration::from_secs(2);
    });
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let ask = || server.post("/v1/translate", &slow(32));
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let count = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(count(429), 7, "{statuses:?}");
    assert_eq!(count(503), 2, "{statuses:?}");
    assert_eq!(count(504), 1, "{statuses:?}");
    for answer in answers.iter().filter(|answer| [429, 503].contains(&answer.status)) {
        assert!(answer.head.contains("retry-after: "), "{answer:?}");
    }
    let quick = json!({"sentences": ["it is."], "options": quick()});
    assert_eq!(server.post("/v1/translate", &quick).status, 200, "it still serves");
}

#[test]
fn deadlines_and_disconnects_stop_the_work() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| {
        settings.threads = 1;
        settings.limits.deadline = Duration::from_millis(300);
    });
    let answer = server.post("/v1/translate", &slow(64));
    assert_eq!((answer.status, answer.code().as_str()), (504, "timeout"), "{answer:?}");
    let events = {
        let mut body = slow(64);
        body["stream"] = json!(true);
        server.post("/v1/translate", &body).events()
    };
    let (name, data) = events.last().unwrap();
    assert_eq!((name.as_str(), &data["error"]["code"]), ("error", &json!("timeout")));
    // The only thread is free again at once: work stops between two decoder steps.
    let quick = json!({"sentences": ["it is."], "options": quick()});
    assert_eq!(server.post("/v1/translate", &quick).status, 200);

    // When clients disconnect, their work stops long before it would be finished.
    let server = fixture.start(|settings| settings.threads = 1);
    for _ in 0..5 {
        let mut stream = server.connect();
        let headers = [("Content-Type", "application/json")];
        send(&mut stream, "POST", "/v1/translate", &headers, slow(256).to_string().as_bytes());
        std::thread::sleep(Duration::from_millis(50));
    }
    let started = Instant::now();
    assert_eq!(server.post("/v1/translate", &quick).status, 200);
    let at_work = server.get("/metrics").body;
    assert!(
        at_work.contains("abridge_orders_waiting 0"),
        "after {:?}: {at_work}",
        started.elapsed()
    );
}

#[test]
fn an_expired_session_is_gone() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| {
        settings.limits.session_life = Duration::from_millis(200);
        settings.limits.sessions = 2;
    });
    let create = || server.post("/v1/sessions", &json!({}));
    let id = create().json()["id"].as_str().unwrap().to_owned();
    assert_eq!(create().status, 201);
    let full = create();
    assert_eq!((full.status, full.code().as_str()), (503, "unavailable"));
    assert!(full.head.contains("retry-after: "), "{full:?}");
    std::thread::sleep(Duration::from_millis(300));
    let body = json!({"sentences": ["it is."], "options": quick()});
    let gone = server.post(&format!("/v1/sessions/{id}/translate"), &body);
    assert_eq!((gone.status, gone.code().as_str()), (410, "session_gone"));
    assert_eq!(create().status, 201, "expired sessions make room");
    for id in ["x", "0123456789abcdef0123456789abcdef", "%00", "..%2f"] {
        assert_eq!(server.get(&format!("/v1/sessions/{id}")).status, 410, "{id}");
    }
}

#[test]
fn sessions_have_a_limit_in_bytes() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| settings.limits.session_bytes = 4_000);
    let id = server.post("/v1/sessions", &json!({})).json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{id}");
    let body = json!({"sentences": ["it is.", "it was."], "options": quick()});
    let refused = server.post(&format!("{path}/translate"), &body);
    assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"));
    assert!(refused.head.contains("retry-after: "), "{refused:?}");
    assert_eq!(server.get(&path).json()["sentences"], 0, "it is unchanged");
}

#[test]
fn nothing_is_mixed_between_sessions() {
    let fixture = Fixture::new();
    let translator = fixture.translator("de");
    let server = fixture.start(|_| {});
    std::thread::scope(|scope| {
        for key in 0..8 {
            let (server, translator) = (&server, &translator);
            scope.spawn(move || {
                let document = document(100 + key, 12);
                let context = [None, Some(1), Some(0)][key as usize % 3];
                let created = server.post("/v1/sessions", &json!({"context": context}));
                let id = created.json()["id"].as_str().unwrap().to_owned();
                let path = format!("/v1/sessions/{id}/translate");
                let (mut found, mut scores) = (Vec::new(), Vec::new());
                for part in document.chunks(1 + key as usize % 3) {
                    let body = json!({"sentences": part, "options": quick()});
                    let answer = server.post(&path, &body);
                    found.extend(answer.translations());
                    let own = answer.json()["scores"].take();
                    scores.extend(serde_json::from_value::<Vec<f64>>(own).unwrap());
                }
                let (texts, expected) = by_library_with_scores(translator, context, &document);
                assert_eq!(found, texts, "document {key}");
                let pairs = scores.iter().zip(&expected);
                assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-5), "document {key}");
                // Another document's memory would change the scores.
                let (_, alone) = by_library_with_scores(translator, Some(0), &document);
                let is_other = expected.iter().zip(&alone).any(|(a, b)| (a - b).abs() > 1e-4);
                assert_eq!(is_other, context != Some(0), "document {key}");
            });
        }
    });
}

#[test]
fn two_requests_for_one_document_do_not_mix() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let id = server.post("/v1/sessions", &json!({})).json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{id}/translate");
    let body = json!({"sentences": document(1, 8), "options": {"beam": 4, "max_length": 100}});
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| server.post(&path, &body))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap().status).collect()
    });
    statuses.sort_unstable();
    let done = statuses.iter().filter(|status| **status == 200).count();
    assert!(statuses.iter().all(|status| [200, 409].contains(status)), "{statuses:?}");
    let shown = server.get(&format!("/v1/sessions/{id}")).json();
    assert_eq!(shown["sentences"], 8 * done, "as many as were answered");
}

#[test]
fn shutdown_lets_requests_end_and_takes_no_new_ones() {
    let fixture = Fixture::new();
    let mut server = fixture.start(|_| {});
    let body = json!({"sentences": document(1, 16), "options": {"beam": 4, "max_length": 150}});
    let mut stream = server.connect();
    let headers = [("Content-Type", "application/json")];
    send(&mut stream, "POST", "/v1/translate", &headers, body.to_string().as_bytes());
    std::thread::sleep(Duration::from_millis(100));
    let address = server.address;
    server.stop();
    let answer = Answer::read(stream);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.translations().len(), 16);
    assert!(server.end(), "all requests ended");
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn a_shutdown_does_not_wait_forever() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| settings.limits.drain = Duration::from_millis(300));
    let mut stream = server.connect();
    let headers = [("Content-Type", "application/json")];
    send(&mut stream, "POST", "/v1/translate", &headers, slow(256).to_string().as_bytes());
    std::thread::sleep(Duration::from_millis(200));
    assert!(!server.end());
}
