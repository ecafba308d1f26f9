//! Translations over HTTP, with a memory per document.
//!
//! A [`Server`] holds the models, an engine whose threads translate sentences of many requests in
//! one batch, and the sessions of documents that arrive in several requests. `docs/serving.md`
//! describes the API; the server describes itself at `/openapi.json`.
//!
//! | part | file |
//! | --- | --- |
//! | batching across requests, turns between clients, cancellation | `engine/` |
//! | fair queueing by cost | `fair.rs` |
//! | client identity and per-client limits | `client.rs`, `keys.rs` |
//! | how many requests run, wait and are rejected | `admission.rs` |
//! | connection limits per client | `doors.rs` |
//! | sessions in memory or in Redis | `sessions/` |
//! | routes and their JSON | `api/` |
//! | protection against other sites' pages | `guard.rs` |
//! | connections and their timeouts | `connection.rs` |
//! | listening, maintenance, shutdown | `server.rs` |
//! | the web page | `page/` |

#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod admission;
mod api;
mod attention;
mod client;
mod connection;
mod doors;
mod engine;
mod error;
mod fair;
mod guard;
mod keys;
mod models;
mod page;
mod server;
mod sessions;
mod settings;
mod telemetry;

pub use api::description;
pub use error::{Error, Result};
pub use keys::Keys;
pub use models::{Models, Served};
pub use server::Server;
pub use settings::{Limits, ServeSettings, SessionPlace};
