//! Scores equal those of the package `ctxpro` 0.0.5 on the same translations.
//! `fixtures/ctxpro/make.py` makes the invented sets and the package's scores.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use abridge_corpus::CtxProSet;
use abridge_evaluate::CtxProReport;

#[test]
fn scores_equal_those_of_the_package() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ctxpro");
    for (language, examples) in [("de", 22), ("fr", 13), ("pt", 9)] {
        let set = CtxProSet::read(&folder.join(format!("invented.en-{language}"))).unwrap();
        assert_eq!(set.items.len(), examples);
        let read = |name: String| std::fs::read_to_string(folder.join(name)).unwrap();
        let translations = read(format!("invented.{language}"));
        let translations: Vec<&str> = translations.lines().collect();
        let expected: BTreeMap<String, [usize; 2]> =
            serde_json::from_str(&read(format!("scores.{language}.json"))).unwrap();
        let report = CtxProReport::new(&set, &translations, language);
        let found: BTreeMap<String, [usize; 2]> = report
            .rules
            .iter()
            .map(|row| (row.rule.clone(), [row.accuracy.correct, row.accuracy.items]))
            .collect();
        assert_eq!(found, expected, "{language}");
        let right: usize = expected.values().map(|[right, _]| right).sum();
        assert!(right > 0 && right < examples, "some are right and some are wrong");
    }
}
