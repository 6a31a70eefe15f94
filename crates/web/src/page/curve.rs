//! The front of cost against finish as SVG: classes give colours, so that they follow the page's
//! theme.

use std::fmt::Write as _;

use tradewind_io::present::svg::{Svg, escape};

use super::words;
use crate::documents::Credits;

/// A window: less is better in both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    /// Its finish, seconds since 1970.
    pub(crate) x: i64,
    /// Its cost, micro-credits.
    pub(crate) y: i128,
    /// Letter that names the offer.
    pub(crate) name: String,
    /// What it is best by.
    pub(crate) label: String,
    /// Where more is said on the page.
    pub(crate) key: String,
}

const WIDTH: i64 = 540;
const HEIGHT: i64 = 330;
const LEFT: i64 = 70;
const RIGHT: i64 = 36;
const TOP: i64 = 34;
const BOTTOM: i64 = 56;
/// Lines on each scale.
const LINES: i64 = 4;

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
        let air = ((high - low) / 8).max(1);
        Scale { low: low - air, span: high - low + 2 * air, from, length: until - from }
    }

    fn at(&self, value: i128) -> i64 {
        self.from
            + i64::try_from((value - self.low) * i128::from(self.length) / self.span).unwrap_or(0)
    }

    /// Round values inside: multiples of one of `steps`, which stand in order.
    fn lines(&self, steps: &[i128]) -> Vec<i128> {
        let wanted = self.span / i128::from(LINES);
        let step = steps.iter().copied().find(|step| *step >= wanted);
        let step = step.or(steps.last().copied()).unwrap_or(1).max(1);
        let first = self.low.div_euclid(step) + 1;
        (first..=first + i128::from(LINES) * 2)
            .map(|at| at * step)
            .take_while(|value| *value < self.low + self.span)
            .collect()
    }
}

/// 1, 2, 5, 10, … micro-credits.
fn amounts() -> Vec<i128> {
    (0..20).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_i128.pow(power))).collect()
}

/// Whole seconds, minutes, hours and days.
const SPANS: [i128; 20] = [
    1, 5, 10, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400,
    172_800, 604_800, 1_209_600, 2_592_000,
];

/// Cost against finish, with a link on each point to what its key names; nothing for no points.
/// Equal points are one, with both names.
pub(crate) fn front(mut points: Vec<Point>) -> Option<String> {
    points.sort_by_key(|point| (point.x, point.y));
    points.dedup_by(|a, b| {
        let same = a.x == b.x && a.y == b.y;
        if same {
            b.name = format!("{} {}", b.name, a.name);
            b.label = format!("{}, {}", b.label, a.label);
            b.key = format!("{} {}", b.key, a.key);
        }
        same
    });
    points.first()?;
    let xs = Scale::new(points.iter().map(|it| i128::from(it.x)), LEFT, WIDTH - RIGHT);
    let ys = Scale::new(points.iter().map(|it| it.y), HEIGHT - BOTTOM, TOP);
    let count = points.len();
    let mut svg = Svg::new();
    let look = format_args!(
        "class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"group\" \
         aria-label=\"Cost against finish: {count} windows\""
    );
    svg.open("svg", look);
    costs(&mut svg, &ys);
    finishes(&mut svg, &xs);
    let (right, low) = ENDS;
    svg.shape("path", format_args!("class=\"axis\" d=\"M{LEFT} {TOP}V{low}H{right}\""));
    let best: Vec<&Point> = points.iter().filter(|it| !beaten(it, &points)).collect();
    let mut path = String::new();
    for (at, point) in best.iter().enumerate() {
        let (x, y) = (xs.at(point.x.into()), ys.at(point.y));
        let _ = if at == 0 { write!(path, "M{x} {y}") } else { write!(path, "H{x}V{y}") };
    }
    svg.shape("path", format_args!("class=\"front\" d=\"{path}\""));
    for point in &points {
        let place = (xs.at(point.x.into()), ys.at(point.y));
        let class = if beaten(point, &points) { "beaten" } else { "best" };
        mark(&mut svg, point, place, class);
    }
    svg.close("svg");
    Some(svg.finish())
}

/// Where the plot ends to the right, and below.
const ENDS: (i64, i64) = (WIDTH - RIGHT, HEIGHT - BOTTOM);

