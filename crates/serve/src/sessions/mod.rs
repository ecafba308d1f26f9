//! Sessions: the memories of documents that arrive in several requests.
//!
//! A session has a version. A translation reads the session with its version, and writes it back
//! only if the version is unchanged. So if two requests for one document run at once, one of them
//! fails, and their sentences are never mixed. The same holds for two replicas with one Redis
//! server.
//!
//! A session belongs to the key that created it. For every other key it does not exist.

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

/// A stored session.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// The name of the model that it belongs to.
    pub model: String,
    /// The client that created it.
    pub owner: String,
    /// How often it was written back.
    pub version: u64,
    pub session: Session,
}

/// The session store.
pub(crate) enum Sessions {
    Memory(Box<memory::MemorySessions>),
    Redis(Box<redis::RedisSessions>),
}

/// Why a session cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Expired, deleted or never created.
    Gone,
    /// Another request wrote it first.
    Conflict,
    /// No room.
    Full(String),
    /// The store cannot be reached.
    Away(String),
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Gone => Self::new(
                Code::SessionGone,
                "this session has expired, was deleted or never existed; create a new one with the \
                 last sentences of the document as \"before\"",
            ),
            Problem::Conflict => Self::new(
                Code::SessionConflict,
                "another request has advanced this document in the meantime; send the requests of \
                 a document one after another",
            ),
            Problem::Full(what) => Self::new(Code::Unavailable, what),
            Problem::Away(why) => {
                tracing::error!("the session store cannot be reached: {why}");
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

    /// Stores a new session and returns its id.
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

    /// A copy of the session. This resets its expiry.
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

    /// Writes back a session that was read as `taken`.
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

    /// Deletes a session.
    pub async fn delete(&self, client: &Client, id: &str) -> Result<(), Problem> {
        if !is_id(id) {
            return Err(Problem::Gone);
        }
        match self {
            Self::Memory(sessions) => sessions.delete(client, id),
            Self::Redis(sessions) => sessions.delete(client, id).await,
        }
    }

    /// The number of sessions, and their total bytes.
    pub async fn counts(&self) -> Result<(usize, usize), Problem> {
        match self {
            Self::Memory(sessions) => Ok(sessions.counts()),
            Self::Redis(sessions) => sessions.counts().await,
        }
    }

    /// Removes expired sessions.
    pub fn sweep(&self) {
        if let Self::Memory(sessions) = self {
            sessions.sweep();
        }
    }
}

/// Bytes of bookkeeping per session, besides its memory.
const OVERHEAD: usize = 512;

/// 128 random bits, which cannot be guessed.
fn new_id() -> Result<String, String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A key, or the address of another machine, may hold at most 1/`PARTS` of all sessions.
const PARTS: usize = 4;

fn too_many(count: usize, is_own: bool) -> Problem {
    let whose = if is_own { "you have" } else { "there are" };
    Problem::Full(format!("{whose} {count} sessions already; delete finished ones"))
}

fn too_large(bytes: usize, is_own: bool) -> Problem {
    let whose = if is_own { "your" } else { "the" };
    let megabytes = bytes / 1_000_000;
    Problem::Full(format!("{whose} sessions already fill {megabytes} MB; try again later"))
}
