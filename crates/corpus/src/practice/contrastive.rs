//! The contrastive set: the same sentence after different nouns.

use abridge_base::random::Random;

use super::annotated::{AnnotatedDocument, annotate};
use super::lexicon::Gender;
use super::plan::{self, Asked};
use super::render;
use super::sentence::{Mention, Sentence};
use super::split::{MOST_ATTEMPTS, Split, SplitOwners, exhausted};
use super::story::{Story, unused_noun};
use super::{Case, LONGEST_DISTANCE, Number, PracticeConfig, PracticeLanguage};
use crate::{ContrastiveItem, ContrastiveSet, Result};

/// The kinds of pronouns whose form depends on the gender.
fn kinds(language: PracticeLanguage) -> &'static [(Case, Number)] {
    match language {
        PracticeLanguage::German => {
            &[(Case::Subject, Number::Singular), (Case::Object, Number::Singular)]
        }
        PracticeLanguage::French => &[
            (Case::Subject, Number::Singular),
            (Case::Subject, Number::Plural),
            (Case::Object, Number::Singular),
        ],
    }
}

/// Writes the set: for each kind and distance, groups with one item for each gender.
pub(super) fn generate(
    config: &PracticeConfig,
    owners: &mut SplitOwners,
) -> Result<ContrastiveSet> {
    let mut items = Vec::new();
    for (kind, &(case, number)) in kinds(config.language).iter().enumerate() {
        for distance in 0..=LONGEST_DISTANCE {
            let asked = Asked { case, number, distance };
            for index in 0..config.contrastive_groups {
                let key = [config.seed, Split::Contrastive as u64, kind as u64, distance as u64];
                let group = group(config.language, asked, &key, index, owners)?;
                for (gender, sentences) in group {
                    let place = items.len();
                    items.push(item(config.language, place, gender, &sentences, owners));
                }
            }
        }
    }
    Ok(ContrastiveSet { items, notes: Vec::new() })
}

type Group = Vec<(Gender, Vec<Sentence>)>;

/// Documents that differ only in the noun of the last topic.
fn group(
    language: PracticeLanguage,
    asked: Asked,
    key: &[u64],
    index: usize,
    owners: &SplitOwners,
) -> Result<Group> {
    for attempt in 0..MOST_ATTEMPTS {
        let mut key = key.to_vec();
        key.extend([index as u64, attempt]);
        let Some(mut story) = plan::contrastive(language, Random::keyed(&key), asked) else {
            continue;
        };
        let Some(group) = twins(language, &mut story) else { continue };
        let suitable = group.iter().all(|(gender, sentences)| {
            let expected = language.pronoun(*gender, asked.number, asked.case);
            let found = sentences.last().and_then(|last| pronoun(last, language, *gender));
            // An elided l' would not show the gender.
            found.as_deref() == Some(expected)
                && owners.allows(
                    &annotate(String::new(), sentences, language).document,
                    Split::Contrastive,
                )
        });
        if suitable {
            return Ok(group);
        }
    }
    Err(exhausted(&format!("contrastive group {index}, {asked:?}")))
}

/// The same story about a noun of each gender.
fn twins(language: PracticeLanguage, story: &mut Story) -> Option<Group> {
    let original = story.sentences().last()?.topic?;
    let mut used = story.nouns().to_vec();
    let mut group = Group::new();
    for &gender in language.genders() {
        let noun = if original.noun.gender(language) == gender {
            original.noun
        } else {
            unused_noun(language, story.random(), &used, original.class, gender)?
        };
        used.push(noun);
        let mut sentences = story.sentences().to_vec();
        for topic in sentences.iter_mut().filter_map(|sentence| sentence.topic.as_mut()) {
            if topic.noun == original.noun {
                topic.noun = noun;
            }
        }
        group.push((gender, sentences));
    }
    Some(group)
}

/// The pronoun for the topic, in lower case, when it is translated with the given gender.
fn pronoun(sentence: &Sentence, language: PracticeLanguage, gender: Gender) -> Option<String> {
    let rendered = render::target(sentence, language, gender);
    rendered.pronoun.map(|range| rendered.text[range].to_lowercase())
}

/// An item whose document ends with the sentence that holds the pronoun.
fn item(
    language: PracticeLanguage,
    place: usize,
    gender: Gender,
    sentences: &[Sentence],
    owners: &mut SplitOwners,
) -> ContrastiveItem {
    let id = format!("practice-contrastive-{place:05}");
    let AnnotatedDocument { document, pronouns } = annotate(id.clone(), sentences, language);
    owners.insert(&document, Split::Contrastive);

    let mut item = ContrastiveItem {
        id: place.to_string(),
        document: Some(id),
        segment: Some(document.segments.len().saturating_sub(1)),
        ..ContrastiveItem::default()
    };
    let (Some(last), Some(link)) = (sentences.last(), pronouns.last()) else { return item };
    let word = |segment: usize, range: &std::ops::Range<usize>, source: bool| {
        let segment = &document.segments[segment];
        let text = if source { Some(&segment.source) } else { segment.target.as_ref() };
        text.map(|text| text[range.clone()].to_owned())
    };
    item.source_pronoun = word(link.segment, &link.source, true).map(|it| it.to_lowercase());
    item.source_antecedent = word(link.antecedent_segment, &link.source_antecedent, true);
    item.target_antecedent = word(link.antecedent_segment, &link.target_antecedent, false);
    item.antecedent_distance = u32::try_from(link.distance()).ok();
    item.pronoun = pronoun(last, language, gender);

    item.candidates.push(render::target(last, language, gender).text);
    for &other in language.genders().iter().filter(|other| **other != gender) {
        item.candidates.push(render::target(last, language, other).text);
        item.replacements.extend(pronoun(last, language, other));
    }
    let mut segments = document.segments;
    item.source = segments.pop().map(|segment| segment.source).unwrap_or_default();
    for segment in segments {
        item.context.push(segment.source);
        item.target_context.extend(segment.target);
    }
    item.category = Some(category(last));
    item
}

/// The kind of item, for reports.
fn category(sentence: &Sentence) -> String {
    let case = match sentence.mention {
        Mention::Pronoun(Case::Object) | Mention::Both(Case::Object) => "object",
        _ => "subject",
    };
    let number = match sentence.topic.map(|topic| topic.number) {
        Some(Number::Plural) => "plural",
        _ => "singular",
    };
    format!("{case}, {number}")
}
