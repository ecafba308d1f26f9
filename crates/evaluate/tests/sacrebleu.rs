//! Equality with sacreBLEU: with its recorded scores (`fixtures/sacrebleu.json`, made by
//! `fixtures/make_fixture.py`), and live if it is installed.

// A fixture that cannot be read must fail the test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use abridge_evaluate::{
    Bleu, ChrF, PairedTest, References, Resampling, SACREBLEU_VERSION, Smoothing, Statistics, Ter,
    TextMetric, compare, corpus_score, interval, sentence_score,
};
use serde::Deserialize;
use serde_json::Value;

const TOLERANCE: f64 = 1e-9;

#[derive(Deserialize)]
struct Fixture {
    sacrebleu: String,
    corpora: BTreeMap<String, Corpus>,
    cases: Vec<Case>,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Corpus {
    hypotheses: Vec<String>,
    references: Vec<Vec<Option<String>>>,
    #[serde(default)]
    others: Vec<String>,
}

#[derive(Deserialize)]
struct Case {
    corpus: String,
    metric: String,
    options: BTreeMap<String, Value>,
    score: f64,
    signature: String,
    short_signature: String,
    printed: String,
    sentences: Vec<f64>,
}

#[derive(Deserialize)]
struct Test {
    corpus: String,
    metric: String,
    options: BTreeMap<String, Value>,
    #[serde(rename = "test")]
    kind: String,
    samples: usize,
    seed: u64,
    signature: String,
    p_value: f64,
    mean: Option<f64>,
    ci: Option<f64>,
    baseline_mean: Option<f64>,
    baseline_ci: Option<f64>,
}

fn bleu(options: &BTreeMap<String, Value>) -> Bleu {
    let mut bleu = Bleu::default();
    for (option, value) in options {
        match option.as_str() {
            "tokenize" => bleu.tokenizer = value.as_str().unwrap().parse().unwrap(),
            "lowercase" => bleu.lowercase = value.as_bool().unwrap(),
            "effective_order" => bleu.effective_order = value.as_bool().unwrap(),
            "max_ngram_order" => bleu.max_order = value.as_u64().unwrap() as usize,
            "smooth_method" => {
                let method: Smoothing = value.as_str().unwrap().parse().unwrap();
                bleu.smoothing = match options.get("smooth_value") {
                    Some(value) => method.with_value(value.as_f64().unwrap()).unwrap(),
                    None => method,
                };
            }
            "smooth_value" => {}
            other => panic!("unknown option {other}"),
        }
    }
    bleu
}

fn chrf(options: &BTreeMap<String, Value>) -> ChrF {
    let mut chrf = ChrF::default();
    for (option, value) in options {
        match option.as_str() {
            "char_order" => chrf.character_order = value.as_u64().unwrap() as usize,
            "word_order" => chrf.word_order = value.as_u64().unwrap() as usize,
            "beta" => chrf.beta = value.as_u64().unwrap() as u32,
            "lowercase" => chrf.lowercase = value.as_bool().unwrap(),
            "whitespace" => chrf.whitespace = value.as_bool().unwrap(),
            "eps_smoothing" => chrf.epsilon_smoothing = value.as_bool().unwrap(),
            other => panic!("unknown option {other}"),
        }
    }
    chrf
}

fn ter(options: &BTreeMap<String, Value>) -> Ter {
    let mut ter = Ter::default();
    for (option, value) in options {
        let value = value.as_bool().unwrap();
        match option.as_str() {
            "normalized" => ter.normalized = value,
            "no_punct" => ter.no_punctuation = value,
            "asian_support" => ter.asian_support = value,
            "case_sensitive" => ter.case_sensitive = value,
            other => panic!("unknown option {other}"),
        }
    }
    ter
}

fn metric(name: &str, options: &BTreeMap<String, Value>) -> Box<dyn TextMetric> {
    match name {
        "bleu" => Box::new(bleu(options)),
        "chrf" => Box::new(chrf(options)),
        "ter" => Box::new(ter(options)),
        other => panic!("unknown metric {other}"),
    }
}

fn near(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= TOLERANCE
}

/// The signature without its version, which may be newer in a live sacreBLEU.
fn without_version(text: &str) -> String {
    let Some((before, after)) = text.split_once("version:") else { return text.to_owned() };
    format!(
        "{before}version:{}",
        after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
    )
}

fn check_case(fixture: &Fixture, case: &Case, errors: &mut Vec<String>) {
    let corpus = &fixture.corpora[&case.corpus];
    let references = References::new(corpus.references.clone()).unwrap();
    let metric = metric(&case.metric, &case.options);
    let score = corpus_score(metric.as_ref(), &corpus.hypotheses, &references).unwrap();
    let place = format!("{} {} {:?}", case.corpus, case.metric, case.options);
    if !near(score.score, case.score) {
        errors.push(format!("{place}: score {} but sacreBLEU says {}", score.score, case.score));
    }
    let signature = score.signature.to_string();
    let details = score.details.map_or(String::new(), |details| format!(" {details}"));
    let printed = format!("{}|{signature} = {:.1}{details}", score.name, score.score);
    let mut texts = vec![(signature, case.signature.clone()), (printed, case.printed.clone())];
    if fixture.sacrebleu == SACREBLEU_VERSION {
        texts.push((score.signature.short(), case.short_signature.clone()));
    } else {
        for (ours, theirs) in &mut texts {
            *ours = without_version(ours);
            *theirs = without_version(theirs);
        }
    }
    for (ours, theirs) in texts {
        if ours != theirs {
            errors.push(format!("{place}: `{ours}` but sacreBLEU says `{theirs}`"));
        }
    }
    assert_eq!(case.sentences.len(), corpus.hypotheses.len());
    for (index, (hypothesis, &theirs)) in corpus.hypotheses.iter().zip(&case.sentences).enumerate()
    {
        let ours = sentence_score(metric.as_ref(), hypothesis, &references.of_segment(index));
        if !near(ours, theirs) {
            errors.push(format!("{place}: sentence {index} {ours} but sacreBLEU says {theirs}"));
        }
    }
}

fn check_test(fixture: &Fixture, test: &Test, errors: &mut Vec<String>) {
    let corpus = &fixture.corpora[&test.corpus];
    let references = References::new(corpus.references.clone()).unwrap();
    let metric = metric(&test.metric, &test.options);
    let metric = metric.as_ref();
    let baseline = Statistics::collect(metric, &corpus.hypotheses, &references).unwrap();
    let system = Statistics::collect(metric, &corpus.others, &references).unwrap();
    let resampling = match test.kind.as_str() {
        "bs" => Resampling::Bootstrap,
        "ar" => Resampling::Randomization,
        other => panic!("unknown test {other}"),
    };
    let paired = PairedTest { resampling, samples: test.samples, seed: test.seed };
    let found = compare(metric, &baseline, &system, paired).unwrap();
    let place =
        format!("{} {} {:?} {} {}", test.corpus, test.metric, test.options, test.kind, test.seed);
    let mut numbers = vec![("p", found.p_value, Some(test.p_value))];
    if let Some(found) = found.interval {
        let of_baseline = interval(metric, &baseline, test.samples, test.seed).unwrap();
        numbers.extend([
            ("mean", found.mean, test.mean),
            ("half width", found.half_width, test.ci),
            ("mean of the baseline", of_baseline.mean, test.baseline_mean),
            ("half width of the baseline", of_baseline.half_width, test.baseline_ci),
        ]);
    } else {
        assert_eq!(test.mean, None);
    }
    for (what, ours, theirs) in numbers {
        if !theirs.is_some_and(|theirs| near(ours, theirs)) {
            errors.push(format!("{place}: {what} {ours} but sacreBLEU says {theirs:?}"));
        }
    }
    let signature = paired.signature(metric, references.count()).to_string();
    if without_version(&signature) != without_version(&test.signature) {
        errors.push(format!("{place}: `{signature}` but sacreBLEU says `{}`", test.signature));
    }
}

fn check(path: &Path) -> Fixture {
    let text = std::fs::read_to_string(path).unwrap();
    let fixture: Fixture = serde_json::from_str(&text).unwrap();
    let mut errors = Vec::new();
    for case in &fixture.cases {
        check_case(&fixture, case, &mut errors);
    }
    for test in &fixture.tests {
        check_test(&fixture, test, &mut errors);
    }
    let shown: Vec<&str> = errors.iter().take(20).map(String::as_str).collect();
    assert!(errors.is_empty(), "{} differences:\n{}", errors.len(), shown.join("\n"));
    fixture
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

#[test]
fn equals_the_recorded_numbers_of_sacrebleu() {
    let fixture = check(&fixtures().join("sacrebleu.json"));
    assert_eq!(fixture.sacrebleu, SACREBLEU_VERSION);
    // Guards against a fixture that lost its cases.
    assert!(fixture.cases.len() >= 700, "only {} cases", fixture.cases.len());
    assert!(fixture.tests.len() >= 100, "only {} tests", fixture.tests.len());
    for metric in ["bleu", "chrf", "ter"] {
        let count = fixture.cases.iter().filter(|case| case.metric == metric).count();
        assert!(count >= 100, "only {count} cases of {metric}");
    }
}

#[test]
#[ignore = "needs Python with sacrebleu and numpy, named by PYTHON; .ci/python runs it"]
fn equals_a_live_sacrebleu_on_fresh_texts() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let version = Command::new(&python)
        .args(["-c", "import sacrebleu, regex, numpy; print(sacrebleu.__version__)"])
        .output()
        .unwrap();
    assert!(version.status.success(), "{}", String::from_utf8_lossy(&version.stderr));
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    // The process id as the seed gives new texts over time; the message tells how to get the same
    // ones again.
    let seed = std::env::var("SACREBLEU_FIXTURE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(std::process::id);
    eprintln!("comparing with sacreBLEU {} on SACREBLEU_FIXTURE_SEED={seed}", version.trim());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.json");
    let output = Command::new(&python)
        .arg(fixtures().join("make_fixture.py"))
        .args(["--quick", "--seed", &seed.to_string(), "--output"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    check(&path);
}
