//! fairseq's `dict.txt`: one piece and its count per line; the id is the line plus the four special
//! tokens that every fairseq dictionary starts with.

use std::path::Path;

use crate::tokenizer::special::SPECIAL;
use crate::{Error, Result};

/// Special tokens that come before the first line of the file.
const IMPLIED: usize = 4;

/// The pieces of the dictionary in order of their ids.
pub fn parse(text: &str, path: &Path) -> Result<Vec<String>> {
    let mut pieces: Vec<String> = SPECIAL[..IMPLIED].iter().map(ToString::to_string).collect();
    for (index, line) in text.lines().enumerate() {
        let wrong = |problem: String| Error::new(problem).in_file(path).at_line(index + 1);
        let line = line.trim_end();
        let line = line.strip_suffix(" #fairseq:overwrite").unwrap_or(line);
        let Some((piece, count)) = line.rsplit_once(' ') else {
            return Err(wrong(format!("`{line}` is not a piece and a count"))
                .remedy("a fairseq dictionary has one `piece count` per line"));
        };
        if count.parse::<u64>().is_err() {
            return Err(wrong(format!("the count `{count}` is not a number"))
                .remedy("a fairseq dictionary has one `piece count` per line"));
        }
        pieces.push(piece.to_owned());
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_the_lines() {
        let pieces = parse("<brk> 1\n▁the 20\n", Path::new("dict.txt")).unwrap();
        assert_eq!(pieces, ["<s>", "<pad>", "</s>", "<unk>", "<brk>", "▁the"]);
    }

    #[test]
    fn a_line_without_a_count_is_named() {
        let error = parse("▁a 1\n▁b\n", Path::new("dict.txt")).unwrap_err().to_string();
        assert!(error.starts_with("dict.txt:2: "), "{error}");
        let error = parse("▁a x\n", Path::new("dict.txt")).unwrap_err().to_string();
        assert!(error.starts_with("dict.txt:1: "), "{error}");
    }
}
