//! The lexicon is complete and balanced, the templates fit together, the texts are well formed.

use std::collections::{BTreeMap, BTreeSet};

use super::super::adverbials::ASIDE_SLOTS;
use super::super::lexicon::{Class, Gender, Noun, attributive, predicative};
use super::super::templates::{
    FILLERS, INTRODUCTIONS, OBJECTS, OPENINGS, REMINDERS, SAME_SENTENCE, SUBJECTS, Template,
};
use super::super::{PracticeConfig, PracticeLanguage, generate};
use super::{LANGUAGES, documents, small, words};

fn all_nouns() -> impl Iterator<Item = &'static Noun> {
    Class::ALL.into_iter().flat_map(Class::nouns)
}

#[test]
fn every_noun_has_its_forms_and_a_gender_in_both_languages() {
    let mut seen = BTreeSet::new();
    for noun in all_nouns() {
        for form in [noun.singular, noun.plural] {
            assert!(form.chars().all(char::is_lowercase), "{form}");
            assert!(seen.insert(form), "{form} twice");
        }
        let german = &noun.german;
        for form in [german.singular, german.oblique, german.plural] {
            assert!(form.chars().next().is_some_and(char::is_uppercase), "{form}");
            assert!(form.chars().all(char::is_alphabetic), "{form}");
        }
        assert!(german.oblique == german.singular || german.gender == Gender::Masculine);
        let french = &noun.french;
        assert_ne!(french.gender, Gender::Neuter, "{}", french.singular);
        for form in [french.singular, french.plural] {
            assert!(form.chars().all(char::is_lowercase), "{form}");
        }
        assert!(french.plural.ends_with(['s', 'x']), "{}", french.plural);
    }
    assert!(seen.len() >= 400, "{} forms", seen.len());
}

#[test]
fn german_genders_are_balanced_exactly_and_french_ones_roughly_in_each_class() {
    for class in Class::ALL {
        for language in LANGUAGES {
            let mut counts: BTreeMap<Gender, usize> = BTreeMap::new();
            for noun in class.nouns() {
                *counts.entry(noun.gender(language)).or_default() += 1;
            }
            let counts: Vec<usize> = counts.into_values().collect();
            assert_eq!(counts.len(), language.genders().len(), "{class:?}");
            match language {
                PracticeLanguage::German => {
                    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
                }
                PracticeLanguage::French => {
                    assert!(counts.iter().all(|count| *count >= 10), "{counts:?}");
                }
            }
        }
    }
}

#[test]
fn every_slot_has_nouns_of_each_gender() {
    for language in LANGUAGES {
        for slot in &ASIDE_SLOTS {
            for gender in language.genders() {
                let fitting = all_nouns()
                    .filter(|noun| slot.takes(noun) && noun.gender(language) == *gender)
                    .count();
                assert!(fitting >= 8, "{} {gender:?} {language}: {fitting}", slot.name);
            }
        }
    }
}

#[test]
fn every_class_has_sentences_of_every_kind() {
    for class in Class::ALL {
        let fitting = |templates: &[Template]| {
            templates.iter().filter(|template| template.classes.contains(&class)).count()
        };
        assert!(fitting(INTRODUCTIONS) >= 3, "{class:?}");
        assert!(fitting(SUBJECTS) >= 5, "{class:?}");
        assert!(fitting(OBJECTS) >= 6, "{class:?}");
        assert!(fitting(REMINDERS) >= 3, "{class:?}");
        for object in [false, true] {
            let same = SAME_SENTENCE.iter().filter(|template| {
                template.classes.contains(&class) && template.german.contains("{it.acc}") == object
            });
            assert!(same.count() >= 1, "{class:?}");
        }
        assert!(attributive(class).len() >= 5 && predicative(class).len() >= 4, "{class:?}");
    }
}

