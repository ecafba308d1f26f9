//! Invariants for any text: no panic, finite scores, and no influence of threads or order.

// A test that cannot be set up must fail.
#![allow(clippy::unwrap_used)]

use abridge_evaluate::{
    Bleu, ChrF, PairedTest, References, Statistics, Ter, TextMetric, Tokenizer, compare, whitespace,
};
use proptest::prelude::*;

fn metrics() -> Vec<Box<dyn TextMetric>> {
    let mut metrics: Vec<Box<dyn TextMetric>> = vec![
        Box::new(ChrF::default()),
        Box::new(ChrF { whitespace: true, epsilon_smoothing: true, ..ChrF::plus_plus() }),
        Box::new(Ter::default()),
        Box::new(Ter {
            normalized: true,
            no_punctuation: true,
            asian_support: true,
            case_sensitive: true,
        }),
    ];
    for tokenizer in Tokenizer::ALL {
        metrics.push(Box::new(Bleu { tokenizer, lowercase: true, ..Bleu::default() }));
    }
    metrics
}

/// Any characters, and often those that tokenisers treat specially.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ab1.,\\-'&;<> \\n]{0,30}",
        "[中。「カｶ！—\u{20000}é٣½€ .]{0,12}",
        "(a |b |c |aa |it's ){0,25}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_finite_scores(
        hypotheses in prop::collection::vec(line(), 1..4),
        other in line(),
    ) {
        let references = References::new(vec![
            hypotheses.iter().map(|_| Some(other.clone())).collect(),
            hypotheses.iter().rev().cloned().map(Some).collect(),
        ])
        .unwrap();
        for metric in metrics() {
            let counts = Statistics::collect(metric.as_ref(), &hypotheses, &references).unwrap();
            let score = metric.score(&counts.sums());
            prop_assert!(score.is_finite() && score >= 0.0, "{}: {score}", metric.name());
            if metric.higher_is_better() {
                prop_assert!(score <= 100.0 + 1e-9, "{}: {score}", metric.name());
            }
        }
    }

    #[test]
    fn a_text_is_its_own_best_translation(text in line()) {
        let references = References::single([text.as_str()]).unwrap();
        for metric in metrics() {
            let counts = Statistics::collect(metric.as_ref(), &[text.as_str()], &references).unwrap();
            let score = metric.score(&counts.sums());
            // With epsilon smoothing, orders longer than the text lower the score.
            let is_plain_chrf = metric.fields()[1].name == "eff" && metric.fields()[1].value == "yes";
            if is_plain_chrf && text.chars().any(|c| !whitespace::is_space(c)) {
                prop_assert!((score - 100.0).abs() < 1e-9, "{}: {score}", metric.name());
            }
            if metric.name() == "TER" && metric.fields()[2].value == "no" {
                prop_assert!(score.abs() < 1e-9, "{}: {score}", metric.name());
            }
        }
    }
}

#[test]
fn threads_and_the_order_of_segments_change_nothing() {
    let lines: Vec<String> = (0..200)
        .map(|n| {
            (0..n % 17)
                .filter_map(|word| ["w1 ", "w2 ", "w3 ", "w4 "].get((n * word) % 5))
                .copied()
                .collect()
        })
        .collect();
    let system: Vec<String> = lines.iter().map(|line| line.replace("w1 ", "w2 w3 ")).collect();
    let references = References::single(lines.iter().cloned()).unwrap();
    let reversed = References::single(lines.iter().rev().cloned()).unwrap();
    let backwards: Vec<String> = system.iter().rev().cloned().collect();
    for metric in metrics() {
        let metric = metric.as_ref();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let baseline = Statistics::collect(metric, &lines, &references).unwrap();
                let counts = Statistics::collect(metric, &system, &references).unwrap();
                let tests = [PairedTest::bootstrap(), PairedTest::randomization()].map(|test| {
                    let test = PairedTest { samples: 50, ..test };
                    compare(metric, &baseline, &counts, test).unwrap()
                });
                (counts, tests)
            })
        };
        let one = run(1);
        assert_eq!(one, run(4), "{}", metric.name());
        let other = Statistics::collect(metric, &backwards, &reversed).unwrap();
        let score = metric.score(&one.0.sums());
        assert!((score - metric.score(&other.sums())).abs() < 1e-9, "{}", metric.name());
    }
}
