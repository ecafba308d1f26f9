//! Contrastive results as readable tables.

use abridge_evaluate::{
    Accuracy, ContrastiveComparison, ContrastiveReport, ControlReport, MeanAccuracy, Spread,
};

/// The accuracies: all, the mean over pronouns, by distance, pronoun and kind.
pub fn table(report: &ContrastiveReport) -> String {
    let distances = report.by_distance.iter().map(|(name, row)| (format!("distance {name}"), row));
    let words = report.by_pronoun.iter().chain(&report.by_category);
    let rows: Vec<(String, &Accuracy)> = std::iter::once(("all".to_owned(), &report.total))
        .chain(distances)
        .chain(words.map(|(name, row)| (name.clone(), row)))
        .collect();
    let mean = report.mean.map(|mean| (format!("mean of {} pronouns", mean.pronouns), mean));
    let width = width(rows.iter().map(|(name, _)| name).chain(mean.as_ref().map(|(name, _)| name)));
    let mut parts =
        vec![format!("{:<width$} {:>15} {:>8}   95 % interval\n", "", "right", "accuracy")];
    for (index, (name, accuracy)) in rows.iter().enumerate() {
        let (low, high) = accuracy.interval();
        parts.push(format!(
            "{name:<width$} {:>6} / {:<6} {:>6.1} %   ({:.1} to {:.1})\n",
            accuracy.correct,
            accuracy.items,
            100.0 * accuracy.share(),
            100.0 * low,
            100.0 * high
        ));
        if let (0, Some((name, MeanAccuracy { share, half_width, .. }))) = (index, &mean) {
            parts.push(format!(
                "{name:<width$} {:>15} {:>6.1} %   ({:.1} to {:.1})\n",
                "",
                100.0 * share,
                100.0 * (share - half_width).max(0.0),
                100.0 * (share + half_width).min(1.0)
            ));
        }
    }
    parts.concat()
}

/// The accuracies of each pronoun at each distance, with the number of examples; empty where the
/// set has no distances.
pub fn crossed(report: &ContrastiveReport) -> String {
    if report.by_pronoun_and_distance.is_empty() {
        return String::new();
    }
    let rows = &report.by_pronoun_and_distance;
    let width = width(rows.iter().map(|(name, _)| name));
    let mut parts = vec![format!("{:<width$}", "by distance")];
    for (name, _) in &report.by_distance {
        parts.push(format!(" {:>18}", format!("distance {name}")));
    }
    for (name, accuracies) in rows {
        parts.push(format!("\n{name:<width$}"));
        for accuracy in accuracies {
            parts.push(match accuracy.items {
                0 => format!(" {:>18}", "none"),
                n => format!(" {:>6.1} % of {n:>6}", 100.0 * accuracy.share()),
            });
        }
    }
    parts.concat() + "\n"
}

/// The true context beside each control, with the conclusion that the tests allow.
pub fn control_table(truth: &ContrastiveReport, controls: &ControlReport) -> String {
    let mut parts = vec![format!(
        "{:<14} {:>8} {:>8} {:>24} {:>9} {:>9}\n",
        "context", "all", "mean", "true context is better by", "p", "Holm's p"
    )];
    let start = |name: &str, [all, mean]: [Spread; 2]| {
        format!("{name:<14} {:>6.1} % {:>6.1} %", 100.0 * all.mean, 100.0 * mean.mean)
    };
    let spreads = |draws: &[ContrastiveReport]| {
        let all = Spread::of(draws.iter().map(|report| report.total.share()));
        [all, Spread::of(draws.iter().map(ContrastiveReport::share))]
    };
    parts.push(start("true", spreads(std::slice::from_ref(truth))) + "\n");
    let mut ranges = Vec::new();
    for (test, draws) in controls.tests.tests.iter().zip(&controls.reports) {
        let name = test.control.to_string();
        let spreads = spreads(draws);
        if draws.len() > 1 {
            let [all, mean] = spreads.map(range);
            ranges.push(format!("{name}: {} draws, all {all}, mean {mean}\n", draws.len()));
        }
        parts.push(format!(
            "{} {:>17.1} ± {:<5.1} {:>9} {:>9}\n",
            start(&name, spreads),
            100.0 * test.beyond.difference,
            100.0 * test.beyond.half_width,
            probability(test.beyond.p_value),
            probability(test.holm),
        ));
    }
    parts.extend(ranges);
    if let Some(reading) = &controls.tests.reading {
        parts.push(format!("\n{reading}\n"));
    }
    parts.concat()
}

/// Two models side by side.
pub fn comparison_table(comparison: &ContrastiveComparison) -> String {
    let width = width(comparison.rows.iter().map(|row| &row.name));
    let mut parts = vec![format!(
        "{:<width$} {:>10} {:>10} {:>10} {:>10} {:>12} {:>9}\n",
        "", "this model", "the other", "only this", "only other", "McNemar's p", "Holm's p"
    )];
    parts.extend(comparison.rows.iter().map(|row| {
        format!(
            "{:<width$} {:>8.1} % {:>8.1} % {:>10} {:>10} {:>12} {:>9}\n",
            row.name,
            100.0 * row.first.share(),
            100.0 * row.second.share(),
            row.mcnemar.only_first,
            row.mcnemar.only_second,
            probability(row.mcnemar.p_value),
            probability(row.holm),
        )
    }));
    let mean = &comparison.mean;
    parts.push(format!(
        "mean over pronouns: {:+.1} ± {:.1} points, p = {}, after Holm's correction {}\n",
        100.0 * mean.difference,
        100.0 * mean.half_width,
        probability(mean.p_value),
        probability(comparison.mean_holm)
    ));
    parts.concat()
}

/// From the lowest to the highest result of a draw.
pub fn range(spread: Spread) -> String {
    format!("{:.1} to {:.1} %", 100.0 * spread.lowest, 100.0 * spread.highest)
}

/// The width of a column of names.
fn width<'a>(names: impl Iterator<Item = &'a String>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or_default().max(14)
}

/// Formats a p-value, in scientific notation if it is small.
pub fn probability(p: f64) -> String {
    if p < 1e-4 { format!("{p:.1e}") } else { format!("{p:.4}") }
}
