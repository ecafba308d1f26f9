//! Detects text in the wrong language.

use whatlang::Lang;

use crate::{Error, Result};

/// The language of shorter texts cannot be detected reliably.
const SHORTEST: usize = 30;

/// Detects texts that are certainly not in a given language.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    expected: Lang,
    confidence: f64,
}

impl Language {
    /// A detector for the language with this code of two or three letters.
    pub fn new(code: &str, confidence: f64) -> Result<Self> {
        let base = code.split(['-', '_']).next().unwrap_or(code).to_ascii_lowercase();
        let three = codes().find(|(two, _)| *two == base).map_or(base.as_str(), |(_, three)| three);
        let expected = Lang::from_code(three).ok_or_else(|| {
            Error::new(format!("filters.language cannot detect the language `{code}`"))
                .remedy("leave this filter out for the corpus, or correct its languages")
        })?;
        Ok(Self { expected, confidence })
    }

    /// The language of a text if it is certainly another one.
    pub fn other(&self, text: &str) -> Option<&'static str> {
        if text.chars().filter(|c| c.is_alphabetic()).count() < SHORTEST {
            return None;
        }
        let found = whatlang::detect(text)?;
        let is_other = found.lang() != self.expected && found.confidence() >= self.confidence;
        is_other.then(|| found.lang().eng_name())
    }
}

/// Two-letter codes and the three-letter codes of the library.
const CODES: &str = "\
    af:afr am:amh ar:ara az:aze be:bel bg:bul bn:ben ca:cat cs:ces da:dan de:deu el:ell \
    en:eng eo:epo es:spa et:est fa:pes fi:fin fr:fra gu:guj he:heb hi:hin hr:hrv hu:hun \
    hy:hye id:ind it:ita ja:jpn jv:jav ka:kat km:khm kn:kan ko:kor la:lat lt:lit lv:lav \
    mk:mkd ml:mal mr:mar my:mya nb:nob ne:nep nl:nld no:nob or:ori pa:pan pl:pol pt:por \
    ro:ron ru:rus si:sin sk:slk sl:slv sn:sna sr:srp sv:swe ta:tam te:tel th:tha tk:tuk \
    tr:tur uk:ukr ur:urd uz:uzb vi:vie zh:cmn";

fn codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    CODES.split_whitespace().filter_map(|pair| pair.split_once(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_cases_are_detected_and_short_texts_pass() {
        let german = Language::new("de", 0.9).unwrap();
        let text = "The weather was bad and nobody wanted to leave the house in the morning.";
        assert_eq!(german.other(text), Some("English"));
        assert_eq!(german.other("Das Wetter war schlecht und niemand wollte vor die Tür."), None);
        assert_eq!(german.other("Okay, thanks!"), None);
        assert!(Language::new("de_AT", 0.9).is_ok() && Language::new("deu", 0.9).is_ok());
        let error = Language::new("tlh", 0.9).unwrap_err().to_string();
        assert!(error.contains("`tlh`"), "{error}");
        for (_, three) in codes() {
            assert!(Lang::from_code(three).is_some(), "{three}");
        }
    }
}
