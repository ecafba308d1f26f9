//! How a server serves. Every number has its reason.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::{Error, Result};

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
    /// Bytes that the answer to a request may have; a stream has no such limit, only its sentences.
    pub answer: usize,
    /// Bytes that all requests at work may need for their texts and answers. One that needs more than
    /// is left waits.
    pub memory: usize,
    /// Requests at work: enough to fill batches. A key, or an address of another machine, may have half
    /// of them.
    pub at_work: usize,
    /// Requests that wait for their turn; more would only wait in vain.
    pub waiting: usize,
    /// The longest wait for a turn; a client would rather know.
    pub wait: Duration,
    /// The longest work on a request, from its turn to its end.
    pub deadline: Duration,
    /// The same for a file.
    pub file_deadline: Duration,
    /// The time in which a client must have sent its headers; sending them byte by byte would hold a place.
    pub header: Duration,
    /// In which a client must have sent its body, and for which it may keep a connection open without
    /// another request.
    pub idle: Duration,
    /// For which a client may read nothing of its answer; then it loses its place.
    pub stall: Duration,
    /// Open connections; each may hold a body. A key, or an address of another machine, may have half
    /// of them, and so may all together that have shown no key.
    pub connections: usize,
    /// Documents in sessions. A key, or an address of another machine, may have a quarter of them.
    pub sessions: usize,
    /// How long an unused session stays.
    pub session_life: Duration,
    /// Bytes of all sessions together.
    pub session_bytes: usize,
    /// How long requests at work may go on after a shutdown began.
    pub drain: Duration,
}

/// No time is longer: enough for anything, and no sum of times overflows.
const LONGEST: Duration = Duration::from_hours(24 * 366);

impl ServeSettings {
    /// Refuses numbers with which a server could not start or would answer nobody, by the names that
    /// they have on the command line.
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
    fn numbers_that_make_no_server_are_refused_by_name() {
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
