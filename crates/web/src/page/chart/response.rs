//! What answers to a price: income above, use below, both against the price.

use std::fmt::Write as _;

use tradewind_io::present::round_up;
use tradewind_io::present::svg::{Svg, percent};

use super::axis::{grid, over, plot, short, upwards};
use super::{HIGH, WIDE, begin};

/// What a price would have brought.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tried {
    /// Where it stands, from 0 to 1; ascending.
    pub(crate) place: f64,
    /// As a part of what was asked, as in `×2`; or the price itself.
    pub(crate) label: String,
    /// It stands under the picture.
    pub(crate) is_told: bool,
    /// The price in words, with its unit.
    pub(crate) price: String,
    /// Income in credits.
    pub(crate) income: f64,
    /// Percent of the pool's time.
    pub(crate) used: f64,
    /// It was asked.
    pub(crate) is_now: bool,
    /// More about it.
    pub(crate) note: String,
}

/// Both panels: top and height.
const INCOME: (i64, i64) = (30, 130);
const USE: (i64, i64) = (208, 90);
/// Where the lower one ends.
const BOTTOM: i64 = USE.0 + USE.1;

/// The curves; `title` for those who do not see them. Points are marked, what was asked is a line
/// from top to bottom, and the most income has its name: at the edge of what was tried, another one.
pub(crate) fn response(title: &str, tried: &[Tried]) -> String {
    let mut svg = begin("chart response", BOTTOM + 48, title);
    let best = tried.iter().map(|it| it.income).fold(0.0, f64::max);
    let max = round_up(best);
    let full = round_up(tried.iter().map(|it| it.used).fold(0.0, f64::max)).min(100.0);
    upwards(&mut svg, max, "income, credits", INCOME);
    upwards(&mut svg, full, "nodes used, %", USE);
    let income = |it: &Tried| it.income / max;
    let used = |it: &Tried| it.used / full;
    panel(&mut svg, INCOME, 0, tried, &income);
    panel(&mut svg, USE, 2, tried, &used);
    over(&mut svg, 0, BOTTOM + 48);
    for it in tried {
        marks(&mut svg, it, [(INCOME, income(it)), (USE, used(it))]);
    }
    if let Some(it) = tried.iter().find(|it| best > 0.0 && it.income >= best) {
        let y = height_of(INCOME, income(it)) - 9;
        let (anchor, dx) = if it.place > 0.5 { ("end", 8) } else { ("start", -8) };
        let x = percent(it.place);
        let look = format_args!(
            "class=\"strong\" x=\"{x}\" dx=\"{dx}\" y=\"{y}\" text-anchor=\"{anchor}\""
        );
        let ends = [tried.first(), tried.last()];
        let at_edge = ends.contains(&Some(it));
        svg.words("text", look, if at_edge { "most of those tried" } else { "most income" });
    }
    let y = BOTTOM + 40;
    let look = format_args!("class=\"unit\" x=\"50%\" y=\"{y}\" text-anchor=\"middle\"");
    svg.words("text", look, "price, as a part of the actual price");
    stops(&mut svg, tried, best);
    svg.close("svg");
    svg.close("svg");
    svg.finish()
}

/// Where a part of a panel's height ends.
fn height_of((top, height): (i64, i64), part: f64) -> i64 {
    top + height - (height as f64 * part.clamp(0.0, 1.0)).round() as i64
}

/// What is marked of a price: its points in both panels, its name, and whether it was asked.
fn marks(svg: &mut Svg, it: &Tried, points: [((i64, i64), f64); 2]) {
    let x = percent(it.place);
    let (class, radius) = if it.is_now { ("best present", 7) } else { ("best", 5) };
    if it.is_now {
        let top = INCOME.0;
        let ends = format_args!("x1=\"{x}\" x2=\"{x}\" y1=\"{top}\" y2=\"{BOTTOM}\"");
        svg.shape("line", format_args!("class=\"now\" {ends}"));
        let place = format_args!("x=\"{x}\" y=\"{}\" text-anchor=\"middle\"", top - 4);
        svg.words("text", format_args!("class=\"now\" {place}"), "current price");
    }
    for (panel, part) in points {
        let y = height_of(panel, part);
        let look = format_args!("class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"");
        svg.shape("circle", look);
    }
    if it.is_told {
        let y = BOTTOM + 18;
        let place = format_args!("x=\"{x}\" y=\"{y}\" text-anchor=\"middle\"");
        svg.words("text", place, &it.label);
    }
}

fn panel(
    svg: &mut Svg,
    place: (i64, i64),
    shade: usize,
    tried: &[Tried],
    part: &dyn Fn(&Tried) -> f64,
) {
    plot(svg, place);
    grid(svg);
    let mut path = String::new();
    for (at, it) in tried.iter().enumerate() {
        let (x, y) = (it.place * WIDE, HIGH - HIGH * part(it).clamp(0.0, 1.0));
        let _ = write!(path, "{}{x:.0} {y:.0}", if at == 0 { 'M' } else { 'L' });
    }
    svg.shape("path", format_args!("class=\"line s{shade}\" d=\"{path}\""));
    svg.close("svg");
}

/// Where one stops from price to price: halfway to its neighbours on both sides.
fn stops(svg: &mut Svg, tried: &[Tried], max: f64) {
    let (top, height) = (INCOME.0, BOTTOM - INCOME.0);
    for (at, it) in tried.iter().enumerate() {
        let before =
            at.checked_sub(1).and_then(|at| tried.get(at)).map_or(-it.place, |it| it.place);
        let behind = tried.get(at + 1).map_or(2.0 - it.place, |it| it.place);
        let (left, right) = ((before + it.place) / 2.0, (it.place + behind) / 2.0);
        let (x, wide) = (percent(left), percent(right - left));
        let look = format_args!(
            "class=\"col\" x=\"{x}\" width=\"{wide}\" y=\"{top}\" height=\"{height}\""
        );
        let (income, used) = (short(it.income, max), short(it.used, 100.0));
        let told =
            format!("{}; income: {income} credits; nodes used: {used} %; {}", it.price, it.note);
        svg.titled("rect", look, &told);
    }
}
