//! The table of metrics, and the book's example.

use super::{METRICS, MetricSettings, NamedMetric};
use crate::references::References;
use crate::{Documents, Evaluation, MetricChoice, System};

#[test]
fn metric_names_are_unique() {
    for (place, metric) in METRICS.iter().enumerate() {
        assert_eq!(METRICS.iter().position(|other| other.name == metric.name), Some(place));
        assert!(NamedMetric::find(metric.name).is_some());
    }
    assert!(NamedMetric::find("meteor").is_none());
}

#[test]
fn the_example_of_the_book_is_in_a_report() {
    let settings = MetricSettings::default();
    let exact = NamedMetric::find("exact-match").unwrap();
    let report = Evaluation {
        systems: vec![System { name: "new".into(), lines: vec!["Ja.".into(), "Nein.".into()] }],
        references: References::single(["Ja.", "Doch."]).unwrap(),
        sources: None,
        documents: None::<Documents>,
        metrics: vec![MetricChoice::text(exact, &settings)],
        test: None,
        confidence: None,
        pronouns: None,
    };
    let json: serde_json::Value = serde_json::from_str(&report.run().unwrap().to_json()).unwrap();
    assert_eq!(json["exact-match"]["score"], 50.0, "{json}");
}
