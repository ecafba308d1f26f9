//! A stub for builds without Redis: opening always fails, so nothing else can be called.

#![expect(clippy::unused_async, reason = "a build with Redis waits for it")]

use abridge_translate::Translator;

use super::{Kept, Problem};
use crate::Error;
use crate::client::Client;
use crate::settings::Limits;

/// Cannot be constructed.
pub(crate) enum RedisSessions {}

impl RedisSessions {
    pub async fn open(_url: &str, _limits: &Limits) -> crate::Result<Self> {
        Err(Error::Redis("not in this build; build with `--features redis`".to_owned()))
    }

    pub async fn put(&self, _id: &str, _client: &Client, _kept: &Kept) -> Result<(), Problem> {
        match *self {}
    }

    pub async fn get<'a>(
        &self,
        _client: &Client,
        _id: &str,
        _translator: impl Fn(&str) -> Option<&'a Translator>,
    ) -> Result<Kept, Problem> {
        match *self {}
    }

    pub async fn delete(&self, _client: &Client, _id: &str) -> Result<(), Problem> {
        match *self {}
    }

    pub async fn counts(&self) -> Result<(usize, usize), Problem> {
        match *self {}
    }
}
