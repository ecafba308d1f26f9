//! Computes a report.

use abridge_base::message::counted;
use abridge_corpus::{Error, Result};

use super::{
    DocumentSize, Evaluation, MetricChoice, MetricResult, PronounChoice, Report, System,
    SystemScore,
};
use crate::holm::holm;
use crate::metric::{Metric, Statistics};
use crate::pronoun::{PronounInput, PronounReport, SourceFilter, pronoun_report};
use crate::signature::{Field, Signature};
use crate::significance::{Comparison, Interval, PairedTest, Resampling, compare, interval};

/// Corrects the p-values of a table for multiple testing.
fn correct(metrics: &mut [MetricResult]) {
    let scores = metrics.iter_mut().flat_map(|metric| &mut metric.systems);
    let mut tested: Vec<(&mut SystemScore, f64)> = scores
        .filter_map(|score| score.comparison.map(|comparison| (score, comparison.p_value)))
        .collect();
    let corrected = holm(&tested.iter().map(|(_, p_value)| *p_value).collect::<Vec<_>>());
    for ((score, _), p_value) in tested.iter_mut().zip(corrected) {
        score.holm = Some(p_value);
    }
}

impl Evaluation {
    /// Computes everything.
    pub fn run(&self) -> Result<Report> {
        self.check()?;
        let mut metrics: Vec<MetricResult> =
            self.metrics.iter().map(|choice| self.metric(choice)).collect::<Result<_>>()?;
        correct(&mut metrics);
        let pronouns = match &self.pronouns {
            Some(choice) => self
                .systems
                .iter()
                .map(|system| self.pronouns_of(system, choice))
                .collect::<Result<_>>()?,
            None => Vec::new(),
        };
        let documents = self.documents.iter().flatten();
        Ok(Report {
            systems: self.systems.iter().map(|system| system.name.clone()).collect(),
            lines: self.references.len(),
            set: crate::hash::of_lines(
                (0..self.references.len())
                    .flat_map(|line| self.references.of_segment(line))
                    .chain(self.sources.iter().flatten().map(String::as_str)),
            ),
            metrics,
            documents: documents
                .map(|document| DocumentSize {
                    id: document.id.clone(),
                    lines: document.lines.len(),
                })
                .collect(),
            test: self.test.filter(|_| self.systems.len() > 1),
            pronouns,
        })
    }

    fn check(&self) -> Result<()> {
        if self.systems.is_empty() {
            return Err(Error::new("no translation to evaluate").remedy("give at least one"));
        }
        for system in &self.systems {
            if system.lines.len() != self.references.len() {
                return Err(Error::new(format!(
                    "`{}` has {} but the reference has {}",
                    system.name,
                    counted(system.lines.len(), "line"),
                    self.references.len()
                ))
                .remedy("give the translation of the same test set, one line per segment"));
            }
        }
        if let Some(documents) = &self.documents
            && documents.line_count() > self.references.len()
        {
            return Err(Error::new(format!(
                "the documents have {} but the reference has {}",
                counted(documents.line_count(), "line"),
                self.references.len()
            )));
        }
        Ok(())
    }

