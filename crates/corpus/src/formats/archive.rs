//! Members of tar archives, so that a download is read without unpacking it.

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::bytes::Counted;
use super::file::decompress;
use crate::{Error, Result};

/// No published corpus nests archives more deeply.
const DEEPEST_NESTING: usize = 3;
/// How many names an error lists.
const LISTED_MEMBERS: usize = 12;

/// Whether the bytes are a tar archive: its magic is at a fixed place in the first block.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar".as_slice())
}

/// The content of `member`, named in full or by its last components; the path may lead through an
/// archive that is itself a member.
pub(super) fn member(bytes: &[u8], archive: &Path, member: &Path) -> Result<Vec<u8>> {
    find(bytes, archive, member, DEEPEST_NESTING)
}

fn find(bytes: &[u8], archive: &Path, member: &Path, nesting: usize) -> Result<Vec<u8>> {
    if !is_archive(bytes) {
        let problem = format!("is not a tar archive, so it cannot hold {}", member.display());
        return Err(Error::new(problem).in_file(archive).remedy("check the path"));
    }
    members(bytes, archive)?;
    let wanted = normal_components(member);
    let mut reader = tar::Archive::new(bytes);
    for entry in reader.entries().map_err(|error| damaged(archive, error))? {
        let mut entry = entry.map_err(|error| damaged(archive, error))?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = entry.path().map_err(|error| damaged(archive, error))?.into_owned();
        let parts = normal_components(&name);
        let inner = archive.join(&name);
        if !wanted.is_empty() && parts.ends_with(&wanted) {
            return decompress(content(&mut entry, archive)?, &inner);
        }
        // The rest of the path may lie inside this member.
        let depth = (1..wanted.len()).rev().find(|depth| parts.ends_with(&wanted[..*depth]));
        if let (Some(depth), 1..) = (depth, nesting) {
            let nested = decompress(content(&mut entry, archive)?, &inner)?;
            let rest: PathBuf = wanted[depth..].iter().collect();
            return find(&nested, &inner, &rest, nesting - 1);
        }
    }
    let problem = format!("the archive has no member {}", member.display());
    Err(Error::new(problem).in_file(archive).remedy(choose_from(bytes)))
}

/// The block size of archives.
const BLOCK: u64 = 512;

/// A file in an archive.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its path in the archive.
    pub name: PathBuf,
    /// Where its content begins, in bytes from the start of the archive.
    pub start: u64,
    /// Bytes of its content.
    pub size: u64,
}

impl Member {
    /// Whether a path names it, in full or by its last components.
    pub fn is_named(&self, path: &Path) -> bool {
        let wanted = normal_components(path);
        !wanted.is_empty() && normal_components(&self.name).ends_with(&wanted)
    }
}

/// The archive that a path leads into, and the path from there.
pub(super) fn around(path: &Path) -> Option<(&Path, &Path)> {
    if path.exists() {
        return None;
    }
    let archive = path.ancestors().skip(1).find(|ancestor| ancestor.is_file())?;
    Some((archive, path.strip_prefix(archive).ok()?))
}

/// The files of an archive, without their contents. Detects any truncation: all members must be
/// complete and followed by the block of zeros that ends an archive.
pub(super) fn members(bytes: impl Read, archive: &Path) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    let mut end = 0;
    let read = Arc::default();
    let mut reader = tar::Archive::new(Counted { inner: bytes, count: Arc::clone(&read) });
    for entry in reader.entries().map_err(|error| damaged(archive, error))? {
        let entry = entry.map_err(|error| damaged(archive, error))?;
        let kind = entry.header().entry_type();
        let size = entry.header().entry_size().ok().filter(|_| kind.is_gnu_sparse());
        let (start, size) = (entry.raw_file_position(), size.unwrap_or(entry.size()));
        let after = size.checked_next_multiple_of(BLOCK).and_then(|size| start.checked_add(size));
        end = after.ok_or_else(|| cut(archive, "a member has an impossible size"))?;
        if kind.is_file() {
            let name = entry.path().map_err(|error| damaged(archive, error))?.into_owned();
            members.push(Member { name, start, size });
        }
    }
    if read.load(Ordering::Relaxed) < end.saturating_add(BLOCK) {
        return Err(cut(archive, "the end marker is missing"));
    }
    Ok(members)
}

