//! The context of an example under a control.

use abridge_corpus::{ContrastiveSet, Error, Result};
use abridge_model::random;

use super::control::Control;

/// An example of any set: a sentence and its context.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    /// The sentence.
    pub source: &'a str,
    /// The sentences before it, oldest first.
    pub context: &'a [String],
    /// Their translations; may be missing.
    pub translations: &'a [String],
    /// The document that it comes from, if known.
    pub document: Option<&'a str>,
}

impl<'a> Example<'a> {
    /// The examples of a contrastive set.
    pub fn all(set: &'a ContrastiveSet) -> Vec<Self> {
        let example = |item: &'a abridge_corpus::ContrastiveItem| Self {
            source: &item.source,
            context: &item.context,
            translations: &item.target_context,
            document: item.document.as_deref(),
        };
        set.items.iter().map(example).collect()
    }
}

/// The context of an example as the model sees it under a control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    pub sentences: Vec<String>,
    pub translations: Vec<String>,
    /// The indices of the sentences shown as the nearest, the second nearest and so on, if they
    /// differ from the true order.
    pub shown: Option<Vec<Option<usize>>>,
}

impl Control {
    /// How many examples the control changes; fails if it is impossible for one.
    pub fn check(self, examples: &[Example<'_>], context_size: usize, seed: u64) -> Result<usize> {
        let mut changed = 0;
        for index in 0..examples.len() {
            changed += usize::from(self.view(examples, index, context_size, seed)?.is_some());
        }
        Ok(changed)
    }

    /// The context of example `index` under the control, for a model with this many slots; no
    /// context may be longer than that. `None` if it is the true context.
    pub(crate) fn view(
        self,
        examples: &[Example<'_>],
        index: usize,
        context_size: usize,
        seed: u64,
    ) -> Result<Option<View>> {
        let example = &examples[index];
        let past = example.context.len();
        // The index of the sentence `back` sentences back; 1 is the nearest.
        let at = |back: usize| past.checked_sub(back);
        let truth: Vec<Option<usize>> = (1..=context_size).map(at).collect();
        let shown: Vec<Option<usize>> = match self {
            _ if past == 0 => return Ok(None),
            Self::None => return Ok(Some(View::default())),
            Self::Random => return elsewhere(examples, index, seed).map(Some),
            Self::Shuffled => {
                let mut order: Vec<usize> = (0..past).collect();
                shuffle(&mut order, random::key(&[seed, index as u64]));
                truth.iter().map(|place| place.map(|place| order[place])).collect()
            }
            Self::Mirrored => truth.iter().rev().copied().collect(),
            Self::Only(only) => {
                (1..=context_size).map(|back| at(back).filter(|_| back == only)).collect()
            }
        };
        Ok((shown != truth).then(|| View {
            sentences: example.context.to_vec(),
            translations: example.translations.to_vec(),
            shown: Some(shown),
        }))
    }
}

/// As many sentences as in the example's own context, from an example of another document whose
/// context shares no sentence with it.
fn elsewhere(examples: &[Example<'_>], index: usize, seed: u64) -> Result<View> {
    let own = &examples[index];
    let size = own.context.len();
    let is_other = |place: &usize| {
        let other = &examples[*place];
        let same_document = own.document.is_some() && own.document == other.document;
        let shares = |sentence: &String| sentence == own.source || own.context.contains(sentence);
        !same_document
            && other.context.len() >= size
            && other.source != own.source
            && !other.context.iter().any(shares)
    };
    let count = examples.len();
    let draw = random::uniform(random::key(&[seed]), index as u64);
    let start = (draw * count as f64) as usize;
    let donor =
        (start..start + count).map(|place| place % count).find(is_other).ok_or_else(|| {
            Error::new(format!(
            "example {} has {size} sentences of context, but no example of another document has as \
             many",
            index + 1
        ))
        .remedy("leave the control `random` out, or ask for a smaller context size")
        })?;
    let nearest = |sentences: &[String]| sentences[sentences.len().saturating_sub(size)..].to_vec();
    let donor = &examples[donor];
    Ok(View {
        sentences: nearest(donor.context),
        translations: nearest(donor.translations),
        shown: None,
    })
}

/// Shuffles; the result always differs from the original order.
fn shuffle(order: &mut [usize], key: u64) {
    if order.len() < 2 {
        return;
    }
    for last in (1..order.len()).rev() {
        let place = random::uniform(key, last as u64) * (last + 1) as f64;
        order.swap(last, place as usize);
    }
    if order.is_sorted() {
        order.rotate_left(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Text(&'static str, Vec<String>);

    fn texts() -> Vec<Text> {
        let text = |document: &'static str, size: usize, place: usize| {
            Text(document, (place - size..=place).map(|n| format!("{document} {n}")).collect())
        };
        vec![text("a", 3, 4), text("a", 3, 9), text("b", 3, 5), text("b", 1, 1)]
    }

    fn examples(texts: &[Text]) -> Vec<Example<'_>> {
        let example = |text| {
            let Text(document, sentences): &Text = text;
            let (source, context) = sentences.split_last().unwrap();
            Example { source, context, translations: context, document: Some(document) }
        };
        texts.iter().map(example).collect()
    }

    fn view(control: Control, index: usize) -> Option<View> {
        control.view(&examples(&texts()), index, 3, 1).unwrap()
    }

    #[test]
    fn a_random_context_is_from_another_document_and_as_long() {
        let texts = texts();
        for (index, Text(document, sentences)) in texts.iter().enumerate() {
            let found = view(Control::Random, index).unwrap();
            assert_eq!(found.sentences.len(), sentences.len() - 1);
            assert_eq!(found.translations.len(), sentences.len() - 1);
            assert!(!found.sentences[0].starts_with(document));
        }
        assert!(Control::Random.view(&examples(&texts[..2]), 0, 3, 1).is_err());
    }

    #[test]
    fn sentences_are_shown_elsewhere() {
        let shown = |control, index| view(control, index).and_then(|view| view.shown);
        // The true order, nearest first, is 2, 1, 0.
        assert_eq!(shown(Control::Mirrored, 0).unwrap(), [Some(0), Some(1), Some(2)]);
        // The only context sentence is in the slot of the furthest.
        assert_eq!(shown(Control::Mirrored, 3).unwrap(), [None, None, Some(0)]);
        assert_eq!(shown(Control::Only(1), 0).unwrap(), [Some(2), None, None]);
        assert_eq!(shown(Control::Only(3), 0).unwrap(), [None, None, Some(0)]);
        assert_eq!(shown(Control::Only(3), 3).unwrap(), [None, None, None]);
        let mut shuffled = shown(Control::Shuffled, 0).unwrap();
        assert_ne!(shuffled, [Some(2), Some(1), Some(0)]);
        shuffled.sort();
        assert_eq!(shuffled, [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn an_unchanged_context_is_not_scored_again() {
        assert_eq!(view(Control::Only(1), 3), None);
        assert_eq!(view(Control::Shuffled, 3), None);
        assert!(view(Control::None, 3).unwrap().sentences.is_empty());
    }
}
