//! Translations over HTTP, with a memory per document.
//!
//! A [`Server`] holds models, an engine of threads that translate the sentences of many requests
//! together, and the sessions of documents that come in several requests. `docs/serving.md` describes
//! the interface; the server describes itself at `/openapi.json`.
//!
//! | part | file |
//! | --- | --- |
//! | batching across requests, turns between clients, cancellation | `engine/` |
//! | sharing by cost | `fair.rs` |
//! | who a client is, and how much it may take | `client.rs`, `keys.rs` |
//! | how many requests work, wait and are turned away | `admission.rs` |
//! | who holds the connections | `doors.rs` |
//! | sessions in memory or in Redis | `sessions/` |
//! | addresses and their JSON | `api/` |
//! | who may use it through a browser | `guard.rs` |
//! | connections and their time limits | `connection.rs` |
//! | listening, upkeep, shutdown | `server.rs` |
//! | the page | `page/` |

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
