//! A text with slots for translations: everything between the slots is kept byte for byte.

use std::io::{self, Write};
use std::ops::Range;

use super::corpus::Layout;
use super::entities;

/// How a translation is escaped so that it cannot break the surrounding format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// On one line: a newline inside a translation becomes a space.
    Line,
    /// On one line, with XML markup characters escaped.
    Xml,
}

/// A text and, in reading order, the byte range of each segment.
#[derive(Clone, Debug)]
pub(super) struct SlotLayout {
    pub text: String,
    pub slots: Vec<Range<usize>>,
    pub escape: Escape,
}

impl Layout for SlotLayout {
    fn place(&self, _: usize, index: usize) -> Option<(&str, usize)> {
        Some((&self.text, self.slots.get(index)?.start))
    }

    /// Writes the text with the translations, one per slot, in place of the segments.
    fn write(&self, translations: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
        let mut end = 0;
        for (slot, translation) in self.slots.iter().zip(translations.iter().flatten()) {
            out.write_all(&self.text.as_bytes()[end..slot.start])?;
            match self.escape {
                Escape::Line => write_line(translation, out)?,
                Escape::Xml => write_line(&entities::encode(translation), out)?,
            }
            end = slot.end;
        }
        out.write_all(&self.text.as_bytes()[end..])
    }
}

fn write_line(translation: &str, out: &mut dyn Write) -> io::Result<()> {
    for (index, part) in translation.split('\n').enumerate() {
        if index > 0 {
            out.write_all(b" ")?;
        }
        out.write_all(part.as_bytes())?;
    }
    Ok(())
}
