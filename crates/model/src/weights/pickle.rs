//! What a PyTorch checkpoint would call if it were unpickled.
//!
//! Nothing here or in the reader runs a pickle. But a file that names `os.system` is not a
//! checkpoint, and is refused by that name instead of being read without it. Every name in the
//! stream is checked, even of calls whose results are discarded.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use abridge_base::files::open_regular;

/// A pickle describes tensors; their values are stored elsewhere.
const LARGEST_PICKLE: u64 = 256 << 20;
/// A checkpoint from before PyTorch 1.6 is five pickles, then values.
const LEGACY_PICKLES: usize = 5;

/// Modules whose classes checkpoints hold besides tensors: settings, counters, meters.
const MODULES: [&str; 17] = [
    "_codecs",
    "argparse",
    "collections",
    "comet",
    "copy_reg",
    "copyreg",
    "enum",
    "examples",
    "fairseq",
    "lightning",
    "numpy",
    "omegaconf",
    "pathlib",
    "pytorch_lightning",
    "torch",
    "transformers",
    "typing",
];
/// Built-in types, but not `eval`, `getattr` and the like.
const BUILT_IN: [&str; 15] = [
    "bool",
    "bytearray",
    "bytes",
    "complex",
    "dict",
    "float",
    "frozenset",
    "int",
    "list",
    "object",
    "range",
    "set",
    "slice",
    "str",
    "tuple",
];

/// Refuses a checkpoint whose pickle names anything that no checkpoint needs.
pub(super) fn check(path: &Path) -> Result<(), String> {
    let mut file = open_regular(path).map_err(|error| error.into_parts().1)?;
    let mut head = [0; 4];
    let is_zip = file.read(&mut head).is_ok_and(|count| count == 4) && head == *b"PK\x03\x04";
    if is_zip {
        return check_zip(path);
    }
    let mut bytes = Vec::new();
    let file = open_regular(path).map_err(|error| error.into_parts().1)?;
    file.take(LARGEST_PICKLE).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let mut rest = &bytes[..];
    for pickle in 0..LEGACY_PICKLES {
        match names(rest) {
            Ok((found, after)) => {
                refuse_foreign(&found)?;
                rest = after;
            }
            // Bytes after the pickle of a plain file do not matter; the reader knows what it needs.
            Err(_) if pickle > 0 => break,
            Err(problem) => return Err(format!("not a readable checkpoint: {problem}")),
        }
    }
    Ok(())
}

fn check_zip(path: &Path) -> Result<(), String> {
    let broken = |error: &dyn std::fmt::Display| format!("not a readable checkpoint: {error}");
    let file = open_regular(path).map_err(|error| error.into_parts().1)?;
    let mut archive =
        zip::ZipArchive::new(std::io::BufReader::new(file)).map_err(|error| broken(&error))?;
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|error| broken(&error))?;
        if !entry.name().is_ok_and(|name| name.ends_with(".pkl")) {
            continue;
        }
        let mut bytes = Vec::new();
        entry.take(LARGEST_PICKLE + 1).read_to_end(&mut bytes).map_err(|error| broken(&error))?;
        if bytes.len() as u64 > LARGEST_PICKLE {
            return Err(format!("its pickle is larger than {} MiB", LARGEST_PICKLE >> 20));
        }
        refuse_foreign(&names(&bytes).map_err(|error| broken(&error))?.0)?;
    }
    Ok(())
}

fn refuse_foreign(names: &[Name]) -> Result<(), String> {
    match names.iter().find(|name| !name.is_known()) {
        None => Ok(()),
        Some(Name { module, name }) => Err(format!(
            "its pickle names {module}.{name}, which no checkpoint needs; nothing in it was run, and \
             nothing is read"
        )),
    }
}

/// A class or a function that a pickle names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    module: String,
    name: String,
}

impl Name {
    fn is_known(&self) -> bool {
        let package = self.module.split('.').next().unwrap_or_default();
        match package {
            "builtins" | "__builtin__" => BUILT_IN.contains(&self.name.as_str()),
            // A Lightning checkpoint may name the script's own settings; never what runs them.
            _ => MODULES.contains(&package),
        }
    }
}

