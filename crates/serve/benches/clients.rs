//! Requests per second and latency at 1, 8 and 64 clients, with and without batching across requests.
//!
//! A small model with random weights, over loopback. Each client has its own session and sends one
//! sentence per request. Translations have 20 tokens (a random network never ends one by itself).
//!
//! ```sh
//! cargo bench --workspace --bench clients
//! ```
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use abridge_corpus::Tokenizer;
use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_model::{ModelSize, Preset};
use abridge_serve::{Keys, Models, ServeSettings, Served};
use abridge_translate::Translator;
use burn::tensor::Device;
use common::{Running, document};
use serde_json::json;

/// The duration of each measurement.
const TIME: Duration = Duration::from_secs(10);
const VOCABULARY: usize = 8000;

fn models() -> Models {
    let settings = TrainSettings { vocabulary_size: 60, ..TrainSettings::default() };
    let words = count_words(&document(1, 200), 1);
    let tokenizer = Tokenizer::train(&words, settings, &mut |_| {}).unwrap();
    let config = Preset::Grouping.config(ModelSize::Small, VOCABULARY, VOCABULARY, 3);
    let model = config.init(7, &Device::flex()).unwrap();
    let translator = Translator::new(model, tokenizer.clone(), tokenizer, "bench").unwrap();
    Models::new(vec![Served { name: "bench".into(), translator }]).unwrap()
}

/// Request latencies of clients that each send one request after another.
fn measure(server: &Running, clients: usize) -> Vec<Duration> {
    let started = Instant::now();
    let mut latencies: Vec<Duration> = std::thread::scope(|scope| {
        let client = |key: usize| {
            let created = server.post("/v1/sessions", &json!({})).json();
            let path = format!("/v1/sessions/{}/translate", created["id"].as_str().unwrap());
            let options = json!({"beam": 5, "max_length": 20});
            let mut latencies = Vec::new();
            for sentence in document(key as u64, 10_000) {
                if started.elapsed() > TIME {
                    break;
                }
                let sent = Instant::now();
                let body = json!({"sentences": [sentence], "options": options});
                assert_eq!(server.post(&path, &body).status, 200);
                latencies.push(sent.elapsed());
            }
            server.request("DELETE", path.trim_end_matches("/translate"), &[], b"");
            latencies
        };
        let threads: Vec<_> = (0..clients).map(|key| scope.spawn(move || client(key))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    latencies.sort_unstable();
    latencies
}

fn main() {
    println!("| clients | batching | requests/s | p50 ms | p95 ms | p99 ms |");
    println!("| ---: | --- | ---: | ---: | ---: | ---: |");
    for clients in [1, 8, 64] {
        for (name, together) in [("off", 1), ("on", ServeSettings::default().together)] {
            let listen = "127.0.0.1:0".parse().unwrap();
            let settings = ServeSettings { listen, together, ..ServeSettings::default() };
            let server = Running::new(models(), Keys::default(), settings);
            let started = Instant::now();
            let latencies = measure(&server, clients);
            let rate = latencies.len() as f64 / started.elapsed().as_secs_f64();
            let at = |share: f64| {
                let place = ((latencies.len() - 1) as f64 * share).round() as usize;
                latencies[place].as_secs_f64() * 1000.0
            };
            let (half, most, nearly_all) = (at(0.5), at(0.95), at(0.99));
            println!(
                "| {clients} | {name} | {rate:.1} | {half:.0} | {most:.0} | {nearly_all:.0} |"
            );
        }
    }
}
