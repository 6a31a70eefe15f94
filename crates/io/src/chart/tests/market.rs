//! The pictures of deadlines, classes and sites.

use super::pictures::sound;
use crate::chart::*;

fn lines(across: Across, traces: Vec<(&str, Vec<(i64, f64)>)>) -> Picture {
    let line = |(name, points): (&str, Vec<(i64, f64)>)| Line {
        name: name.to_owned(),
        facts: "so <many>".to_owned(),
        trace: Trace::new(points),
    };
    Picture::Lines(Lines {
        title: "Deadlines missed".to_owned(),
        subtitle: "of the first so many".to_owned(),
        across,
        name: "missed".to_owned(),
        unit: Unit::Count,
        lines: traces.into_iter().map(line).collect(),
        notes: vec!["A note.".to_owned()],
    })
}

fn bars(policies: usize, shares: &[Option<(f64, f64)>]) -> Picture {
    let estimate = |&(mean, half): &(f64, f64)| Estimate {
        mean,
        interval: (half > 0.0).then_some((mean - half, mean + half)),
    };
    let class = |label: &str| ClassOfJobs {
        label: label.to_owned(),
        size: "40 jobs".to_owned(),
        shares: shares.iter().map(|share| share.as_ref().map(estimate)).collect(),
    };
    let classes = vec![class("below 1"), class("1 and more")];
    Picture::Bars(Bars {
        title: "Success".to_owned(),
        subtitle: "share".to_owned(),
        policies: (0..policies).map(|index| format!("policy {index}")).collect(),
        panels: vec![Classes { name: "By urgency".to_owned(), classes }],
    })
}

#[test]
fn lines_have_a_legend_and_an_axis() {
    let count = Across::Count("jobs".to_owned());
    let all = || vec![("a", vec![(0, 0.0), (900, 700.0)]), ("b", vec![(0, 0.0), (700, 10.0)])];
    let svg = sound(&lines(count.clone(), all()));
    assert_eq!(svg.matches("<path").count(), 2);
    for words in ["a: so &lt;many&gt;", ">800<", ">jobs<", "A note.", "of the first so many"] {
        assert!(svg.contains(words), "{words}");
    }
    // 900 jobs are at the right edge, no jobs at the left one; 700 of up to 800 missed.
    let frame = (64.0, 1_172.0);
    assert!(svg.contains(&format!("<path d=\"M{} ", frame.0)), "{svg}");
    assert!(svg.contains(&format!("L{} ", frame.1)), "{svg}");
    let clock = sound(&lines(Across::Time, all()));
    assert!(clock.contains(">0:05<"), "{clock}");
    let many = (0..20).map(|_| ("p", vec![(0, 1.0)])).collect();
    assert!(sound(&lines(count, many)).contains("4 more policies are not drawn"));
}

#[test]
fn a_bar_stands_for_each_share_and_a_line_for_each_interval() {
    let shares = [Some((0.5, 0.1)), Some((0.25, 0.0)), None];
    let svg = sound(&bars(3, &shares));
    // Keys, bars of two classes, paper, and the stripes of the hatch.
    assert_eq!(svg.matches("<title>policy").count(), 4);
    assert!(svg.contains("<title>policy 0, below 1: 50 % (40 % to 60 %)</title>"), "{svg}");
    assert!(svg.contains("95 % confidence interval") && svg.contains("40 jobs"));
    // Half of a panel of 230.
    assert!(svg.contains("height=\"115\""), "{svg}");
    let none = sound(&bars(2, &[None, Some((f64::NAN, 0.0))]));
    assert_eq!(none.matches(">no jobs<").count(), 2);
    assert!(sound(&bars(20, &[Some((1.0, 0.5)); 20])).contains("4 more policies are not drawn"));
}

#[test]
fn nothing_to_show_is_a_picture_too() {
    let pictures = [
        bars(0, &[]),
        lines(Across::Time, vec![]),
        lines(Across::Count("jobs".to_owned()), vec![("a", vec![])]),
    ];
    for picture in pictures {
        assert!(sound(&picture).contains("nothing ran"));
        assert_eq!(&picture.png().unwrap()[..8], b"\x89PNG\r\n\x1a\n");
    }
}

#[test]
fn absurd_values_are_drawn() {
    let odd = vec![(-7, -1e12), (0, f64::NAN), (5, 3.0), (1 << 40, 1e15)];
    sound(&lines(Across::Time, vec![("a", odd.clone())]));
    sound(&lines(Across::Count("x".to_owned()), vec![("a", odd), ("b", vec![(0, 0.0)])]));
    sound(&bars(1, &[Some((-3.0, 9.0))]));
    sound(&bars(1, &[Some((7.0, f64::INFINITY))]));
}