#[test]
fn the_three_languages_of_a_template_have_the_same_slots() {
    // Agreement and case are marked where a language has them; the rest must be equal.
    let slots = |text: &str| -> BTreeSet<String> {
        text.split('{')
            .skip(1)
            .filter_map(|part| part.split('}').next())
            .filter(|slot| !slot.contains(['/', ':']))
            .map(|slot| slot.trim_end_matches(".acc").to_owned())
            .collect()
    };
    let all = [OPENINGS, FILLERS, INTRODUCTIONS, SAME_SENTENCE, REMINDERS, SUBJECTS, OBJECTS];
    for template in all.into_iter().flatten() {
        let english = slots(template.english);
        assert_eq!(english, slots(template.german), "{}", template.german);
        assert_eq!(english, slots(template.french), "{}", template.french);
        assert_eq!(template.german.matches('|').count(), 2, "{}", template.german);
        for text in [template.english, template.german, template.french] {
            assert!(text.ends_with('.'), "{text}");
        }
    }
    for template in SUBJECTS {
        assert!(template.german.contains("{it}") && template.french.contains("{it}"));
    }
    for template in OBJECTS {
        assert!(template.german.contains("{it.acc}") && template.french.contains("{it.acc}"));
    }
}

#[test]
fn texts_are_well_formed_and_short() {
    for language in LANGUAGES {
        for seed in 0..20 {
            let practice = small(language, seed);
            for annotated in documents(&practice) {
                for segment in &annotated.document.segments {
                    let target = segment.target.as_deref().unwrap();
                    for text in [segment.source.as_str(), target] {
                        let count = text.split(' ').count();
                        assert!((3..=18).contains(&count), "{count} words: {text}");
                        assert!(text.chars().next().is_some_and(char::is_uppercase), "{text}");
                        assert!(text.ends_with('.') && !text.contains("  "), "{text}");
                        let allowed =
                            |c: char| c.is_alphabetic() || [' ', '.', ',', '\''].contains(&c);
                        assert!(text.chars().all(allowed), "{text}");
                        assert!(!text.contains(" ."), "{text}");
                    }
                    let count = segment.source.split(' ').count();
                    assert!((4..=14).contains(&count), "{count} words: {}", segment.source);
                }
            }
        }
    }
}

#[test]
fn german_contracts_and_french_elides_everywhere() {
    let text = |language| -> Vec<String> {
        let practice = small(language, 8);
        let segments = documents(&practice).flat_map(|annotated| &annotated.document.segments);
        segments.filter_map(|segment| segment.target.clone()).collect()
    };
    for sentence in text(PracticeLanguage::German) {
        for wrong in ["bei dem ", "zu dem ", "zu der ", "von dem ", "an dem "] {
            assert!(!sentence.contains(wrong), "{sentence}");
        }
    }
    for sentence in text(PracticeLanguage::French) {
        let words: Vec<&str> = sentence.split(' ').collect();
        for pair in words.windows(2) {
            // Before an article; the pronoun in `voulait le garder` follows no preposition here.
            assert!(pair != ["de", "le"] && pair != ["à", "le"], "{sentence}");
            let vowel =
                pair[1].to_lowercase().starts_with(['a', 'e', 'i', 'o', 'u', 'é', 'ê', 'â']);
            let elides = ["le", "la", "de", "ne", "que", "jusque"].contains(&pair[0]);
            assert!(!(vowel && elides), "{sentence}");
        }
    }
}

#[test]
fn the_default_corpus_has_a_small_vocabulary_in_which_every_noun_is_frequent() {
    for language in LANGUAGES {
        let practice = generate(&PracticeConfig::new(language)).unwrap();
        assert_eq!(practice.train.len(), 6_000);
        let mut source: BTreeMap<String, usize> = BTreeMap::new();
        let mut target: BTreeSet<String> = BTreeSet::new();
        for segment in practice.train.iter().flat_map(|document| &document.segments) {
            for word in words(&segment.source) {
                *source.entry(word).or_default() += 1;
            }
            target.extend(words(segment.target.as_deref().unwrap()));
        }
        assert!(source.len() < 700 && target.len() < 900, "{} {}", source.len(), target.len());
        for noun in all_nouns() {
            let count = source.get(noun.singular).copied().unwrap_or_default();
            assert!(count >= 12, "{} occurs {count} times", noun.singular);
        }
        // All words of the held-out sets occur in training.
        let held_out = practice.valid.iter().chain(&practice.test);
        for segment in held_out.flat_map(|document| &document.segments) {
            assert!(words(&segment.source).iter().all(|word| source.contains_key(word)));
        }
        for item in &practice.contrastive.items {
            for text in item.context.iter().chain([&item.source]) {
                assert!(words(text).iter().all(|word| source.contains_key(word)), "{text}");
            }
        }
    }
}
