//! Plots of studies.

use crate::chart::{Mark, Picture, Plot, PlotAcross, PlotPanel, PlotSeries, PlotValue};

fn bars(name: &str, values: &[f64]) -> PlotSeries {
    let value = |(x, &y): (usize, &f64)| PlotValue {
        interval: Some((y - 1.0, y + 1.0)),
        ..PlotValue::exact(x as f64, y)
    };
    let values = values.iter().enumerate().map(value).collect();
    PlotSeries { name: name.to_owned(), mark: Mark::Bars, values }
}

fn cases(series: Vec<PlotSeries>) -> PlotPanel {
    let across = PlotAcross::Cases(vec!["ALP".to_owned(), "AMP".to_owned()]);
    PlotPanel { up: "time per job".to_owned(), across, series }
}

fn plot(panels: Vec<PlotPanel>) -> String {
    Picture::Plot(Plot { title: "a < b".to_owned(), panels, ..Plot::default() }).svg()
}

#[test]
fn a_bar_is_as_high_as_its_value() {
    let svg = plot(vec![cases(vec![bars("measured", &[60.0, 30.0])])]);
    let heights: Vec<f64> = svg
        .lines()
        .filter(|line| line.contains("<title>measured"))
        .filter_map(|line| line.split("height=\"").nth(1)?.split('"').next()?.parse().ok())
        .collect();
    assert_eq!(heights.len(), 2);
    assert!((heights[0] / heights[1] - 2.0).abs() < 0.01, "{heights:?}");
    assert!(svg.contains("measured: 60 (59 to 61)") && svg.contains("a &lt; b"));
}

#[test]
fn series_of_one_name_are_one_entry() {
    let panel = || cases(vec![bars("published", &[1.0, 2.0]), bars("measured", &[1.0, 2.0])]);
    let svg = plot(vec![panel(), panel()]);
    assert_eq!(svg.matches(">published</text>").count(), 1);
    assert_eq!(svg.matches(">ALP</text>").count(), 2);
}

#[test]
fn lines_leave_out_what_is_no_number() {
    let values = vec![
        PlotValue::exact(0.0, 1.0),
        PlotValue::exact(1.0, f64::NAN),
        PlotValue::exact(2.0, 3.0),
    ];
    let series = PlotSeries { name: "AMP".to_owned(), mark: Mark::Line, values };
    let panel = PlotPanel { series: vec![series], ..PlotPanel::default() };
    let svg = plot(vec![panel]);
    let path = svg.lines().find(|line| line.contains("<title>AMP</title>")).unwrap();
    assert_eq!(path.matches('L').count(), 1, "{path}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn nothing_is_said_to_be_nothing() {
    assert!(plot(Vec::new()).contains("nothing was measured"));
    assert!(plot(vec![PlotPanel::default()]).contains("nothing was measured"));
    let same = PlotSeries { values: vec![PlotValue::exact(4.0, 0.0)], ..PlotSeries::default() };
    let svg = plot(vec![PlotPanel { series: vec![same], ..PlotPanel::default() }]);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn a_lone_rate_has_no_negative_ones_beside_it() {
    let lone = PlotSeries { values: vec![PlotValue::exact(0.04, 7.0)], ..PlotSeries::default() };
    let svg = plot(vec![PlotPanel { series: vec![lone], ..PlotPanel::default() }]);
    assert!(svg.contains(">0.04</text>") && !svg.contains(">-0"), "{svg}");
}

fn lines(values: &[f64]) -> PlotPanel {
    let values = (1..).zip(values).map(|(x, &y)| PlotValue::exact(f64::from(x), y)).collect();
    let series = PlotSeries { name: "all".to_owned(), mark: Mark::Line, values };
    PlotPanel { up: "wait, s".to_owned(), series: vec![series], ..PlotPanel::default() }
}

#[test]
fn lines_that_go_far_are_logarithmic() {
    let svg = plot(vec![lines(&[0.5, 5.0, 50.0])]);
    assert!(svg.contains("wait, s (logarithmic)") && svg.contains(">20</text>"), "{svg}");
    // Equal ratios are equally far apart.
    let path = svg.lines().find(|line| line.contains("<title>all</title>")).unwrap();
    let heights: Vec<f64> = path
        .split(['M', 'L'])
        .filter_map(|point| point.split([' ', '"']).nth(1)?.parse().ok())
        .collect();
    let [low, middle, high] = heights[..] else { panic!("{path}") };
    assert!(((low - middle) - (middle - high)).abs() < 0.02, "{heights:?}");
    assert!(!plot(vec![lines(&[0.5, 5.0, 49.0])]).contains("logarithmic"));
    assert!(!plot(vec![lines(&[0.0, 5.0, 500.0])]).contains("logarithmic"));
    assert!(!plot(vec![cases(vec![bars("measured", &[2.0, 5_000.0])])]).contains("logarithmic"));
    for odd in [&[5e-324, 1e-300][..], &[1e-300, 1e300], &[f64::MAX, 1e300], &[-1.0, 1e5]] {
        let svg = plot(vec![lines(odd)]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{odd:?}");
    }
}

/// Where the text of each number stands, from above.
fn heights_of(svg: &str, numbers: &[&str]) -> Vec<f64> {
    let height = |number: &&str| {
        let line = svg.lines().find(|line| line.contains(&format!(">{number}</text>")))?;
        line.split(" y=\"").nth(1)?.split('"').next()?.parse().ok()
    };
    numbers.iter().filter_map(height).collect()
}

#[test]
fn numbers_stand_beyond_their_bars() {
    let svg = plot(vec![cases(vec![bars("measured", &[60.0, -30.0])])]);
    let [above, zero, below] = heights_of(&svg, &["60", "0", "-30"])[..] else { panic!("{svg}") };
    let bottom = |line: &str| {
        let of = |name: &str| line.split(name).nth(1)?.split('"').next()?.parse::<f64>().ok();
        Some(of(" y=\"")? + of("height=\"")?)
    };
    let bar = svg.lines().find(|line| line.contains("measured: -30")).and_then(bottom).unwrap();
    assert!(above < zero && zero < bar && bar < below, "{above} {zero} {bar} {below}");
}

#[test]
fn flat_lines_are_distinguished() {
    let svg = plot(vec![lines(&[150.0, 140.0, 145.0])]);
    assert!(svg.contains("wait, s (not from zero)") && !svg.contains(">0</text>"), "{svg}");
    assert!(!plot(vec![lines(&[150.0, 80.0])]).contains("not from zero"));
    assert!(!plot(vec![lines(&[150.0, 150.0])]).contains("not from zero"));
    assert!(!plot(vec![cases(vec![bars("measured", &[99.0, 98.0])])]).contains("not from zero"));
}

#[test]
fn greek_letters_have_shapes_of_their_own() {
    let drawn = |letter| {
        let panels = vec![PlotPanel { up: letter, ..lines(&[1.0, 2.0]) }];
        Picture::Plot(Plot { panels, ..Plot::default() }).png().unwrap()
    };
    let all = ["α", "β", "×", "γ"].map(|letter| drawn(letter.to_owned()));
    assert!(all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)));
}
