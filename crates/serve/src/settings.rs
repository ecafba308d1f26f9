//! How a server serves. Every number has its reason.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// How a server serves.
#[derive(Clone, Debug, PartialEq)]
pub struct ServeSettings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Listens for other machines without asking for a key.
    pub insecure: bool,
    /// Names by which browsers may call the server, beside addresses and `localhost`; `*` is any.
    pub hosts: Vec<String>,
    /// Other sites, as `https://example.org`, whose pages may use the server; `*` is any.
    pub origins: Vec<String>,
    /// Threads that translate.
    pub threads: usize,
    /// Requests whose sentences are decoded together at most; 1 is no batching across requests.
    pub together: usize,
    /// Where the sessions of documents live.
    pub sessions: SessionPlace,
    /// What is refused, and when.
    pub limits: Limits,
}

/// Where sessions live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionPlace {
    /// In the memory of the process.
    Memory,
    /// In a Redis server, for several replicas.
    Redis(String),
}

/// What is refused, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of a request's body: a novel's chapter is a tenth of it.
    pub body: usize,
    /// Sentences of a request, so that no request holds a thread for long.
    pub segments: usize,
    /// Sentences of a file. A film has some 1,500; files give way to others after every few.
    pub file_segments: usize,
    /// Tokens of a sentence: longer ones are no sentences.
    pub tokens: usize,
    /// Hypotheses that are followed at once; memory and time grow with them.
    pub beam: usize,
    /// Requests at work: enough to fill batches.
    pub at_work: usize,
    /// Requests that wait for their turn; more would only wait in vain.
    pub waiting: usize,
    /// The longest wait for a turn; a client would rather know.
    pub wait: Duration,
    /// The longest work on a request, from its turn to its end.
    pub deadline: Duration,
    /// The same for a file.
    pub file_deadline: Duration,
    /// In which a client must have sent its headers; who sends them byte by byte holds a place.
    pub header: Duration,
    /// In which a client must have sent its body, and for which it may read nothing of its answer or
    /// keep a connection open without another request.
    pub idle: Duration,
    /// Open connections; each may hold a body.
    pub connections: usize,
    /// Documents in sessions.
    pub sessions: usize,
    /// How long an unused session stays.
    pub session_life: Duration,
    /// Bytes of all sessions together.
    pub session_bytes: usize,
    /// How long requests at work may go on after a shutdown began.
    pub drain: Duration,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            insecure: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            together: 32,
            sessions: SessionPlace::Memory,
            limits: Limits::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            segments: 256,
            file_segments: 4096,
            tokens: 1024,
            beam: 16,
            at_work: 64,
            waiting: 256,
            wait: Duration::from_secs(10),
            deadline: Duration::from_mins(1),
            file_deadline: Duration::from_mins(15),
            header: Duration::from_secs(10),
            idle: Duration::from_mins(1),
            connections: 512,
            sessions: 1000,
            session_life: Duration::from_mins(30),
            session_bytes: 512_000_000,
            drain: Duration::from_secs(30),
        }
    }
}
