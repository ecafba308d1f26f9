//! Sessions in a Redis server, shared by replicas.
//!
//! A session is a hash with the model's name, the owner, the version and the bytes of
//! [`Session::save`](abridge_translate::Session::save). It expires by itself. A sorted set holds
//! the expiry times of all sessions, one hash their sizes and another their owners, so that the
//! limits hold across all replicas. Every change is one script, and so atomic.
//!
//! A Redis server that accepts connections but does not answer must not block requests for long:
//! each call takes at most [`PATIENCE`], and after a failed call all others fail immediately for a
//! while ([`Breaker`]).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abridge_translate::Translator;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, FromRedisValue, RedisError, Script, ScriptInvocation};
use tokio::sync::Mutex;

use super::breaker::Breaker;
use super::{Kept, OVERHEAD, PARTS, Problem, too_large, too_many};
use crate::Error;
use crate::client::{ADDRESS, Client};
use crate::settings::Limits;

/// In braces, so that a cluster keeps all keys on one node.
const PREFIX: &str = "{abridge}:";
/// The longest time for a call.
const PATIENCE: Duration = Duration::from_secs(2);

/// Removes expired sessions; the beginning of every script that counts.
const SWEEP: &str = "
local expired = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[1])
for _, id in ipairs(expired) do
  redis.call('ZREM', KEYS[2], id)
  redis.call('HDEL', KEYS[3], id)
  redis.call('HDEL', KEYS[4], id)
end
";

/// Whether the client may use the session: `client` is a key's id, or `address ` for clients
/// without a key.
const MAY_USE: &str = "
local function may_use(client)
  local owner = redis.call('HGET', KEYS[1], 'owner') or ''
  if string.sub(client, 1, 8) == 'address ' then return string.sub(owner, 1, 8) == 'address ' end
  return owner == client
end
";

/// now, id, version, model, bytes, size, life in ms, max sessions, max bytes, owner, max sessions
/// and max bytes of the owner
const PUT: &str = "
local version = tonumber(ARGV[3])
local known = redis.call('HGET', KEYS[1], 'version')
if not known and version > 0 then return 'gone' end
if known and tonumber(known) + 1 ~= version then return 'conflict' end
local own, own_bytes, bytes = 0, 0, 0
local owners = redis.call('HGETALL', KEYS[4])
local owner = {}
for i = 1, #owners, 2 do
  owner[owners[i]] = owners[i + 1]
  if owners[i + 1] == ARGV[10] then own = own + 1 end
end
local sizes = redis.call('HGETALL', KEYS[3])
for i = 1, #sizes, 2 do
  if sizes[i] ~= ARGV[2] then
    bytes = bytes + tonumber(sizes[i + 1])
    if owner[sizes[i]] == ARGV[10] then own_bytes = own_bytes + tonumber(sizes[i + 1]) end
  end
end
if not known then
  if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[8]) then return 'many' end
  if own >= tonumber(ARGV[11]) then return 'many own' end
end
if bytes + tonumber(ARGV[6]) > tonumber(ARGV[9]) then return 'large' end
if own_bytes + tonumber(ARGV[6]) > tonumber(ARGV[12]) then return 'large own' end
redis.call('HSET', KEYS[1], 'version', ARGV[3], 'model', ARGV[4], 'owner', ARGV[10], 'session', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[7])
redis.call('ZADD', KEYS[2], tonumber(ARGV[1]) + tonumber(ARGV[7]), ARGV[2])
redis.call('HSET', KEYS[3], ARGV[2], ARGV[6])
redis.call('HSET', KEYS[4], ARGV[2], ARGV[10])
return 'ok'
";