fn cut(archive: &Path, how: &str) -> Error {
    damaged(archive, std::io::Error::new(std::io::ErrorKind::UnexpectedEof, how))
}

/// The error for an archive named without a member.
pub(super) fn member_missing(bytes: &[u8], archive: &Path) -> Error {
    Error::new("is an archive of several files").in_file(archive).remedy(format!(
        "append the name of a member, as in {}/NAME; {}",
        archive.display(),
        choose_from(bytes)
    ))
}

fn choose_from(bytes: &[u8]) -> String {
    let mut names = member_names(bytes);
    let total = names.len();
    names.truncate(LISTED_MEMBERS);
    let more = if total > names.len() {
        format!(" and {} more", total - names.len())
    } else {
        String::new()
    };
    format!("it holds {}{more}", names.join(", "))
}

fn member_names(bytes: &[u8]) -> Vec<String> {
    let mut reader = tar::Archive::new(bytes);
    let Ok(entries) = reader.entries() else { return Vec::new() };
    entries
        .map_while(std::result::Result::ok)
        .filter(|entry| entry.header().entry_type().is_file())
        .filter_map(|entry| entry.path().ok().map(|path| path.display().to_string()))
        .collect()
}

fn content(entry: &mut impl Read, archive: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(|error| damaged(archive, error))?;
    Ok(bytes)
}

fn damaged(archive: &Path, error: std::io::Error) -> Error {
    Error::new(format!("the archive is truncated or damaged: {error}"))
        .in_file(archive)
        .remedy("fetch the file again")
        .caused_by(error)
}

fn normal_components(path: &Path) -> Vec<PathBuf> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(PathBuf::from(name)),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tar_of(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in members {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn get(bytes: &[u8], name: &str) -> Result<Vec<u8>> {
        member(bytes, Path::new("a.tar"), Path::new(name))
    }

    #[test]
    fn members_are_found_by_the_end_of_their_path() {
        let archive = tar_of(&[("en-de/README", b"r"), ("en-de/train.en", b"one\n")]);
        assert_eq!(get(&archive, "train.en").unwrap(), b"one\n");
        assert_eq!(get(&archive, "en-de/train.en").unwrap(), b"one\n");
        let message = get(&archive, "train.fr").unwrap_err().to_string();
        assert!(message.contains("no member train.fr; it holds en-de/README, en-de/train.en"));
    }

    #[test]
    fn archives_in_archives_are_followed() {
        let inner = tar_of(&[("en-de/train.en", b"one\n")]);
        let outer = tar_of(&[("texts/en/de/en-de.tar", &inner)]);
        assert_eq!(get(&outer, "en-de.tar/train.en").unwrap(), b"one\n");
        assert_eq!(get(&outer, "texts/en/de/en-de.tar/en-de/train.en").unwrap(), b"one\n");
    }

    #[test]
    fn an_archive_alone_lists_its_members() {
        let archive = tar_of(&[("x/train.en", b"one\n")]);
        let message = member_missing(&archive, Path::new("a.tar")).to_string();
        assert!(message.contains("append the name of a member, as in a.tar/NAME"), "{message}");
        assert!(message.contains("x/train.en"), "{message}");
    }

    #[test]
    fn a_truncated_archive_is_rejected_wherever_it_was_cut() {
        let lines = "a line of text\n".repeat(100);
        let whole = tar_of(&[("a", lines.as_bytes()), ("b", b"more")]);
        assert_eq!(get(&whole, "a").unwrap(), lines.as_bytes());
        // The padding after the first block of zeros carries no data.
        let needed = whole.len() - 512;
        for length in (0..needed).step_by(64).chain([needed - 1]) {
            assert!(get(&whole[..length], "a").is_err(), "{length} of {} bytes", whole.len());
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..2000),
            at in any::<prop::sample::Index>(),
        ) {
            let _ = get(&bytes, "a");
            if bytes.len() > 262 {
                bytes[257..262].copy_from_slice(b"ustar");
                let _ = get(&bytes, "a");
                let _ = member_names(&bytes);
            }
            let whole = tar_of(&[("a", b"content"), ("b", b"more")]);
            let at = at.index(whole.len());
            let _ = get(&whole[..at], "b");
        }
    }
}
