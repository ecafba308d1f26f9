//! BLEU, chrF and TER with sacreBLEU's numbers and signatures, COMET, and significance.

use std::path::PathBuf;

use abridge_evaluate::comet::{Comet, CometTexts};
use abridge_evaluate::{
    Bleu, ChrF, Metric, PairedTest, References, Statistics, Ter, TextMetric, Tokenizer,
    compare_with,
};
use abridge_model::DeviceKind;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::config;
use crate::{values, work};

/// The score of a translation.
#[pyclass(frozen, module = "abridge")]
pub struct MetricScore {
    /// The name of the metric.
    #[pyo3(get)]
    name: String,
    /// The score of the whole translation.
    #[pyo3(get)]
    score: f64,
    /// The score of each sentence.
    #[pyo3(get)]
    sentences: Vec<f64>,
    /// What the score depends on; for BLEU, chrF and TER in sacreBLEU's format.
    #[pyo3(get)]
    signature: String,
}

#[pymethods]
impl MetricScore {
    fn __float__(&self) -> f64 {
        self.score
    }

    fn __repr__(&self) -> String {
        format!("{}|{} = {:.2}", self.name, self.signature, self.score)
    }
}

/// A system compared with a baseline.
#[pyclass(frozen, get_all, module = "abridge")]
pub struct Comparison {
    /// The score of the baseline.
    baseline: f64,
    /// The score of the system.
    system: f64,
    /// How much better the system is.
    difference: f64,
    /// The probability of such a difference by chance.
    p_value: f64,
    /// What it depends on.
    signature: String,
}

#[pymethods]
impl Comparison {
    fn __repr__(&self) -> String {
        format!(
            "Comparison(baseline={:.2}, system={:.2}, p_value={:.4})",
            self.baseline, self.system, self.p_value
        )
    }
}

/// BLEU as sacreBLEU computes it. `references` is one list of lines, or several.
///
/// >>> round(abridge.evaluate.bleu(["It was a cat."], [["It was a cat."], ["A cat it was."]]).score, 6)
/// 100.0
#[pyfunction]
#[pyo3(signature = (hypotheses, references, *, tokenize="13a", lowercase=false))]
pub fn bleu(
    py: Python<'_>,
    hypotheses: &Bound<'_, PyAny>,
    references: &Bound<'_, PyAny>,
    tokenize: &str,
    lowercase: bool,
) -> PyResult<MetricScore> {
    let metric = Bleu { tokenizer: tokenizer(tokenize)?, lowercase, ..Bleu::default() };
    let single = Bleu { effective_order: true, ..metric.clone() };
    measure(py, &metric, &single, hypotheses, references)
}

/// chrF as sacreBLEU computes it; `word_order=2` is chrF++.
///
/// >>> abridge.evaluate.chrf(["It was old."], ["It was old."], word_order=2).signature
/// 'nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0'
#[pyfunction]
#[pyo3(signature = (hypotheses, references, *, word_order=0, lowercase=false))]
pub fn chrf(
    py: Python<'_>,
    hypotheses: &Bound<'_, PyAny>,
    references: &Bound<'_, PyAny>,
    word_order: usize,
    lowercase: bool,
) -> PyResult<MetricScore> {
    let metric = ChrF { word_order, lowercase, ..ChrF::default() };
    measure(py, &metric, &metric, hypotheses, references)
}

/// TER as sacreBLEU computes it.
///
/// >>> abridge.evaluate.ter(["It was old"], ["It was very old"]).score
/// 25.0
#[pyfunction]
#[pyo3(signature = (hypotheses, references, *, case_sensitive=false, normalized=false))]
pub fn ter(
    py: Python<'_>,
    hypotheses: &Bound<'_, PyAny>,
    references: &Bound<'_, PyAny>,
    case_sensitive: bool,
    normalized: bool,
) -> PyResult<MetricScore> {
    let metric = Ter { case_sensitive, normalized, ..Ter::default() };
    measure(py, &metric, &metric, hypotheses, references)
}

