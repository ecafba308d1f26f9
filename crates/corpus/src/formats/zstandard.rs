//! Strict decoding of Zstandard: checksums are verified, and sizes are bounded.
//!
//! The underlying decoder neither verifies the checksum of a frame nor limits its window, which may
//! be declared as terabytes.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The first four bytes of a frame.
pub(super) const MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The largest window that `zstd` itself accepts by default.
const LARGEST_WINDOW: u64 = 128 << 20;
/// Bytes decoded between two checks of the size.
const STEP: usize = 1 << 20;

/// The header of a skippable frame: four magic bytes and its size.
pub(super) const SKIPPABLE_HEADER: usize = 8;
/// The longest header of a frame with data, including the magic bytes.
pub(super) const LONGEST_HEADER: usize = 18;

/// Why some data was rejected, and what was decoded before.
#[derive(Debug)]
pub(super) struct Refused {
    pub problem: String,
    pub decoded: Vec<u8>,
    pub is_too_large: bool,
}

/// Decodes one frame or several in a row, to at most `most` bytes.
pub(super) fn decode(mut bytes: &[u8], most: u64) -> Result<Vec<u8>, Refused> {
    let mut decoded = Vec::new();
    let mut decoder = FrameDecoder::new();
    while !bytes.is_empty() {
        if let Some(rest) = skip(bytes) {
            bytes = rest;
            continue;
        }
        if let Err(problem) = frame(&mut bytes, &mut decoder, &mut decoded, most) {
            let is_too_large = decoded.len() as u64 > most;
            return Err(Refused { problem, decoded, is_too_large });
        }
    }
    Ok(decoded)
}

/// Whether data begins with a frame, skippable or not.
pub(super) fn is_frame(start: &[u8]) -> bool {
    start.starts_with(MAGIC) || skippable(start).is_some()
}

/// The size of a skippable frame, as some programs write them at the start or in between, without
/// its [`SKIPPABLE_HEADER`] bytes.
pub(super) fn skippable(bytes: &[u8]) -> Option<u32> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    let (length, _) = rest.split_first_chunk::<4>()?;
    let is_skippable = u32::from_le_bytes(*magic) & 0xffff_fff0 == 0x184d_2a50;
    is_skippable.then(|| u32::from_le_bytes(*length))
}

/// What follows a skippable frame.
fn skip(bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(SKIPPABLE_HEADER + skippable(bytes)? as usize..)
}

fn frame(
    bytes: &mut &[u8],
    decoder: &mut FrameDecoder,
    decoded: &mut Vec<u8>,
    most: u64,
) -> Result<(), String> {
    let header = Header::read(bytes).ok_or("its header is damaged or cut off")?;
    let start = decoded.len();
    header.check_window()?;
    if header.content.is_some_and(|size| size > most) {
        // Checked before anything is decoded.
        return Err(format!("it claims {} MiB", header.content.unwrap_or(0) >> 20));
    }
    decoder.reset(&mut *bytes).map_err(|error| error.to_string())?;
    let mut is_finished = false;
    while !is_finished {
        let step = BlockDecodingStrategy::UptoBytes(STEP);
        is_finished =
            decoder.decode_blocks(&mut *bytes, step).map_err(|error| error.to_string())?;
        decoder.collect_to_writer(&mut *decoded).map_err(|error| error.to_string())?;
        if decoded.len() as u64 > most {
            return Err("it is too large".into());
        }
    }
    let size = (decoded.len() - start) as u64;
    if header.content.is_some_and(|expected| expected != size) {
        return Err(format!("{size} bytes, but its header says {:?}", header.content));
    }
    check_sum(decoder)
}

/// Rejects a frame whose window would fill the memory, before decoding it.
pub(super) fn check_window(start: &[u8]) -> Result<(), String> {
    // The decoder reports truncated or invalid frames.
    Header::read(start).map_or(Ok(()), |header| header.check_window())
}

/// The content size in the header of a frame, if present.
pub(super) fn content_size(start: &[u8]) -> Option<u64> {
    Header::read(start)?.content
}