/// now, id, life in ms, client
const GET: &str = "
if not may_use(ARGV[4]) then return {false, false, false, false} end
local found = redis.call('HMGET', KEYS[1], 'model', 'version', 'session', 'owner')
if found[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('ZADD', KEYS[2], tonumber(ARGV[1]) + tonumber(ARGV[3]), ARGV[2])
end
return found
";

/// now, id, client
const DELETE: &str = "
if not may_use(ARGV[3]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('HDEL', KEYS[3], ARGV[2])
redis.call('HDEL', KEYS[4], ARGV[2])
return redis.call('DEL', KEYS[1])
";

const COUNT: &str = "
local total = 0
for _, size in ipairs(redis.call('HVALS', KEYS[3])) do total = total + tonumber(size) end
return {redis.call('ZCARD', KEYS[2]), total}
";

pub(crate) struct RedisSessions {
    server: redis::Client,
    /// The connection, until it fails.
    connection: Mutex<Option<MultiplexedConnection>>,
    breaker: Breaker,
    limits: Limits,
    put: Script,
    get: Script,
    delete: Script,
    count: Script,
}

type Found = (Option<String>, Option<u64>, Option<Vec<u8>>, Option<String>);

impl RedisSessions {
    pub async fn open(url: &str, limits: &Limits) -> crate::Result<Self> {
        // The URL may contain a password, so errors do not repeat it.
        let server = redis::Client::open(url).map_err(|error| {
            Error::Redis(format!("{}; write it as redis://host:6379/0", error.category()))
        })?;
        let sessions = Self {
            server,
            connection: Mutex::new(None),
            breaker: Breaker::default(),
            limits: limits.clone(),
            put: Script::new(&format!("{SWEEP}{PUT}")),
            get: Script::new(&format!("{MAY_USE}{GET}")),
            delete: Script::new(&format!("{MAY_USE}{DELETE}")),
            count: Script::new(&format!("{SWEEP}{COUNT}")),
        };
        sessions.counts().await.map_err(|problem| match problem {
            Problem::Away(why) => Error::Redis(why),
            other => Error::Redis(format!("{other:?}")),
        })?;
        Ok(sessions)
    }

    pub async fn put(&self, id: &str, client: &Client, kept: &Kept) -> Result<(), Problem> {
        let bytes = kept.session.save();
        let limits = &self.limits;
        let own = client.part_of(limits.sessions, PARTS);
        let own_bytes = client.part_of(limits.session_bytes, PARTS);
        let mut call = Self::call(&self.put, id);
        call.arg(kept.version).arg(&kept.model).arg(&bytes).arg(bytes.len() + OVERHEAD);
        call.arg(limits.session_life.as_millis() as u64);
        call.arg(limits.sessions)
            .arg(limits.session_bytes)
            .arg(&kept.owner)
            .arg(own)
            .arg(own_bytes);
        match self.invoke::<String>(&call).await?.as_str() {
            "ok" => Ok(()),
            "gone" => Err(Problem::Gone),
            "conflict" => Err(Problem::Conflict),
            "many" => Err(too_many(limits.sessions, false)),
            "many own" => Err(too_many(own, true)),
            "large own" => Err(too_large(own_bytes, true)),
            _ => Err(too_large(limits.session_bytes, false)),
        }
    }

    pub async fn get<'a>(
        &self,
        client: &Client,
        id: &str,
        translator: impl Fn(&str) -> Option<&'a Translator>,
    ) -> Result<Kept, Problem> {
        let mut call = Self::call(&self.get, id);
        call.arg(self.limits.session_life.as_millis() as u64).arg(asking(client));
        let (Some(model), Some(version), Some(bytes), Some(owner)) =
            self.invoke::<Found>(&call).await?
        else {
            return Err(Problem::Gone);
        };
        // A session that cannot be used now never will be: its document must start over.
        let Some(translator) = translator(&model) else {
            tracing::warn!("a session belongs to the model {model}, which is not served here");
            return Err(Problem::Gone);
        };
        match translator.restore(&bytes) {
            Ok(session) => Ok(Kept { model, owner, version, session }),
            Err(error) => {
                tracing::warn!("a session of the model {model} cannot be used: {error}");
                Err(Problem::Gone)
            }
        }
    }

    pub async fn delete(&self, client: &Client, id: &str) -> Result<(), Problem> {
        let mut call = Self::call(&self.delete, id);
        call.arg(asking(client));
        let deleted: u64 = self.invoke(&call).await?;
        if deleted == 0 { Err(Problem::Gone) } else { Ok(()) }
    }

    pub async fn counts(&self) -> Result<(usize, usize), Problem> {
        self.invoke(&Self::call(&self.count, "")).await
    }

    fn call<'a>(script: &'a Script, id: &str) -> ScriptInvocation<'a> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut call = script.prepare_invoke();
        call.key(format!("{PREFIX}session:{id}"));
        call.key(format!("{PREFIX}expiry")).key(format!("{PREFIX}sizes"));
        call.key(format!("{PREFIX}owners"));
        call.arg(now.as_millis() as u64).arg(id);
        call
    }

    /// Runs a script within [`PATIENCE`], unless the breaker is open.
    async fn invoke<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, Problem> {
        let Some(attempt) = self.breaker.attempt() else {
            return Err(Problem::Away("the previous call failed".into()));
        };
        let result = tokio::time::timeout(PATIENCE, self.run(call)).await;
        match result {
            Ok(Ok(result)) => {
                attempt.succeeded();
                Ok(result)
            }
            // An error reply: the server is up.
            Ok(Err(error)) if !is_lost(&error) => {
                attempt.succeeded();
                Err(Problem::Away(error.to_string()))
            }
            Ok(Err(error)) => {
                attempt.failed();
                Err(Problem::Away(error.to_string()))
            }
            Err(_) => {
                attempt.failed();
                // If it is locked, another call is still connecting.
                if let Ok(mut held) = self.connection.try_lock() {
                    *held = None;
                }
                Err(Problem::Away(format!("no answer within {} s", PATIENCE.as_secs())))
            }
        }
    }

    /// Runs a script, and again on a new connection if the connection was lost. It is safe to run a
    /// script twice: a second put of the same version is a conflict.
    async fn run<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, RedisError> {
        let mut connection = self.connect().await?;
        match call.invoke_async(&mut connection).await {
            Err(error) if is_lost(&error) => {
                *self.connection.lock().await = None;
                let mut connection = self.connect().await?;
                call.invoke_async(&mut connection).await
            }
            result => result,
        }
    }

    async fn connect(&self) -> Result<MultiplexedConnection, RedisError> {
        let mut held = self.connection.lock().await;
        if let Some(connection) = &*held {
            return Ok(connection.clone());
        }
        // `invoke` already has a timeout; one on the connection would lead to a second attempt.
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let connection = self.server.get_multiplexed_async_connection_with_config(&config).await?;
        *held = Some(connection.clone());
        Ok(connection)
    }
}

/// Whether the connection failed, as opposed to an error reply.
fn is_lost(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_timeout()
}

/// The client as the scripts expect it.
fn asking(client: &Client) -> &str {
    if client.has_key { &client.id } else { ADDRESS }
}
