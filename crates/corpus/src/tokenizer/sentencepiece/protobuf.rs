//! The subset of the protocol buffer format that a SentencePiece `.model` needs, without a schema
//! compiler; lengths in the file are not trusted.

use crate::{Error, Result};

/// One field of a message.
#[derive(Debug)]
pub struct Field<'a> {
    /// The number that the schema gives the field.
    pub number: u64,
    /// Its value.
    pub value: Value<'a>,
}

/// The value of a field, by its wire type.
#[derive(Debug)]
pub enum Value<'a> {
    /// Integers, booleans and enumerations.
    Number(u64),
    /// Floats.
    Fixed32([u8; 4]),
    /// Doubles, of which this schema has none.
    Fixed64,
    /// Strings, bytes and nested messages.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The number, or 0, the default, for another wire type.
    pub fn number(&self) -> u64 {
        if let Self::Number(number) = self { *number } else { 0 }
    }

    /// The float, if it is one.
    pub fn float(&self) -> f32 {
        if let Self::Fixed32(bytes) = self { f32::from_le_bytes(*bytes) } else { 0.0 }
    }

    /// The bytes, or nothing for another wire type.
    pub fn bytes(&self) -> &'a [u8] {
        if let Self::Bytes(bytes) = self { bytes } else { &[] }
    }

    /// The bytes as text.
    pub fn text(&self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()).map_err(|_| broken("a string in it is not UTF-8"))
    }
}

/// Reads the fields of a message one after the other.
#[derive(Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of the message that these bytes encode.
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn varint(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(broken("a number in it has no end"))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.rest.len() {
            return Err(broken("it is truncated"));
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| broken("it is truncated"))
    }

    fn field(&mut self) -> Result<Field<'a>> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => {
                self.take(8)?;
                Value::Fixed64
            }
            2 => {
                let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(self.array()?),
            other => return Err(broken(&format!("unknown wire type {other}"))),
        };
        Ok(Field { number: key >> 3, value })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The error for a damaged model file.
pub fn broken(reason: &str) -> Error {
    Error::new(format!("not a usable SentencePiece model: {reason}"))
}
