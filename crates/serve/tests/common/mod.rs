//! A server with small models on its own socket, and a plain client.
#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../translate/tests/common/mod.rs"]
pub mod small;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use abridge_model::weights::ModelDirectory;
use abridge_model::{ModelConfig, ModelSize, Preset};
use abridge_serve::{Keys, Limits, Models, ServeSettings, Served, Server};
use abridge_translate::{BeamSettings, Translator};
use burn::tensor::Device;
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub use small::document;

/// Writes a small model with random weights.
pub fn write_model(path: &Path, preset: Preset, context_size: usize, languages: &str, seed: u64) {
    let tokenizer = small::tokenizer();
    let config = ModelConfig {
        width: 16,
        heads: 2,
        feed_forward: 24,
        ..preset.config(ModelSize::Tiny, 60, 60, context_size)
    };
    let model = config.init(seed, &Device::flex()).unwrap();
    let provenance = [("languages".to_owned(), languages.to_owned())].into();
    ModelDirectory::write(path, &model, provenance, |folder| {
        tokenizer.save(folder, "source").unwrap();
        tokenizer.save(folder, "target").unwrap();
        Ok::<(), abridge_model::Error>(())
    })
    .unwrap();
}

/// Two models: English to German with a memory of two sentences, English to French without memory.
pub struct Fixture {
    pub directory: tempfile::TempDir,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with_seed(7)
    }

    pub fn with_seed(seed: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        write_model(&directory.path().join("de"), Preset::Grouping, 2, "en-de", seed);
        write_model(&directory.path().join("fr"), Preset::Sentence, 0, "en-fr", seed);
        Self { directory }
    }

    pub fn translator(&self, language: &str) -> Translator {
        let path = self.directory.path().join(language);
        Translator::open(&path, &Device::flex()).unwrap().with_threads(1).unwrap()
    }

    pub fn models(&self) -> Models {
        let served =
            |name: &str| Served { name: format!("en-{name}"), translator: self.translator(name) };
        Models::new(vec![served("de"), served("fr")]).unwrap()
    }

    pub fn start(&self, change: impl FnOnce(&mut ServeSettings)) -> Running {
        self.start_with_keys("", change)
    }

    pub fn start_with_keys(&self, keys: &str, change: impl FnOnce(&mut ServeSettings)) -> Running {
        let mut settings = ServeSettings {
            listen: "127.0.0.1:0".parse().unwrap(),
            threads: 2,
            limits: Limits { drain: Duration::from_secs(20), ..Limits::default() },
            ..ServeSettings::default()
        };
        change(&mut settings);
        Running::new(self.models(), Keys::parse(keys).unwrap(), settings)
    }
}

/// Short options: random networks never end a sentence.
pub fn quick() -> Value {
    json!({"beam": 2, "max_length": 8, "scores": true})
}

/// The same for the library.
pub fn quick_settings() -> BeamSettings {
    BeamSettings { beam: 2, max_length: 8, ..BeamSettings::default() }
}

/// A server in a thread.
pub struct Running {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<bool>>,
}

impl Running {
    pub fn new(models: Models, keys: Keys, settings: ServeSettings) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let server = Server::start(models, keys, settings).await.unwrap();
                tell.send(server.address().unwrap()).unwrap();
                server.run(async { stopped.await.unwrap_or(()) }).await.unwrap()
            })
        });
        let address = address.recv_timeout(Duration::from_mins(1)).unwrap();
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    /// Tells it to stop.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Stops it and waits. Returns whether all requests finished.
    pub fn end(mut self) -> bool {
        self.stop();
        self.thread.take().unwrap().join().unwrap()
    }

    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut stream = self.connect();
        send(&mut stream, method, path, headers, body);
        Answer::read(stream)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        self.request("POST", path, &[("Content-Type", "application/json")], body.as_bytes())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], b"")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Writes a request.
pub fn send(
    stream: &mut TcpStream,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head.push_str("Host: localhost\r\n");
    }
    let lines = headers.iter().map(|(name, value)| [name, ": ", value, "\r\n"].concat());
    head.extend(lines);
    write!(stream, "{head}Content-Length: {}\r\n\r\n", body.len()).unwrap();
    // A server that rejects the request early may have closed the connection.
    let _ = stream.write_all(body);
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let mut buffer = [0; 1 << 13];
        while !is_whole(&bytes) {
            match stream.read(&mut buffer) {
                Ok(count) if count > 0 => bytes.extend_from_slice(&buffer[..count]),
                _ => break,
            }
        }
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let head = head.to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let is_chunked = head.contains("transfer-encoding: chunked");
        let body = if is_chunked { unchunk(body) } else { body.to_owned() };
        Self { status, head, body }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The texts of translations.
    pub fn translations(&self) -> Vec<String> {
        assert_eq!(self.status, 200, "{self:?}");
        serde_json::from_value(self.json()["translations"].clone()).unwrap()
    }

    /// The code of an error.
    pub fn code(&self) -> String {
        let body = self.json();
        assert!(body["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
        body["error"]["code"].as_str().unwrap().to_owned()
    }

    /// Server-sent events.
    pub fn events(&self) -> Vec<(String, Value)> {
        let event = |block: &str| {
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            Some((field("event: ")?.to_owned(), serde_json::from_str(field("data: ")?).unwrap()))
        };
        self.body.split("\n\n").filter_map(event).collect()
    }
}

/// Whether a response with a content length is complete.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.is_some_and(|length| bytes.len() >= end + 4 + length.trim().parse::<usize>().unwrap())
}

fn unchunk(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || size > rest.len() {
            break;
        }
        text.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    text
}

/// The library's translations of a document, sentence by sentence.
pub fn by_library(
    translator: &Translator,
    context: Option<usize>,
    document: &[String],
) -> Vec<String> {
    by_library_with_scores(translator, context, document).0
}

/// The same with scores, which differ even if random networks write the same text.
pub fn by_library_with_scores(
    translator: &Translator,
    context: Option<usize>,
    document: &[String],
) -> (Vec<String>, Vec<f64>) {
    let mut session = translator.session(context).unwrap();
    let next = |sentence: &String| {
        let next = translator.translate_next(&mut session, &[sentence], &quick_settings());
        let translation = next.unwrap().remove(0);
        let score = translation.score();
        (translation.into_text(), score)
    };
    document.iter().map(next).unzip()
}
