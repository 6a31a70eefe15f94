use proptest::prelude::*;

use crate::chart::Distribution;

proptest! {
    #[test]
    fn shares_rise_to_one_and_are_exact_at_their_thresholds(
        values in prop::collection::vec(prop_oneof![0_i64..100, 0_i64..1 << 40], 1..200),
    ) {
        let counted: Distribution = values.iter().copied().collect();
        let steps = counted.steps();
        for pair in steps.windows(2) {
            prop_assert!(pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1);
        }
        for (threshold, share) in &steps {
            let by_hand = values.iter().filter(|value| *value <= threshold).count();
            prop_assert_eq!(*share, by_hand as f64 / values.len() as f64);
        }
        let last = steps[steps.len() - 1];
        prop_assert_eq!(last, (*values.iter().max().unwrap(), 1.0));
    }

    #[test]
    fn quantiles_are_near(
        mut values in prop::collection::vec(0_i64..1 << 40, 1..200), percent in 1_usize..=100,
    ) {
        let counted: Distribution = values.iter().copied().collect();
        let quantile = counted.quantile(percent as f64 / 100.0).unwrap();
        values.sort_unstable();
        let exact = values[((values.len() * percent).div_ceil(100)).max(1) - 1];
        prop_assert!(quantile >= exact, "{quantile} {exact}");
        prop_assert!(quantile as f64 <= exact as f64 * (1.0 + 1.0 / 64.0) + 1.0);
    }

    #[test]
    fn sums_of_distributions_are_distributions_of_sums(
        one in prop::collection::vec(0_i64..1 << 30, 0..60),
        two in prop::collection::vec(0_i64..1 << 30, 0..60),
    ) {
        let mut sum: Distribution = one.iter().copied().collect();
        sum.merge(&two.iter().copied().collect());
        prop_assert_eq!(sum, one.iter().chain(&two).copied().collect());
    }
}

#[test]
fn few_thresholds_stand_for_many_values() {
    let counted: Distribution = (0..1_000_000).collect();
    assert!(counted.steps().len() < 1_000);
    assert_eq!((counted.len(), counted.max()), (1_000_000, 999_999));
}

#[test]
fn nothing_has_no_quantile() {
    let nothing = Distribution::default();
    assert!(nothing.is_empty() && nothing.quantile(0.5).is_none() && nothing.steps().is_empty());
}

/// A report may be made of files that were changed by hand.
#[test]
fn counts_that_add_up_to_more_than_a_number_stay_the_largest() {
    let text =
        format!(r#"{{"buckets":{{"1":{max},"2":{max}}},"total":{max},"most":2}}"#, max = u64::MAX);
    let mut values: Distribution = serde_json::from_str(&text).unwrap();
    values.merge(&values.clone());
    assert_eq!((values.len(), values.steps().len(), values.quantile(0.5)), (u64::MAX, 2, Some(1)));
}
