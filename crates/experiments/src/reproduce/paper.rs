//! The figures of the paper's tables.

use abridge_model::Preset;

use super::table::Pair;

/// One line per figure: pair, model, context size, metric, value. Accuracies are in per cent,
/// parameters in millions.
const FIGURES: &str = include_str!("paper.csv");

/// A published figure, if the paper has one.
pub fn figure(pair: Pair, model: Preset, context: usize, metric: &str) -> Option<f64> {
    figures()
        .find(|f| {
            f.pair == pair.name()
                && f.model == model.name()
                && f.context == context
                && f.metric == metric
        })
        .map(|figure| figure.value)
}

struct Figure {
    pair: &'static str,
    model: &'static str,
    context: usize,
    metric: &'static str,
    value: f64,
}

fn figures() -> impl Iterator<Item = Figure> {
    FIGURES.lines().skip(1).filter_map(|line| {
        let mut parts = line.split(',');
        Some(Figure {
            pair: parts.next()?,
            model: parts.next()?,
            context: parts.next()?.parse().ok()?,
            metric: parts.next()?,
            value: parts.next()?.parse().ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_figures_are_there() {
        let value = |pair, model, context, metric| figure(pair, model, context, metric);
        assert_eq!(value(Pair::EnDe, Preset::Grouping, 1, "accuracy"), Some(56.98));
        assert_eq!(value(Pair::EnDe, Preset::Sentence, 0, "bleu"), Some(28.11));
        assert_eq!(value(Pair::EnFr, Preset::PoolingAvg, 3, "bleu"), Some(38.18));
        assert_eq!(value(Pair::EnDe, Preset::SingleEncoder, 10, "bleu"), Some(0.95));
        assert_eq!(value(Pair::EnDe, Preset::Selecting, 3, "accuracy at 3"), Some(65.10));
        assert_eq!(value(Pair::EnFr, Preset::MultiEncoder, 1, "comet"), Some(0.7968));
        assert_eq!(value(Pair::EnFr, Preset::Grouping, 4, "bleu"), None);
        assert_eq!(figures().count(), FIGURES.lines().count() - 1, "every line is read");
    }

    #[test]
    fn parameters_agree_with_the_models() {
        for preset in Preset::ALL {
            let context = preset.default_context_size();
            let paper = figure(Pair::EnDe, preset, context, "parameters");
            assert_eq!(paper, Some(preset.paper_parameters()));
        }
    }
}
