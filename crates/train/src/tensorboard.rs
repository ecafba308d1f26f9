//! Event files for TensorBoard.
//!
//! A file is a list of records: length, its checksum, an encoded `Event` message, its checksum.
//! The few fields that are needed are encoded by hand; `tests/tensorboard/check.py` reads such files
//! with TensorBoard itself.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::event::Event;

/// Writes one event file.
#[derive(Debug)]
pub struct EventWriter {
    file: fs::File,
    /// Seconds and target tokens at the last update, for the speed.
    last: (f64, usize),
}

impl EventWriter {
    /// Starts a file in a folder. It invalidates what earlier files say about updates after
    /// `update`.
    pub fn create(folder: &Path, update: u64) -> std::io::Result<Self> {
        fs::create_dir_all(folder)?;
        let now = now();
        // TensorBoard reads the files of a folder in the order of their names.
        let name = format!("events.out.tfevents.{:014.3}.{}", now, std::process::id());
        let mut writer = Self { file: fs::File::create(folder.join(name))?, last: (0.0, 0) };
        writer.record(&message(now, 0, &bytes(3, b"brain.Event:2")))?;
        // A session log with status START makes TensorBoard drop later steps of older files.
        let start = [varint_field(1, 1)].concat();
        writer.record(&message(now, update + 1, &bytes(7, &start)))?;
        Ok(writer)
    }

    /// Writes the numbers of an event, if it has any.
    pub fn write(&mut self, event: &Event) -> std::io::Result<()> {
        match event {
            Event::Updated {
                update,
                loss,
                perplexity,
                rate,
                norm,
                tokens,
                corpora,
                seconds,
                ..
            } => {
                let passed = (seconds - self.last.0).max(1e-9);
                self.last = (*seconds, *tokens);
                let shares: Vec<(String, f64)> = corpora
                    .iter()
                    .map(|(name, drawn)| {
                        (format!("mixture/{name}"), *drawn as f64 / *tokens as f64)
                    })
                    .collect();
                let mut values = vec![
                    ("train/loss", *loss),
                    ("train/perplexity", *perplexity),
                    ("train/rate", *rate),
                    ("train/norm", *norm),
                    ("train/tokens_per_second", *tokens as f64 / passed),
                ];
                values.extend(shares.iter().map(|(name, share)| (name.as_str(), *share)));
                self.scalars(*update, &values)
            }
            Event::Validated { update, loss, perplexity, scores, corpora, .. } => {
                let scores = scores
                    .iter()
                    .map(|(name, score)| (format!("valid/{}", name.replace(' ', "_")), *score));
                let losses =
                    corpora.iter().map(|(name, of)| (format!("valid/loss_{name}"), of.loss));
                let names: Vec<(String, f64)> = scores.chain(losses).collect();
                let mut values = vec![("valid/loss", *loss), ("valid/perplexity", *perplexity)];
                values.extend(names.iter().map(|(name, score)| (name.as_str(), *score)));
                self.scalars(*update, &values)
            }
            _ => Ok(()),
        }
    }

    fn scalars(&mut self, update: u64, values: &[(&str, f64)]) -> std::io::Result<()> {
        let summary: Vec<u8> = values
            .iter()
            .flat_map(|(tag, value)| {
                let number = (*value as f32).to_le_bytes();
                let value = [bytes(1, tag.as_bytes()), key(2, 5), number.to_vec()].concat();
                bytes(1, &value)
            })
            .collect();
        self.record(&message(now(), update, &bytes(5, &summary)))
    }

    /// One write per record, so that a killed process leaves at most one truncated record.
    fn record(&mut self, content: &[u8]) -> std::io::Result<()> {
        let length = (content.len() as u64).to_le_bytes();
        let record = [
            &length[..],
            &masked_checksum(&length).to_le_bytes(),
            content,
            &masked_checksum(content).to_le_bytes(),
        ]
        .concat();
        self.file.write_all(&record)
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// An `Event`: wall time, step and one more field.
fn message(time: f64, step: u64, field: &[u8]) -> Vec<u8> {
    [key(1, 1), time.to_le_bytes().to_vec(), varint_field(2, step), field.to_vec()].concat()
}

/// A field's number and wire type: 0 an integer, 1 eight bytes, 2 length-prefixed bytes, 5 four
/// bytes.
fn key(field: u64, kind: u64) -> Vec<u8> {
    varint(field << 3 | kind)
}

fn varint_field(field: u64, value: u64) -> Vec<u8> {
    [key(field, 0), varint(value)].concat()
}

fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    [key(field, 2), varint(content.len() as u64), content.to_vec()].concat()
}

/// Seven bits per byte, the lowest first; the top bit is set if more bytes follow.
fn varint(mut value: u64) -> Vec<u8> {
    let mut encoded = Vec::new();
    while value >= 0x80 {
        encoded.push(value as u8 | 0x80);
        value >>= 7;
    }
    encoded.push(value as u8);
    encoded
}

/// The checksum of records: CRC-32C, rotated and offset, because a CRC of data that contains CRCs
/// is problematic.
fn masked_checksum(content: &[u8]) -> u32 {
    crc32c(content).rotate_right(15).wrapping_add(0xA282_EAD8)
}

/// CRC-32C (Castagnoli), bit by bit: records are short.
fn crc32c(content: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
    !content.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_match_the_standard() {
        // RFC 3720, appendix B.4, and the check value of the CRC catalogue.
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn integers_take_seven_bits_per_byte() {
        assert_eq!(varint(0), [0]);
        assert_eq!(varint(300), [0xAC, 0x02]);
        assert_eq!(varint(u64::MAX).len(), 10);
    }

    #[test]
    fn records_are_framed_and_hold_tags() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = EventWriter::create(folder.path(), 3).unwrap();
        writer.scalars(4, &[("train/loss", 1.5)]).unwrap();
        let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let mut rest = &fs::read(file).unwrap()[..];
        let mut records = Vec::new();
        while !rest.is_empty() {
            let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
            let sum = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            assert_eq!(sum(8), masked_checksum(&rest[..8]));
            assert_eq!(sum(12 + length), masked_checksum(&rest[12..12 + length]));
            records.push(rest[12..12 + length].to_vec());
            rest = &rest[16 + length..];
        }
        assert_eq!(records.len(), 3);
        assert!(records[0].ends_with(b"brain.Event:2"));
        let last = &records[2];
        assert!(last.windows(10).any(|part| part == b"train/loss"));
        assert!(last.ends_with(&1.5f32.to_le_bytes()));
    }
}
