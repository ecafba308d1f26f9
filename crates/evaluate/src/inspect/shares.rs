//! Which words a row of a memory entry was made of.

use abridge_model::ModelConfig;
use abridge_model::config::ShortenerConfig;

/// For each row of an entry the share that each of `tokens` tokens has in it.
///
/// A group is a weighted sum of tokens, so a token's share is its weight divided by the weights of
/// all tokens for that group. A group that nothing fell into has no shares. Refinement lets rows
/// look at the whole sentence, too, which shares cannot show.
pub(super) fn shares(
    config: &ModelConfig,
    tokens: usize,
    weights: Option<&Vec<Vec<f32>>>,
) -> Vec<Vec<f32>> {
    if let Some(weights) = weights {
        let groups = weights.first().map_or(0, Vec::len);
        let group = |group: usize| {
            let sum: f32 = weights.iter().map(|token| token[group]).sum();
            let share = |weight: f32| if sum > 0.0 { weight / sum } else { 0.0 };
            weights.iter().map(|token| share(token[group])).collect()
        };
        return (0..groups).map(group).collect();
    }
    let row_of = |from: usize, to: usize| -> Vec<f32> {
        let share = 1.0 / (to - from) as f32;
        (0..tokens).map(|token| if (from..to).contains(&token) { share } else { 0.0 }).collect()
    };
    match config.shortener {
        Some(ShortenerConfig::Mean) => vec![row_of(0, tokens)],
        Some(ShortenerConfig::Pooling { window, .. }) => (0..tokens)
            .step_by(window)
            .map(|first| row_of(first, (first + window).min(tokens)))
            .collect(),
        // Every token is a row of its own, in the memory or in a joined text.
        _ => (0..tokens).map(|token| row_of(token, token + 1)).collect(),
    }
}

/// Shares attention to rows out over words.
pub(super) fn to_words(entry: &[f32], shares: &[Vec<f32>], tokens: usize) -> Vec<f32> {
    let mut words = vec![0.0; tokens];
    for (weight, row) in entry.iter().zip(shares) {
        for (word, share) in words.iter_mut().zip(row) {
            *word += weight * share;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use abridge_model::{Preset, Width};

    fn config(preset: Preset) -> ModelConfig {
        preset.config(Width::Tiny, 10, 10, 1)
    }

    #[test]
    fn groups_are_shared_by_weight_and_empty_ones_by_nobody() {
        let weights = vec![vec![1.0, 0.0, 0.0], vec![0.5, 0.5, 0.0]];
        let shares = shares(&config(Preset::Grouping), 2, Some(&weights));
        assert_eq!(shares, [vec![2.0 / 3.0, 1.0 / 3.0], vec![0.0, 1.0], vec![0.0, 0.0]]);
        let words = to_words(&[0.3, 0.6, 0.1], &shares, 2);
        assert!((words[0] - 0.2).abs() < 1e-6 && (words[1] - 0.7).abs() < 1e-6, "{words:?}");
    }

    #[test]
    fn other_shorteners_share_evenly() {
        assert_eq!(shares(&config(Preset::CachingSentence), 4, None), [vec![0.25; 4]]);
        let pooled = shares(&config(Preset::PoolingAvg), 3, None);
        assert_eq!(pooled, [vec![0.5, 0.5, 0.0], vec![0.0, 0.0, 1.0]]);
        for preset in [Preset::CachingTokens, Preset::MultiEncoder] {
            assert_eq!(shares(&config(preset), 2, None), [vec![1.0, 0.0], vec![0.0, 1.0]]);
        }
    }
}