/// COMET with a model directory, such as the files of Unbabel/wmt22-comet-da.
///
/// >>> abridge.evaluate.comet("wmt22-comet-da", sources, hypotheses, references)  # doctest: +SKIP
#[pyfunction]
#[pyo3(signature = (model, sources, hypotheses, references, *, progress=None))]
pub fn comet(
    py: Python<'_>,
    model: PathBuf,
    sources: &Bound<'_, PyAny>,
    hypotheses: &Bound<'_, PyAny>,
    references: &Bound<'_, PyAny>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<MetricScore> {
    let sources = values::sentences("sources", sources)?;
    let hypotheses = values::sentences("hypotheses", hypotheses)?;
    let references = values::sentences("references", references)?;
    if sources.len() != hypotheses.len() || references.len() != hypotheses.len() {
        return Err(config(format!(
            "{} sources, {} hypotheses and {} references; give as many of each",
            sources.len(),
            hypotheses.len(),
            references.len()
        )));
    }
    work::run(py, progress, |link| {
        let comet = Comet::open(&model, &DeviceKind::Cpu.open()?)?;
        let texts = CometTexts {
            sources: &sources,
            references: &references,
            systems: &[&hypotheses],
            context: None,
        };
        let mut scores = comet.score(&texts, &mut |done| link.step(done));
        let sentences = scores.systems.pop().unwrap_or_default();
        Ok(MetricScore {
            name: "COMET".to_owned(),
            score: sentences.iter().sum::<f64>() / sentences.len().max(1) as f64,
            sentences,
            signature: comet.signature_name(),
        })
    })
}

/// Tests whether a system differs from a baseline: `metric` is "bleu", "chrf" or "ter", `test`
/// "bootstrap" or "randomization", both as sacreBLEU does them. `progress` counts the samples.
///
/// >>> worse, better = ["It was a cat."] * 50, ["It was a dog."] * 50
/// >>> abridge.evaluate.compare(worse, better, better).p_value < 0.01
/// True
#[pyfunction]
#[pyo3(signature = (baseline, system, references, *, metric="bleu", test="bootstrap", samples=None,
                    seed=12345, progress=None))]
pub fn compare(
    py: Python<'_>,
    baseline: &Bound<'_, PyAny>,
    system: &Bound<'_, PyAny>,
    references: &Bound<'_, PyAny>,
    metric: &str,
    test: &str,
    samples: Option<usize>,
    seed: u64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    let metric: Box<dyn TextMetric + Send + Sync> = match metric {
        "bleu" => Box::new(Bleu::default()),
        "chrf" => Box::new(ChrF::default()),
        "ter" => Box::new(Ter::default()),
        other => return Err(config(format!("metric {other:?} is not bleu, chrf or ter"))),
    };
    let test = match test {
        "bootstrap" => PairedTest::bootstrap(),
        "randomization" => PairedTest::randomization(),
        other => return Err(config(format!("test {other:?} is not bootstrap or randomization"))),
    };
    let test = PairedTest { samples: samples.unwrap_or(test.samples), seed, ..test };
    let baseline = values::sentences("baseline", baseline)?;
    let system = values::sentences("system", system)?;
    let references = streams(references)?;
    work::run(py, progress, |link| {
        let references = References::new(references)?;
        let count = |lines: &[String]| {
            Statistics::collect_with(metric.as_ref(), lines, &references, &|_| link.step(0))
        };
        let (baseline, system) = (count(&baseline)?, count(&system)?);
        let samples = |count| link.step(count);
        let found = compare_with(metric.as_ref(), &baseline, &system, test, &samples)?;
        Ok(Comparison {
            baseline: metric.score(&baseline.sums()),
            system: metric.score(&system.sums()),
            difference: found.difference,
            p_value: found.p_value,
            signature: test.signature(metric.as_ref(), references.count()).to_string(),
        })
    })
}

/// Scores a translation; `single` scores its sentences, from the same counts.
fn measure(
    py: Python<'_>,
    metric: &(impl TextMetric + Sync),
    single: &impl Metric,
    hypotheses: &Bound<'_, PyAny>,
    references: &Bound<'_, PyAny>,
) -> PyResult<MetricScore> {
    let hypotheses = values::sentences("hypotheses", hypotheses)?;
    let references = streams(references)?;
    work::run(py, None, |link| {
        let references = References::new(references)?;
        let step = |_| link.step(0);
        let statistics = Statistics::collect_with(metric, &hypotheses, &references, &step)?;
        Ok(MetricScore {
            name: metric.name(),
            score: metric.score(&statistics.sums()),
            sentences: statistics.rows().map(|counts| single.score(counts)).collect(),
            signature: metric.signature(references.count()).to_string(),
        })
    })
}

/// One list of lines, or several of them; a line may be missing.
fn streams(references: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<Option<String>>>> {
    let all: Vec<Bound<'_, PyAny>> =
        values::items("references", references, "lines")?.collect::<PyResult<_>>()?;
    let is_single = all.iter().all(|line| line.is_none() || line.is_instance_of::<PyString>());
    let lines = |lines: Vec<Bound<'_, PyAny>>| {
        lines.into_iter().map(|line| line.extract::<Option<String>>()).collect()
    };
    if is_single {
        return Ok(vec![lines(all)?]);
    }
    all.into_iter().map(|stream| lines(stream.try_iter()?.collect::<PyResult<_>>()?)).collect()
}

fn tokenizer(name: &str) -> PyResult<Tokenizer> {
    name.parse().map_err(|error: abridge_corpus::Error| config(error.to_string()))
}
