//! A document for human readers, with pronouns and antecedents marked.

use std::fmt;
use std::ops::Range;

use super::AnnotatedDocument;

/// Both sides of each sentence, one below the other. Antecedents are in `[brackets]`, pronouns in
/// `<angles>`, followed by what they refer to:
///
/// ```text
/// practice-train-00000
///   1  Anna saw a big [box] behind the bridge.
///      Anna sah hinter der Brücke eine große [Schachtel].
///   2  Anna wanted to clean <it> thoroughly.
///      Anna wollte <sie> gründlich reinigen.
///      it: box, sie: Schachtel (1 sentence back)
/// ```
impl fmt::Display for AnnotatedDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.document.id)?;
        for (index, segment) in self.document.segments.iter().enumerate() {
            let target = segment.target.as_deref().unwrap_or_default();
            let mut source_marks = Marks::default();
            let mut target_marks = Marks::default();
            for link in &self.pronouns {
                if link.antecedent_segment == index {
                    source_marks.add(&link.source_antecedent, ['[', ']']);
                    target_marks.add(&link.target_antecedent, ['[', ']']);
                }
                if link.segment == index {
                    source_marks.add(&link.source, ['<', '>']);
                    target_marks.add(&link.target, ['<', '>']);
                }
            }
            writeln!(f, "{:>3}  {}", index + 1, source_marks.apply(&segment.source))?;
            writeln!(f, "     {}", target_marks.apply(target))?;
            for link in self.pronouns.iter().filter(|link| link.segment == index) {
                let antecedent = &self.document.segments[link.antecedent_segment];
                let noun = &antecedent.source[link.source_antecedent.clone()];
                let translated = antecedent.target.as_deref().unwrap_or_default();
                let translated = &translated[link.target_antecedent.clone()];
                let it = segment.source[link.source.clone()].to_lowercase();
                let pronoun = target[link.target.clone()].to_lowercase();
                let distance = match link.distance() {
                    0 => "the same sentence".to_owned(),
                    1 => "1 sentence back".to_owned(),
                    more => format!("{more} sentences back"),
                };
                writeln!(f, "     {it}: {noun}, {pronoun}: {translated} ({distance})")?;
            }
        }
        Ok(())
    }
}

/// Ranges of a text to surround with marks.
#[derive(Default)]
struct Marks {
    places: Vec<(Range<usize>, [char; 2])>,
}

impl Marks {
    fn add(&mut self, place: &Range<usize>, signs: [char; 2]) {
        let place = (place.clone(), signs);
        // Several pronouns may have the same antecedent.
        if !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    fn apply(mut self, text: &str) -> String {
        self.places.sort_by_key(|(range, _)| range.start);
        let mut marked = String::new();
        let mut written = 0;
        for (range, [open, close]) in self.places {
            marked.push_str(&text[written..range.start]);
            marked.push(open);
            marked.push_str(&text[range.clone()]);
            marked.push(close);
            written = range.end;
        }
        marked.push_str(&text[written..]);
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Case, Gender, Number, PronounLink};
    use super::*;
    use crate::{Document, Segment};

    #[test]
    fn pronouns_and_antecedents_are_marked_and_explained() {
        let segments = vec![
            Segment::pair(
                "Anna saw a cup, and it was old.",
                "Anna sah eine Tasse, und sie war alt.",
            ),
            Segment::pair("Paul liked it.", "Sie gefiel Paul."),
        ];
        let link = |segment, source, target| PronounLink {
            segment,
            antecedent_segment: 0,
            source,
            target,
            source_antecedent: 11..14,
            target_antecedent: 14..19,
            gender: Gender::Feminine,
            number: Number::Singular,
            case: Case::Subject,
        };
        let annotated = AnnotatedDocument {
            document: Document::new("d", segments),
            pronouns: vec![link(0, 20..22, 25..28), link(1, 11..13, 0..3)],
        };
        let expected = "\
d
  1  Anna saw a [cup], and <it> was old.
     Anna sah eine [Tasse], und <sie> war alt.
     it: cup, sie: Tasse (the same sentence)
  2  Paul liked <it>.
     <Sie> gefiel Paul.
     it: cup, sie: Tasse (1 sentence back)
";
        assert_eq!(annotated.to_string(), expected);
    }
}
