//! Connections, their time limits, and the end.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Sleep;

use crate::admission::Admission;
use crate::api::{App, Peer, router};
use crate::engine::Engine;
use crate::keys::Keys;
use crate::models::Models;
use crate::sessions::Sessions;
use crate::settings::ServeSettings;
use crate::{Error, Result, telemetry};

/// How often expired sessions are looked for.
const SWEEP: Duration = Duration::from_secs(10);

/// A server that listens.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("settings", &self.app.settings).finish_non_exhaustive()
    }
}

impl Server {
    /// Starts the engine and listens. Must be called within a Tokio runtime.
    pub async fn start(models: Models, keys: Keys, settings: ServeSettings) -> Result<Self> {
        let is_local = settings.listen.ip().is_loopback();
        if !is_local && keys.is_empty() && !settings.insecure {
            return Err(Error::Settings(format!(
                "{} is open to other machines, but there is no key; give --keys FILE, or listen on \
                 127.0.0.1, or say --insecure if something else keeps strangers out",
                settings.listen
            )));
        }
        telemetry::recorder();
        let sessions = Sessions::open(&settings.sessions, &settings.limits).await?;
        let engine = Engine::start(&models, settings.threads, settings.together)?;
        let listener = TcpListener::bind(settings.listen).await.map_err(|error| {
            Error::Settings(format!("cannot listen on {}: {error}", settings.listen))
        })?;
        let admission = Admission::new(&settings.limits);
        let started = Instant::now();
        let app = App { models, engine, admission, sessions, keys, settings, started };
        Ok(Self { app: Arc::new(app), listener })
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// Serves until `shutdown` is done, then lets requests at work end for a while. Returns whether
    /// all of them did.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<bool> {
        let Self { app, listener } = self;
        let limits = app.settings.limits.clone();
        let router = router(Arc::clone(&app));
        let places = Arc::new(Semaphore::new(limits.connections));
        let (end, ending) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut background = JoinSet::new();
        background.spawn(telemetry::upkeep());
        let sweeping = Arc::clone(&app);
        background.spawn(async move {
            let mut ticks = tokio::time::interval(SWEEP);
            loop {
                ticks.tick().await;
                sweeping.sessions.sweep();
            }
        });
        let mut shutdown = pin!(shutdown);
        loop {
            // A place first: who finds none waits in the operating system's queue.
            let accepted = tokio::select! {
                () = &mut shutdown => break,
                accepted = accept(&listener, &places) => accepted,
            };
            let Some((stream, address, place)) = accepted else { continue };
            let (router, ending) = (router.clone(), ending.clone());
            let (header, idle) = (limits.header, limits.idle);
            connections.spawn(async move {
                connection(stream, address, router, header, idle, ending).await;
                drop(place);
            });
            while connections.try_join_next().is_some() {}
        }
        drop(listener);
        app.admission.close();
        // Nobody is left behind if there are no connections.
        let _ = end.send(true);
        let drained = tokio::time::timeout(limits.drain, async {
            while connections.join_next().await.is_some() {}
        });
        let is_drained = drained.await.is_ok();
        connections.shutdown().await;
        background.shutdown().await;
        Ok(is_drained)
    }
}

type Accepted = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<Accepted> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, address)) => Some((stream, address, place)),
        Err(error) => {
            // Out of file descriptors, most likely: others must close theirs first.
            tracing::warn!("cannot accept a connection: {error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

async fn connection(
    stream: TcpStream,
    address: SocketAddr,
    router: Router,
    header: Duration,
    idle: Duration,
    mut ending: watch::Receiver<bool>,
) {
    // Sentences are small and wanted now.
    let _ = stream.set_nodelay(true);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(Peer(address.ip()));
        router.call(request)
    });
    let io = TokioIo::new(Patient { stream, idle, stalled: None });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header)
        .serve_connection(io, service);
    let mut served = pin!(served);
    // The sender lives until all connections have ended.
    let ended = async { ending.wait_for(|is_ending| *is_ending).await.is_ok() };
    let result = tokio::select! {
        result = served.as_mut() => result,
        _ = ended => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = result {
        tracing::debug!("a connection ended: {error}");
    }
}

/// A connection whose client must read what it asked for: a write that moves nothing for a while
/// fails.
struct Patient {
    stream: TcpStream,
    idle: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn judge<T>(
        &mut self,
        written: Poll<std::io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<std::io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let idle = self.idle;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(idle)));
        match stalled.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(std::io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.judge(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
