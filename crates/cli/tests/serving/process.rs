//! Servers as processes, and a plain client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use abridge_corpus::Tokenizer;
use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_model::weights::ModelDirectory;
use abridge_model::{ModelConfig, ModelSize, Preset};
use burn::tensor::Device;
use serde_json::Value;

/// A process that ends with its test.
pub struct Process {
    pub child: Child,
    pub address: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a Redis server that keeps nothing.
pub fn redis(directory: &Path, port: u16) -> Process {
    let child = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .arg("--dir")
        .arg(directory)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server runs (Debian: apt-get install redis-server)");
    listening("Redis", child, port)
}

/// Waits until a program answers at a port of this machine.
pub fn listening(name: &str, child: Child, port: u16) -> Process {
    let address = format!("127.0.0.1:{port}");
    let started = Instant::now();
    while TcpStream::connect(&address).is_err() {
        assert!(started.elapsed() < Duration::from_secs(20), "{name} does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
    Process { child, address }
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts `abridge serve` with one thread.
pub fn serve(model: &Path, more: &[&str]) -> Process {
    serve_at("127.0.0.1:0", model, more)
}

/// The same at an address.
pub fn serve_at(listen: &str, model: &Path, more: &[&str]) -> Process {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("abridge"))
        .args(["serve", "--listen", listen, "--threads", "1", "--model"])
        .arg(model)
        .args(more)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address =
        line.trim().strip_prefix("listening on http://").unwrap_or_else(|| panic!("{line}"));
    Process { address: address.to_owned(), child }
}

/// A request and its answer; status 0 if the connection broke.
pub fn request(server: &Process, method: &str, path: &str, body: &Value) -> (u16, Value) {
    request_with(server, "", method, path, body)
}

/// The same with a key.
pub fn request_with(
    server: &Process,
    key: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> (u16, Value) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let body = body.to_string();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-API-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    // A server that is killed leaves half an answer.
    let _ = stream.read_to_string(&mut text);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// A value from `/metrics`; 0 if it is not there yet.
pub fn metric(server: &Process, name: &str) -> u64 {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let text = std::io::read_to_string(stream).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0, |count| count.trim().parse().unwrap())
}

/// A tiny model with random weights whose tokenizer knows the sentences.
pub fn write_model(path: &Path, sentences: &[String]) {
    let tiny = Preset::Grouping.config(ModelSize::Tiny, 60, 60, 2);
    let config = ModelConfig { width: 16, heads: 2, feed_forward: 24, ..tiny };
    write_model_of(path, sentences, &config);
}

/// The same of any size.
pub fn write_model_of(path: &Path, sentences: &[String], config: &ModelConfig) {
    let settings = TrainSettings { vocabulary_size: 36, ..TrainSettings::default() };
    let tokenizer = Tokenizer::train(&count_words(sentences, 1), settings, &mut |_| {}).unwrap();
    let model = config.init(7, &Device::flex()).unwrap();
    ModelDirectory::write(path, &model, [].into(), |folder| {
        tokenizer.save(folder, "source").unwrap();
        tokenizer.save(folder, "target").unwrap();
        Ok::<(), abridge_model::Error>(())
    })
    .unwrap();
}
