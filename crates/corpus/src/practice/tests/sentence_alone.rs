//! Statistics: what the sentence with the pronoun and nearby nouns reveal about its gender.

use std::collections::BTreeMap;

use super::super::generate_annotated;
use super::super::lexicon::{Class, Gender};
use super::super::{
    AnnotatedDocument, AnnotatedPractice, Number, PracticeConfig, PracticeLanguage,
};
use super::{LANGUAGES, words};

/// A pronoun to guess: the words before it in the document, its sentence, and its gender.
struct Case<'a> {
    sentence: &'a str,
    before: Vec<&'a str>,
    gender: Gender,
}

fn corpus(language: PracticeLanguage) -> AnnotatedPractice {
    let config = PracticeConfig {
        train_documents: 5_000,
        valid_documents: 0,
        test_documents: 1_500,
        contrastive_groups: 0,
        ..PracticeConfig::new(language)
    };
    generate_annotated(&config).unwrap()
}

/// Pronouns whose antecedent is in an earlier sentence and whose form depends on the gender.
fn cases(documents: &[AnnotatedDocument], distance: impl Fn(usize) -> bool) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for annotated in documents {
        let segments = &annotated.document.segments;
        for link in annotated.pronouns.iter().filter(|link| distance(link.distance())) {
            cases.push(Case {
                sentence: &segments[link.segment].source,
                before: segments[..link.segment].iter().map(|s| s.source.as_str()).collect(),
                gender: link.gender,
            });
        }
    }
    cases
}

fn accuracy(cases: &[Case<'_>], guess: impl Fn(&Case<'_>) -> Option<Gender>) -> f64 {
    let right = cases.iter().filter(|case| guess(case) == Some(case.gender)).count();
    right as f64 / cases.len() as f64
}

/// The range of chance: four standard deviations around a guess without information. Pronouns of
/// the same topic share their gender, about two each, which widens the range.
fn at_chance(language: PracticeLanguage, cases: usize) -> std::ops::Range<f64> {
    let chance = 1.0 / language.genders().len() as f64;
    let spread = 4.0 * (chance * (1.0 - chance) * 2.0 / cases as f64).sqrt();
    chance - spread..chance + spread
}

type Counts = BTreeMap<Gender, usize>;

fn majority(counts: &Counts) -> Option<Gender> {
    counts.iter().max_by_key(|(_, count)| **count).map(|(gender, _)| *gender)
}

#[test]
fn the_majority_gender_of_the_same_sentence_is_at_chance() {
    for language in LANGUAGES {
        let corpus = corpus(language);
        let mut seen: BTreeMap<&str, Counts> = BTreeMap::new();
        for case in cases(&corpus.train, |distance| distance >= 1) {
            *seen.entry(case.sentence).or_default().entry(case.gender).or_default() += 1;
        }
        let known: Vec<Case<'_>> = cases(&corpus.test, |distance| distance >= 1)
            .into_iter()
            .filter(|case| seen.contains_key(case.sentence))
            .collect();
        assert!(known.len() > 1_000, "{} known sentences", known.len());
        let result = accuracy(&known, |case| seen.get(case.sentence).and_then(majority));
        let chance = at_chance(language, known.len());
        assert!(chance.contains(&result), "{language}: {result:.3} outside {chance:?}");
    }
}

/// Naive Bayes over words, with add-one smoothing.
struct WordModel {
    words: BTreeMap<String, Counts>,
    totals: Counts,
}

impl WordModel {
    fn train(cases: &[Case<'_>]) -> Self {
        let mut model = Self { words: BTreeMap::new(), totals: Counts::new() };
        for case in cases {
            for word in words(case.sentence) {
                *model.words.entry(word).or_default().entry(case.gender).or_default() += 1;
            }
            *model.totals.entry(case.gender).or_default() += 1;
        }
        model
    }

    fn guess(&self, sentence: &str) -> Option<Gender> {
        let score = |gender: Gender, total: usize| -> f64 {
            let of_word = |word: &String| {
                let count = self.words.get(word).and_then(|counts| counts.get(&gender));
                ((count.copied().unwrap_or_default() + 1) as f64 / (total + 2) as f64).ln()
            };
            (total as f64).ln() + words(sentence).iter().map(of_word).sum::<f64>()
        };
        let scored = self.totals.iter().map(|(gender, total)| (*gender, score(*gender, *total)));
        scored.max_by(|left, right| left.1.total_cmp(&right.1)).map(|(gender, _)| gender)
    }
}

#[test]
fn the_words_of_the_sentence_are_at_chance_unless_the_antecedent_is_among_them() {
    for language in LANGUAGES {
        let corpus = corpus(language);
        let distant = cases(&corpus.train, |distance| distance >= 1);
        let model = WordModel::train(&distant);
        let unseen = cases(&corpus.test, |distance| distance >= 1);
        let result = accuracy(&unseen, |case| model.guess(case.sentence));
        let chance = at_chance(language, unseen.len());
        assert!(chance.contains(&result), "{language}: {result:.3} outside {chance:?}");

        // The same model is mostly right at distance 0, so it is not simply too weak.
        let model = WordModel::train(&cases(&corpus.train, |distance| distance == 0));
        let same = cases(&corpus.test, |distance| distance == 0);
        let result = accuracy(&same, |case| model.guess(case.sentence));
        assert!(result > 0.75, "{language}: {result:.3} at distance 0");
    }
}

#[test]
fn the_nearest_noun_before_the_pronoun_is_at_chance_from_distance_2() {
    let gender_of = |word: &str, language| {
        let mut nouns = Class::ALL.into_iter().flat_map(Class::nouns);
        nouns.find(|noun| noun.singular == word).map(|noun| noun.gender(language))
    };
    for language in LANGUAGES {
        let corpus = corpus(language);
        let distant = cases(&corpus.test, |distance| distance >= 2);
        let nearest = |case: &Case<'_>| {
            case.before.iter().rev().find_map(|sentence| {
                let words = words(sentence);
                let definite = words.windows(2).filter(|pair| pair[0] == "the");
                definite.filter_map(|pair| gender_of(&pair[1], language)).next_back()
            })
        };
        let known: Vec<Case<'_>> =
            distant.into_iter().filter(|case| nearest(case).is_some()).collect();
        let result = accuracy(&known, nearest);
        let chance = at_chance(language, known.len());
        assert!(chance.contains(&result), "{language}: {result:.3} outside {chance:?}");
    }
}

#[test]
fn genders_are_drawn_evenly() {
    for language in LANGUAGES {
        let corpus = corpus(language);
        let mut counts: BTreeMap<(Number, Gender), usize> = BTreeMap::new();
        let mut totals: BTreeMap<Number, usize> = BTreeMap::new();
        for link in corpus.train.iter().flat_map(|annotated| &annotated.pronouns) {
            *counts.entry((link.number, link.gender)).or_default() += 1;
            *totals.entry(link.number).or_default() += 1;
        }
        for ((number, _), count) in counts {
            let share = count as f64 / totals[&number] as f64;
            assert!(at_chance(language, totals[&number]).contains(&share), "{share:.3}");
        }
    }
}
