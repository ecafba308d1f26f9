//! One connection and its timeouts.
//!
//! hyper has one timer for headers and for the time between two requests. Here there are two
//! limits: headers must arrive soon, but a connection may stay open for a while after a request.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use hyper::body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

use crate::api::Peer;
use crate::doors::Stage;
use crate::settings::Limits;

/// The most bytes that a connection may buffer of request headers, and of a response.
const HEADERS: usize = 1 << 16;

/// Serves a connection until it ends, the server shuts down (`ending`), its client is too slow, or
/// it must make room for others.
pub(crate) async fn serve(
    stream: TcpStream,
    peer: Peer,
    stage: watch::Sender<Stage>,
    router: Router,
    limits: &Limits,
    mut ending: watch::Receiver<bool>,
) {
    // Sentences are small and should be sent at once.
    let _ = stream.set_nodelay(true);
    let watched = stage.subscribe();
    let place = peer.place.clone();
    let router = TowerToHyperService::new(router);
    let answering = stage.clone();
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        answering.send_replace(Stage::Answer);
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(peer.clone());
        let (answer, stage) = (router.call(request), answering.clone());
        async move {
            let answer = answer.await?;
            Ok::<_, std::convert::Infallible>(answer.map(|body| Answer { body, stage }))
        }
    });
    let io = TokioIo::new(Patient { stream, patience: limits.stall, stalled: None, stage });
    let served = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(HEADERS)
        .serve_connection(io, service);
    let mut served = pin!(served);
    // The sender lives until all connections have ended.
    let ended = async { ending.wait_for(|is_ending| *is_ending).await.is_ok() };
    let mut too_slow = pin!(async {
        tokio::select! {
            () = too_slow(watched, limits) => {}
            () = place.ended() => {}
        }
    });
    let result = tokio::select! {
        result = served.as_mut() => result,
        () = &mut too_slow => return,
        _ = ended => {
            served.as_mut().graceful_shutdown();
            tokio::select! {
                result = served => result,
                () = too_slow => return,
            }
        }
    };
    if let Err(error) = result {
        tracing::debug!("a connection ended: {error}");
    }
}

/// Waits until a stage has taken longer than it may.
async fn too_slow(mut stage: watch::Receiver<Stage>, limits: &Limits) {
    loop {
        let until = match *stage.borrow_and_update() {
            Stage::Headers(since) => Some(since + limits.header),
            Stage::Answer => None,
            Stage::Next(since) => Some(since + limits.idle),
        };
        let expired = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = expired => return,
            // Without a sender the connection has ended, which is handled elsewhere.
            changed = stage.changed() => if changed.is_err() { std::future::pending().await },
        }
    }
}

/// The body of a response. Dropping it, after it was sent, begins the wait for the next request.
struct Answer {
    body: Body,
    stage: watch::Sender<Stage>,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.stage.send_replace(Stage::Next(Instant::now()));
    }
}

/// A connection whose writes fail if the client reads nothing for `patience`.
struct Patient {
    stream: TcpStream,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    stage: watch::Sender<Stage>,
}

impl Patient {
    fn check_stall<T>(
        &mut self,
        written: Poll<std::io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<std::io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
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
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.stage.send_if_modified(|stage| {
                let is_first = matches!(stage, Stage::Next(_));
                if is_first {
                    *stage = Stage::Headers(Instant::now());
                }
                is_first
            });
        }
        read
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check_stall(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.check_stall(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.check_stall(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
