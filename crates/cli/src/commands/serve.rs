//! `abridge serve`: translations over HTTP.

use std::env::VarError;
use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abridge_model::DeviceKind;
use abridge_serve::{Keys, Limits, Models, ServeSettings, Served, Server, SessionPlace};
use anyhow::{Context, bail};
use clap::Args;

/// A larger file does not hold keys.
const LARGEST_KEYS: u64 = 1 << 20;

/// Serves translations over HTTP, with a memory per document, and a page at /.
///
/// The API is described at /openapi.json; LibreTranslate clients work as well. SIGTERM or Ctrl-C
/// lets running requests finish; a second one ends the process at once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge serve
  abridge serve --model demo/models/grouping
  abridge serve --model en-de=models/en-de --model en-fr=models/en-fr --threads 8
  abridge serve --model models/en-de --listen 0.0.0.0:8080 --keys keys.txt
  abridge serve --model models/en-de --sessions redis://redis:6379/0

  curl localhost:8080/v1/translate -H 'Content-Type: application/json' \\
    -d '{\"sentences\": [\"The door is open.\", \"Please close it.\"]}'
  curl 'localhost:8080/v1/files?name=film.srt' --data-binary @film.srt")]
pub struct Serve {
    /// A model directory or an installed model, with or without a name; may be repeated. A request
    /// that names no model gets the first. By default the built-in English-German model.
    #[arg(long = "model", value_name = "[NAME=]MODEL")]
    models: Vec<String>,
    /// Where to listen. Addresses other than this machine's own need --keys or --insecure.
    #[arg(long, env = "ABRIDGE_LISTEN", value_name = "ADDRESS", default_value_t = ServeSettings::default().listen)]
    listen: SocketAddr,
    /// A file of API keys, one per line, each alone or as "name: key"; they are never logged. The
    /// variable `ABRIDGE_KEYS` may hold the keys themselves instead.
    #[arg(long, env = "ABRIDGE_KEYS_FILE", value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Accept other machines without a key: only where something else restricts access.
    #[arg(long, env = "ABRIDGE_INSECURE")]
    insecure: bool,
    /// A host name of this server, besides addresses and localhost; may be repeated, "*" allows
    /// any. Without keys, requests for other names are rejected: a site could point its own name
    /// here and so use a server that is not open to it (DNS rebinding).
    #[arg(
        long = "allow-host",
        env = "ABRIDGE_ALLOW_HOST",
        value_name = "NAME",
        value_delimiter = ','
    )]
    hosts: Vec<String>,
    /// Another site whose pages may use this server (CORS); may be repeated, "*" allows any.
    /// Without it only the server's own page may.
    #[arg(
        long = "allow-origin",
        env = "ABRIDGE_ALLOW_ORIGIN",
        value_name = "URL",
        value_delimiter = ','
    )]
    origins: Vec<String>,
    /// Translation threads; one per core by default, because each sentence uses one.
    #[arg(long, env = "ABRIDGE_THREADS", value_name = "N", default_value_t = ServeSettings::default().threads)]
    threads: usize,
    /// Requests whose sentences are decoded together: a batch costs little more than a sentence. 1
    /// decodes each request by itself; the results are the same.
    #[arg(long, env = "ABRIDGE_TOGETHER", value_name = "N", default_value_t = ServeSettings::default().together)]
    together: usize,
    /// Where sessions live: "memory", or redis://… to share them between replicas.
    #[arg(long, env = "ABRIDGE_SESSIONS", value_name = "PLACE", default_value = "memory")]
    sessions: String,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    #[command(flatten)]
    limits: LimitArguments,
}

