//! Marian's `.bin`: named items one after the other, mapped into memory by Marian itself.
//!
//! ```text
//! version · count                                                   u64 each
//! count × (length of name · type · dimensions · length of data)     u64 each
//! names, each ended by a zero byte
//! shapes                                                            i32 each
//! length of padding · padding                                       u64
//! data
//! ```
//!
//! All numbers are little-endian. The data of an item may be longer than its values: Marian rounds
//! lengths up, and the rest is meaningless.

use std::path::Path;

use abridge_machine::file::MappedFile;

use super::items::{Items, elements};
use crate::Result;
use crate::weights::broken;

const VERSION: u64 = 1;
const INT8: u64 = 0x101;
const F32: u64 = 0x404;
/// Eight bits with one multiplier, in an order that does not depend on the processor.
const INTGEMM8: u64 = 0x4101;
const HEADER: usize = 32;

/// Reads a `.bin` file.
pub(super) fn read(path: &Path) -> Result<Items> {
    let map =
        MappedFile::open(path).map_err(|error| broken(path, format!("cannot read it: {error}")))?;
    parse(path, &map).map_err(|problem| broken(path, problem))
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Items, String> {
    let mut input = Input { rest: bytes };
    let version = input.number()?;
    if version != VERSION {
        return Err(format!(
            "version {version} of Marian's format, but only version {VERSION} is supported"
        ));
    }
    let count = input.number()?;
    if count > (input.rest.len() / HEADER) as u64 {
        return Err(format!(
            "not a Marian model: it claims {count} items, more than {} bytes can hold",
            bytes.len()
        ));
    }
    let mut headers = Vec::new();
    for _ in 0..count {
        headers.push([input.number()?, input.number()?, input.number()?, input.number()?]);
    }
    let mut names = Vec::new();
    for &[length, ..] in &headers {
        let name = input.take(length)?;
        let name = name.strip_suffix(b"\0").unwrap_or(name);
        let name = std::str::from_utf8(name).map_err(|_| "an item's name is not UTF-8")?;
        names.push(name.to_owned());
    }
    let mut shapes = Vec::new();
    for (&[_, _, dimensions, _], name) in headers.iter().zip(&names) {
        let sizes = input.take(dimensions.saturating_mul(4))?.as_chunks::<4>().0.iter();
        let sizes = sizes.map(|&size| {
            let size = i32::from_le_bytes(size);
            usize::try_from(size).map_err(|_| format!("item {name} has a size of {size}"))
        });
        shapes.push(sizes.collect::<Result<Vec<usize>, String>>()?);
    }
    let padding = input.number()?;
    input.take(padding)?;
    // All lengths are checked together before the first value is copied.
    let total = headers.iter().try_fold(0u64, |sum, header| sum.checked_add(header[3]));
    if total != Some(input.rest.len() as u64) {
        return Err(format!(
            "its items take {} bytes together, but {} follow the header; it was cut off or \
             changed",
            total.map_or("countless".into(), |total| total.to_string()),
            input.rest.len()
        ));
    }
    let mut items = Items::new(path);
    for ((&[_, kind, _, length], name), shape) in headers.iter().zip(names).zip(shapes) {
        let data = input.take(length)?;
        if Items::is_text(&name) {
            if kind != INT8 {
                return Err(format!("item {name} should be text, but has type {kind:#x}"));
            }
            items.set_text(data)?;
            continue;
        }
        if Items::is_unused(&name) {
            continue;
        }
        let count = elements(&name, &shape)?;
        let values = match kind {
            F32 => single(data, count),
            INTGEMM8 => {
                items.is_int8 = true;
                quantised(data, count, &name, &shape)?
            }
            other => return Err(unknown_type(&name, other)),
        };
        let values = values.ok_or_else(|| {
            format!("item {name} of shape {shape:?} does not fit into its {length} bytes")
        })?;
        items.insert(name, shape, values)?;
    }
    Ok(items)
}

fn single(data: &[u8], count: usize) -> Option<Vec<f32>> {
    let values = data.as_chunks::<4>().0.get(..count)?;
    Some(values.iter().map(|&value| f32::from_le_bytes(value)).collect())
}

/// Integers, divided by the multiplier that follows them. All matrices except embeddings are stored
/// transposed.
fn quantised(
    data: &[u8],
    count: usize,
    name: &str,
    shape: &[usize],
) -> Result<Option<Vec<f32>>, String> {
    let Some((integers, rest)) = data.split_at_checked(count) else { return Ok(None) };
    let Some((multiplier, _)) = rest.split_first_chunk::<4>() else { return Ok(None) };
    let multiplier = f32::from_le_bytes(*multiplier);
    if !(multiplier.is_finite() && multiplier > 0.0) {
        return Err(format!("item {name} has the multiplier {multiplier}"));
    }
    let &[rows, columns] = shape else {
        return Err(format!("item {name} is 8-bit, but not a matrix: {shape:?}"));
    };
    let value = |byte: u8| f32::from(byte.cast_signed()) / multiplier;
    if name.ends_with("Wemb") {
        return Ok(Some(integers.iter().map(|&byte| value(byte)).collect()));
    }
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| column * rows + row));
    Ok(Some(places.map(|place| value(integers[place])).collect()))
}

fn unknown_type(name: &str, kind: u64) -> String {
    let what = match kind {
        0x402 => "half precision",
        0x408 => "double precision",
        0x4102 => "16-bit integers",
        kind if kind & 0xF000 != 0 => "a layout for one kind of processor",
        _ => "unknown here",
    };
    format!(
        "item {name} has elements of type {kind:#x} ({what}), but only single precision and \
         intgemm8 can be read; convert the `.npz` with marian-conv --gemm-type intgemm8, or import \
         the `.npz`"
    )
}

struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], String> {
        let left = self.rest.len();
        let cut = || format!("truncated: {count} bytes are expected, but {left} are left");
        let count = usize::try_from(count).map_err(|_| cut())?;
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(cut)?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, String> {
        let (number, rest) = self.rest.split_first_chunk::<8>().ok_or("truncated")?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*number))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file of items: name, type, shape and data.
    fn file(items: &[(&str, u64, &[i32], Vec<u8>)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let number = |bytes: &mut Vec<u8>, number: u64| bytes.extend(number.to_le_bytes());
        number(&mut bytes, 1);
        number(&mut bytes, items.len() as u64);
        for (name, kind, shape, data) in items {
            for part in [name.len() as u64 + 1, *kind, shape.len() as u64, data.len() as u64] {
                number(&mut bytes, part);
            }
        }
        for (name, ..) in items {
            bytes.extend(name.as_bytes());
            bytes.push(0);
        }
        for (_, _, shape, _) in items {
            bytes.extend(shape.iter().flat_map(|size| size.to_le_bytes()));
        }
        number(&mut bytes, 3);
        bytes.extend([9, 9, 9]);
        for (.., data) in items {
            bytes.extend(data);
        }
        bytes
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn sample() -> Vec<u8> {
        let quantised = |rest: &[u8]| {
            let mut data = vec![1, 2, 3, 4, 5, 0xFA];
            data.extend(floats(&[2.0]));
            data.extend(rest);
            data
        };
        file(&[
            ("Wemb", INTGEMM8, &[3, 2], quantised(&[7, 7])),
            ("decoder_l1_rnn_W", INTGEMM8, &[3, 2], quantised(&[])),
            ("decoder_l1_rnn_bf", F32, &[1, 2], floats(&[0.5, -1.0, 9.0])),
            ("decoder_l1_rnn_W_QuantMultA", F32, &[1, 1], floats(&[3.0])),
            ("special:model.yml", INT8, &[8], b"dec: 2\n\0".to_vec()),
        ])
    }

    fn parsed(bytes: &[u8]) -> Result<Items, String> {
        parse(Path::new("model.bin"), bytes)
    }

    #[test]
    fn items_of_both_types() {
        let items = parsed(&sample()).unwrap();
        assert!(items.is_int8);
        assert_eq!(items.text().unwrap(), "dec: 2\n");
        assert_eq!(
            items.names().collect::<Vec<_>>(),
            ["Wemb", "decoder_l1_rnn_W", "decoder_l1_rnn_bf"]
        );
        assert_eq!(items.values("Wemb").unwrap(), [0.5, 1.0, 1.5, 2.0, 2.5, -3.0]);
        assert_eq!(items.values("decoder_l1_rnn_W").unwrap(), [0.5, 2.0, 1.0, 2.5, 1.5, -3.0]);
        assert_eq!(items.values("decoder_l1_rnn_bf").unwrap(), [0.5, -1.0]);
    }

    #[test]
    fn wrong_files_are_refused_by_name() {
        let problem = |bytes: &[u8]| parsed(bytes).unwrap_err();
        let changed = |at: usize, number: u64| {
            let mut bytes = sample();
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            problem(&bytes)
        };
        assert!(changed(0, 2).contains("version 2"));
        assert!(changed(8, u64::MAX).contains("claims 18446744073709551615 items"));
        assert!(changed(8, 4).contains("truncated") || changed(8, 4).contains("cut off"));
        // The length of the first item's data.
        assert!(changed(16 + 24, u64::MAX).contains("countless"));
        assert!(changed(16 + 24, 3).contains("cut off or changed"));
        let short = [("bias", F32, &[1, 3][..], floats(&[1.0]))];
        assert!(problem(&file(&short)).contains("item bias of shape [1, 3] does not fit"));
        let large = [("bias", F32, &[i32::MAX, i32::MAX][..], floats(&[1.0]))];
        assert!(problem(&file(&large)).contains("bias"));
        let negative = [("bias", F32, &[-3][..], floats(&[1.0]))];
        assert!(problem(&file(&negative)).contains("a size of -3"));
        let twice = [("b", F32, &[1][..], floats(&[1.0])), ("b", F32, &[1][..], floats(&[1.0]))];
        assert!(problem(&file(&twice)).contains("item b occurs twice"));
        let not_finite = [("b", F32, &[1][..], floats(&[f32::NAN]))];
        assert!(problem(&file(&not_finite)).contains("not finite"));
        let packed = [("W", 0x1_4101, &[1, 1][..], vec![0; 8])];
        assert!(problem(&file(&packed)).contains("W has elements of type 0x14101"));
        let half = [("W", 0x402, &[1, 1][..], vec![0; 8])];
        assert!(problem(&file(&half)).contains("half precision"));
        let zero = [("W", INTGEMM8, &[1, 1][..], vec![0; 8])];
        assert!(problem(&file(&zero)).contains("multiplier 0"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn damage_never_panics(cut in 0usize..600, flip in 0usize..600, bit in 0u8..8) {
            let mut bytes = sample();
            let length = bytes.len();
            bytes[flip % length] ^= 1 << bit;
            if cut % 2 == 0 {
                bytes.truncate(cut % length);
            }
            let _ = parsed(&bytes);
        }
    }
}
