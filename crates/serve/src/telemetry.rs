//! Prometheus metrics.

use std::sync::OnceLock;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Seconds: from one sentence with a small model to the default deadline.
const BUCKETS: &[f64] = &[0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// The recorder of the process; several servers in one process share it.
pub(crate) fn recorder() -> Option<&'static PrometheusHandle> {
    static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    let install = || {
        let matcher = Matcher::Full("abridge_request_seconds".into());
        let builder = PrometheusBuilder::new().set_buckets_for_metric(matcher, BUCKETS).ok()?;
        let handle = builder.install_recorder().ok()?;
        metrics::describe_counter!("abridge_requests_total", "Requests by path and status.");
        metrics::describe_histogram!("abridge_request_seconds", "Time until the response began.");
        metrics::describe_gauge!("abridge_requests_at_work", "Requests in progress.");
        metrics::describe_gauge!("abridge_requests_waiting", "Requests waiting in the queue.");
        metrics::describe_gauge!("abridge_orders_waiting", "Documents waiting for a thread.");
        metrics::describe_counter!("abridge_sentences_total", "Sentences translated.");
        metrics::describe_gauge!("abridge_sessions", "Documents in sessions.");
        metrics::describe_gauge!("abridge_session_bytes", "Bytes of all sessions.");
        Some(handle)
    };
    RECORDER.get_or_init(install).as_ref()
}

/// Counts a request under its route pattern, never under the path itself, which clients choose.
pub(crate) async fn count(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map_or("none", MatchedPath::as_str).to_owned();
    let started = Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    metrics::counter!("abridge_requests_total", "path" => path.clone(), "status" => status)
        .increment(1);
    metrics::histogram!("abridge_request_seconds", "path" => path)
        .record(started.elapsed().as_secs_f64());
    response
}

/// Drains samples that histograms have already counted.
pub(crate) fn upkeep() {
    if let Some(recorder) = recorder() {
        recorder.run_upkeep();
    }
}
