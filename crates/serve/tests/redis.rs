//! Sessions in a Redis server that fails: it stops answering, or holds unusable data.
//!
//! A real Redis server is tested elsewhere (`crates/cli/tests/serving/replicas.rs`). This fake
//! answers the server's scripts, which it recognises by the number of their arguments, until it is
//! silenced.
#![cfg(feature = "redis")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use abridge_serve::SessionPlace;
use common::{Answer, Fixture};
use serde_json::json;

/// What the server has stored.
struct Stored {
    model: &'static str,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct Redis {
    is_silent: AtomicBool,
    /// Connections and commands since it was silenced.
    ignored: AtomicUsize,
}

impl Redis {
    fn start(stored: Stored) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("redis://{}/0", listener.local_addr().unwrap());
        let (redis, stored) = (Arc::new(Self::default()), Arc::new(stored));
        let own = Arc::clone(&redis);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (redis, stored, stream) =
                    (Arc::clone(&own), Arc::clone(&stored), stream.unwrap());
                redis.note();
                std::thread::spawn(move || redis.serve(&stream, &stored));
            }
        });
        (redis, address)
    }

    fn note(&self) {
        if self.is_silent.load(Ordering::SeqCst) {
            self.ignored.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn serve(&self, mut stream: &TcpStream, stored: &Stored) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(command) = read(&mut reader) {
            self.note();
            if self.is_silent.load(Ordering::SeqCst) {
                continue;
            }
            let bulk = |bytes: &[u8]| {
                [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
            };
            // A script: its name, the number of keys, four keys, arguments.
            let answer = match command.first().map(Vec::as_slice) {
                Some(b"EVALSHA") => match command.len() - 7 {
                    2 => b"*2\r\n:0\r\n:0\r\n".to_vec(),
                    4 => [
                        b"*4\r\n".as_slice(),
                        &bulk(stored.model.as_bytes()),
                        &bulk(b"1"),
                        &bulk(&stored.bytes),
                        &bulk(b"address 127.0.0.1"),
                    ]
                    .concat(),
                    _ => b"+ok\r\n".to_vec(),
                },
                _ => b"+OK\r\n".to_vec(),
            };
            if stream.write_all(&answer).is_err() {
                return;
            }
        }
    }
}

/// A command as Redis's clients send it: an array of strings.
fn read(reader: &mut impl BufRead) -> Option<Vec<Vec<u8>>> {
    let mut number = || -> Option<usize> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        line.trim_end().get(1..)?.parse().ok()
    };
    let count = number()?;
    let mut command = Vec::new();
    for _ in 0..count {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length: usize = line.trim_end().get(1..)?.parse().ok()?;
        let mut bytes = vec![0; length + 2];
        reader.read_exact(&mut bytes).ok()?;
        bytes.truncate(length);
        command.push(bytes);
    }
    Some(command)
}

#[test]
fn a_silent_redis_does_not_block_requests_for_long() {
    let fixture = Fixture::new();
    let (redis, address) = Redis::start(Stored { model: "en-de", bytes: Vec::new() });
    let server = fixture.start(|settings| settings.sessions = SessionPlace::Redis(address));
    assert_eq!(server.get("/readyz").status, 200);
    assert_eq!(server.post("/v1/sessions", &json!({})).status, 201);
    redis.is_silent.store(true, Ordering::SeqCst);
    let ask = || -> Vec<Answer> {
        std::thread::scope(|scope| {
            let sessions = (0..30).map(|_| scope.spawn(|| server.post("/v1/sessions", &json!({}))));
            let ready = scope.spawn(|| server.get("/readyz"));
            let threads: Vec<_> = sessions.chain([ready]).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    };
    // All wait at the same time, not one after another; after that none waits.
    for _ in 0..3 {
        assert!(ask().iter().all(|answer| answer.status == 503));
    }
    // The first round's commands on the open connection, then one attempt at a time.
    let ignored = redis.ignored.load(Ordering::SeqCst);
    assert!(ignored <= 31 + 10, "{ignored} connections and commands");
    let alone = json!({"sentences": ["it is."], "options": common::quick()});
    assert_eq!(
        server.post("/v1/translate", &alone).status,
        200,
        "requests without a session still work"
    );
    // Once it answers again, so does the server, after the next attempt.
    redis.is_silent.store(false, Ordering::SeqCst);
    let is_ready = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        server.get("/readyz").status == 200
    });
    assert!(is_ready);
}

#[test]
fn sessions_that_cannot_be_used_are_gone() {
    let fixture = Fixture::new();
    let session = fixture.translator("de").session(None).unwrap().save();
    let other = fixture.translator("fr").session(None).unwrap().save();
    let mut damaged = session.clone();
    damaged[20] ^= 1;
    let cases = [
        ("en-de", session.clone(), 200),
        ("en-de", other, 410),
        ("en-de", damaged, 410),
        ("en-de", Vec::new(), 410),
        ("en-xx", session, 410),
    ];
    for (model, bytes, expected) in cases {
        let (_, address) = Redis::start(Stored { model, bytes });
        let server = fixture.start(|settings| settings.sessions = SessionPlace::Redis(address));
        let path = "/v1/sessions/0123456789abcdef0123456789abcdef";
        let answer = server.get(path);
        assert_eq!(answer.status, expected, "{model}: {answer:?}");
        let next = json!({"sentences": ["it is."], "options": common::quick()});
        let answer = server.post(&format!("{path}/translate"), &next);
        assert_eq!(answer.status, expected, "{model}: {answer:?}");
        assert_eq!(server.get("/readyz").status, 200, "the others are fine");
    }
}
