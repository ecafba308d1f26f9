//! Sampling the next word.

use abridge_model::random;

use crate::settings::Sampling;

/// Samples a word from the logits; deterministic in `place`.
///
/// `place` identifies the sentence, its sample and the step. Returns `None` if no word is possible.
pub(crate) fn draw(
    logits: &[f32],
    forbidden: &[u32],
    sampling: &Sampling,
    place: u64,
) -> Option<u32> {
    let mut words: Vec<(u32, f64)> = logits
        .iter()
        .enumerate()
        .filter(|&(word, logit)| logit.is_finite() && !forbidden.contains(&(word as u32)))
        .map(|(word, &logit)| (word as u32, f64::from(logit) / sampling.temperature))
        .collect();
    let best = words.iter().map(|(_, logit)| *logit).fold(f64::NEG_INFINITY, f64::max);
    let order = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if sampling.top_k > 0 && sampling.top_k < words.len() {
        words.select_nth_unstable_by(sampling.top_k - 1, order);
        words.truncate(sampling.top_k);
    }
    for (_, weight) in &mut words {
        *weight = (*weight - best).exp();
    }
    if sampling.top_p < 1.0 {
        words.sort_unstable_by(order);
        let wanted = sampling.top_p * words.iter().map(|(_, weight)| weight).sum::<f64>();
        let mut sum = 0.0;
        let enough = words.iter().position(|(_, weight)| {
            sum += weight;
            sum >= wanted
        });
        words.truncate(enough.map_or(words.len(), |last| last + 1));
    }
    // Removes the arbitrary order left by the partial selection.
    words.sort_unstable_by_key(|(word, _)| *word);
    let total: f64 = words.iter().map(|(_, weight)| weight).sum();
    let mut left = random::uniform(sampling.seed, place) * total;
    let drawn = words.iter().find(|(_, weight)| {
        left -= weight;
        left < 0.0
    });
    drawn.or(words.last()).map(|(word, _)| *word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(sampling: Sampling) -> [f64; 4] {
        let logits = [0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln(), 2.0];
        let mut counts = [0.0; 4];
        for place in 0..20_000 {
            counts[draw(&logits, &[3], &sampling, place).unwrap() as usize] += 1.0 / 20_000.0;
        }
        counts
    }

    fn close(shares: [f64; 4], expected: [f64; 4]) {
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share - expected).abs() < 0.02, "{shares:?}");
        }
    }

    #[test]
    fn words_are_drawn_as_often_as_they_are_probable() {
        close(shares(Sampling::default()), [0.5, 0.3, 0.2, 0.0]);
    }

    #[test]
    fn improbable_words_are_cut_off() {
        close(shares(Sampling { top_k: 1, ..Sampling::default() }), [1.0, 0.0, 0.0, 0.0]);
        close(shares(Sampling { top_k: 2, ..Sampling::default() }), [0.625, 0.375, 0.0, 0.0]);
        close(shares(Sampling { top_p: 0.7, ..Sampling::default() }), [0.625, 0.375, 0.0, 0.0]);
        let cold = Sampling { temperature: 0.5, ..Sampling::default() };
        close(shares(cold), [0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38, 0.0]);
    }

    #[test]
    fn nothing_possible_draws_nothing() {
        assert_eq!(draw(&[f32::NEG_INFINITY, 0.0], &[1], &Sampling::default(), 1), None);
    }
}
