use proptest::prelude::*;
use tradewind_model::Time;

use crate::chart::*;

fn levels() -> impl Strategy<Value = Vec<(Time, f64)>> {
    prop::collection::vec((1_i64..20, 0_u32..50), 1..40).prop_map(|steps| {
        let mut at = -30;
        let level = |(gap, level): (i64, u32)| {
            at += gap;
            (Time(at), f64::from(level))
        };
        steps.into_iter().map(level).collect()
    })
}

proptest! {
    /// Columns that are seconds show the level of each second.
    #[test]
    fn each_second_has_its_level(levels in levels()) {
        let trace = Trace::of_steps(&levels, usize::MAX);
        let (first, last) = (levels[0].0.0, levels[levels.len() - 1].0.0);
        for second in first..=last {
            let level = levels.iter().rfind(|level| level.0.0 <= second).unwrap().1;
            prop_assert_eq!(trace.at(second), Some(level));
        }
        prop_assert_eq!((trace.at(first - 1), trace.at(last + 1)), (None, None));
    }

    /// However wide columns are, what they cover is the same.
    #[test]
    fn columns_keep_the_area(levels in levels(), max in 1_usize..30) {
        let span = levels[levels.len() - 1].0.0 - levels[0].0.0;
        let columns = (max as i64).min(span);
        let width = |index: i64| span * (index + 1) / columns - span * index / columns;
        let trace = Trace::of_steps(&levels, max);
        let means = trace.points().iter().take(trace.points().len() - 1);
        let covered: f64 = (0..).zip(means).map(|(index, it)| it.1 * width(index) as f64).sum();
        let area: f64 =
            levels.windows(2).map(|pair| pair[0].1 * (pair[1].0.0 - pair[0].0.0) as f64).sum();
        prop_assert!((covered - area).abs() < 1e-6, "{covered}, not {area}");
    }

    #[test]
    fn a_mean_is_between_its_traces_and_ends_with_their_mean(
        one in levels(), two in levels(), moved in -50_i64..50,
    ) {
        let two: Vec<_> = two.into_iter().map(|(at, v)| (Time(at.0 + moved), v)).collect();
        let traces = [Trace::of_steps(&one, 9), Trace::of_steps(&two, 7)];
        let mean = Trace::mean(&[&traces[0], &traces[1]]);
        let values = || traces.iter().flat_map(Trace::points).map(|point| point.1);
        let (low, high) = (values().fold(99.0, f64::min), values().fold(0.0, f64::max));
        prop_assert!(mean.points().iter().all(|it| (low - 1e-9..=high + 1e-9).contains(&it.1)));
        let last = |levels: &[(Time, f64)]| levels[levels.len() - 1].1;
        let ends = (last(&one) + last(&two)) / 2.0;
        prop_assert!((mean.points().last().unwrap().1 - ends).abs() < 1e-9);
    }
}

#[test]
fn means_by_hand() {
    let rising = Trace::new(vec![(0, 0.0), (10, 10.0)]);
    let flat = Trace::new(vec![(0, 4.0), (5, 4.0)]);
    let mean = Trace::mean(&[&rising, &flat]);
    assert_eq!((mean.at(0), mean.at(2), mean.at(10)), (Some(2.0), Some(3.0), Some(7.0)));
    assert_eq!(Trace::mean(&[&rising]), rising);
    assert_eq!(Trace::mean(&[&rising, &Trace::default()]).at(10), Some(10.0));
    assert!(Trace::mean(&[]).is_empty() && Trace::of_steps(&[], 5).is_empty());
    let odd = Trace::new(vec![(5, 1.0), (3, f64::NAN), (5, 2.0), (1, 0.0)]);
    assert_eq!(odd.points(), [(1, 0.0), (5, 2.0)]);
}

#[test]
fn a_mean_has_few_points() {
    let long = Trace::new(vec![(0, 0.0), (1 << 40, 1.0)]);
    assert_eq!(Trace::mean(&[&long, &long]).points().len(), 500);
}

/// A report may be made of files that were changed by hand.
#[test]
fn points_of_a_file_are_put_in_order() {
    let read = |text: &str| serde_json::from_str::<Trace>(text).unwrap();
    let (back, level) = (read(r#"{"points":[[1,0.5],[0,1.5]]}"#), read(r#"{"points":[[10,0.5]]}"#));
    assert_eq!(back.points(), [(0, 1.5), (1, 0.5)]);
    assert_eq!(Trace::mean(&[&back, &level]).at(0), Some(1.0));
}
