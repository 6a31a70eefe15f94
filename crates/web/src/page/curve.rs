//! Small charts as SVG: classes give colours, so that they follow the page's mood.

use std::fmt::Write as _;

use super::words;
use crate::documents::Credits;

/// A point of a front: less is better in both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    /// Seconds since 1970.
    pub(crate) x: i64,
    /// Micro-credits.
    pub(crate) y: i128,
    /// What it is best by.
    pub(crate) label: String,
    /// Where more is said.
    pub(crate) link: Option<String>,
}

const WIDTH: i64 = 640;
const HEIGHT: i64 = 260;
const LEFT: i64 = 90;
const RIGHT: i64 = 20;
const TOP: i64 = 16;
const BOTTOM: i64 = 44;

/// Whether another point is as good in both and better in one.
fn beaten(point: &Point, all: &[Point]) -> bool {
    all.iter().any(|it| it.x <= point.x && it.y <= point.y && (it.x < point.x || it.y < point.y))
}

/// A scale onto pixels with a little air; one value stands in the middle.
struct Scale {
    low: i128,
    span: i128,
    from: i64,
    length: i64,
}

impl Scale {
    fn new(values: impl Iterator<Item = i128> + Clone, from: i64, until: i64) -> Scale {
        let (low, high) = (values.clone().min().unwrap_or(0), values.max().unwrap_or(0));
        let air = ((high - low) / 10).max(1);
        Scale { low: low - air, span: high - low + 2 * air, from, length: until - from }
    }

    fn at(&self, value: i128) -> i64 {
        self.from
            + i64::try_from((value - self.low) * i128::from(self.length) / self.span).unwrap_or(0)
    }
}

/// Cost against finish; nothing for no points. Labels are escaped.
pub(crate) fn front(mut points: Vec<Point>) -> Option<String> {
    points.sort_by_key(|point| (point.x, point.y));
    points.dedup_by(|a, b| {
        let same = a.x == b.x && a.y == b.y;
        if same {
            b.label = format!("{}, {}", b.label, a.label);
        }
        same
    });
    let first = points.first()?;
    let xs = Scale::new(points.iter().map(|it| i128::from(it.x)), LEFT, WIDTH - RIGHT);
    let ys = Scale::new(points.iter().map(|it| it.y), HEIGHT - BOTTOM, TOP);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"Cost against finish of {} windows\">",
        points.len()
    );
    let (right, low) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let _ = write!(svg, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{low}H{right}\"/>");
    let front: Vec<&Point> = points.iter().filter(|it| !beaten(it, &points)).collect();
    let mut path = String::new();
    for (at, point) in front.iter().enumerate() {
        let (x, y) = (xs.at(point.x.into()), ys.at(point.y));
        let _ = if at == 0 { write!(path, "M{x} {y}") } else { write!(path, "H{x}V{y}") };
    }
    let _ = write!(svg, "<path class=\"front\" d=\"{path}\"/>");
    let (earliest, start) = (first.x, i128::from(first.x));
    for point in &points {
        let (x, y) = (xs.at(point.x.into()), ys.at(point.y));
        let class = if beaten(point, &points) { "beaten" } else { "best" };
        let cost = words::credits(&Credits(point.y));
        let label = askama::filters::escape(&point.label, askama::filters::Html)
            .map(|it| it.to_string())
            .unwrap_or_default();
        let later = words::span(&(point.x - earliest));
        let mark = format!(
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"6\"><title>{label}: {cost} credits, \
             {later} after the first</title></circle>"
        );
        match &point.link {
            Some(link) => {
                let _ = write!(svg, "<a href=\"{link}\" aria-label=\"{label}\">{mark}</a>");
            }
            None => svg.push_str(&mark),
        }
        let anchor = if x > WIDTH - 140 { "end" } else { "start" };
        let shift = if anchor == "end" { -10 } else { 10 };
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{label}</text>",
            x + shift,
            y - 8
        );
    }
    let ends = [first, points.iter().max_by_key(|it| it.x)?];
    for point in ends.iter().take(if ends[0].x == ends[1].x { 1 } else { 2 }) {
        let x = xs.at(point.x.into());
        let later = words::span(&i64::try_from(i128::from(point.x) - start).unwrap_or(0));
        let text =
            if point.x == earliest { "first finish".to_owned() } else { format!("+{later}") };
        let _ =
            write!(svg, "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", low + 18);
    }
    let costs: std::collections::BTreeSet<i128> =
        [points.iter().map(|it| it.y).min()?, points.iter().map(|it| it.y).max()?].into();
    for y in costs {
        let cost = words::credits(&Credits(y));
        let place = ys.at(y) + 4;
        let _ =
            write!(svg, "<text x=\"{}\" y=\"{place}\" text-anchor=\"end\">{cost}</text>", LEFT - 8);
    }
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">finish</text></svg>",
        (LEFT + right) / 2,
        HEIGHT - 6
    );
    Some(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: i64, y: i128, label: &str) -> Point {
        Point { x, y, label: label.to_owned(), link: None }
    }

    #[test]
    fn what_is_beaten_in_both_is_grey_and_equals_are_one() {
        let svg = front(vec![
            point(100, 5_000_000, "start"),
            point(200, 3_000_000, "cost"),
            point(200, 6_000_000, "runtime<x>"),
            point(100, 5_000_000, "finish"),
        ])
        .unwrap();
        assert_eq!(svg.matches("<circle class=\"best\"").count(), 2);
        assert_eq!(svg.matches("<circle class=\"beaten\"").count(), 1);
        assert!(svg.contains("start, finish") && !svg.contains("<x>"));
        assert_eq!(front(Vec::new()), None);
        assert!(front(vec![point(1, 0, "one")]).is_some());
    }
}
