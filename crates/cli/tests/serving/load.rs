//! Load: ten times the capacity, ten thousand requests, a very long document.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use abridge_model::{ModelConfig, ModelSize, Preset};
use serde_json::{Value, json};

use crate::process::{Process, request, serve, write_model_of};

/// A server gives unused memory back within five seconds of its last request.
const SETTLED: Duration = Duration::from_secs(12);

/// A model with as much memory as one trained on a laptop, so that a tenth and a hundredth of it
/// are more than the buffers of a few connections; with one layer, because memory matters here, not
/// speed.
pub fn write_small_model(path: &Path) {
    let small = Preset::Grouping.config(ModelSize::Small, 16_000, 8_000, 2);
    let config = ModelConfig { encoder_layers: 1, decoder_layers: 1, ..small };
    write_model_of(path, &sentences(50), &config);
}

/// Resident memory of a server with nothing to do, in KiB.
fn settled(server: &Process) -> f64 {
    std::thread::sleep(SETTLED);
    resident(server)
}

/// Resident memory of a process in KiB.
pub fn resident(server: &Process) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

pub fn sentences(count: usize) -> Vec<String> {
    let nouns = ["lamp", "river", "house", "street", "bread", "dog"];
    (0..count)
        .map(|i| format!("the {} saw the {}.", nouns[i % 6], nouns[(i * 5 + 1) % 6]))
        .collect()
}

fn body(count: usize) -> Value {
    json!({"sentences": sentences(count), "options": {"beam": 2, "max_length": 12}})
}

/// Clients that send requests until the time is over; returns how often each status came.
fn storm(server: &Process, clients: usize, time: Duration, count: usize) -> BTreeMap<u16, usize> {
    let statuses = Mutex::new(BTreeMap::new());
    let started = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..clients {
            let (statuses, body) = (&statuses, body(count));
            scope.spawn(move || {
                let mut number = 0;
                while started.elapsed() < time {
                    number += 1;
                    // Every tenth client leaves before the answer.
                    if client % 10 == 0 && number % 2 == 0 {
                        leave(server, &body);
                        continue;
                    }
                    let (status, _) = request(server, "POST", "/v1/translate", &body);
                    *statuses.lock().unwrap().entry(status).or_insert(0) += 1;
                }
            });
        }
    });
    statuses.into_inner().unwrap()
}

fn leave(server: &Process, body: &Value) {
    let Ok(mut stream) = TcpStream::connect(&server.address) else { return };
    let body = body.to_string();
    let head = "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
    let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    std::thread::sleep(Duration::from_millis(20));
}

#[test]
#[ignore = "takes minutes; .ci/run runs it"]
fn ten_times_overload_is_survived_without_a_leak() {
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    write_small_model(&model);
    let few = ["--max-at-work", "4", "--max-waiting", "8", "--max-wait", "0.3"];
    let server = serve(&model, &few);
    // Twelve clients fit, which is normal use. Then a hundred and twenty come.
    storm(&server, 12, Duration::from_secs(10), 16);
    let before = settled(&server);
    let statuses = storm(&server, 120, Duration::from_secs(30), 16);
    assert!(statuses.keys().all(|status| [200, 429, 503].contains(status)), "{statuses:?}");
    assert!(statuses.contains_key(&200) && statuses.contains_key(&429), "{statuses:?}");
    assert_eq!(request(&server, "POST", "/v1/translate", &body(2)).0, 200);
    let after = settled(&server);
    println!("{statuses:?}; {before} KiB before, {after} KiB after");
    assert!(after < before * 1.1, "{before} KiB before, {after} KiB after");
}

#[test]
#[ignore = "takes minutes; .ci/run runs it"]
fn ten_thousand_requests_and_a_document_of_ten_thousand_sentences_do_not_leak() {
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    write_small_model(&model);
    let server = serve(&model, &[]);
    let one = json!({"sentences": sentences(1), "options": {"beam": 1, "max_length": 4}});
    let ask = |count: usize| {
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..count / 16 {
                        assert_eq!(request(&server, "POST", "/v1/translate", &one).0, 200);
                    }
                });
            }
        });
    };
    let id =
        request(&server, "POST", "/v1/sessions", &json!({})).1["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{id}");
    let document = sentences(40_000);
    let mut sizes = Vec::new();
    let read = |part: &[String]| {
        let body = json!({"sentences": part, "options": {"beam": 1, "max_length": 4}});
        let (status, answer) = request(&server, "POST", &format!("{path}/translate"), &body);
        assert_eq!(status, 200, "{answer}");
        request(&server, "GET", &path, &Value::Null).1["bytes"].as_u64().unwrap()
    };
    // First as much of both kinds of work as is measured: then each thread's part of the allocator
    // has the pages that it needs, and any further growth is a leak.
    let (begun, rest) = document.split_at(10_000);
    ask(10_000);
    sizes.extend(begun.chunks(256).map(read));
    let mut levels = vec![settled(&server)];
    for _ in 0..3 {
        ask(10_000);
        levels.push(settled(&server));
    }
    println!("{levels:?} KiB after each ten thousand requests");
    assert_no_leak(&levels);
    let mut levels = vec![levels[3]];
    for part in rest.chunks(10_000) {
        sizes.extend(part.chunks(256).map(read));
        levels.push(settled(&server));
    }
    println!("{levels:?} KiB after each ten thousand sentences; the session took {sizes:?} bytes");
    assert_no_leak(&levels);
    let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
    assert!(most < 2 * least, "the session does not grow: {sizes:?}");
}

/// The memory before and after each of three rounds of work. Which thread does what is chance, and the
/// most that each has needed grows a little now and then; a leak grows in every round.
fn assert_no_leak(levels: &[f64]) {
    assert!(levels.windows(2).any(|pair| pair[1] < pair[0] * 1.01), "{levels:?} KiB");
    assert!(levels[3] < levels[0] * 1.02, "{levels:?} KiB");
}