    fn metric(&self, choice: &MetricChoice) -> Result<MetricResult> {
        let metric = choice.metric();
        let whole_documents = choice.is_of_documents();
        let (references, statistics) = match choice {
            MetricChoice::Comet(comet) => {
                self.check_comet(&comet.systems)?;
                let scores = comet.systems.iter().map(|scores| Statistics::of_scores(scores));
                (self.references.clone(), scores.collect())
            }
            MetricChoice::Text(name, metric) if whole_documents => {
                let documents = self.documents.as_ref().filter(|found| !found.is_empty());
                let documents = documents.ok_or_else(|| {
                    Error::new(format!("{name} needs document boundaries"))
                        .remedy("give one document id per line with --docids")
                })?;
                let references = self.references.of_documents(documents)?;
                let statistics = self.collect(|lines| {
                    Statistics::collect(&**metric, &documents.join(lines), &references)
                })?;
                (references, statistics)
            }
            MetricChoice::Text(_, metric) => {
                let statistics =
                    self.collect(|lines| Statistics::collect(&**metric, lines, &self.references))?;
                (self.references.clone(), statistics)
            }
        };

        let mut systems = Vec::with_capacity(statistics.len());
        for (index, counts) in statistics.iter().enumerate() {
            let sums = counts.sums();
            let comparison = match self.test {
                Some(test) if index > 0 => Some(compare(metric, &statistics[0], counts, test)?),
                _ => None,
            };
            systems.push(SystemScore {
                score: metric.score(&sums),
                details: metric.details(&sums),
                interval: self.interval(metric, counts, comparison.as_ref())?,
                comparison,
                holm: None,
            });
        }
        let documents = self
            .documents
            .iter()
            .flatten()
            .enumerate()
            .map(|(place, document)| {
                let score = |counts: &Statistics| {
                    if whole_documents {
                        metric.score(counts.row(place))
                    } else {
                        metric.score(&counts.document_sums(document))
                    }
                };
                statistics.iter().map(score).collect()
            })
            .collect();
        let count = references.count();
        Ok(MetricResult {
            key: choice.key(),
            name: metric.name(),
            signature: match choice {
                MetricChoice::Comet(_) => {
                    Signature::abridge(count, self.test_fields(), metric.fields())
                }
                MetricChoice::Text(..) => {
                    Signature::sacrebleu(count, self.test_fields(), metric.fields())
                }
            },
            higher_is_better: metric.higher_is_better(),
            systems,
            documents,
            extra_decimals: metric.extra_decimals(),
        })
    }

    fn check_comet(&self, systems: &[Vec<f64>]) -> Result<()> {
        if systems.len() != self.systems.len()
            || systems.iter().any(|scores| scores.len() != self.references.len())
        {
            return Err(Error::new("COMET has not scored all lines of all systems"));
        }
        Ok(())
    }

    fn collect(&self, count: impl Fn(&[String]) -> Result<Statistics>) -> Result<Vec<Statistics>> {
        self.systems.iter().map(|system| count(&system.lines)).collect()
    }

    /// The signature fields of resampling, in sacreBLEU's order.
    fn test_fields(&self) -> Vec<Field> {
        let test = self.test.filter(|_| self.systems.len() > 1);
        let confidence = self.confidence.map(|(samples, seed)| PairedTest {
            resampling: Resampling::Bootstrap,
            samples,
            seed,
        });
        match (test, confidence) {
            (Some(test), Some(confidence)) if test.resampling != confidence.resampling => {
                let bootstrap = confidence.fields().into_iter().take(1);
                bootstrap.chain(test.fields()).collect()
            }
            (Some(test), _) => test.fields(),
            (None, Some(confidence)) => confidence.fields(),
            (None, None) => Vec::new(),
        }
    }

    fn interval(
        &self,
        metric: &dyn Metric,
        counts: &Statistics,
        comparison: Option<&Comparison>,
    ) -> Result<Option<Interval>> {
        if let Some(found) = comparison.and_then(|comparison| comparison.interval) {
            return Ok(Some(found));
        }
        let of_baseline = match self.test {
            Some(PairedTest { resampling: Resampling::Bootstrap, samples, seed })
                if self.systems.len() > 1 =>
            {
                Some((samples, seed))
            }
            _ => None,
        };
        self.confidence
            .or(of_baseline)
            .map(|(samples, seed)| interval(metric, counts, samples, seed))
            .transpose()
    }

