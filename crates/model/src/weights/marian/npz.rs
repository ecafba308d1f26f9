//! Marian's `.npz`: a zip archive with one numpy array per item.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zip::ZipArchive;

use super::items::{Items, elements};
use crate::Result;
use crate::weights::broken;

/// More items than any model has.
const MOST_ITEMS: usize = 100_000;
/// Weights hardly compress; an archive that expands more than this is made to fill the memory.
const MOST_GROWTH: u64 = 64;
/// Expansion is not limited below this, for small archives of small models.
const SMALL: u64 = 1 << 20;
/// The header of an array is one line.
const LONGEST_HEADER: usize = 4096;

/// Reads an `.npz` file.
pub(super) fn read(path: &Path) -> Result<Items> {
    let fail = |problem: String| broken(path, problem);
    let file = File::open(path).map_err(|error| fail(format!("cannot read it: {error}")))?;
    let size = file.metadata().map_err(|error| fail(format!("cannot read it: {error}")))?.len();
    let archive = ZipArchive::new(BufReader::new(file))
        .map_err(|error| fail(format!("not an .npz file: {error}")))?;
    parse(path, archive, size).map_err(fail)
}

fn parse<R: Read + std::io::Seek>(
    path: &Path,
    mut archive: ZipArchive<R>,
    size: u64,
) -> Result<Items, String> {
    let damaged = |error: zip::result::ZipError| format!("a damaged .npz file: {error}");
    if archive.len() > MOST_ITEMS {
        return Err(format!("{} items, more than any model has", archive.len()));
    }
    if archive.has_overlapping_files().map_err(damaged)? {
        return Err("items of the archive overlap; it is malicious".into());
    }
    let allowed = size.saturating_mul(MOST_GROWTH).max(SMALL);
    let mut left = allowed;
    let mut items = Items::new(path);
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(damaged)?;
        let name = entry.name().map_err(damaged)?.into_owned();
        let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else {
            return Err(format!("it contains {name}, which is not a numpy array"));
        };
        let stated = entry.size();
        left = left.checked_sub(stated).ok_or_else(|| {
            format!(
                "it would unpack to more than {allowed} bytes from {size}, which weights never do; \
                 it was made to fill the memory"
            )
        })?;
        let array =
            Array::read(&mut entry, stated).map_err(|problem| format!("{name}: {problem}"))?;
        match array {
            Array { kind: Kind::Bytes, data, .. } if Items::is_text(&name) => {
                items.set_text(&data)?;
            }
            _ if Items::is_unused(&name) => {}
            Array { kind: Kind::Single, shape, data } => {
                let values = data.as_chunks::<4>().0.iter();
                let values = values.map(|&value| f32::from_le_bytes(value)).collect();
                items.insert(name, shape, values)?;
            }
            Array { kind: Kind::Bytes, .. } => {
                return Err(format!(
                    "{name} has 8-bit elements, but weights are in single precision (<f4)"
                ));
            }
        }
    }
    Ok(items)
}

enum Kind {
    Single,
    Bytes,
}

