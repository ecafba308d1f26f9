//! Holm's correction for multiple testing.

/// The p-values of a table, corrected so that the probability of any false positive in the whole
/// table stays below the significance level (Holm, 1979).
///
/// The smallest of n is multiplied by n, the next by n - 1 and so on; no corrected value is smaller
/// than the previous one.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = vec![1.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        let tests = (p_values.len() - rank) as f64;
        largest = largest.max((tests * p_values[index]).min(1.0));
        corrected[index] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equals_statsmodels() {
        // statsmodels.stats.multitest.multipletests([...], method="holm")
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in corrected.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{corrected:?}");
        }
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[0.2]), [0.2]);
    }

    proptest! {
        #[test]
        fn no_p_value_gets_smaller_and_their_order_stays(
            p_values in proptest::collection::vec(0.0..1.0f64, 0..20)
        ) {
            let corrected = holm(&p_values);
            for (i, (&p, &c)) in p_values.iter().zip(&corrected).enumerate() {
                prop_assert!(c >= p && c <= 1.0);
                for (&other, &other_c) in p_values[..i].iter().zip(&corrected) {
                    prop_assert!(p > other || c <= other_c);
                    prop_assert!(other > p || other_c <= c);
                }
            }
        }
    }
}