/// Amounts upwards, with a line across at each.
fn costs(svg: &mut Svg, ys: &Scale) {
    svg.words("text", "x=\"8\" y=\"18\"", "cost at most, credits");
    let (right, _) = ENDS;
    for value in ys.lines(&amounts()) {
        let (y, cost) = (ys.at(value), words::credits(&Credits(value)));
        svg.shape("path", format_args!("class=\"grid\" d=\"M{LEFT} {y}H{right}\""));
        let (x, base) = (LEFT - 8, y + 4);
        svg.words("text", format_args!("x=\"{x}\" y=\"{base}\" text-anchor=\"end\""), &cost);
    }
}

/// Moments across, with a line upwards at each; scripts may show them on another clock.
fn finishes(svg: &mut Svg, xs: &Scale) {
    let (right, low) = ENDS;
    let mut day = String::new();
    for value in xs.lines(&SPANS) {
        let (x, stamp) = (xs.at(value), words::stamp(i64::try_from(value).unwrap_or(0)));
        let (date, rest) = stamp.split_once(' ').unwrap_or((&stamp, ""));
        let hour = rest.trim_end_matches(" UTC");
        let (hour, form) = match value.rem_euclid(60) {
            0 => (hour.to_owned(), "hour"),
            seconds => (format!("{hour}:{seconds:02}"), "second"),
        };
        svg.shape("path", format_args!("class=\"grid\" d=\"M{x} {TOP}V{low}\""));
        let mut tell = |y: i64, form: &str, text: &str| {
            let data = format_args!("data-at=\"{value}\" data-form=\"{form}\"");
            let look = format_args!("x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" {data}");
            svg.words("text", look, text);
        };
        tell(low + 17, form, &hour);
        if day != date {
            date.clone_into(&mut day);
            tell(low + 33, "date", date);
        }
    }
    let y = HEIGHT - 6;
    svg.open("text", format_args!("x=\"{right}\" y=\"{y}\" text-anchor=\"end\""));
    svg.raw("finish at the latest, <tspan data-zone=\"\">UTC</tspan>");
    svg.close("text");
}

fn mark(svg: &mut Svg, point: &Point, (x, y): (i64, i64), class: &str) {
    let key = escape(&point.key);
    let cost = words::credits(&Credits(point.y));
    let (at, finish) = (point.x, words::told(point.x));
    let first = key.split(' ').next().unwrap_or_default();
    let worse = if class == "beaten" { ", beaten by another" } else { "" };
    let told = format!("{}: {}, {cost} credits{worse}, finish ", point.name, point.label);
    let words = escape(&told);
    let look = format_args!(
        "href=\"#{first}\" data-pick=\"{key}\" class=\"{class}\" aria-label=\"{words}{finish}\" \
         data-finish=\"{at}\" data-words=\"{words}\""
    );
    svg.open("a", look);
    svg.raw(&format!("<title>{words}{finish}</title>"));
    svg.shape("circle", format_args!("class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"12\""));
    let place = format_args!("x=\"{x}\" y=\"{}\" text-anchor=\"middle\"", y + 4);
    svg.words("text", format_args!("class=\"{class}\" {place}"), &point.name);
    svg.close("a");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn point(x: i64, y: i128, name: &str) -> Point {
        let (label, key) = (format!("<{name}>"), format!("offer-{name}"));
        Point { x, y, name: name.to_owned(), label, key }
    }

    #[test]
    fn what_is_beaten_in_both_is_grey_and_equals_are_one() {
        let svg = front(vec![
            point(100, 5_000_000, "A"),
            point(200, 3_000_000, "B"),
            point(200, 6_000_000, "C"),
            point(100, 5_000_000, "D"),
        ])
        .unwrap();
        assert_eq!(svg.matches("<circle class=\"best\"").count(), 2);
        assert_eq!(svg.matches("<circle class=\"beaten\"").count(), 1);
        assert!(svg.contains("data-pick=\"offer-A offer-D\"") && svg.contains("A D: "), "{svg}");
        assert!(!svg.contains("<A>"), "labels are escaped");
        assert_eq!(front(Vec::new()), None);
        assert!(front(vec![point(1, 0, "E")]).is_some());
    }

    proptest! {
        #[test]
        fn scales_are_in_order_and_inside_with_some_lines(
            mut values in prop::collection::vec(0i128..10_i128.pow(15), 1..9)
        ) {
            values.sort_unstable();
            let scale = Scale::new(values.iter().copied(), 10, 500);
            let places: Vec<i64> = values.iter().map(|it| scale.at(*it)).collect();
            prop_assert!(places.is_sorted() && places.iter().all(|at| (10..=500).contains(at)));
            let lines = scale.lines(&amounts());
            prop_assert!(lines.len() <= 9 && lines.is_sorted());
            prop_assert!(lines.iter().all(|it| (10..=500).contains(&scale.at(*it))));
        }
    }
}