struct Array {
    kind: Kind,
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl Array {
    /// Reads an array; `stated` is its length according to the archive.
    fn read(input: &mut impl Read, stated: u64) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot be read: {error}");
        let mut start = [0; 8];
        input.read_exact(&mut start).map_err(failed)?;
        let Some([major, _]) = start.strip_prefix(b"\x93NUMPY") else {
            return Err("not a numpy array".into());
        };
        let (length, width) = if *major == 1 {
            let mut length = [0; 2];
            input.read_exact(&mut length).map_err(failed)?;
            (usize::from(u16::from_le_bytes(length)), 2)
        } else {
            let mut length = [0; 4];
            input.read_exact(&mut length).map_err(failed)?;
            (u32::from_le_bytes(length) as usize, 4)
        };
        if length > LONGEST_HEADER {
            return Err(format!("its header claims {length} bytes"));
        }
        let mut header = vec![0; length];
        input.read_exact(&mut header).map_err(failed)?;
        let header = std::str::from_utf8(&header).map_err(|_| "its header is not text")?;
        let (kind, shape) = parse_header(header)?;
        let count = elements("it", &shape)?;
        let size = match kind {
            Kind::Single => 4,
            Kind::Bytes => 1,
        };
        let expected = (8 + width + length as u64)
            .checked_add((count as u64).checked_mul(size).ok_or("its shape is too large")?);
        if expected != Some(stated) {
            return Err(format!(
                "the shape {shape:?} needs {} bytes, but {stated} are there",
                expected.map_or("countless".into(), |expected| expected.to_string())
            ));
        }
        // The archive checks the checksum when the last byte has been read.
        let mut data = Vec::new();
        input.take(stated).read_to_end(&mut data).map_err(failed)?;
        if data.len() as u64 != count as u64 * size {
            return Err(format!("it ends after {} bytes", data.len()));
        }
        Ok(Self { kind, shape, data })
    }
}

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`
fn parse_header(header: &str) -> Result<(Kind, Vec<usize>), String> {
    let after = |key: &str| {
        let place = header.find(&format!("'{key}':"))?;
        Some(header[place + key.len() + 3..].trim_start())
    };
    let wrong = || format!("its header cannot be read: {}", header.trim());
    let kind = after("descr").and_then(|rest| rest.strip_prefix('\'')?.split('\'').next());
    let kind = match kind.ok_or_else(wrong)? {
        "<f4" => Kind::Single,
        "|i1" | "<i1" | "|u1" | "<u1" | "|S1" => Kind::Bytes,
        other => {
            return Err(format!(
                "its elements are of type {other}, but weights are in single precision (<f4)"
            ));
        }
    };
    if !after("fortran_order").ok_or_else(wrong)?.starts_with("False") {
        return Err("it is in column-major order (fortran_order), which Marian never writes".into());
    }
    let shape = after("shape").and_then(|rest| rest.strip_prefix('(')?.split(')').next());
    let sizes = shape.ok_or_else(wrong)?.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape: Result<Vec<usize>, _> = sizes.map(str::parse).collect();
    Ok((kind, shape.map_err(|_| wrong())?))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use proptest::prelude::*;
    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;

    fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn archive(entries: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, data) in entries {
            let options = SimpleFileOptions::default().compression_method(method);
            zip.start_file(*name, options).unwrap();
            zip.write_all(data).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn parsed(bytes: &[u8]) -> Result<Items, String> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
        parse(Path::new("model.npz"), archive, bytes.len() as u64)
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn sample() -> Vec<u8> {
        archive(
            &[
                ("Wemb.npy", npy("<f4", "(2, 3)", &floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))),
                ("special:model.yml.npy", npy("|i1", "(8,)", b"dec: 2\n\0")),
            ],
            CompressionMethod::Deflated,
        )
    }

    #[test]
    fn arrays_and_options() {
        let items = parsed(&sample()).unwrap();
        assert_eq!(items.shape("Wemb"), Some(&[2, 3][..]));
        assert_eq!(items.values("Wemb").unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(items.text(), Some("dec: 2\n"));
    }

    #[test]
    fn wrong_files_are_refused_by_name() {
        let problem = |name: &str, array: Vec<u8>| {
            parsed(&archive(&[(name, array)], CompressionMethod::Stored)).unwrap_err()
        };
        let one = floats(&[1.0]);
        assert!(problem("a.txt", one.clone()).contains("a.txt"));
        assert!(problem("a.npy", npy("<f8", "(1,)", &one)).contains("a: its elements are of type"));
        assert!(problem("a.npy", npy("|i1", "(4,)", &one)).contains("8-bit"));
        assert!(problem("a.npy", npy("<f4", "(2,)", &one)).contains("the shape [2] needs"));
        let huge = format!("({0}, {0})", u32::MAX);
        assert!(problem("a.npy", npy("<f4", &huge, &one)).contains("too large"));
        assert!(problem("a.npy", npy("<f4", "(-1,)", &one)).contains("cannot be read"));
        assert!(problem("a.npy", b"no array".to_vec()).contains("not a numpy array"));
        let nan = npy("<f4", "(1,)", &floats(&[f32::NAN]));
        assert!(problem("a.npy", nan).contains("not finite"));
        let rows = npy("<f4", "(1,)", &one);
        let rows = String::from_utf8_lossy(&rows[10..]).replace("False", "True ");
        let mut bytes = npy("<f4", "(1,)", &one)[..10].to_vec();
        bytes.extend(rows.as_bytes());
        assert!(problem("a.npy", bytes).contains("fortran_order"));
    }

    #[test]
    fn a_bomb_is_refused_before_it_unpacks() {
        let zeros = npy("<f4", "(8388608,)", &vec![0; 32 << 20]);
        let bytes = archive(&[("a.npy", zeros)], CompressionMethod::Deflated);
        assert!(bytes.len() < 100_000);
        let problem = parsed(&bytes).unwrap_err();
        assert!(problem.contains("made to fill the memory"), "{problem}");
    }

    #[test]
    fn items_that_share_bytes_are_refused() {
        let one = npy("<f4", "(1,)", &floats(&[1.0]));
        let mut bytes =
            archive(&[("a.npy", one.clone()), ("b.npy", one)], CompressionMethod::Stored);
        // The directory at the end lists where the data of each begin: both at the first now.
        let entries: Vec<usize> =
            (0..bytes.len() - 4).filter(|&at| bytes[at..].starts_with(b"PK\x01\x02")).collect();
        let offset = entries[1] + 42;
        assert_ne!(bytes[offset..][..4], [0; 4]);
        bytes[offset..][..4].fill(0);
        let problem = parsed(&bytes).unwrap_err();
        assert!(problem.contains("items of the archive overlap"), "{problem}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn damage_never_panics(cut in 0usize..900, flip in 0usize..900, bit in 0u8..8) {
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