/// Verifies the checksum of a completely decoded frame, if it has one.
pub(super) fn check_sum(decoder: &FrameDecoder) -> Result<(), String> {
    match decoder.get_checksum_from_data() {
        Some(sum) if decoder.get_calculated_checksum() != Some(sum) => {
            Err("its checksum does not match".into())
        }
        _ => Ok(()),
    }
}

/// The header of a frame.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    window: u64,
    content: Option<u64>,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (&descriptor, rest) = rest.split_first()?;
        // A reserved bit.
        if descriptor & 0b1000 != 0 {
            return None;
        }
        let is_single = descriptor & 0b10_0000 != 0;
        let (window, rest) = if is_single {
            (None, rest)
        } else {
            let (&window, rest) = rest.split_first()?;
            let base = 1u64 << (10 + (window >> 3));
            (Some(base + base / 8 * u64::from(window & 7)), rest)
        };
        let rest = rest.get([0, 1, 2, 4][usize::from(descriptor & 3)]..)?;
        let little = |length: usize| {
            let bytes = rest.get(..length)?;
            Some(bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte)))
        };
        let content = match descriptor >> 6 {
            0 if is_single => Some(little(1)?),
            0 => None,
            1 => Some(little(2)? + 256),
            2 => Some(little(4)?),
            _ => Some(little(8)?),
        };
        Some(Self { window: window.or(content)?, content })
    }

    fn check_window(&self) -> Result<(), String> {
        // A single-segment frame has its content size instead, which has its own limit.
        if self.window > LARGEST_WINDOW && self.window > self.content.unwrap_or(0) {
            return Err(format!("it asks for a window of {} MiB", self.window >> 20));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: u64 = 1 << 24;

    /// A frame that `zstd` made, with its checksum, and the text in it.
    fn stored() -> (Vec<u8>, Vec<u8>) {
        let line =
            |i: usize| format!("line {i} of the lamp, {} and {}\n", i * 7919 % 1000, i * i % 77);
        let text: String = (0..200).map(line).collect();
        let frame = include_bytes!("../../tests/fixtures/zstandard/lines.zst");
        (frame.to_vec(), text.into_bytes())
    }

    fn encode(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn every_flipped_bit_is_detected_unless_harmless() {
        let (frame, text) = stored();
        assert_eq!(decode(&frame, MOST).unwrap(), text);
        let mut refused = 0;
        for bit in 0..frame.len() * 8 {
            let mut damaged = frame.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match decode(&damaged, MOST) {
                Ok(found) => assert_eq!(found, text, "bit {bit}"),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > frame.len() * 7, "{refused} of {}", frame.len() * 8);
    }

    #[test]
    fn every_truncation_is_detected() {
        let (frame, _) = stored();
        for length in 1..frame.len() {
            assert!(decode(&frame[..length], MOST).is_err(), "{length} bytes");
        }
        let two = [frame.clone(), frame.clone()].concat();
        for length in frame.len() + 1..two.len() {
            assert!(decode(&two[..length], MOST).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn sizes_are_checked_before_decoding() {
        let bomb = encode(&vec![b'\n'; 1 << 25]);
        let refused = decode(&bomb, MOST).unwrap_err();
        assert!(refused.is_too_large || refused.problem.contains("claims"), "{refused:?}");
        // A window of terabytes, without a content size.
        let mut window = MAGIC.to_vec();
        window.extend([0, 0xff, 1, 0, 0]);
        assert!(decode(&window, MOST).unwrap_err().problem.contains("a window of"));
        // 2^60 bytes in one segment.
        let mut content = MAGIC.to_vec();
        content.extend([0b1110_0000, 0, 0, 0, 0, 0, 0, 0, 16, 1, 0, 0]);
        assert!(decode(&content, MOST).unwrap_err().problem.contains("claims"));
    }

    #[test]
    fn skippable_frames_are_skipped() {
        let (frame, text) = stored();
        let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3], &frame[..]].concat();
        assert_eq!(decode(&skippable, MOST).unwrap(), text);
    }

    proptest! {
        #[test]
        fn arbitrary_frames_never_panic(bytes in any::<Vec<u8>>(), text in any::<Vec<u8>>()) {
            let _ = decode(&[MAGIC, &bytes].concat(), MOST);
            prop_assert_eq!(decode(&encode(&text), MOST).unwrap(), text);
        }
    }
}
