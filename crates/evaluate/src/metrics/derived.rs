//! Metrics derived from BLEU: document BLEU and the length ratio.

use crate::metric::{Metric, ResampleScore, TextMetric};
use crate::metrics::Bleu;
use crate::real::Real;
use crate::signature::Field;

/// Document BLEU (d-BLEU; Liu et al., 2020): BLEU of documents, each joined into one line.
///
/// n-grams may cross sentence boundaries and match anywhere in the document. Join the lines with
/// [`crate::Documents::join`] and
/// [`crate::References::of_documents`]; the segments of the metric are then the documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentBleu {
    /// The settings of BLEU.
    pub bleu: Bleu,
}

impl Metric for DocumentBleu {
    fn name(&self) -> String {
        "d-BLEU".to_owned()
    }

    fn fields(&self) -> Vec<Field> {
        let mut fields = vec![Field::new("unit", "u", "document")];
        fields.extend(self.bleu.fields());
        fields
    }

    fn counts(&self) -> usize {
        self.bleu.counts()
    }

    fn score(&self, sums: &[f64]) -> f64 {
        self.bleu.score(sums)
    }

    fn resample_score(&self, sums: &[f32]) -> ResampleScore {
        self.bleu.resample_score(sums)
    }

    fn details(&self, sums: &[f64]) -> Option<String> {
        self.bleu.details(sums)
    }
}

impl TextMetric for DocumentBleu {
    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        self.bleu.count(hypothesis, references)
    }

    fn is_of_documents(&self) -> bool {
        true
    }
}

/// Words of the hypothesis per word of the reference, counted as BLEU does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LengthRatio {
    /// The settings of BLEU; only the tokeniser and the case matter.
    pub bleu: Bleu,
}

impl LengthRatio {
    fn ratio<T: Real>(sums: &[T]) -> T {
        let zero = T::of(0.0);
        if sums[1] > zero { sums[0] / sums[1] } else { zero }
    }
}

impl Metric for LengthRatio {
    fn name(&self) -> String {
        "length ratio".to_owned()
    }

    fn fields(&self) -> Vec<Field> {
        vec![Field::new("tok", "tok", self.bleu.tokenizer.name())]
    }

    fn counts(&self) -> usize {
        2
    }

    fn score(&self, sums: &[f64]) -> f64 {
        Self::ratio(sums)
    }

    fn resample_score(&self, sums: &[f32]) -> ResampleScore {
        ResampleScore::Single(Self::ratio(sums))
    }

    fn details(&self, sums: &[f64]) -> Option<String> {
        Some(format!("{:.0} words, reference {:.0}", sums[0], sums[1]))
    }

    fn extra_decimals(&self) -> usize {
        2
    }
}

impl TextMetric for LengthRatio {
    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        self.bleu.lengths(hypothesis, references).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Documents;
    use crate::metric::corpus_score;
    use crate::references::References;

    #[test]
    fn sentence_boundaries_inside_a_document_do_not_matter() {
        let references = References::single(["a b c d", "e f g h", "i j k l"]).unwrap();
        let hypotheses = ["a b c d e f", "g h", "i j k l"];
        let documents = Documents::from_ids(["1", "1", "2"]).unwrap();
        let score = corpus_score(
            &DocumentBleu::default(),
            &documents.join(&hypotheses),
            &references.of_documents(&documents).unwrap(),
        )
        .unwrap();
        assert!((score.score - 100.0).abs() < 1e-9);
        assert_eq!(
            score.signature.to_string(),
            "nrefs:1|unit:document|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
        );
    }

    #[test]
    fn the_ratio_counts_words() {
        let references = References::single(["a b c d.", "e"]).unwrap();
        let score = corpus_score(&LengthRatio::default(), &["a b c", "e"], &references).unwrap();
        assert!((score.score - 4.0 / 6.0).abs() < 1e-12);
        assert_eq!(score.details.as_deref(), Some("4 words, reference 6"));
    }
}
