//! Two servers with one Redis server: either of them can continue any document.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use abridge_translate::{BeamSettings, Translation, Translator};
use burn::tensor::Device;
use serde_json::{Value, json};

use crate::process::{self, Process, request, request_with, serve, write_model};

#[test]
#[ignore = "needs redis-server; .ci/run runs it"]
fn a_replica_takes_over_from_a_killed_one() {
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    let nouns = ["lamp", "river", "house", "street", "bread", "dog"];
    let document: Vec<String> = (0..24)
        .map(|i| {
            format!("the {} saw the {} and it was {}.", nouns[i % 6], nouns[(i * 5 + 1) % 6], i % 7)
        })
        .collect();
    write_model(&model, &document);
    let mut redis = process::redis(directory.path(), process::free_port());
    let place = format!("redis://{}/0", redis.address);
    let shared = |more: &[&str]| serve(&model, &[&["--sessions", &place], more].concat());
    let (first, second) = (shared(&[]), shared(&[]));

    let translator = Translator::open(&model, &Device::flex()).unwrap();
    let mut session = translator.session(None).unwrap();
    let settings = BeamSettings { beam: 2, max_length: 8, ..BeamSettings::default() };
    let expected = translator.translate_next(&mut session, &document, &settings).unwrap();
    let expected: Vec<String> = expected.into_iter().map(Translation::into_text).collect();

    let (status, created) = request(&first, "POST", "/v1/sessions", &json!({}));
    assert_eq!(status, 201, "{created}");
    let path = format!("/v1/sessions/{}", created["id"].as_str().unwrap());
    let options = json!({"beam": 2, "max_length": 8});
    let next = |server: &Process, from: usize, to: usize| -> Vec<String> {
        let body = json!({"sentences": &document[from..to], "options": options});
        let (status, answer) = request(server, "POST", &format!("{path}/translate"), &body);
        assert_eq!(status, 200, "{answer}");
        serde_json::from_value(answer["translations"].clone()).unwrap()
    };
    let mut found = next(&first, 0, 5);
    found.extend(next(&second, 5, 9));
    found.extend(next(&first, 9, 13));

    // In the middle of a request that would take long, the first one is killed.
    let slow = json!({"sentences": &document, "options": {"beam": 16, "max_length": 1000}});
    let mut stream = TcpStream::connect(&first.address).unwrap();
    let body = slow.to_string();
    write!(
        stream,
        "POST {path}/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    drop(first);
    found.extend(next(&second, 13, 24));
    assert_eq!(found, expected);
    let (_, shown) = request(&second, "GET", &path, &Value::Null);
    assert_eq!(shown["sentences"], 24);

    // Two requests at once for one document: exactly as many sentences as were answered.
    let body = json!({"sentences": &document[..4], "options": options});
    let third = shared(&[]);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let ask = |server| {
            let (path, body) = (format!("{path}/translate"), &body);
            scope.spawn(move || request(server, "POST", &path, body).0)
        };
        [ask(&second), ask(&third)].map(|thread| thread.join().unwrap()).into()
    });
    assert!(statuses.iter().all(|status| [200, 409].contains(status)), "{statuses:?}");
    let done = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(request(&third, "GET", &path, &Value::Null).1["sentences"], 24 + 4 * done);

    // Limits hold over all replicas, and sessions expire by themselves.
    let few = shared(&["--max-sessions", "2", "--session-life", "1"]);
    let short =
        request(&few, "POST", "/v1/sessions", &json!({})).1["id"].as_str().unwrap().to_owned();
    assert_eq!(request(&few, "POST", "/v1/sessions", &json!({})).0, 503);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(request(&second, "GET", &format!("/v1/sessions/{short}"), &Value::Null).0, 410);
    assert_eq!(request(&few, "POST", "/v1/sessions", &json!({})).0, 201);
    assert_eq!(request(&second, "DELETE", &path, &Value::Null).0, 204);
    assert_eq!(request(&third, "GET", &path, &Value::Null).0, 410);

    // While Redis is down, no session continues without its memory; afterwards everything works
    // again.
    redis.child.kill().unwrap();
    redis.child.wait().unwrap();
    assert_eq!(request(&second, "GET", "/readyz", &Value::Null).0, 503);
    assert_eq!(request(&second, "POST", "/v1/sessions", &json!({})).0, 503);
    let alone = json!({"sentences": ["it was."], "options": options});
    assert_eq!(request(&second, "POST", "/v1/translate", &alone).0, 200);
    let port = redis.address.rsplit(':').next().unwrap().parse().unwrap();
    let _again = process::redis(directory.path(), port);
    // The server asks again once a second.
    let is_ready = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        request(&second, "GET", "/readyz", &Value::Null).0 == 200
    });
    assert!(is_ready);
}

#[test]
#[ignore = "needs redis-server; .ci/run runs it"]
fn a_session_in_redis_belongs_to_its_key() {
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    write_model(&model, &["it was a lamp.".to_owned(), "the river saw it.".to_owned()]);
    let (mine, yours) = ("mine-0123456789abcdef", "yours-0123456789abcdef");
    let keys = directory.path().join("keys");
    std::fs::write(&keys, format!("{mine}\n{yours}\n")).unwrap();
    let redis = process::redis(directory.path(), process::free_port());
    let place = format!("redis://{}/0", redis.address);
    let shared = ["--sessions", &place, "--max-sessions", "8"];
    let keyed = || serve(&model, &[&shared[..], &["--keys", keys.to_str().unwrap()]].concat());
    let (first, second, open) = (keyed(), keyed(), serve(&model, &shared));
    let begin =
        |server: &Process, key: &str| request_with(server, key, "POST", "/v1/sessions", &json!({}));
    let (status, created) = begin(&first, mine);
    assert_eq!(status, 201, "{created}");
    let path = format!("/v1/sessions/{}", created["id"].as_str().unwrap());
    for (server, key) in [(&first, yours), (&second, yours), (&open, "")] {
        let next = json!({"sentences": ["it was."], "options": {"beam": 1, "max_length": 4}});
        for (method, path, body) in [
            ("GET", path.clone(), &Value::Null),
            ("POST", format!("{path}/translate"), &next),
            ("DELETE", path.clone(), &Value::Null),
        ] {
            assert_eq!(request_with(server, key, method, &path, body).0, 410, "{key} {method}");
        }
    }
    assert_eq!(request_with(&second, mine, "GET", &path, &Value::Null).0, 200);
    // A quarter of eight, over all replicas.
    assert_eq!((begin(&second, mine).0, begin(&first, mine).0), (201, 503));
    assert_eq!(begin(&first, yours).0, 201);
    assert_eq!(request_with(&second, mine, "DELETE", &path, &Value::Null).0, 204);
    assert_eq!(begin(&first, mine).0, 201, "there is room again");
}
