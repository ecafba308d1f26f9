//! Marian's binary lexical shortlist, `lex*.bin`.
//!
//! ```text
//! magic · checksum · frequent · per word · count of offsets · count of words   u64 each
//! offsets                                                                      u64 each
//! words                                                                        u32 each
//! ```
//!
//! The words from `offsets[w]` to `offsets[w + 1]` are the translations of the source word `w`.
//! Every list also has the first `frequent` words of the target vocabulary and, if both languages
//! share one vocabulary, the words of the sentence itself.

use abridge_corpus::tokenizer::sentencepiece::ForeignVocabulary;
use abridge_model::tokens::{END, UNKNOWN};

use crate::shortlist::Shortlist;

/// The magic number at the start.
pub(super) const MAGIC: [u8; 8] = 0xF11A_48D5_0134_17F5_u64.to_le_bytes();
const HEADER: usize = 48;

/// Converts Marian's lists to ours; `is_shared` means that both languages have one vocabulary.
pub(super) fn parse(
    bytes: &[u8],
    [source, target]: [&ForeignVocabulary; 2],
    is_shared: bool,
) -> Result<Shortlist, String> {
    if !bytes.starts_with(&MAGIC) {
        return Err("not a binary shortlist of Marian".into());
    }
    let (header, body) = bytes.split_at_checked(HEADER).ok_or("truncated")?;
    let header: Vec<u64> = numbers(header).collect();
    let &[_, checksum, frequent, _, offsets, words] = &header[..] else {
        return Err("truncated".into());
    };
    let expected =
        offsets.checked_mul(8).and_then(|bytes| bytes.checked_add(words.checked_mul(4)?));
    if expected != Some(body.len() as u64) {
        return Err(format!(
            "the header has {offsets} offsets and {words} words, but {} bytes follow; it was cut \
             off or changed",
            body.len()
        ));
    }
    if hash(&bytes[16..]) != checksum {
        return Err("its checksum is wrong; it was damaged".into());
    }
    // The product did not overflow and equals the length, so both fit.
    let (offsets, words) = body.split_at(offsets as usize * 8);
    let offsets: Vec<u64> = numbers(offsets).collect();
    let words: Vec<u32> =
        words.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    // Some files lack the lists of the last words.
    if offsets.len() > source.foreign_size() + 1 {
        return Err(format!(
            "it has lists for {} words, but the source vocabulary has {}",
            offsets.len() - 1,
            source.foreign_size()
        ));
    }
    if let Some(word) = words.iter().find(|&&word| word as usize >= target.foreign_size()) {
        return Err(format!(
            "it has the word {word}, but the target vocabulary ends at {}",
            target.foreign_size() - 1
        ));
    }
    let ours = target.ours();
    let frequent = usize::try_from(frequent).unwrap_or(usize::MAX).min(ours.len());
    let common = ours[..frequent].iter().copied().chain([END, UNKNOWN]).collect();
    let mut lists = Vec::with_capacity(source.rows().len());
    for (id, row) in source.rows().iter().enumerate() {
        let mut list: Vec<u32> = Vec::new();
        if let Some(row) = row {
            let ends = offsets.get(*row as usize).zip(offsets.get(*row as usize + 1));
            if let Some((&start, &end)) = ends {
                let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
                let found = range.and_then(|(start, end)| words.get(start..end));
                let found =
                    found.ok_or_else(|| format!("the list of word {row} is out of bounds"))?;
                list.extend(found.iter().map(|&word| ours[word as usize]));
            }
            if is_shared {
                list.push(id as u32);
            }
        }
        lists.push(list);
    }
    Ok(Shortlist::of_lists(common, lists))
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.as_chunks::<8>().0.iter().map(|&number| u64::from_le_bytes(number))
}

/// Marian's checksum: hashes 8-byte integers one after another. Remaining bytes at the end are
/// ignored.
fn hash(bytes: &[u8]) -> u64 {
    numbers(bytes).fold(0, |seed: u64, number| {
        let mixed = number.wrapping_add(0x9E37_79B9).wrapping_add(seed << 6);
        seed ^ mixed.wrapping_add(seed >> 2)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> ForeignVocabulary {
        let pieces = ["</s>", "<unk>", "a", "b", "c"].map(str::to_owned);
        ForeignVocabulary::new(&pieces).unwrap()
    }

    fn file(offsets: &[u64], words: &[u32]) -> Vec<u8> {
        let mut rest = Vec::new();
        for number in [1, 2, offsets.len() as u64, words.len() as u64].iter().chain(offsets) {
            rest.extend(number.to_le_bytes());
        }
        rest.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let mut bytes = MAGIC.to_vec();
        bytes.extend(hash(&rest).to_le_bytes());
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn lists_are_mapped_to_the_new_ids() {
        let vocabulary = vocabulary();
        let both = [&vocabulary, &vocabulary];
        // The word 2 (ours: 5) becomes 3 and 4 (ours: 6 and 7).
        let bytes = file(&[0, 0, 0, 2, 2, 2], &[3, 4]);
        let apart = parse(&bytes, both, false).unwrap();
        assert_eq!(apart.of(&[5, END], &[]), [END, UNKNOWN, 6, 7]);
        assert_eq!(apart.of(&[6, END], &[]), [END, UNKNOWN]);
        let shared = parse(&bytes, both, true).unwrap();
        assert_eq!(shared.of(&[5, END], &[]), [END, UNKNOWN, 5, 6, 7]);
    }

    #[test]
    fn wrong_files_are_refused() {
        let vocabulary = vocabulary();
        let problem = |bytes: &[u8]| parse(bytes, [&vocabulary; 2], true).unwrap_err();
        let good = file(&[0, 1, 1], &[3]);
        assert!(parse(&good, [&vocabulary; 2], true).is_ok());
        assert!(problem(b"lexicon").contains("not a binary shortlist"));
        assert!(problem(&good[..20]).contains("truncated"));
        assert!(problem(&good[..good.len() - 1]).contains("cut off"));
        let mut flipped = good.clone();
        flipped[60] ^= 1;
        assert!(problem(&flipped).contains("checksum"));
        assert!(problem(&file(&[0; 9], &[])).contains("source vocabulary has 5"));
        assert!(problem(&file(&[0, 1], &[5])).contains("ends at 4"));
        assert!(problem(&file(&[1, 0], &[2])).contains("out of bounds"));
        assert!(problem(&file(&[0, 7], &[2])).contains("out of bounds"));
    }
}
