//! API keys: compared in constant time, never logged, stored only as hashes.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::{Error, Result};

/// The shortest key; a shorter one can be guessed.
const SHORTEST: usize = 16;

/// The keys that a server accepts.
#[derive(Clone, Default)]
pub struct Keys {
    /// The client's id and the key's hash; hashes have equal lengths, unlike keys.
    keys: Vec<(String, [u8; 32])>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.keys.len())
    }
}

impl Keys {
    /// Parses keys, one per line, each alone or as `name: key`; lines that begin with `#` are
    /// comments. Keys with the same name belong to one client, so that keys can be rotated.
    pub fn parse(text: &str) -> Result<Self> {
        let mut keys = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, key) = match line.split_once(':') {
                Some((name, key)) => (Some(name.trim()), key.trim()),
                None => (None, line),
            };
            if key.len() < SHORTEST {
                return Err(Error::Settings(format!(
                    "the key on line {} has fewer than {SHORTEST} characters and could be guessed; \
                     make one with `openssl rand -hex 24`",
                    number + 1
                )));
            }
            let hash: [u8; 32] = Sha256::digest(key).into();
            let id = if let Some(name) = name {
                format!("name {name}")
            } else {
                // Not the line number, which changes when another key is removed. A hash of the
                // hash, because the id is stored with sessions and must not reveal the key's hash.
                let again: [u8; 32] = Sha256::digest(hash).into();
                let (start, _) = again.split_first_chunk().unwrap_or((&[0; 16], &[]));
                format!("key {:032x}", u128::from_be_bytes(*start))
            };
            keys.push((id, hash));
        }
        Ok(Self { keys })
    }

    /// Whether no key is required.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The client id of a key. Compares all keys, so that the time reveals nothing.
    pub fn id(&self, key: &str) -> Option<&str> {
        let hash: [u8; 32] = Sha256::digest(key).into();
        let mut found = Choice::from(0);
        let mut place = 0u32;
        for (number, (_, known)) in self.keys.iter().enumerate() {
            let is_equal = hash.ct_eq(known);
            place.conditional_assign(&(number as u32), is_equal);
            found |= is_equal;
        }
        bool::from(found).then(|| self.keys[place as usize].0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names_and_are_not_shown() {
        let keys = Keys::parse("# mine\nfirst: 0123456789abcdef\n\nanother-key-of-mine\n").unwrap();
        assert_eq!(keys.id("0123456789abcdef"), Some("name first"));
        let unnamed = keys.id("another-key-of-mine").unwrap().to_owned();
        assert!(unnamed.starts_with("key ") && !unnamed.contains("mine"), "{unnamed}");
        // The same on any line.
        let moved = Keys::parse("another-key-of-mine").unwrap();
        assert_eq!(moved.id("another-key-of-mine"), Some(unnamed.as_str()));
        assert_eq!(keys.id("0123456789abcdeF"), None);
        assert_eq!(keys.id(""), None);
        assert_eq!(format!("{keys:?}"), "2 keys");
        let error = Keys::parse("short").unwrap_err().to_string();
        assert!(error.contains("line 1") && !error.contains("short"), "{error}");
    }
}
