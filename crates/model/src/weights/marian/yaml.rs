//! The YAML that Marian writes: its options, and vocabularies.
//!
//! Scalars stay text, because only the caller knows whether `1` is a number or a word. Anchors and
//! aliases, which can expand a short file without limit, are refused.

use saphyr_parser::{Event, Parser};

/// Deeper than any Marian file.
const DEEPEST: usize = 16;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Yaml {
    /// A number, a boolean or a text, as it is written.
    Scalar(String),
    /// A list.
    List(Vec<Yaml>),
    /// Keys and values in the order of the file.
    Map(Vec<(String, Yaml)>),
}

impl Yaml {
    /// Reads the only document of a text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut events = Events { parser: Parser::new_from_str(text) };
        loop {
            match events.next()? {
                Event::StreamStart | Event::DocumentStart(_) => {}
                Event::StreamEnd => return Ok(Self::Map(Vec::new())),
                first => {
                    let value = events.value(first, 0)?;
                    return match (events.next()?, events.next()?) {
                        (Event::DocumentEnd, Event::StreamEnd) => Ok(value),
                        _ => Err("it has more than one document".into()),
                    };
                }
            }
        }
    }

    /// The value of a key of a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        if let Self::Scalar(text) = self { Some(text) } else { None }
    }

    /// The values of a list.
    pub fn list(&self) -> &[Self] {
        if let Self::List(values) = self { values } else { &[] }
    }
}

struct Events<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
}

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.parser.next() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(format!("not YAML: {error}")),
            None => Err("not YAML: it ends too early".into()),
        }
    }

    fn value(&mut self, first: Event<'a>, depth: usize) -> Result<Yaml, String> {
        if depth > DEEPEST {
            return Err(format!("it is nested more than {DEEPEST} deep"));
        }
        match first {
            Event::Scalar(text, ..) => Ok(Yaml::Scalar(text.into_owned())),
            Event::SequenceStart(..) => {
                let mut values = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Yaml::List(values)),
                        event => values.push(self.value(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut entries = Vec::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Yaml::Map(entries)),
                        Event::Scalar(text, ..) => text.into_owned(),
                        _ => return Err("it has a key that is not a scalar".into()),
                    };
                    let event = self.next()?;
                    entries.push((key, self.value(event, depth + 1)?));
                }
            }
            Event::Alias(_) => Err("it has an alias, which Marian never writes".into()),
            other => Err(format!("not YAML: {other:?} where a value was expected")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn options_and_vocabularies() {
        let text = "dim-vocabs:\n  - 32000\n  - 32000\nskip: false\npost: \"\"\ninput-types: []\n";
        let yaml = Yaml::parse(text).unwrap();
        let sizes: Vec<_> = yaml.get("dim-vocabs").unwrap().list().iter().map(Yaml::text).collect();
        assert_eq!(sizes, [Some("32000"), Some("32000")]);
        assert_eq!(yaml.get("skip").and_then(Yaml::text), Some("false"));
        assert_eq!(yaml.get("post").and_then(Yaml::text), Some(""));
        assert!(yaml.get("input-types").unwrap().list().is_empty());

        let vocabulary = Yaml::parse("</s>: 0\n\"\\\"\": 1\n▁,: 2\n'it''s': 3\n").unwrap();
        for (piece, id) in [("</s>", "0"), ("\"", "1"), ("▁,", "2"), ("it's", "3")] {
            assert_eq!(vocabulary.get(piece).and_then(Yaml::text), Some(id), "{piece}");
        }
    }

    #[test]
    fn complex_files_are_refused() {
        assert!(Yaml::parse("a: &x [1]\nb: *x\n").unwrap_err().contains("alias"));
        assert!(Yaml::parse(&"[".repeat(40)).is_err());
        assert!(Yaml::parse("a: [1\n").is_err());
        assert!(Yaml::parse("a: 1\n---\nb: 2\n").unwrap_err().contains("more than one"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-a:\\[\\]{}&*!|>'\"%@#\\n 1]{0,60}") {
            let _ = Yaml::parse(&text);
        }
    }
}
