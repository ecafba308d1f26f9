//! How long connections may be idle, and who may use the server through a browser.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use abridge_serve::{Keys, ServeSettings, Server};
use common::Fixture;

#[test]
fn slow_and_half_open_connections_end() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| {
        settings.limits.header = Duration::from_millis(200);
        settings.limits.idle = Duration::from_millis(300);
    });
    let mut silent = server.connect();
    let mut half = server.connect();
    half.write_all(b"POST /v1/translate HT").unwrap();
    let mut bytes = Vec::new();
    assert!(silent.read_to_end(&mut bytes).is_ok() && bytes.is_empty());
    let _ = half.read_to_end(&mut bytes);
    let mut body = server.connect();
    body.write_all(b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{").unwrap();
    let mut first = [0u8; 12];
    body.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 408");
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| {
        settings.limits.connections = 1;
        settings.limits.stall = Duration::from_millis(500);
    });
    // It requests far more than socket buffers hold.
    let mut deaf = server.connect();
    let request = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    deaf.write_all(request.repeat(1000).as_bytes()).unwrap();
    deaf.peek(&mut [0]).unwrap();
    // Until the stall timeout, it holds the only connection and others are rejected.
    let is_free = || {
        (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            server.get("/livez").status == 200
        })
    };
    assert!(is_free(), "the only connection is free again");
    let mut answers = Vec::new();
    let _ = deaf.read_to_end(&mut answers);
    let count = String::from_utf8_lossy(&answers).matches("HTTP/1.1 200").count();
    assert!(count > 0 && count < 1000, "{count} answers");
}

/// Sends a request on a connection that stays open, and reads the whole answer.
fn ask(stream: &mut TcpStream) {
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"alive\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

/// How long the server keeps an idle connection open.
fn kept(stream: &mut TcpStream) -> Duration {
    let started = Instant::now();
    let _ = stream.read_to_end(&mut Vec::new());
    started.elapsed()
}

#[test]
fn headers_and_the_next_request_have_separate_timeouts() {
    let fixture = Fixture::new();
    let (header, idle) = (Duration::from_millis(300), Duration::from_millis(1500));
    let server = fixture.start(|settings| {
        settings.limits.header = header;
        settings.limits.idle = idle;
    });
    // A new connection must send its headers soon.
    let waited = kept(&mut server.connect());
    assert!(waited < idle, "{waited:?}");
    // One that has served a request may wait longer than headers may take.
    let mut stream = server.connect();
    for _ in 0..3 {
        ask(&mut stream);
        std::thread::sleep(header * 2);
    }
    ask(&mut stream);
    let waited = kept(&mut stream);
    assert!(waited + Duration::from_millis(50) >= idle, "{waited:?}");
    // But once the next request has begun, its headers have a deadline, even if bytes keep coming.
    let mut stream = server.connect();
    ask(&mut stream);
    std::thread::sleep(header * 2);
    let begun = Instant::now();
    for byte in b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: 0123456789012345678901234567" {
        if stream.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
        if begun.elapsed() > header * 3 {
            break;
        }
    }
    kept(&mut stream);
    assert!(begun.elapsed() < idle, "{:?}", begun.elapsed());
}

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
const PLAIN: (&str, &str) = ("Content-Type", "text/plain");

#[test]
fn other_sites_cannot_use_the_server_through_a_browser() {
    let fixture = Fixture::new();
    let server = fixture.start(|_| {});
    // DNS rebinding: the browser believes that the server is the other site.
    let rebound = server.request("GET", "/v1/models", &[("Host", "evil.example")], b"");
    assert_eq!((rebound.status, rebound.code().as_str()), (403, "forbidden"));
    assert!(rebound.body.contains("--allow-host evil.example"), "{rebound:?}");
    // Requests that browsers send without a preflight: plain text and a form.
    let evil = ("Origin", "http://evil.example");
    let file = |more: (&str, &str)| {
        server.request("POST", "/v1/files?name=a.txt&beam=1", &[PLAIN, more], b"It is.")
    };
    let refused = file(evil);
    assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"));
    let form = b"q=it+is.&source=en&target=de";
    let refused = server.request("POST", "/translate", &[FORM, evil], form);
    assert_eq!(refused.status, 403);
    assert!(refused.json()["error"].is_string(), "in LibreTranslate's format: {refused:?}");
    assert_eq!(file(("Origin", "http://localhost")).status, 200, "its own page");
    assert_eq!(file(("Accept", "*/*")).status, 200, "no browser at all");
    // And no other site may read responses.
    let read = server.request("GET", "/v1/models", &[evil], b"");
    assert!(read.status == 200 && !read.head.contains("access-control"), "{read:?}");
}

#[test]
fn sites_and_names_can_be_allowed() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| {
        settings.hosts = vec!["translate.example".into()];
        settings.origins = vec!["https://app.example".into()];
    });
    let host = ("Host", "translate.example");
    assert_eq!(server.request("GET", "/v1/models", &[host], b"").status, 200);
    let preflight = |origin: &str| {
        let headers = [
            host,
            ("Origin", origin),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "content-type,authorization"),
        ];
        server.request("OPTIONS", "/v1/translate", &headers, b"")
    };
    let allowed = preflight("https://app.example");
    assert!(allowed.head.contains("access-control-allow-origin: https://app.example"));
    assert!(allowed.head.contains("authorization"), "{allowed:?}");
    assert!(!preflight("https://evil.example").head.contains("access-control-allow-origin"));
    let post = |origin: &str| {
        let headers = [host, ("Origin", origin), PLAIN];
        server.request("POST", "/v1/files?name=a.txt&beam=1", &headers, b"It is.")
    };
    let answer = post("https://app.example");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.head.contains("access-control-allow-origin: https://app.example"));
    assert_eq!(post("https://evil.example").status, 403);
}

#[test]
fn an_invalid_origin_is_explained_at_startup() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let settings = ServeSettings {
        listen: "127.0.0.1:0".parse().unwrap(),
        origins: vec!["app.example".into()],
        ..ServeSettings::default()
    };
    let start = Server::start(Fixture::new().models(), Keys::default(), settings);
    let error = runtime.block_on(start).unwrap_err().to_string();
    assert!(error.contains("\"app.example\""), "{error}");
}