/// Limits on requests, connections and sessions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
struct LimitArguments {
    /// Maximum size of a request body: enough for a chapter, too little to fill the memory.
    #[arg(long, env = "ABRIDGE_MAX_BODY", value_name = "BYTES", default_value_t = Limits::default().body)]
    max_body: usize,
    /// Maximum sentences per request, so that it finishes before the deadline.
    #[arg(long, env = "ABRIDGE_MAX_SEGMENTS", value_name = "N", default_value_t = Limits::default().segments)]
    max_segments: usize,
    /// Maximum sentences per file: a film has about 1,500, and files yield to other requests.
    #[arg(long, env = "ABRIDGE_MAX_FILE_SEGMENTS", value_name = "N", default_value_t = Limits::default().file_segments)]
    max_file_segments: usize,
    /// Maximum tokens per sentence.
    #[arg(long, env = "ABRIDGE_MAX_TOKENS", value_name = "N", default_value_t = Limits::default().tokens)]
    max_tokens: usize,
    /// The largest beam that a request may ask for: time and memory grow with it.
    #[arg(long, env = "ABRIDGE_MAX_BEAM", value_name = "N", default_value_t = Limits::default().beam)]
    max_beam: usize,
    /// Maximum size of a response. Attention can make it large; ask for a stream in that case.
    #[arg(long, env = "ABRIDGE_MAX_ANSWER", value_name = "BYTES", default_value_t = Limits::default().answer)]
    max_answer: usize,
    /// Total bytes that running requests may need for their texts and responses; others wait.
    #[arg(long, env = "ABRIDGE_MAX_MEMORY", value_name = "BYTES", default_value_t = Limits::default().memory)]
    max_memory: usize,
    /// Maximum running requests: enough to fill batches. One key, or one address of another
    /// machine, may have half of them.
    #[arg(long, env = "ABRIDGE_MAX_AT_WORK", value_name = "N", default_value_t = Limits::default().at_work)]
    max_at_work: usize,
    /// Maximum waiting requests; further ones get 429, because they would wait in vain.
    #[arg(long, env = "ABRIDGE_MAX_WAITING", value_name = "N", default_value_t = Limits::default().waiting)]
    max_waiting: usize,
    /// Seconds that a request may wait for its turn before it gets 503.
    #[arg(long, env = "ABRIDGE_MAX_WAIT", value_name = "SECONDS", default_value_t = Limits::default().wait.as_secs_f64())]
    max_wait: f64,
    /// Seconds of work on a request before it is stopped with 504.
    #[arg(long, env = "ABRIDGE_DEADLINE", value_name = "SECONDS", default_value_t = Limits::default().deadline.as_secs_f64())]
    deadline: f64,
    /// The same for a file, which takes longer and for which nobody is waiting.
    #[arg(long, env = "ABRIDGE_FILE_DEADLINE", value_name = "SECONDS", default_value_t = Limits::default().file_deadline.as_secs_f64())]
    file_deadline: f64,
    /// Seconds within which a client must send its headers, because slow clients hold connections.
    #[arg(long, env = "ABRIDGE_HEADER_TIMEOUT", value_name = "SECONDS", default_value_t = Limits::default().header.as_secs_f64())]
    header_timeout: f64,
    /// Seconds for which a connection may stay open between two requests; also the time limit for
    /// sending a body.
    #[arg(long, env = "ABRIDGE_IDLE_TIMEOUT", value_name = "SECONDS", default_value_t = Limits::default().idle.as_secs_f64())]
    idle_timeout: f64,
    /// Seconds for which a client may read nothing of its response before it is disconnected.
    #[arg(long, env = "ABRIDGE_STALL_TIMEOUT", value_name = "SECONDS", default_value_t = Limits::default().stall.as_secs_f64())]
    stall_timeout: f64,
    /// Maximum open connections: each may hold a body in memory. One key, or one address of another
    /// machine, may have half of them, and so may all clients without a key together.
    #[arg(long, env = "ABRIDGE_MAX_CONNECTIONS", value_name = "N", default_value_t = Limits::default().connections)]
    max_connections: usize,
    /// Maximum sessions, over all replicas. One key, or one address of another machine, may have a
    /// quarter of them.
    #[arg(long, env = "ABRIDGE_MAX_SESSIONS", value_name = "N", default_value_t = Limits::default().sessions)]
    max_sessions: usize,
    /// Seconds after which an unused session expires; it then answers 410, never without its
    /// context.
    #[arg(long, env = "ABRIDGE_SESSION_LIFE", value_name = "SECONDS", default_value_t = Limits::default().session_life.as_secs_f64())]
    session_life: f64,
    /// Maximum size of all sessions together, so that documents cannot fill the memory.
    #[arg(long, env = "ABRIDGE_MAX_SESSION_BYTES", value_name = "BYTES", default_value_t = Limits::default().session_bytes)]
    max_session_bytes: usize,
    /// Seconds that running requests get to finish when the server is stopped.
    #[arg(long, env = "ABRIDGE_DRAIN", value_name = "SECONDS", default_value_t = Limits::default().drain.as_secs_f64())]
    drain: f64,
}

