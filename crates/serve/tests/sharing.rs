//! Two keys share a server: neither locks the other out, and neither sees the other's documents.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use common::{Answer, Fixture, Running, document, quick, send};
use serde_json::{Value, json};

const KEYS: &str = "large: large-0123456789\nsmall: small-0123456789";
const LARGE: (&str, &str) = ("X-API-Key", "large-0123456789");
const SMALL: (&str, &str) = ("X-API-Key", "small-0123456789");
const JSON: (&str, &str) = ("Content-Type", "application/json");

fn post(server: &Running, key: (&str, &str), path: &str, body: &Value) -> Answer {
    server.request("POST", path, &[JSON, key], body.to_string().as_bytes())
}

/// Sends a request and reads nothing.
fn begin(server: &Running, key: (&str, &str), body: &Value) -> TcpStream {
    let mut stream = server.connect();
    send(&mut stream, "POST", "/v1/translate", &[JSON, key], body.to_string().as_bytes());
    stream
}

/// Reads until the text is there, and returns all that came.
fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut read = Vec::new();
    let mut buffer = [0; 1 << 12];
    while !String::from_utf8_lossy(&read).contains(text) {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the stream ended: {}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// Everything that has come so far.
fn read_so_far(stream: &mut TcpStream) -> String {
    stream.set_nonblocking(true).unwrap();
    let (mut read, mut buffer) = (Vec::new(), [0; 1 << 12]);
    while let Ok(count) = stream.read(&mut buffer) {
        assert!(count > 0, "the stream ended");
        read.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

#[test]
fn a_single_sentence_does_not_wait_for_a_large_request() {
    let fixture = Fixture::new();
    let server = fixture.start_with_keys(KEYS, |settings| settings.threads = 1);
    // A random network never ends a sentence: each of these takes a thousand steps of sixteen
    // hypotheses, and several of them form one batch.
    let options = json!({"beam": 16, "max_length": 1000});
    let body = json!({"sentences": document(1, 256), "options": options, "stream": true});
    let mut large = begin(&server, LARGE, &body);
    let mut events = read_until(&mut large, "event: start");
    let body = json!({"sentences": ["it is."], "options": quick()});
    for _ in 0..3 {
        assert_eq!(post(&server, SMALL, "/v1/translate", &body).status, 200);
    }
    events.push_str(&read_so_far(&mut large));
    let sentences = events.matches("event: sentence").count();
    assert!(sentences <= 2, "{sentences} sentences of the large request came first");
}

#[test]
fn interrupted_work_gives_the_same_translations() {
    let fixture = Fixture::new();
    let server = fixture.start_with_keys(KEYS, |settings| settings.threads = 2);
    let document = document(3, 60);
    let expected = common::by_library(&fixture.translator("de"), None, &document);
    let ask = |key: (&str, &str), sentences: &[String]| {
        let body = json!({"sentences": sentences, "options": quick()});
        post(&server, key, "/v1/translate", &body).translations()
    };
    std::thread::scope(|scope| {
        let whole: Vec<_> =
            (0..4).map(|_| scope.spawn(|| assert_eq!(ask(LARGE, &document), expected))).collect();
        for _ in 0..40 {
            assert_eq!(ask(SMALL, &document[..1]), expected[..1]);
        }
        for thread in whole {
            thread.join().unwrap();
        }
    });
}

#[test]
fn responses_are_bounded_before_the_work_begins() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let sentence = "the old lamp is broken. ".repeat(40);
    let body = |count: usize, options: Value, stream: bool| {
        let sentences = vec![sentence.as_str(); count];
        json!({"sentences": sentences, "options": options, "stream": stream})
    };
    // The response would have more than a gigabyte.
    let all = json!({"attention": true, "max_length": 1024, "beam": 1});
    let refused = server.post("/v1/translate", &body(64, all, false));
    assert_eq!((refused.status, refused.code().as_str()), (413, "too_large"), "{refused:?}");
    assert!(refused.body.contains("stream"), "{refused:?}");
    let plain = json!({"max_length": 2, "beam": 1});
    assert_eq!(server.post("/v1/translate", &body(64, plain, false)).status, 200);

    // What is too large for one response can be streamed.
    let server = fixture.start(|settings| settings.limits.answer = 150_000);
    let some = json!({"attention": true, "max_length": 8, "beam": 1});
    let sentences = document(1, 30);
    let body = |stream: bool| json!({"sentences": sentences, "options": some, "stream": stream});
    assert_eq!(server.post("/v1/translate", &body(false)).status, 413);
    let events = server.post("/v1/translate", &body(true)).events();
    assert_eq!(events.len(), 32, "start, thirty sentences, done");
    for (_, data) in &events[1..31] {
        assert!(!data["attention"]["source"].as_array().unwrap().is_empty(), "{data}");
    }
    let one = json!({"sentences": [sentence], "options": {"attention": true}, "stream": true});
    let refused = server.post("/v1/translate", &one);
    assert_eq!((refused.status, refused.json()["error"]["index"].clone()), (413, json!(0)));
}

#[test]
fn unread_streams_lock_nobody_out() {
    let fixture = Fixture::new();
    let server = fixture.start_with_keys(KEYS, |settings| {
        settings.limits.at_work = 4;
        settings.limits.wait = Duration::from_secs(30);
        settings.limits.stall = Duration::from_secs(2);
    });
    // Each is far larger than the buffers of the socket and the server.
    let sentence = "the old lamp is broken. ".repeat(40);
    let options = json!({"beam": 1, "max_length": 250, "attention": true});
    let body = json!({"sentences": vec![sentence; 40], "options": options, "stream": true});
    let deaf: Vec<TcpStream> = (0..4).map(|_| begin(&server, LARGE, &body)).collect();
    let quick = json!({"sentences": ["it is."], "options": quick()});
    let answer = post(&server, SMALL, "/v1/translate", &quick);
    assert_eq!(answer.status, 200, "half of the slots are for others: {answer:?}");
    // A client that does not read loses its slots, which its own requests can then use.
    let answer = post(&server, LARGE, "/v1/translate", &quick);
    assert_eq!(answer.status, 200, "{answer:?}");
    drop(deaf);
}

#[test]
fn a_session_belongs_to_its_key() {
    let fixture = Fixture::new();
    let server = fixture.start_with_keys(KEYS, |_| {});
    let created = post(&server, LARGE, "/v1/sessions", &json!({}));
    assert_eq!(created.status, 201, "{created:?}");
    let path = format!("/v1/sessions/{}", created.json()["id"].as_str().unwrap());
    let next = json!({"sentences": ["it is."], "options": quick()});
    let translate = format!("{path}/translate");
    for answer in [
        server.request("GET", &path, &[SMALL], b""),
        post(&server, SMALL, &translate, &next),
        server.request("DELETE", &path, &[SMALL], b""),
    ] {
        assert_eq!((answer.status, answer.code().as_str()), (410, "session_gone"));
    }
    assert_eq!(post(&server, LARGE, &translate, &next).status, 200);
    assert_eq!(server.request("GET", &path, &[LARGE], b"").json()["sentences"], 1);
    assert_eq!(server.request("DELETE", &path, &[LARGE], b"").status, 204);
}

#[test]
fn one_key_takes_a_quarter_of_the_sessions() {
    let fixture = Fixture::new();
    let server = fixture.start_with_keys(KEYS, |settings| settings.limits.sessions = 8);
    let create = |key| post(&server, key, "/v1/sessions", &json!({}));
    assert_eq!((create(LARGE).status, create(LARGE).status), (201, 201));
    let full = create(LARGE);
    assert_eq!((full.status, full.code().as_str()), (503, "unavailable"));
    assert!(full.body.contains("you have 2 sessions"), "{full:?}");
    assert_eq!(create(SMALL).status, 201);
    let own = server.request("GET", "/info", &[SMALL], b"").json()["limits"]["own"].clone();
    assert_eq!(own["sessions"], 2);
}

#[test]
fn connections_without_a_key_lock_nobody_out() {
    let fixture = Fixture::new();
    let server = fixture.start_with_keys(KEYS, |settings| settings.limits.connections = 8);
    // Idle ones after a public response; half a request; many unread responses.
    let public = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let strangers: Vec<TcpStream> = (0..30)
        .map(|number| {
            let mut stream = server.connect();
            let sent = match number % 3 {
                0 => public.to_owned(),
                1 => "POST /v1/translate HT".to_owned(),
                _ => public.repeat(500),
            };
            let _ = stream.write_all(sent.as_bytes());
            stream
        })
        .collect();
    let body = json!({"sentences": ["it is."], "options": quick()});
    for key in [SMALL, LARGE] {
        let answer = post(&server, key, "/v1/translate", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    drop(strangers);
}

#[test]
fn idle_connections_give_way_where_there_are_no_keys() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| settings.limits.connections = 4);
    let idle: Vec<TcpStream> = (0..10)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            read_until(&mut stream, "alive");
            stream
        })
        .collect();
    assert_eq!(server.get("/livez").status, 200);
    drop(idle);
}

#[test]
fn compressed_bodies_are_explained() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0];
    let encoded = ("Content-Encoding", "gzip");
    let form = [
        b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.gz\"\r\n\r\n"
            .as_slice(),
        &gzip,
        b"\r\n--b--\r\n",
    ]
    .concat();
    let multipart = ("Content-Type", "multipart/form-data; boundary=b");
    let plain = ("Content-Type", "text/plain");
    for (path, headers, body) in [
        ("/v1/translate", vec![JSON, encoded], &gzip[..]),
        ("/v1/translate", vec![JSON], &gzip[..]),
        ("/v1/files?name=a.txt.gz", vec![plain], &gzip[..]),
        ("/v1/files", vec![multipart], &form[..]),
        ("/translate", vec![JSON, encoded], &gzip[..]),
    ] {
        let answer = server.request("POST", path, &headers, body);
        assert_eq!(answer.status, 415, "{path}: {answer:?}");
        assert!(answer.body.contains("the body is compressed"), "{path}: {answer:?}");
    }
}
