//! The rule in the module's documentation, applied by a reader that sees only the texts.

use std::collections::BTreeSet;

use super::super::lexicon::{Class, Noun};
use super::super::{LONGEST_DISTANCE, Number, PracticeLanguage};
use super::{LANGUAGES, documents, small, words};

const PRONOUNS: [&str; 3] = ["it", "they", "them"];
const DETERMINERS: [&str; 5] = ["a", "an", "some", "this", "these"];

fn all_nouns() -> impl Iterator<Item = &'static Noun> {
    Class::ALL.into_iter().flat_map(Class::nouns)
}

/// The noun with that English form.
fn look_up(word: &str) -> Option<(&'static Noun, Number)> {
    all_nouns().find_map(|noun| {
        if noun.singular == word {
            Some((noun, Number::Singular))
        } else if noun.plural == word {
            Some((noun, Number::Plural))
        } else {
            None
        }
    })
}

#[test]
fn each_pronoun_stands_for_the_last_noun_without_a_definite_article() {
    for language in LANGUAGES {
        for seed in 0..20 {
            let practice = small(language, seed);
            for annotated in documents(&practice) {
                // (sentence, pronoun) as found by reading, against the annotations.
                let mut topic: Option<(usize, &Noun, Number)> = None;
                let mut links = annotated.pronouns.iter();
                for (index, segment) in annotated.document.segments.iter().enumerate() {
                    let words = words(&segment.source);
                    for (place, word) in words.iter().enumerate() {
                        if DETERMINERS.contains(&word.as_str()) {
                            let (noun, number) = words[place + 1..]
                                .iter()
                                .take(2)
                                .find_map(|word| look_up(word))
                                .unwrap_or_else(|| panic!("no noun after {word}: {words:?}"));
                            topic = Some((index, noun, number));
                        }
                        if PRONOUNS.contains(&word.as_str()) {
                            let (named, noun, number) = topic.expect("a pronoun before a topic");
                            let link = links.next().expect("a pronoun without annotation");
                            assert_eq!(link.segment, index);
                            assert_eq!(link.antecedent_segment, named);
                            assert_eq!(link.distance(), index - named);
                            assert!(link.distance() <= LONGEST_DISTANCE);
                            assert_eq!(link.gender, noun.gender(language));
                            assert_eq!(link.number, number);
                        }
                    }
                }
                assert_eq!(links.next(), None, "an annotated pronoun is not in the text");
            }
        }
    }
}

#[test]
fn each_translated_pronoun_agrees_with_its_noun_in_gender_number_and_case() {
    for language in LANGUAGES {
        let mut forms = BTreeSet::new();
        for seed in 0..20 {
            let practice = small(language, seed);
            for annotated in documents(&practice) {
                for link in &annotated.pronouns {
                    let segments = &annotated.document.segments;
                    let target = segments[link.segment].target.as_ref().unwrap();
                    let found = target[link.target.clone()].to_lowercase();
                    let expected = language.pronoun(link.gender, link.number, link.case);
                    let elided = found == "l'" && ["le", "la"].contains(&expected);
                    assert!(found == expected || elided, "{found} for {expected}: {target}");
                    forms.insert(found);

                    let source = &segments[link.segment].source;
                    let pronoun = source[link.source.clone()].to_lowercase();
                    assert!(PRONOUNS.contains(&pronoun.as_str()), "{pronoun}");

                    let antecedent = &segments[link.antecedent_segment];
                    let word = &antecedent.source[link.source_antecedent.clone()];
                    let (noun, number) = look_up(word).unwrap();
                    assert_eq!((noun.gender(language), number), (link.gender, link.number));
                    let translated =
                        &antecedent.target.as_ref().unwrap()[link.target_antecedent.clone()];
                    let allowed = match language {
                        PracticeLanguage::German => {
                            [noun.german.singular, noun.german.oblique, noun.german.plural]
                        }
                        PracticeLanguage::French => {
                            [noun.french.singular, noun.french.singular, noun.french.plural]
                        }
                    };
                    assert!(allowed.contains(&translated), "{translated} for {word}");
                }
            }
        }
        let expected: &[&str] = match language {
            PracticeLanguage::German => &["er", "es", "ihn", "sie"],
            PracticeLanguage::French => &["elle", "elles", "il", "ils", "l'", "la", "le", "les"],
        };
        assert_eq!(forms.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn distractors_of_other_genders_come_before_each_distant_pronoun() {
    for language in LANGUAGES {
        let practice = small(language, 5);
        let mut between = 0;
        let mut distant = 0;
        for annotated in documents(&practice) {
            for link in annotated.pronouns.iter().filter(|link| link.distance() >= 1) {
                let segments = &annotated.document.segments[..=link.segment];
                let mut genders = Vec::new();
                for segment in segments {
                    let words = words(&segment.source);
                    for pair in words.windows(2).filter(|pair| pair[0] == "the") {
                        genders.extend(look_up(&pair[1]).map(|(noun, _)| noun.gender(language)));
                    }
                }
                distant += 1;
                between += usize::from(genders.iter().any(|gender| *gender != link.gender));
            }
        }
        assert!(distant > 200);
        assert!(between * 100 >= distant * 90, "{between} of {distant}");
    }
}

#[test]
fn all_distances_occur_in_training_often_enough_to_be_learnt() {
    for language in LANGUAGES {
        let practice = small(language, 2);
        let mut counts = [0usize; LONGEST_DISTANCE + 1];
        for link in practice.train.iter().flat_map(|annotated| &annotated.pronouns) {
            counts[link.distance()] += 1;
        }
        let all: usize = counts.iter().sum();
        assert!(counts.iter().all(|count| count * 100 >= all * 5), "{counts:?}");
    }
}
