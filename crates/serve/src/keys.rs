//! API keys: compared in constant time, never logged, kept only as hashes.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::{Error, Result};

/// The shortest key; a shorter one can be guessed.
const SHORTEST: usize = 16;

/// The keys that a server accepts.
#[derive(Clone, Default)]
pub struct Keys {
    /// A name for each, and its hash: equal lengths, whatever the keys' lengths are.
    keys: Vec<(String, [u8; 32])>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.keys.len())
    }
}

impl Keys {
    /// Reads keys, one per line, each alone or as `name: key`; lines that begin with `#` are notes.
    pub fn parse(text: &str) -> Result<Self> {
        let mut keys = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, key) = match line.split_once(':') {
                Some((name, key)) => (name.trim().to_owned(), key.trim()),
                None => (format!("key-{}", number + 1), line),
            };
            if key.len() < SHORTEST {
                return Err(Error::Settings(format!(
                    "the key in line {} has fewer than {SHORTEST} characters and could be guessed; \
                     make one with `openssl rand -hex 24`",
                    number + 1
                )));
            }
            keys.push((name, Sha256::digest(key).into()));
        }
        Ok(Self { keys })
    }

    /// Whether no key is asked for.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The name of a key. Every key is compared, so the time tells nothing.
    pub fn name(&self, key: &str) -> Option<&str> {
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
        assert_eq!(keys.name("0123456789abcdef"), Some("first"));
        assert_eq!(keys.name("another-key-of-mine"), Some("key-4"));
        assert_eq!(keys.name("0123456789abcdeF"), None);
        assert_eq!(keys.name(""), None);
        assert_eq!(format!("{keys:?}"), "2 keys");
        let error = Keys::parse("short").unwrap_err().to_string();
        assert!(error.contains("line 1") && !error.contains("short"), "{error}");
    }
}
