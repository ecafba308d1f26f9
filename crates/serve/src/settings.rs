//! The settings of a server, with the reason for each limit.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::{Error, Result};

/// The settings of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServeSettings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Accepts connections from other machines without a key.
    pub insecure: bool,
    /// Host names accepted besides IP addresses and `localhost`; `*` accepts any.
    pub hosts: Vec<String>,
    /// Other sites (`https://example.org`) whose pages may use the server; `*` allows any.
    pub origins: Vec<String>,
    /// Threads that translate.
    pub threads: usize,
    /// The most requests whose sentences are decoded together; 1 disables batching across requests.
    pub together: usize,
    /// Where the sessions of documents are stored.
    pub sessions: SessionPlace,
    /// Limits on sizes, counts and times.
    pub limits: Limits,
}

/// Where sessions are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionPlace {
    /// In the memory of the process.
    Memory,
    /// In a Redis server that several replicas share.
    Redis(String),
}

/// Limits on sizes, counts and times.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes per request body: about ten chapters of a novel.
    pub body: usize,
    /// Sentences per request, so that no request occupies a thread for long.
    pub segments: usize,
    /// Sentences per file. A film has about 1,500; a file yields to other requests every few
    /// sentences.
    pub file_segments: usize,
    /// Tokens per sentence.
    pub tokens: usize,
    /// The largest beam size; memory and time grow with it.
    pub beam: usize,
    /// Bytes per response. In a stream this applies to each sentence, not to the total.
    pub answer: usize,
    /// Bytes that all requests in progress may need for their texts and responses. A request that
    /// needs more than is left waits.
    pub memory: usize,
    /// Requests in progress: enough to fill batches. A key, or an address of another machine, may
    /// have half of them.
    pub at_work: usize,
    /// Queued requests; more would only time out.
    pub waiting: usize,
    /// The longest time in the queue; after that the client is told to try again.
    pub wait: Duration,
    /// The longest time to process a request, not counting the queue.
    pub deadline: Duration,
    /// The same for a file.
    pub file_deadline: Duration,
    /// The time a client has to send its headers, so that a slow sender cannot hold a connection.
    pub header: Duration,
    /// The time a client has to send its body, and how long a connection may stay open between two
    /// requests.
    pub idle: Duration,
    /// How long a client may stop reading its response before the connection is closed.
    pub stall: Duration,
    /// Open connections; each may hold a body. A key, or an address of another machine, may have
    /// half of them, and so may all connections without a key together.
    pub connections: usize,
    /// Documents in sessions. A key, or an address of another machine, may have a quarter of them.
    pub sessions: usize,
    /// How long an unused session is kept.
    pub session_life: Duration,
    /// Bytes of all sessions together.
    pub session_bytes: usize,
    /// How long requests in progress may continue after a shutdown began.
    pub drain: Duration,
}

/// The longest time allowed, small enough that sums of times cannot overflow.
const LONGEST: Duration = Duration::from_hours(24 * 366);

impl ServeSettings {
    /// Rejects values with which a server could not start or would serve no one. Errors name the
    /// command-line option.
    pub fn check(&self) -> Result<()> {
        let Limits { body, segments, file_segments, tokens, beam, answer, memory, .. } =
            self.limits;
        let Limits { at_work, waiting, connections, sessions, session_bytes, .. } = self.limits;
        let most = 1 << 40;
        for (name, value, least, most) in [
            ("threads", self.threads, 1, 512),
            ("together", self.together, 1, 1 << 20),
            ("max-body", body, 1, 1 << 30),
            ("max-segments", segments, 1, 1 << 20),
            ("max-file-segments", file_segments, 1, 1 << 20),
            ("max-tokens", tokens, 1, 1 << 20),
            ("max-beam", beam, 1, 1000),
            ("max-answer", answer, 1 << 10, most),
            ("max-memory", memory, 1 << 10, most),
            ("max-at-work", at_work, 1, 1 << 20),
            ("max-waiting", waiting, 0, 1 << 20),
            ("max-connections", connections, 1, 1 << 20),
            ("max-sessions", sessions, 0, 1 << 30),
            ("max-session-bytes", session_bytes, 0, most),
        ] {
            if !(least..=most).contains(&value) {
                let problem = format!("--{name} is {value}, but must be from {least} to {most}");
                return Err(Error::Settings(problem));
            }
        }
        let Limits { wait, deadline, file_deadline, header, idle, stall, .. } = self.limits;
        for (name, time, may_be_none) in [
            ("max-wait", wait, true),
            ("deadline", deadline, false),
            ("file-deadline", file_deadline, false),
            ("header-timeout", header, false),
            ("idle-timeout", idle, false),
            ("stall-timeout", stall, false),
            ("session-life", self.limits.session_life, false),
            ("drain", self.limits.drain, true),
        ] {
            if time > LONGEST || !may_be_none && time.is_zero() {
                let (seconds, longest) = (time.as_secs_f64(), LONGEST.as_secs());
                let from = if may_be_none { "from 0" } else { "more than 0, up" };
                let problem = format!("--{name} is {seconds} s, but must be {from} to {longest}");
                return Err(Error::Settings(problem));
            }
        }
        Ok(())
    }
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
            answer: 32 << 20,
            memory: 512 << 20,
            at_work: 64,
            waiting: 256,
            wait: Duration::from_secs(10),
            deadline: Duration::from_mins(1),
            file_deadline: Duration::from_mins(15),
            header: Duration::from_secs(10),
            idle: Duration::from_mins(1),
            stall: Duration::from_secs(20),
            connections: 512,
            sessions: 1000,
            session_life: Duration::from_mins(30),
            session_bytes: 512_000_000,
            drain: Duration::from_secs(30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_settings_are_refused_by_name() {
        let refused = |change: &dyn Fn(&mut ServeSettings)| {
            let mut settings = ServeSettings::default();
            change(&mut settings);
            settings.check().unwrap_err().to_string()
        };
        assert!(ServeSettings::default().check().is_ok());
        assert!(refused(&|s| s.threads = 100_000).contains("--threads is 100000"));
        assert!(refused(&|s| s.threads = 0).contains("--threads"));
        assert!(refused(&|s| s.limits.connections = usize::MAX).contains("--max-connections"));
        assert!(refused(&|s| s.limits.connections = 0).contains("from 1"));
        assert!(refused(&|s| s.limits.at_work = 0).contains("--max-at-work"));
        assert!(refused(&|s| s.limits.deadline = Duration::ZERO).contains("more than 0"));
        assert!(refused(&|s| s.limits.idle = Duration::MAX).contains("--idle-timeout"));
        assert!(refused(&|s| s.limits.session_bytes = usize::MAX).contains("--max-session-bytes"));
    }
}
