//! Sessions in a Redis server, shared by replicas.
//!
//! A session is a hash with the model's name, the version and the bytes of [`Session::save`], which
//! expires by itself. A sorted set holds when each session expires and a hash how many bytes it has,
//! so that the limits hold over all replicas. Every change is one script: all of it or nothing.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abridge_translate::{Session, Translator};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, FromRedisValue, RedisError, Script, ScriptInvocation};
use tokio::sync::Mutex;

use super::{Kept, OVERHEAD, Problem, too_large, too_many};
use crate::Error;
use crate::settings::Limits;

/// In braces, so that a cluster keeps all of it on one node.
const PREFIX: &str = "{abridge}:";
/// A server that does not answer in this time is away.
const PATIENCE: Duration = Duration::from_secs(2);

/// Forgets what has expired; the beginning of every script that counts.
const SWEEP: &str = "
local expired = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[1])
for _, id in ipairs(expired) do
  redis.call('ZREM', KEYS[2], id)
  redis.call('HDEL', KEYS[3], id)
end
";

/// now, id, version, model, bytes, size, life in ms, most sessions, most bytes
const PUT: &str = "
local version = tonumber(ARGV[3])
local known = redis.call('HGET', KEYS[1], 'version')
if not known and version > 0 then return 'gone' end
if known and tonumber(known) + 1 ~= version then return 'conflict' end
if not known and redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[8]) then return 'many' end
local total = tonumber(ARGV[6]) - tonumber(redis.call('HGET', KEYS[3], ARGV[2]) or '0')
for _, size in ipairs(redis.call('HVALS', KEYS[3])) do total = total + tonumber(size) end
if total > tonumber(ARGV[9]) then return 'large' end
redis.call('HSET', KEYS[1], 'version', ARGV[3], 'model', ARGV[4], 'session', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[7])
redis.call('ZADD', KEYS[2], tonumber(ARGV[1]) + tonumber(ARGV[7]), ARGV[2])
redis.call('HSET', KEYS[3], ARGV[2], ARGV[6])
return 'ok'
";

/// now, id, life in ms
const GET: &str = "
local found = redis.call('HMGET', KEYS[1], 'model', 'version', 'session')
if found[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('ZADD', KEYS[2], tonumber(ARGV[1]) + tonumber(ARGV[3]), ARGV[2])
end
return found
";

/// now, id
const DELETE: &str = "
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('HDEL', KEYS[3], ARGV[2])
return redis.call('DEL', KEYS[1])
";

const COUNT: &str = "
local total = 0
for _, size in ipairs(redis.call('HVALS', KEYS[3])) do total = total + tonumber(size) end
return {redis.call('ZCARD', KEYS[2]), total}
";

pub(crate) struct RedisSessions {
    client: Client,
    /// The connection, until it fails.
    connection: Mutex<Option<MultiplexedConnection>>,
    limits: Limits,
    put: Script,
    get: Script,
    delete: Script,
    count: Script,
}

type Found = (Option<String>, Option<u64>, Option<Vec<u8>>);

impl RedisSessions {
    pub async fn open(url: &str, limits: &Limits) -> crate::Result<Self> {
        // The address may hold a password, so errors do not repeat it.
        let client = Client::open(url).map_err(|error| {
            Error::Redis(format!("{}; write it as redis://host:6379/0", error.category()))
        })?;
        let sessions = Self {
            client,
            connection: Mutex::new(None),
            limits: limits.clone(),
            put: Script::new(&format!("{SWEEP}{PUT}")),
            get: Script::new(GET),
            delete: Script::new(DELETE),
            count: Script::new(&format!("{SWEEP}{COUNT}")),
        };
        sessions.counts().await.map_err(|problem| match problem {
            Problem::Away(why) => Error::Redis(why),
            other => Error::Redis(format!("{other:?}")),
        })?;
        Ok(sessions)
    }

    pub async fn put(
        &self,
        id: &str,
        model: &str,
        version: u64,
        session: &Session,
    ) -> Result<(), Problem> {
        let bytes = session.save();
        let life = self.limits.session_life.as_millis() as u64;
        let mut call = Self::call(&self.put, id);
        call.arg(version).arg(model).arg(&bytes).arg(bytes.len() + OVERHEAD).arg(life);
        call.arg(self.limits.sessions).arg(self.limits.session_bytes);
        match self.invoke::<String>(&call).await?.as_str() {
            "ok" => Ok(()),
            "gone" => Err(Problem::Gone),
            "conflict" => Err(Problem::Conflict),
            "many" => Err(too_many(&self.limits)),
            _ => Err(too_large(&self.limits)),
        }
    }

    pub async fn get<'a>(
        &self,
        id: &str,
        translator: impl Fn(&str) -> Option<&'a Translator>,
    ) -> Result<Kept, Problem> {
        let mut call = Self::call(&self.get, id);
        call.arg(self.limits.session_life.as_millis() as u64);
        let (Some(model), Some(version), Some(bytes)) = self.invoke::<Found>(&call).await? else {
            return Err(Problem::Gone);
        };
        let translator = translator(&model).ok_or_else(|| {
            Problem::Away(format!("a session belongs to model {model}, which is not served here"))
        })?;
        let session = translator
            .restore(&bytes)
            .map_err(|error| Problem::Away(format!("a session cannot be restored: {error}")))?;
        Ok(Kept { model, version, session })
    }

    pub async fn delete(&self, id: &str) -> Result<(), Problem> {
        let deleted: u64 = self.invoke(&Self::call(&self.delete, id)).await?;
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
        call.arg(now.as_millis() as u64).arg(id);
        call
    }

    /// Runs a script; where the connection was lost, once more with a new one. Every script may run
    /// twice: a second put of the same version says so.
    async fn invoke<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, Problem> {
        let away = |error: RedisError| Problem::Away(error.to_string());
        let mut connection = self.connect().await.map_err(away)?;
        match call.invoke_async(&mut connection).await {
            Ok(result) => Ok(result),
            Err(error) if error.is_io_error() || error.is_connection_dropped() => {
                *self.connection.lock().await = None;
                let mut connection = self.connect().await.map_err(away)?;
                call.invoke_async(&mut connection).await.map_err(away)
            }
            Err(error) => Err(away(error)),
        }
    }

    async fn connect(&self) -> Result<MultiplexedConnection, RedisError> {
        let mut held = self.connection.lock().await;
        if let Some(connection) = &*held {
            return Ok(connection.clone());
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        *held = Some(connection.clone());
        Ok(connection)
    }
}
