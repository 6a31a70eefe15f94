use proptest::prelude::*;
use tradewind_model::{Horizon, Time};

use crate::chart::Unit;
use crate::chart::clock::{Clock, moment};
use crate::chart::theme::LINES;
use crate::present::{log2, ticks};

#[test]
fn numbers_are_said_shortly() {
    let cases = [
        (Unit::Seconds, 0.0, "0 s"),
        (Unit::Seconds, 45.0, "45 s"),
        (Unit::Seconds, 59.7, "1 min"),
        (Unit::Seconds, 200.0, "3 min 20 s"),
        (Unit::Seconds, 4_800.0, "1 h 20 min"),
        (Unit::Seconds, 86_399.0, "1 d"),
        (Unit::Seconds, 187_200.0, "2 d 4 h"),
        (Unit::Seconds, 1e9, "11,574 d"),
        (Unit::Seconds, -90.0, "-1 min 30 s"),
        (Unit::Share, 0.834_49, "83.4 %"),
        (Unit::Share, 1.0, "100 %"),
        (Unit::Ratio, 0.0, "0"),
        (Unit::Ratio, 12.0, "12"),
        (Unit::Ratio, 0.000_1, "0"),
        (Unit::Ratio, -0.000_1, "0"),
        (Unit::Ratio, 6_829.28, "6,829"),
        (Unit::Ratio, 1e18, "1.000e18"),
        (Unit::Ratio, f64::NAN, "–"),
        (Unit::Credits, 1_234.5, "1,234 credits"),
    ];
    for (unit, value, text) in cases {
        assert_eq!(unit.say(value), text, "{value}");
    }
}

#[test]
fn moments_are_days_and_times_of_day() {
    assert_eq!(moment(Time(86_400 * 3)), "day 3");
    assert_eq!(moment(Time(86_400 * 3 + 3_660)), "day 3, 1:01");
    assert_eq!(moment(Time(-1)), "day -1, 23:59:59");
}

#[test]
fn lines_can_be_seen_on_both_papers() {
    let light = |colour: &str| {
        let part =
            |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        let linear = |v: f64| if v <= 0.04 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(part(1)) + 0.7152 * linear(part(3)) + 0.0722 * linear(part(5))
    };
    let contrast = |a: f64, b: f64| (a.max(b) + 0.05) / (a.min(b) + 0.05);
    for (on_white, on_dark) in LINES {
        assert!(contrast(light(on_white), light("#ffffff")) >= 3.0, "{on_white}");
        assert!(contrast(light(on_dark), light("#0d1117")) >= 3.0, "{on_dark}");
    }
}

proptest! {
    #[test]
    fn ticks_cover_their_values_and_are_few(
        low in -1e12_f64..=0.0, high in 0.0_f64..1e12, shrink in 0_i32..18, max in 2_usize..12,
    ) {
        let (low, high) = (low / 10_f64.powi(shrink), high / 10_f64.powi(shrink));
        let ticks = ticks(low, high, max);
        prop_assert!(ticks.len() >= 2 && ticks.len() <= max + 3, "{ticks:?}");
        prop_assert!(ticks[0] <= low + 1e-9 && ticks[ticks.len() - 1] >= high - 1e-9, "{ticks:?}");
        prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]), "{ticks:?}");
        prop_assert!(ticks.iter().any(|tick| tick.abs() < 1e-12), "{ticks:?}");
    }

    #[test]
    fn times_on_an_axis_are_round_few_and_inside(start in -(1_i64 << 40)..1 << 40, bits in 0_u32..41) {
        let horizon = Horizon { start: Time(start), end: Time(start + (1 << bits)) };
        let ticks = Clock { horizon, left: 0.0, width: 100.0 }.ticks(12);
        prop_assert!(ticks.len() <= 14, "{ticks:?}");
        prop_assert!(ticks.iter().all(|tick| horizon.start <= tick.0 && tick.0 <= horizon.end));
    }

    #[test]
    fn the_logarithm_is_one(exponent in -60.0_f64..60.0) {
        prop_assert!((log2(exponent.exp2()) - exponent).abs() < 1e-9);
    }
}

#[test]
fn axes_of_odd_numbers_have_ticks() {
    for (low, high) in [
        (f64::NAN, f64::NAN),
        (0.0, 0.0),
        (f64::NEG_INFINITY, f64::INFINITY),
        (0.0, 1e300),
        (0.0, 1e-300),
    ] {
        let ticks = ticks(low, high, 4);
        assert!(ticks.len() >= 2 && ticks.len() < 10, "{ticks:?}");
        assert!(ticks.iter().all(|tick| tick.is_finite()));
    }
}