    fn pronouns_of(&self, system: &System, choice: &PronounChoice) -> Result<PronounReport> {
        let only = match (&self.sources, choice.source_words.is_empty()) {
            (_, true) => None,
            (Some(sources), false) => Some(SourceFilter { sources, words: &choice.source_words }),
            (None, false) => {
                return Err(Error::new("choosing lines by source words needs the source")
                    .remedy("give the source with --source"));
            }
        };
        pronoun_report(&PronounInput {
            language: choice.language,
            hypotheses: &system.lines,
            references: &self.references,
            only,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Documents;
    use crate::metrics::{MetricSettings, NamedMetric};
    use crate::pronoun::PronounLanguage;
    use crate::references::References;

    fn metric(name: &str) -> MetricChoice {
        MetricChoice::text(NamedMetric::find(name).unwrap(), &MetricSettings::default())
    }

    fn evaluation() -> Evaluation {
        let system = |name: &str, lines: [&str; 4]| System {
            name: name.to_owned(),
            lines: lines.map(str::to_owned).to_vec(),
        };
        Evaluation {
            systems: vec![
                system("old.de", ["Es ist gut.", "Er kommt heute nicht.", "Wo ist es?", "Nein."]),
                system("new.de", ["Sie ist gut.", "Er kommt heute nicht.", "Wo ist er?", "Nein."]),
            ],
            references: References::single([
                "Sie ist gut.",
                "Er kommt heute nicht.",
                "Wo ist sie nur?",
                "Nein.",
            ])
            .unwrap(),
            sources: None,
            documents: Some(Documents::from_ids(["a", "a", "b", "b"]).unwrap()),
            metrics: ["bleu", "chrf++", "ter", "d-bleu", "length-ratio"].map(metric).to_vec(),
            test: Some(PairedTest::bootstrap()),
            confidence: None,
            pronouns: Some(PronounChoice {
                language: PronounLanguage::German,
                source_words: Vec::new(),
            }),
        }
    }

    #[test]
    fn all_three_formats_show_every_metric_and_document() {
        let report = evaluation().run().unwrap();
        let markdown = report.to_markdown(1);
        let text = report.to_text(1);
        for wanted in ["old.de", "new.de", "BLEU", "chrF2++", "TER", "d-BLEU", "1.000", "p = "] {
            assert!(markdown.contains(wanted), "{wanted} in\n{markdown}");
            assert!(text.contains(wanted), "{wanted} in\n{text}");
        }
        assert!(markdown.contains("| a | 2 |"), "{markdown}");
        assert!(text.contains("nrefs:1|bs:1000|seed:12345|case:mixed"), "{text}");
    }

    #[test]
    fn json_has_a_key_per_metric_each_with_score_and_signature() {
        let report = evaluation().run().unwrap();
        let text = report.to_json();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let object = json.as_object().unwrap();
        let keys = ["bleu", "chrf++", "ter", "d-bleu", "length-ratio", "pronouns"];
        assert_eq!(object.len(), keys.len());
        let places: Vec<usize> =
            keys.iter().map(|key| text.find(&format!("\n  \"{key}\": {{")).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
        for value in object.values() {
            assert!(value["score"].is_f64() && value["signature"].is_string(), "{value}");
            assert_eq!(value["systems"].as_array().unwrap().len(), 2, "{value}");
        }
        assert!(json["bleu"]["systems"][1]["p_value"].is_f64());
        assert_eq!(json["ter"]["documents"][1]["id"], "b");
    }

    #[test]
    fn equal_systems_are_not_marked_and_signatures_name_both_resamplings() {
        let mut request = evaluation();
        request.systems[1].lines = request.systems[0].lines.clone();
        request.test = Some(PairedTest::randomization());
        request.confidence = Some((100, 12345));
        let text = request.run().unwrap().to_text(1);
        assert!(text.contains("p = 0.0001)"), "{text}");
        assert!(text.contains("nrefs:1|bs:100|ar:10000|seed:12345|case:mixed"), "{text}");
    }

    #[test]
    fn one_system_needs_no_test_and_documents_are_required_for_document_bleu() {
        let mut request = evaluation();
        request.systems.truncate(1);
        let report = request.run().unwrap();
        assert_eq!(
            report.metrics[0].signature.to_string(),
            "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
        );
        assert!(report.test.is_none());
        request.documents = None;
        let error = request.run().unwrap_err().to_string();
        assert!(error.contains("--docids"), "{error}");
        request.systems[0].lines.pop();
        let error = request.run().unwrap_err().to_string();
        assert!(error.contains("`old.de` has 3 lines but the reference has 4"), "{error}");
    }
}
