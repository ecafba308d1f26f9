//! The contrastive set is balanced, and its groups differ only in the noun.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{LONGEST_DISTANCE, PracticeConfig, PracticeLanguage, generate};
use super::{LANGUAGES, small, words};

const GROUPS: usize = 20;

#[test]
fn pronouns_and_distances_are_balanced() {
    for language in LANGUAGES {
        let config = PracticeConfig { train_documents: 0, ..PracticeConfig::new(language) };
        let set = generate(&config).unwrap().contrastive;
        assert_eq!(set.items.len(), 720);
        let mut counts: BTreeMap<(String, u32, String), usize> = BTreeMap::new();
        for item in &set.items {
            let key = (
                item.pronoun.clone().unwrap(),
                item.antecedent_distance.unwrap(),
                item.category.clone().unwrap(),
            );
            *counts.entry(key).or_default() += 1;
        }
        assert_eq!(counts.len(), 36, "{counts:?}");
        assert!(counts.values().all(|count| *count == GROUPS), "{counts:?}");
        let pronouns: BTreeSet<&str> =
            counts.keys().map(|(pronoun, ..)| pronoun.as_str()).collect();
        let expected: &[&str] = match language {
            PracticeLanguage::German => &["er", "es", "ihn", "sie"],
            PracticeLanguage::French => &["elle", "elles", "il", "ils", "la", "le"],
        };
        assert_eq!(pronouns.into_iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_group_has_the_same_sentence_after_a_noun_of_each_gender() {
    for language in LANGUAGES {
        let genders = language.genders().len();
        for seed in 0..20 {
            let set = small(language, seed).contrastive;
            for group in set.items.chunks(genders) {
                let first = &group[0];
                let pronouns: BTreeSet<_> = group.iter().map(|item| &item.pronoun).collect();
                assert_eq!(pronouns.len(), genders);
                let candidates = |index: usize| {
                    group[index].candidates.iter().map(String::as_str).collect::<BTreeSet<_>>()
                };
                for (index, item) in group.iter().enumerate() {
                    assert_eq!(item.context.len(), first.context.len());
                    let differing = item.context.iter().zip(&first.context);
                    let differing = differing.filter(|(left, right)| left != right).count();
                    if item.antecedent_distance == Some(0) {
                        assert_eq!(differing, 0);
                    } else {
                        assert_eq!(item.source, first.source);
                        assert_eq!(differing, usize::from(index > 0));
                        // The candidates are the same, so the best one is right only once.
                        assert_eq!(candidates(index), candidates(0));
                    }
                }
            }
        }
    }
}

#[test]
fn candidates_differ_in_the_pronoun_and_what_agrees_with_it() {
    for language in LANGUAGES {
        for seed in 0..20 {
            let set = small(language, seed).contrastive;
            for item in &set.items {
                assert_eq!(item.candidates.len(), language.genders().len());
                assert_eq!(item.replacements.len(), item.candidates.len() - 1);
                let unique: BTreeSet<&String> = item.candidates.iter().collect();
                assert_eq!(unique.len(), item.candidates.len());
                let reference = words(&item.candidates[0]);
                let pronoun = item.pronoun.clone().unwrap();
                assert!(reference.contains(&pronoun), "{pronoun}: {reference:?}");
                for (candidate, replacement) in item.candidates[1..].iter().zip(&item.replacements)
                {
                    let other = words(candidate);
                    // `parce qu'elle` and `parce qu'il` have the same number of words.
                    assert_eq!(reference.len(), other.len(), "{candidate}");
                    let different: Vec<_> = reference
                        .iter()
                        .zip(&other)
                        .filter(|(left, right)| left != right)
                        .collect();
                    assert_eq!(different[0], (&pronoun, replacement), "{candidate}");
                    match language {
                        PracticeLanguage::German => assert_eq!(different.len(), 1),
                        // An adjective or a participle may agree.
                        PracticeLanguage::French => assert!(different.len() <= 3),
                    }
                }
            }
        }
    }
}

#[test]
fn the_antecedent_is_at_its_distance_and_nothing_refers_to_it_in_between() {
    for language in LANGUAGES {
        for seed in 0..20 {
            let set = small(language, seed).contrastive;
            for item in &set.items {
                let distance = item.antecedent_distance.unwrap() as usize;
                assert!(distance <= LONGEST_DISTANCE && item.context.len() <= 9);
                assert_eq!(item.segment, Some(item.context.len()));
                assert_eq!(item.context.len(), item.target_context.len());
                let sentences: Vec<&String> = item.context.iter().chain([&item.source]).collect();
                let antecedent = item.source_antecedent.clone().unwrap();
                let place = sentences.len() - 1 - distance;
                for (index, sentence) in sentences.iter().enumerate() {
                    let words = words(sentence);
                    assert_eq!(words.contains(&antecedent), index == place, "{sentence}");
                    if index >= place && index < sentences.len() - 1 {
                        for pronoun in ["it", "they", "them"] {
                            assert!(!words.contains(&pronoun.to_owned()), "{sentence}");
                        }
                    }
                }
                let noun = item.target_antecedent.clone().unwrap();
                let target = item.target_context.get(place).unwrap_or(&item.candidates[0]);
                assert!(target.contains(&noun), "{noun}: {target}");
            }
        }
    }
}
