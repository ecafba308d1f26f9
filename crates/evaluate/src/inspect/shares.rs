//! Converts attention to rows of a memory entry into attention to words.

/// Distributes attention to rows over the tokens that each row was made of; `origins` has the share
/// of each token in each row ([`abridge_translate::origins`]).
pub(super) fn to_words(entry: &[f32], origins: &[Vec<f32>], tokens: usize) -> Vec<f32> {
    let mut words = vec![0.0; tokens];
    for (weight, row) in entry.iter().zip(origins) {
        for (word, share) in words.iter_mut().zip(row) {
            *word += weight * share;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use abridge_model::{ModelSize, Packed, Preset, tokens::END};
    use abridge_translate::origins;
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn the_attention_of_an_empty_group_is_dropped() {
        let words = to_words(&[0.3, 0.6, 0.1], &[vec![0.5, 0.5], vec![0.0, 1.0], vec![0.0; 2]], 2);
        assert!((words[0] - 0.15).abs() < 1e-6 && (words[1] - 0.75).abs() < 1e-6, "{words:?}");
    }

    #[test]
    fn other_shorteners_share_evenly() {
        let of = |preset: Preset| {
            let model = preset.config(ModelSize::Tiny, 20, 20, 1).init(1, &Device::flex()).unwrap();
            let read = model.read(&Packed::new([[7, 8, END]])).unwrap().remove(0).remembered;
            origins(model.config(), read.tokens.len(), read.entry.as_ref())
        };
        assert_eq!(of(Preset::CachingSentence), [vec![1.0 / 3.0; 3]]);
        assert_eq!(of(Preset::PoolingAvg), [vec![0.5, 0.5, 0.0], vec![0.0, 0.0, 1.0]]);
        let every = [vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]];
        for preset in [Preset::CachingTokens, Preset::MultiEncoder] {
            assert_eq!(of(preset), every);
        }
        for group in of(Preset::Grouping) {
            let sum: f32 = group.iter().sum();
            assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-5, "{group:?}");
        }
    }
}
