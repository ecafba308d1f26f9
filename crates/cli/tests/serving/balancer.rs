//! nginx with `docs/deploy/nginx.conf` in front of two servers that share one Redis server.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::{self, Process, metric, request, serve_at, write_model};

/// Where the replicas are; all have the same port, as in a network of containers.
const REPLICAS: [[u8; 4]; 2] = [[127, 0, 0, 1], [127, 0, 0, 2]];

/// A name server that answers every name with the addresses of the replicas.
struct Names {
    address: String,
    is_ended: Arc<AtomicBool>,
}

impl Names {
    fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let address = socket.local_addr().unwrap().to_string();
        let is_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_ended);
        std::thread::spawn(move || {
            let mut question = [0; 512];
            while !ended.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut question) else { continue };
                let _ = socket.send_to(&answer(&question[..length]), from);
            }
        });
        Self { address, is_ended }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Relaxed);
    }
}

/// The answer to a query for one name (RFC 1035, section 4): both addresses for type A, nothing for
/// any other type.
fn answer(question: &[u8]) -> Vec<u8> {
    // The name begins after twelve bytes and ends with an empty label; type and class follow.
    let end = 12 + question[12..].iter().position(|byte| *byte == 0).unwrap() + 1;
    let addresses = if question[end..end + 2] == [0, 1] { &REPLICAS[..] } else { &[] };
    let mut answer = question[..2].to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
    answer.extend(&question[12..end + 4]);
    for address in addresses {
        // A pointer to the name in the question, type A, class IN, five seconds, four bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4]);
        answer.extend(address);
    }
    answer
}

/// Starts nginx with the documented configuration; only the addresses differ.
fn nginx(directory: &Path, names: &str, replicas: u16) -> Process {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy/nginx.conf");
    let mut text = std::fs::read_to_string(file).unwrap();
    let port = process::free_port();
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {}/{name};", directory.display()))
        .join(" ");
    for (from, to) in [
        ("resolver 127.0.0.11 ", format!("resolver {names} ")),
        ("listen 80;", format!("listen 127.0.0.1:{port};")),
        ("abridge:8080", format!("abridge:{replicas}")),
        ("http {\n", format!("http {{\n  access_log off; {places}\n")),
    ] {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, &to);
    }
    let configuration = directory.join("nginx.conf");
    std::fs::write(&configuration, text).unwrap();
    let settings =
        format!("daemon off; master_process off; pid {}/nginx.pid;", directory.display());
    let child = Command::new("nginx")
        .arg("-c")
        .arg(configuration)
        .args(["-e", "stderr", "-g", &settings])
        .stderr(Stdio::null())
        .spawn()
        .expect("nginx runs (Debian: apt-get install nginx-light)");
    process::listening("nginx", child, port)
}

/// A port that is free on all addresses of the replicas.
fn common_port() -> u16 {
    let is_free = |port: &u16| {
        REPLICAS
            .iter()
            .all(|address| TcpListener::bind((std::net::Ipv4Addr::from(*address), *port)).is_ok())
    };
    std::iter::repeat_with(process::free_port).find(is_free).unwrap()
}

#[test]
#[ignore = "needs nginx and redis-server; .ci/run runs it"]
fn documents_continue_behind_a_balancer_when_a_replica_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    let document: Vec<String> =
        (0..40).map(|i| format!("the lamp {} saw the river.", "again ".repeat(i % 5))).collect();
    write_model(&model, &document);
    let redis = process::redis(directory.path(), process::free_port());
    let place = format!("redis://{}/0", redis.address);
    let names = Names::start();
    let port = common_port();
    let start = |address: [u8; 4]| {
        let listen = format!("{}:{port}", std::net::Ipv4Addr::from(address));
        serve_at(&listen, &model, &["--sessions", &place])
    };
    let (first, second) = (start(REPLICAS[0]), start(REPLICAS[1]));
    let balancer = nginx(directory.path(), &names.address, port);

    // What one server gives for the whole document.
    let options = json!({"beam": 2, "max_length": 8});
    let whole = json!({"sentences": document, "options": options});
    let (status, expected) = request(&first, "POST", "/v1/translate", &whole);
    assert_eq!(status, 200, "{expected}");

    let (status, created) = request(&balancer, "POST", "/v1/sessions", &json!({}));
    assert_eq!(status, 201, "{created}");
    let path = format!("/v1/sessions/{}/translate", created["id"].as_str().unwrap());
    let next = |sentence: &String| -> Value {
        let body = json!({"sentences": [sentence], "options": options});
        let (status, answer) = request(&balancer, "POST", &path, &body);
        assert_eq!(status, 200, "{answer}");
        answer["translations"][0].clone()
    };
    let served = |server: &Process| metric(server, "abridge_sentences_total");
    let before = [served(&first), served(&second)];
    let mut found: Vec<Value> = document[..20].iter().map(next).collect();
    assert!(served(&first) > before[0] && served(&second) > before[1], "both took part");
    drop(first);
    found.extend(document[20..].iter().map(next));
    assert_eq!(json!(found), expected["translations"]);

    // Events arrive as they are sent: the first, a few bytes that a buffer would hold back, comes
    // long before the sentences.
    let options = json!({"beam": 16, "max_length": 300});
    let slow = json!({"sentences": &document[..4], "stream": true, "options": options});
    let (first, last) = stream(&balancer, &slow);
    println!("the first event after {first:?}, the last after {last:?}");
    assert!(first * 2 < last, "{first:?} {last:?}");

    // A page that was loaded from the balancer may use it; another may not.
    let same = format!("http://{}", balancer.address);
    for (origin, expected) in [(same.as_str(), 200), ("http://evil.example", 403)] {
        assert_eq!(post_from(&balancer, origin), expected, "{origin}");
    }
}

/// The status of a request that a page of this origin sends.
fn post_from(server: &Process, origin: &str) -> u16 {
    let head = format!(
        "POST /v1/files?name=a.txt&beam=1 HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\n\
         Connection: close\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\nthe lamp",
        server.address
    );
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let answer = std::io::read_to_string(stream).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// When the first event of a stream came, and when the last.
fn stream(server: &Process, body: &Value) -> (Duration, Duration) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let started = Instant::now();
    write!(
        stream,
        "POST /v1/translate HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    )
    .unwrap();
    let mut first = None;
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if line == "event: start" {
            first.get_or_insert_with(|| started.elapsed());
        }
        assert_ne!(line, "event: error");
        if line == "event: done" {
            return (first.unwrap(), started.elapsed());
        }
    }
    panic!("the stream ended early");
}