impl LimitArguments {
    fn limits(&self) -> anyhow::Result<Limits> {
        let seconds = |name: &str, seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .with_context(|| format!("--{name} {seconds} is not a valid duration"))
        };
        Ok(Limits {
            body: self.max_body,
            segments: self.max_segments,
            file_segments: self.max_file_segments,
            tokens: self.max_tokens,
            beam: self.max_beam,
            answer: self.max_answer,
            memory: self.max_memory,
            at_work: self.max_at_work,
            waiting: self.max_waiting,
            wait: seconds("max-wait", self.max_wait)?,
            deadline: seconds("deadline", self.deadline)?,
            file_deadline: seconds("file-deadline", self.file_deadline)?,
            header: seconds("header-timeout", self.header_timeout)?,
            idle: seconds("idle-timeout", self.idle_timeout)?,
            stall: seconds("stall-timeout", self.stall_timeout)?,
            connections: self.max_connections,
            sessions: self.max_sessions,
            session_life: seconds("session-life", self.session_life)?,
            session_bytes: self.max_session_bytes,
            drain: seconds("drain", self.drain)?,
        })
    }
}

impl Serve {
    /// Serves until it is stopped.
    pub fn run(&self) -> anyhow::Result<()> {
        let sessions = match self.sessions.as_str() {
            "memory" => SessionPlace::Memory,
            url if url.starts_with("redis://") => SessionPlace::Redis(url.to_owned()),
            _ => bail!("--sessions must be \"memory\" or begin with redis://"),
        };
        let settings = ServeSettings {
            listen: self.listen,
            insecure: self.insecure,
            hosts: self.hosts.clone(),
            origins: self.origins.clone(),
            threads: self.threads,
            together: self.together,
            sessions,
            limits: self.limits.limits()?,
        };
        settings.check()?;
        let keys = self.keys()?;
        let models = self.models()?;
        // Bodies are split and counted on blocking threads. More of them than cores would only hold
        // memory, and by default there may be 512.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .max_blocking_threads(self.threads.clamp(2, 512))
            .enable_all()
            .build()?;
        runtime.block_on(async {
            // Before the server is announced, because the signal may come at once.
            let stop = stop_signal().context("cannot listen for signals")?;
            let server = Server::start(models, keys, settings).await?;
            say(&format!("listening on http://{}", server.address()?));
            let is_drained = server.run(stop).await?;
            if !is_drained {
                say(&format!("some requests were still running after {} s", self.limits.drain));
            }
            anyhow::Ok(())
        })
    }

    fn keys(&self) -> anyhow::Result<Keys> {
        let (text, place) = match (&self.keys, std::env::var("ABRIDGE_KEYS")) {
            (Some(file), _) => {
                let text =
                    read_keys(file).with_context(|| format!("cannot read {}", file.display()))?;
                (text, "the file given with --keys")
            }
            (None, Ok(text)) => (text, "the variable ABRIDGE_KEYS"),
            (None, Err(VarError::NotPresent)) => return Ok(Keys::default()),
            (None, Err(VarError::NotUnicode(_))) => {
                bail!("the variable ABRIDGE_KEYS is not valid UTF-8")
            }
        };
        let keys = Keys::parse(&text)?;
        // If a place for keys is named, keys are required.
        if keys.is_empty() {
            bail!("{place} contains no key; add one, or leave it unset");
        }
        Ok(keys)
    }

    fn models(&self) -> anyhow::Result<Models> {
        let mut named: Vec<(Option<String>, PathBuf)> = self
            .models
            .iter()
            .map(|given| match given.split_once('=') {
                Some((name, directory)) => (Some(name.to_owned()), directory.into()),
                None => (None, given.into()),
            })
            .collect();
        if named.is_empty() {
            named.push((None, super::model::default(false)?));
        }
        let mut models = Vec::with_capacity(named.len());
        for (name, directory) in named {
            let translator = super::open(&directory, self.device, None)?;
            let name = name.unwrap_or_else(|| match translator.languages() {
                Some((source, target)) => format!("{source}-{target}"),
                None => "model".into(),
            });
            models.push(Served { name, translator });
        }
        Ok(Models::new(models)?)
    }
}

/// Prints to standard error, if that is still open: a server may outlive its terminal.
fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Listens for SIGTERM and Ctrl-C from this call on; the future completes with the first of them.
/// The second ends the process at once.
#[cfg(unix)]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let mut next = async move || {
        tokio::select! {
            _ = interrupted.recv() => 130,
            _ = terminated.recv() => 143,
        }
    };
    Ok(async move {
        next().await;
        tokio::spawn(async move { std::process::exit(next().await) });
    })
}

/// Listens for Ctrl-C from this call on; the future completes with it. The second ends the process.
#[cfg(windows)]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupted = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupted.recv().await;
        tokio::spawn(async move {
            interrupted.recv().await;
            std::process::exit(130)
        });
    })
}

/// Reads a file of keys, which may be a pipe.
fn read_keys(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    fs::File::open(file)?.take(LARGEST_KEYS + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST_KEYS {
        bail!("it is larger than {} MiB", LARGEST_KEYS >> 20);
    }
    Ok(text)
}
