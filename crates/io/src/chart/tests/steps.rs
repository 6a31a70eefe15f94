use proptest::prelude::*;
use tradewind_model::{Horizon, Time};

use crate::chart::steps::{Change, TimeColumns, peak};

/// Spans with a level: where from, where to, how much.
fn spans() -> impl Strategy<Value = Vec<(i64, i64, i64)>> {
    prop::collection::vec((-50_i64..400, 0_i64..200, 1_i64..9), 0..30)
}

fn changes(spans: &[(i64, i64, i64)]) -> Vec<Change> {
    let pair = |&(from, length, by): &(i64, i64, i64)| {
        [Change { at: Time(from), by }, Change { at: Time(from + length), by: -by }]
    };
    spans.iter().flat_map(pair).collect()
}

fn level(spans: &[(i64, i64, i64)], at: i64) -> i64 {
    spans.iter().filter(|s| s.0 <= at && at < s.0 + s.1).map(|s| s.2).sum()
}

proptest! {
    #[test]
    fn columns_hold_what_counting_seconds_gives(
        spans in spans(), start in -20_i64..100, length in 1_i64..300, max in 1_usize..40,
    ) {
        let horizon = Horizon { start: Time(start), end: Time(start + length) };
        let columns = TimeColumns::new(horizon, max);
        let areas = columns.areas(&changes(&spans));
        prop_assert_eq!(areas.len(), columns.len());
        let mut from = start;
        for (index, area) in areas.iter().enumerate() {
            prop_assert_eq!(columns.edge(index), Time(from));
            prop_assert!(columns.seconds(index) >= 1);
            let until = columns.edge(index + 1).0;
            let by_hand: i64 = (from..until).map(|at| level(&spans, at)).sum();
            prop_assert_eq!(*area, i128::from(by_hand));
            for at in from..until {
                prop_assert_eq!(columns.index(Time(at)), index);
            }
            from = until;
        }
        prop_assert_eq!(from, start + length);
    }

    #[test]
    fn the_peak_is_the_highest_level(spans in spans()) {
        let all = (-60..700).map(|at| level(&spans, at)).max().unwrap_or(0);
        let peak = peak(&changes(&spans)).map_or(0, |peak| peak.1);
        prop_assert_eq!(peak.max(0), all);
    }
}

#[test]
fn clocks_of_any_size_are_cut() {
    let horizon = Horizon { start: Time::MIN, end: Time::MAX };
    let columns = TimeColumns::new(horizon, 600);
    let held = changes(&[(Time::MIN.0, Time::MAX.0 - Time::MIN.0, i64::from(u32::MAX))]);
    let whole: i128 = columns.areas(&held).iter().sum();
    assert_eq!(whole, i128::from(u32::MAX) * i128::from(horizon.span().0));
}
