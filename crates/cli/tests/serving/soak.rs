//! A server under mixed load for a long time, run by hand: `.ci/soak MINUTES`.
//!
//! One key works hard: documents in sessions, files, streams, the largest requests. Another sends single
//! sentences. Other clients send invalid requests, or open connections and send nothing. Redis
//! restarts. All on loopback, at a bounded rate, and every translation is compared with the
//! expected one. Now and then the load pauses, and the single sentences are measured alone.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use abridge_translate::{BeamSettings, Translation, Translator};
use burn::tensor::Device;
use serde_json::{Value, json};

use crate::load::{resident, sentences, write_small_model};
use crate::process::{self, Process, serve};

const HARD: &str = "hard-0123456789abcdef";
const SINGLE: &str = "single-0123456789abcdef";
/// Load, then a pause in which the single sentences are alone.
const ROUND: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_secs(15);

/// What happened, by kind of request and status; 0 if a connection broke.
type Counts = BTreeMap<(&'static str, u16), usize>;

struct Soak {
    server: Process,
    document: Vec<String>,
    /// The translations of the document.
    expected: Vec<String>,
    /// The same as a file, which has other settings.
    expected_file: String,
    /// The translation of the first sentence alone.
    expected_single: String,
    counts: Mutex<Counts>,
    is_over: AtomicBool,
    is_paused: AtomicBool,
}

/// Ends the load when a check fails: the threads would go on forever otherwise, and the test with
/// them.
struct EndOnPanic<'a>(&'a AtomicBool);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl Soak {
    fn ask(
        &self,
        kind: &'static str,
        key: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> (u16, String) {
        let answer = self.try_to_ask(key, method, path, body).unwrap_or((0, String::new()));
        self.note(kind, answer.0);
        answer
    }

    fn note(&self, kind: &'static str, status: u16) {
        *self.counts.lock().unwrap().entry((kind, status)).or_insert(0) += 1;
    }

    fn try_to_ask(
        &self,
        key: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> std::io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(&self.server.address)?;
        stream.set_read_timeout(Some(Duration::from_mins(2)))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-API-Key: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let text = std::io::read_to_string(stream)?;
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Ok((status, body.to_owned()))
    }

    /// Repeats an action, at most once per `every`, while there is load.
    fn while_loaded(&self, every: Duration, mut act: impl FnMut(usize)) {
        let _end = EndOnPanic(&self.is_over);
        let mut number = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            let started = Instant::now();
            if !self.is_paused.load(Ordering::Relaxed) {
                act(number);
                number += 1;
            }
            std::thread::sleep(every.saturating_sub(started.elapsed()));
        }
    }

    fn options() -> Value {
        json!({"beam": 2, "max_length": 12})
    }

    fn check(&self, kind: &str, from: usize, found: &Value) {
        let expected = &self.expected[from..from + found.as_array().map_or(0, Vec::len)];
        assert_eq!(*found, json!(expected), "{kind}: lost or mixed");
    }

    /// A document in several requests. While Redis is down it waits; if Redis has lost the session,
    /// it starts over.
    fn session(&self, number: usize) {
        let (status, created) = self.ask("session", HARD, "POST", "/v1/sessions", "{}");
        if status != 201 {
            return;
        }
        let created: Value = serde_json::from_str(&created).unwrap();
        let path = format!("/v1/sessions/{}", created["id"].as_str().unwrap());
        let mut from = 0;
        while from < self.document.len() {
            let to = self.document.len().min(from + 1 + number % 7);
            let body = json!({"sentences": &self.document[from..to], "options": Self::options()});
            let (status, answer) =
                self.ask("session", HARD, "POST", &format!("{path}/translate"), &body.to_string());
            match status {
                200 => {
                    let answer: Value = serde_json::from_str(&answer).unwrap();
                    self.check("session", from, &answer["translations"]);
                    from = to;
                }
                503 if !self.is_over.load(Ordering::Relaxed) => {
                    std::thread::sleep(Duration::from_millis(500));
                }
                _ => return,
            }
        }
        self.ask("session", HARD, "DELETE", &path, "");
    }

    fn stream(&self) {
        let body = json!({"sentences": self.document, "options": Self::options(), "stream": true})
            .to_string();
        let (status, events) = self.ask("stream", HARD, "POST", "/v1/translate", &body);
        if status == 200 {
            let data = |line: &str| serde_json::from_str(line.strip_prefix("data: ")?).ok();
            let data: Vec<Value> = events.lines().filter_map(data).collect();
            let last = data.last().unwrap();
            // The key's own large requests may make it miss its deadline.
            if last["error"]["code"] == "timeout" {
                self.note("stream", 504);
                return;
            }
            self.check("stream", 0, &last["translations"]);
        }
    }

