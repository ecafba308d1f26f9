//! Listening, periodic maintenance and shutdown.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use abridge_machine::allocator::give_back;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::admission::Admission;
use crate::api::{App, Peer, router};
use crate::doors::{Doors, Stage};
use crate::engine::Engine;
use crate::guard::Guard;
use crate::keys::Keys;
use crate::models::Models;
use crate::sessions::Sessions;
use crate::settings::{Limits, ServeSettings};
use crate::{Error, Result, connection, telemetry};

/// How often expired sessions are removed and unused memory is returned to the system.
const UPKEEP: Duration = Duration::from_secs(5);

/// A listening server.
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
        settings.check()?;
        let is_local = settings.listen.ip().is_loopback();
        if !is_local && keys.is_empty() && !settings.insecure {
            return Err(Error::Settings(format!(
                "{} is reachable from other machines, but no key is set; pass --keys FILE, listen \
                 on 127.0.0.1, or pass --insecure if access is controlled elsewhere",
                settings.listen
            )));
        }
        let guard = Guard::new(&settings, &keys)?;
        telemetry::recorder();
        let sessions = Sessions::open(&settings.sessions, &settings.limits).await?;
        let engine = Engine::start(&models, settings.threads, settings.together)?;
        let listener = TcpListener::bind(settings.listen).await.map_err(|error| {
            Error::Settings(format!("cannot listen on {}: {error}", settings.listen))
        })?;
        let admission = Admission::new(&settings.limits);
        // At least two, so that one client cannot take all of them.
        let at_work = settings.threads.max(2);
        let reading = Admission::new(&Limits { at_work, ..settings.limits.clone() });
        let started = Instant::now();
        let description = OnceLock::new();
        let app = App {
            models,
            engine,
            admission,
            reading,
            sessions,
            keys,
            guard,
            settings,
            started,
            description,
        };
        Ok(Self { app: Arc::new(app), listener })
    }

    /// The address it listens on.
    pub fn address(&self) -> Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// Serves until `shutdown` completes, then waits up to the drain time for requests in progress.
    /// Returns whether all of them finished.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<bool> {
        let Self { app, listener } = self;
        let limits = Arc::new(app.settings.limits.clone());
        let router = router(Arc::clone(&app));
        let doors = Doors::new(limits.connections, !app.keys.is_empty());
        let (end, ending) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut background = JoinSet::new();
        background.spawn(upkeep(Arc::clone(&app)));
        let mut shutdown = pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                () = &mut shutdown => break,
                accepted = accept(&listener, &doors) => accepted,
            };
            let Some((stream, peer, stage)) = accepted else { continue };
            let (router, ending) = (router.clone(), ending.clone());
            let limits = Arc::clone(&limits);
            connections.spawn(async move {
                connection::serve(stream, peer, stage, router, &limits, ending).await;
            });
            while connections.try_join_next().is_some() {}
        }
        drop(listener);
        app.admission.close();
        app.reading.close();
        // Fails only if there are no connections to notify.
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

/// Drops expired sessions and processed metrics, and returns memory to the system when idle.
async fn upkeep(app: Arc<App>) {
    let mut ticks = tokio::time::interval(UPKEEP);
    let mut seen = 0;
    loop {
        ticks.tick().await;
        app.sessions.sweep();
        telemetry::upkeep();
        let (entered, is_idle) = (app.admission.asked(), app.admission.counts() == (0, 0));
        if is_idle && entered != seen {
            seen = entered;
            give_back();
        }
    }
}

type Accepted = (TcpStream, Peer, watch::Sender<Stage>);

/// The next connection, once there is room for it; later ones wait in the operating system's queue.
async fn accept(listener: &TcpListener, doors: &Arc<Doors>) -> Option<Accepted> {
    match listener.accept().await {
        Ok((stream, address)) => {
            let (stage, watched) = watch::channel(Stage::Headers(tokio::time::Instant::now()));
            let place = doors.enter(address.ip(), &watched).await?;
            Some((stream, Peer { address: address.ip(), place: Arc::new(place) }, stage))
        }
        Err(error) => {
            // Most likely out of file descriptors: other connections must close first.
            tracing::warn!("cannot accept a connection: {error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}
