//! Sessions: the memories of documents that come in several requests.
//!
//! A session has a version. A translation takes the session with its version, and puts it back
//! only if the version is still the same: of two requests at once for one document one is told, and
//! never are two stretches of text mixed. The same holds for two replicas with one Redis server.
//!
//! A session belongs to the key that began it. For every other key it does not exist.

#[cfg(any(feature = "redis", test))]
mod breaker;
mod memory;
#[cfg(feature = "redis")]
mod redis;
#[cfg(not(feature = "redis"))]
#[path = "without_redis.rs"]
mod redis;

use abridge_translate::{Session, Translator};

use crate::client::Client;
use crate::error::{ApiError, Code};
use crate::settings::{Limits, SessionPlace};

/// A session as it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// The name of the model that it belongs to.
    pub model: String,
    /// The client that began it.
    pub owner: String,
    /// Counts the times that it was put back.
    pub version: u64,
    pub session: Session,
}

/// Where sessions are kept.
pub(crate) enum Sessions {
    Memory(Box<memory::MemorySessions>),
    Redis(Box<redis::RedisSessions>),
}

/// Why a session cannot be taken or put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Expired, deleted or never there.
    Gone,
    /// Somebody else was faster.
    Conflict,
    /// No room.
    Full(String),
    /// The place cannot be reached.
    Away(String),
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Gone => Self::new(
                Code::SessionGone,
                "this session has expired, was deleted or never existed; begin a new one with the last \
                 sentences of the document as \"before\"",
            ),
            Problem::Conflict => Self::new(
                Code::SessionConflict,
                "another request moved this document on in the meantime; send a document's \
                 sentences one request after the other",
            ),
            Problem::Full(what) => Self::new(Code::Unavailable, what),
            Problem::Away(why) => {
                tracing::error!("sessions cannot be reached: {why}");
                Self::new(Code::Unavailable, "the session store cannot be reached")
            }
        }
    }
}

impl Sessions {
    pub async fn open(place: &SessionPlace, limits: &Limits) -> crate::Result<Self> {
        Ok(match place {
            SessionPlace::Memory => Self::Memory(Box::new(memory::MemorySessions::new(limits))),
            SessionPlace::Redis(url) => {
                Self::Redis(Box::new(redis::RedisSessions::open(url, limits).await?))
            }
        })
    }

    /// Keeps a new session and names it.
    pub async fn create(
        &self,
        client: &Client,
        model: &str,
        session: Session,
    ) -> Result<String, Problem> {
        let id = new_id().map_err(Problem::Away)?;
        let (model, owner) = (model.to_owned(), client.id.clone());
        let kept = Kept { model, owner, version: 0, session };
        match self {
            Self::Memory(sessions) => sessions.put(&id, client, kept)?,
            Self::Redis(sessions) => sessions.put(&id, client, &kept).await?,
        }
        Ok(id)
    }

    /// A copy of the session; it lives on as if it had been used.
    pub async fn get<'a>(
        &self,
        client: &Client,
        id: &str,
        translator: impl Fn(&str) -> Option<&'a Translator>,
    ) -> Result<Kept, Problem> {
        if !is_id(id) {
            return Err(Problem::Gone);
        }
        match self {
            Self::Memory(sessions) => sessions.get(client, id),
            Self::Redis(sessions) => sessions.get(client, id, translator).await,
        }
    }

    /// Puts a session back that was taken at this version.
    pub async fn put(
        &self,
        client: &Client,
        id: &str,
        taken: &Kept,
        session: Session,
    ) -> Result<(), Problem> {
        let (model, owner) = (taken.model.clone(), taken.owner.clone());
        let kept = Kept { model, owner, version: taken.version + 1, session };
        match self {
            Self::Memory(sessions) => sessions.put(id, client, kept),
            Self::Redis(sessions) => sessions.put(id, client, &kept).await,
        }
    }

    /// Forgets a session.
    pub async fn delete(&self, client: &Client, id: &str) -> Result<(), Problem> {
        if !is_id(id) {
            return Err(Problem::Gone);
        }
        match self {
            Self::Memory(sessions) => sessions.delete(client, id),
            Self::Redis(sessions) => sessions.delete(client, id).await,
        }
    }

    /// How many there are, and their bytes together.
    pub async fn counts(&self) -> Result<(usize, usize), Problem> {
        match self {
            Self::Memory(sessions) => Ok(sessions.counts()),
            Self::Redis(sessions) => sessions.counts().await,
        }
    }

    /// Forgets what has expired.
    pub fn sweep(&self) {
        if let Self::Memory(sessions) = self {
            sessions.sweep();
        }
    }
}

/// Bookkeeping that a session costs beside its memory.
const OVERHEAD: usize = 512;

/// 128 bits that nobody can guess.
fn new_id() -> Result<String, String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A key, or the address of another machine, may hold one in this many of all sessions.
const PARTS: usize = 4;

fn too_many(count: usize, is_own: bool) -> Problem {
    let whose = if is_own { "you have" } else { "there are" };
    Problem::Full(format!("{whose} {count} sessions already; delete those that you have finished"))
}

fn too_large(bytes: usize, is_own: bool) -> Problem {
    let whose = if is_own { "your" } else { "the" };
    let megabytes = bytes / 1_000_000;
    Problem::Full(format!("{whose} sessions fill {megabytes} MB already; try again later"))
}