    fn file(&self) {
        let text = self.document.join("\n");
        let path = "/v1/files?name=a.txt&format=lines&beam=2";
        let (status, lines) = self.ask("file", HARD, "POST", path, &text);
        if status == 200 {
            assert_eq!(lines, self.expected_file, "file: lost or mixed");
        }
    }

    /// The largest request that is allowed; it ends at its deadline.
    fn large(&self) {
        let sentence = sentences(1)[0].repeat(40);
        let options = json!({"beam": 16, "max_length": 1024});
        let body = json!({"sentences": vec![sentence; 256], "options": options}).to_string();
        self.ask("large", HARD, "POST", "/v1/translate", &body);
    }

    /// Invalid requests and misbehaving clients.
    fn bad(&self, number: usize) {
        let large = json!({"sentences": vec!["a"; 300]}).to_string();
        match number % 6 {
            0 => drop(self.ask("bad", HARD, "POST", "/v1/translate", "{\"sentences\": [")),
            1 => drop(self.ask("bad", HARD, "POST", "/v1/translate", &large)),
            2 => drop(self.ask("bad", "wrong-0123456789abcdef", "POST", "/v1/translate", &large)),
            3 => drop(self.ask(
                "bad",
                HARD,
                "GET",
                "/v1/sessions/0123456789abcdef0123456789abcdef",
                "",
            )),
            4 => {
                // Leaves in the middle of a stream.
                let body = json!({"sentences": self.document, "stream": true}).to_string();
                let Ok(mut stream) = TcpStream::connect(&self.server.address) else { return };
                let _ = write!(
                    stream,
                    "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {HARD}\r\n\
                     Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.read(&mut [0; 100]);
            }
            _ => {
                // Opens connections and sends half a request line.
                let strangers: Vec<_> = (0..50)
                    .filter_map(|_| {
                        let mut stream = TcpStream::connect(&self.server.address).ok()?;
                        stream.write_all(b"GET /livez HT").ok()?;
                        Some(stream)
                    })
                    .collect();
                std::thread::sleep(Duration::from_millis(200));
                drop(strangers);
            }
        }
    }

    /// The single sentences, and how long each took.
    fn single(&self, time: Duration) -> Vec<Duration> {
        let started = Instant::now();
        let mut latencies = Vec::new();
        let body =
            json!({"sentences": &self.document[..1], "options": {"beam": 5, "max_length": 20}});
        let body = body.to_string();
        while started.elapsed() < time {
            let sent = Instant::now();
            let (status, answer) = self.ask("single", SINGLE, "POST", "/v1/translate", &body);
            latencies.push(sent.elapsed());
            assert_eq!(status, 200, "{answer}");
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["translations"], json!([self.expected_single]), "single: mixed");
            std::thread::sleep(Duration::from_millis(100).saturating_sub(sent.elapsed()));
        }
        latencies
    }
}

/// A quantile of the latencies, in ms.
fn at(latencies: &mut [Duration], share: f64) -> f64 {
    latencies.sort_unstable();
    let place = (latencies.len().saturating_sub(1) as f64 * share).round() as usize;
    latencies.get(place).map_or(0.0, |latency| latency.as_secs_f64() * 1000.0)
}

