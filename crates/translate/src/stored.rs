//! Sessions as bytes, for storage outside the process.
//!
//! ```text
//! "ABRIDGES" · version · model hash · context · sentences · language · count · count × sentence · SHA-256
//! sentence: tokens · 0, or 1 · rows · 0, or 1 · group weights · 0, or 1 · translation
//! translation: tokens · 1 · rows · 0, or 1 · group weights
//! ```
//!
//! Numbers are little-endian. The language is the token of the target language, or all ones;
//! version 2 had none. Projected keys and values are not stored: they are a few matrix products
//! away, and twelve times as large as the entry at the paper's width. The input is not trusted:
//! every length is checked against the remaining bytes before anything is allocated.

use std::collections::VecDeque;

use abridge_base::hash::digest;
use abridge_model::{MemoryEntry, Remembered, StoredEntry};
use burn::tensor::{Device, Tensor, TensorData};

use crate::session::Session;
use crate::translator::Translator;
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"ABRIDGES";
const VERSION: u32 = 3;
/// The last version without a target language.
const WITHOUT_LANGUAGE: u32 = 2;
const NO_LANGUAGE: u32 = u32::MAX;
const CHECKSUM: usize = 32;

impl Session {
    /// Everything that [`Translator::restore`] needs to continue.
    pub fn save(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes.extend_from_slice(MAGIC);
        out.number(VERSION);
        out.sized(self.model.as_bytes());
        out.number(self.context as u32);
        out.bytes.extend_from_slice(&self.sentences.to_le_bytes());
        out.number(self.language.unwrap_or(NO_LANGUAGE));
        out.number(self.past.len() as u32);
        for remembered in &self.past {
            out.sentence(&remembered.tokens, remembered.entry.as_ref());
            out.bytes.push(u8::from(remembered.translation.is_some()));
            if let Some(translation) = &remembered.translation {
                out.sentence(&translation.tokens, Some(&translation.entry));
            }
        }
        let checksum = digest(&[&out.bytes]);
        out.bytes.extend_from_slice(&checksum);
        out.bytes
    }
}

impl Translator {
    /// Restores a session of this model.
    pub fn restore(&self, bytes: &[u8]) -> Result<Session> {
        let Some(end) = bytes.len().checked_sub(CHECKSUM) else {
            return damaged("it is too short");
        };
        let (body, checksum) = bytes.split_at(end);
        let Some(rest) = body.strip_prefix(MAGIC) else {
            return damaged("it does not begin like a session");
        };
        let mut input = Reader { rest };
        let version = input.number()?;
        if !(WITHOUT_LANGUAGE..=VERSION).contains(&version) {
            return damaged(format!("its version is {version}, but this program reads {VERSION}"));
        }
        if digest(&[body])[..] != *checksum {
            return damaged("its checksum is wrong");
        }
        let model = input.sized(128)?;
        if model != self.hash().as_bytes() {
            return Err(Error::Session(
                "the session belongs to another model; start a new one".into(),
            ));
        }
        let context = self.context(Some(input.number()? as usize))?;
        let sentences = u64::from_le_bytes(input.array()?);
        let language = match version {
            WITHOUT_LANGUAGE => self.target_languages().chosen(),
            _ => Some(input.number()?).filter(|&language| language != NO_LANGUAGE),
        };
        if language.is_some_and(|language| self.target_languages().code(language).is_none()) {
            return damaged("the model does not have its language");
        }
        let count = input.number()? as usize;
        if count > context || count as u64 > sentences {
            return damaged(format!("it remembers {count} sentences of {sentences}"));
        }
        let past =
            (0..count).map(|_| self.remembered(&mut input)).collect::<Result<VecDeque<_>>>()?;
        if !input.rest.is_empty() {
            return damaged(format!("{} bytes follow its end", input.rest.len()));
        }
        Ok(Session { model: self.hash().to_owned(), context, past, sentences, language })
    }

    fn remembered(&self, input: &mut Reader<'_>) -> Result<Remembered> {
        let (tokens, entry) = self.sentence(input)?;
        let mut remembered = self.model().remember(tokens, entry)?;
        if input.flag()? {
            let (tokens, Some(entry)) = self.sentence(input)? else {
                return damaged("a translation without its entry");
            };
            remembered.translation = Some(self.model().remember_translation(tokens, entry)?);
        }
        Ok(remembered)
    }

    fn sentence(&self, input: &mut Reader<'_>) -> Result<(Vec<u32>, Option<StoredEntry>)> {
        let device = self.model().device();
        let tokens = input.tokens(self.model().config().max_positions)?;
        let rows = input.matrix(&device)?;
        let entry = match rows {
            Some(rows) => Some((rows, input.matrix(&device)?)),
            None => None,
        };
        if let Some((_, Some(weights))) = &entry
            && weights.dims()[0] != tokens.len()
        {
            return damaged("group weights of another sentence");
        }
        Ok((tokens, entry))
    }
}

fn damaged<T>(problem: impl Into<String>) -> Result<T> {
    Err(Error::Session(format!("invalid session: {}", problem.into())))
}

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn number(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn sized(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u32);
        self.bytes.extend_from_slice(bytes);
    }

    fn sentence(&mut self, tokens: &[u32], entry: Option<&MemoryEntry>) {
        self.number(tokens.len() as u32);
        for &token in tokens {
            self.number(token);
        }
        self.matrix(entry.map(|entry| &entry.rows));
        if let Some(entry) = entry {
            self.matrix(entry.weights.as_ref());
        }
    }

    fn matrix(&mut self, matrix: Option<&Tensor<2>>) {
        let Some(matrix) = matrix else { return self.bytes.push(0) };
        self.bytes.push(1);
        matrix.dims().iter().for_each(|&size| self.number(size as u32));
        for value in matrix.to_data().iter::<f32>() {
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => damaged(format!("{count} bytes expected, but {} are left", self.rest.len())),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn number(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn sized(&mut self, most: usize) -> Result<&'a [u8]> {
        let count = self.number()? as usize;
        if count > most {
            return damaged(format!("a length of {count}, but the limit is {most}"));
        }
        self.take(count)
    }

    fn tokens(&mut self, most: usize) -> Result<Vec<u32>> {
        let count = self.number()? as usize;
        if count > most {
            return damaged(format!("a sentence of {count} tokens, but the model takes {most}"));
        }
        let bytes = self.take(4 * count)?.chunks_exact(4);
        Ok(bytes
            .map(|token| u32::from_le_bytes([token[0], token[1], token[2], token[3]]))
            .collect())
    }

    fn flag(&mut self) -> Result<bool> {
        match self.array::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => damaged(format!("a flag of {other} instead of 0 or 1")),
        }
    }

    fn matrix(&mut self, device: &Device) -> Result<Option<Tensor<2>>> {
        if !self.flag()? {
            return Ok(None);
        }
        let (rows, columns) = (self.number()? as usize, self.number()? as usize);
        let count = rows.checked_mul(columns).and_then(|count| count.checked_mul(4));
        let Some(count) = count else { return damaged("a matrix that is too large") };
        let values: Vec<f32> = self
            .take(count)?
            .chunks_exact(4)
            .map(|value| f32::from_le_bytes([value[0], value[1], value[2], value[3]]))
            .collect();
        if !values.iter().all(|value| value.is_finite()) {
            return damaged("a value that is not finite");
        }
        Ok(Some(Tensor::from_data(TensorData::new(values, [rows, columns]), device)))
    }
}