/// All names in a pickle, and what follows it.
fn names(pickle: &[u8]) -> Result<(Vec<Name>, &[u8]), String> {
    let mut input = Stream { rest: pickle };
    let mut found = Vec::new();
    // The texts that were pushed last, and those that were memorised, for STACK_GLOBAL.
    let mut pushed: [Option<String>; 2] = [None, None];
    let mut memo: BTreeMap<u64, Option<String>> = BTreeMap::new();
    loop {
        let operation = input.byte()?;
        let mut text = None;
        let mut pushes = true;
        match operation {
            b'.' => return Ok((found, input.rest)),
            // Numbers, bytes, and names of storages.
            b'I' | b'L' | b'F' | b'P' => drop(input.line()?),
            b'J' => drop(input.take(4)?),
            b'K' => drop(input.take(1)?),
            b'M' => drop(input.take(2)?),
            b'G' => drop(input.take(8)?),
            0x8b | b'B' => drop(input.sized(4)?),
            0x8a | b'C' => drop(input.sized(1)?),
            0x8e | 0x96 => drop(input.sized(8)?),
            // Texts.
            b'S' | b'V' => text = Some(input.line()?),
            b'U' | 0x8c => text = Some(input.text(1)?),
            b'T' | b'X' => text = Some(input.text(4)?),
            0x8d => text = Some(input.text(8)?),
            // Names.
            b'c' | b'i' => found.push(Name { module: input.line()?, name: input.line()? }),
            0x93 => {
                let [module, name] = pushed.clone();
                let both = module.zip(name);
                let (module, name) = both.ok_or("a name is assembled from parts")?;
                found.push(Name { module, name });
            }
            // Codes that stand for names in a registry of the reader's process.
            0x82..=0x84 => return Err(format!("the pickle has the operation {operation:#x}")),
            // The memo.
            b'p' => {
                let key = input.line()?.parse().map_err(|_| "a memo without a number")?;
                memo.insert(key, pushed[1].clone());
                pushes = false;
            }
            b'q' | b'r' => {
                let key = input.number(if operation == b'q' { 1 } else { 4 })?;
                memo.insert(key, pushed[1].clone());
                pushes = false;
            }
            0x94 => {
                memo.insert(memo.len() as u64, pushed[1].clone());
                pushes = false;
            }
            b'g' => {
                let key: u64 = input.line()?.parse().map_err(|_| "a memo without a number")?;
                text = memo.get(&key).cloned().flatten();
            }
            b'h' | b'j' => {
                let key = input.number(if operation == b'h' { 1 } else { 4 })?;
                text = memo.get(&key).cloned().flatten();
            }
            // Frames and versions carry no values.
            0x80 => {
                input.take(1)?;
                pushes = false;
            }
            0x95 => {
                input.take(8)?;
                pushes = false;
            }
            // Operations without an argument, which leave no text on the stack.
            b'('
            | b'0'
            | b'1'
            | b'2'
            | b'N'
            | b'R'
            | b'b'
            | b'd'
            | b'l'
            | b't'
            | b's'
            | b'a'
            | b')'
            | b']'
            | b'}'
            | b'e'
            | b'u'
            | b'o'
            | b'Q'
            | 0x81
            | 0x85..=0x89
            | 0x8f..=0x92 => {}
            other => return Err(format!("the pickle has the unknown operation {other:#x}")),
        }
        if pushes {
            pushed = [pushed[1].take(), text];
        }
    }
}

struct Stream<'a> {
    rest: &'a [u8],
}

impl<'a> Stream<'a> {
    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], String> {
        let cut = || "the pickle is cut off".to_owned();
        let count = usize::try_from(count).map_err(|_| cut())?;
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(cut)?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: u64) -> Result<u64, String> {
        let bytes = self.take(bytes)?;
        Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn sized(&mut self, bytes: u64) -> Result<&'a [u8], String> {
        let length = self.number(bytes)?;
        self.take(length)
    }

    fn text(&mut self, bytes: u64) -> Result<String, String> {
        Ok(String::from_utf8_lossy(self.sized(bytes)?).into_owned())
    }

    fn line(&mut self) -> Result<String, String> {
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        let line = self.take(end.ok_or("the pickle is cut off")? as u64)?;
        self.take(1)?;
        Ok(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names_of(pickle: &[u8]) -> Vec<String> {
        let (names, _) = names(pickle).unwrap();
        names.iter().map(|name| format!("{}.{}", name.module, name.name)).collect()
    }

    fn text(text: &str) -> Vec<u8> {
        [&[0x8c, text.len() as u8], text.as_bytes()].concat()
    }

    #[test]
    fn every_name_is_found() {
        assert_eq!(names_of(b"cos\nsystem\n(S'ls'\ntR."), ["os.system"]);
        // A call whose result is discarded.
        assert_eq!(names_of(b"cos\nsystem\n0N."), ["os.system"]);
        let stack = [&[0x80, 4][..], &text("os"), &text("system"), &[0x93, b'.']].concat();
        assert_eq!(names_of(&stack), ["os.system"]);
        // Both texts come out of the memo.
        let memo = [
            &text("os")[..],
            &[0x94, b'0'],
            &text("system"),
            &[0x94, b'0', b'h', 0, b'h', 1, 0x93, b'.'],
        ];
        assert_eq!(names_of(&memo.concat()), ["os.system"]);
        let hidden = [&text("os")[..], &text("system"), &[0x85, 0x93, b'.']].concat();
        assert!(names(&hidden).is_err());
        assert!(names(&[0x82, 1, b'.']).is_err());
    }

    #[test]
    fn foreign_names_are_refused_by_name() {
        let known =
            |module: &str, name: &str| Name { module: module.into(), name: name.into() }.is_known();
        assert!(known("torch._utils", "_rebuild_tensor_v2") && known("collections", "OrderedDict"));
        assert!(known("argparse", "Namespace") && known("builtins", "set"));
        for (module, name) in [
            ("os", "system"),
            ("posix", "system"),
            ("builtins", "eval"),
            ("__builtin__", "getattr"),
            ("subprocess", "Popen"),
            ("torchx", "x"),
            ("", ""),
        ] {
            assert!(!known(module, name), "{module}.{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("evil.pt");
        std::fs::write(&file, b"cos\nsystem\n(S'ls'\ntR.").unwrap();
        assert!(check(&file).unwrap_err().contains("its pickle names os.system"));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>()) {
            let _ = names(&bytes);
        }
    }
}