#[test]
#[ignore = "runs for a given time; run it with .ci/soak MINUTES"]
fn a_server_bears_mixed_load() {
    let minutes: f64 =
        std::env::var("ABRIDGE_SOAK_MINUTES").map_or(2.0, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    write_small_model(&model);
    let keys = directory.path().join("keys");
    std::fs::write(&keys, format!("hard: {HARD}\nsingle: {SINGLE}\n")).unwrap();
    let port = process::free_port();
    let mut redis = Some(process::redis(directory.path(), port));
    let place = format!("redis://127.0.0.1:{port}/0");
    let server = serve(
        &model,
        &["--sessions", &place, "--keys", keys.to_str().unwrap(), "--deadline", "30"],
    );

    let document = sentences(24);
    let translator = Translator::open(&model, &Device::flex()).unwrap();
    let translate = |sentences: &[String], beam: usize, max_length: Option<usize>| {
        let own = translator.default_search();
        let max_length = max_length.unwrap_or(own.max_length);
        let settings = BeamSettings { beam, max_length, ..own.clone() };
        let mut session = translator.session(None).unwrap();
        let translations = translator.translate_next(&mut session, sentences, &settings).unwrap();
        translations.into_iter().map(Translation::into_text).collect::<Vec<String>>()
    };
    let expected = translate(&document, 2, Some(12));
    let expected_file = translate(&document, 2, None).join("\n");
    let expected_single = translate(&document[..1], 5, Some(20)).concat();
    drop(translator);
    let soak = Soak {
        server,
        document,
        expected,
        expected_file,
        expected_single,
        counts: Mutex::default(),
        is_over: AtomicBool::new(false),
        is_paused: AtomicBool::new(true),
    };
    let (mut quiet, mut loaded, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    soak.single(Duration::from_secs(5));
    let mut rounds = 0;
    std::thread::scope(|scope| {
        let _end = EndOnPanic(&soak.is_over);
        let soak = &soak;
        let second = Duration::from_secs(1);
        scope.spawn(move || soak.while_loaded(second / 4, |number| soak.session(number)));
        scope.spawn(move || soak.while_loaded(second / 4, |number| soak.session(number + 3)));
        scope.spawn(move || soak.while_loaded(second, |_| soak.stream()));
        scope.spawn(move || soak.while_loaded(second, |_| soak.file()));
        scope.spawn(move || soak.while_loaded(second, |_| soak.large()));
        scope.spawn(move || soak.while_loaded(second / 5, |number| soak.bad(number)));
        let started = Instant::now();
        let is_over = || soak.is_over.load(Ordering::Relaxed);
        while started.elapsed().as_secs_f64() < minutes * 60.0 && !is_over() {
            soak.is_paused.store(false, Ordering::Relaxed);
            loaded.extend(soak.single(ROUND / 2));
            // Redis restarts in the middle of the load, and has forgotten everything.
            drop(redis.take());
            loaded.extend(soak.single(Duration::from_secs(3)));
            redis = Some(process::redis(directory.path(), port));
            loaded.extend(soak.single(ROUND / 2));
            soak.is_paused.store(true, Ordering::Relaxed);
            // Running requests end at their deadline.
            std::thread::sleep(Duration::from_secs(32));
            quiet.extend(soak.single(PAUSE));
            memory.push(resident(&soak.server));
            rounds += 1;
            println!("round {rounds}: {} KiB", memory[rounds - 1]);
        }
        soak.is_over.store(true, Ordering::Relaxed);
    });
    println!("{:#?}", soak.counts.lock().unwrap());
    let [alone, shared] = [&mut quiet, &mut loaded].map(|latencies| {
        let all = latencies.len();
        [at(latencies, 0.5), at(latencies, 0.99), at(latencies, 1.0), all as f64]
    });
    println!(
        "single sentences alone: p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms, {}",
        alone[0], alone[1], alone[2], alone[3]
    );
    println!(
        "under load: p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms, {}",
        shared[0], shared[1], shared[2], shared[3]
    );
    println!("p99 under load is {:.2} times that alone", shared[1] / alone[1]);
    let statuses: Vec<u16> =
        soak.counts.lock().unwrap().keys().map(|(_, status)| *status).collect();
    let known = [200, 201, 204, 400, 401, 409, 410, 413, 429, 503, 504];
    assert!(statuses.iter().all(|status| known.contains(status)), "{statuses:?}");
    let count = |kind, status| soak.counts.lock().unwrap().get(&(kind, status)).copied();
    for kind in ["session", "stream", "file", "single"] {
        // A stream that misses its deadline has begun with 200.
        let late = if kind == "stream" { count(kind, 504) } else { None };
        let served = count(kind, 200).unwrap_or(0) - late.unwrap_or(0);
        assert!(served >= rounds, "{kind}: only {served} answers in {rounds} rounds");
    }
    // The documents of whole sessions, which are deleted at their end.
    let ended = count("session", 204).unwrap_or(0);
    assert!(ended >= rounds, "only {ended} whole documents in {rounds} rounds");
    // The first round warms it up.
    if let [_, first, .., last] = memory[..] {
        println!("{first} KiB after the second round, {last} KiB after the last");
        assert!(last < first * 1.05, "memory grew");
    }
    assert!(shared[1] < 3.0 * alone[1], "single sentences waited for the large ones");
}
