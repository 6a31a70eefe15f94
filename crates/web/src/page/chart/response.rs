//! What answers to a price: income above, use below, both against the price.

use std::fmt::Write as _;

use super::axis::{grid, over, plot, round_up, short, upwards};
use super::{HIGH, WIDE, escaped, percent};

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
    /// Credits.
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

/// The curves; `title` for those who do not see them. Points are marked, what was asked is a line
/// from top to bottom, and the most income has its name.
pub(crate) fn response(title: &str, tried: &[Tried]) -> String {
    let bottom = USE.0 + USE.1;
    let mut svg = format!(
        "<svg class=\"chart response\" height=\"{}\" role=\"img\" tabindex=\"0\" aria-label=\"{}\">",
        bottom + 48,
        escaped(title)
    );
    let max = round_up(tried.iter().map(|it| it.income).fold(0.0, f64::max));
    let full = round_up(tried.iter().map(|it| it.used).fold(0.0, f64::max)).min(100.0);
    let best = tried.iter().map(|it| it.income).fold(0.0, f64::max);
    upwards(&mut svg, max, "income, credits", INCOME);
    upwards(&mut svg, full, "nodes used, %", USE);
    let income = |it: &Tried| it.income / max;
    let used = |it: &Tried| it.used / full;
    panel(&mut svg, INCOME, 0, tried, &income);
    panel(&mut svg, USE, 2, tried, &used);
    over(&mut svg, 0, bottom + 48);
    for it in tried {
        let x = percent(it.place);
        if it.is_now {
            let _ = write!(
                svg,
                "<line class=\"now\" x1=\"{x}\" x2=\"{x}\" y1=\"{}\" y2=\"{bottom}\"/>\
                 <text class=\"now\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">as asked</text>",
                INCOME.0,
                INCOME.0 - 4
            );
        }
        let class = if it.is_now { "best present" } else { "best" };
        for ((top, height), part) in [(INCOME, income(it)), (USE, used(it))] {
            let y = top + height - (height as f64 * part.clamp(0.0, 1.0)).round() as i64;
            let radius = if it.is_now { 7 } else { 5 };
            let _ = write!(svg, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>");
        }
        if it.is_told {
            let _ = write!(
                svg,
                "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 18,
                escaped(&it.label)
            );
        }
    }
    if let Some(it) = tried.iter().find(|it| best > 0.0 && it.income >= best) {
        let y = INCOME.0 + INCOME.1 - (INCOME.1 as f64 * income(it)).round() as i64;
        let (anchor, dx) = if it.place > 0.5 { ("end", 8) } else { ("start", -8) };
        let _ = write!(
            svg,
            "<text class=\"strong\" x=\"{}\" dx=\"{dx}\" y=\"{}\" text-anchor=\"{anchor}\">most income</text>",
            percent(it.place),
            y - 9
        );
    }
    let _ = write!(
        svg,
        "<text class=\"unit\" x=\"50%\" y=\"{}\" text-anchor=\"middle\">price, as a part of what was asked</text>",
        bottom + 40
    );
    stops(&mut svg, tried, bottom - INCOME.0);
    svg + "</svg></svg>"
}

fn panel(
    svg: &mut String,
    (top, height): (i64, i64),
    shade: usize,
    tried: &[Tried],
    part: &dyn Fn(&Tried) -> f64,
) {
    plot(svg, top, height);
    grid(svg);
    let mut path = String::new();
    for (at, it) in tried.iter().enumerate() {
        let (x, y) = (it.place * WIDE, HIGH - HIGH * part(it).clamp(0.0, 1.0));
        let _ = write!(path, "{}{x:.0} {y:.0}", if at == 0 { 'M' } else { 'L' });
    }
    let _ = write!(svg, "<path class=\"line s{shade}\" d=\"{path}\"/></svg>");
}

/// Where one stops from price to price: halfway to its neighbours on both sides.
fn stops(svg: &mut String, tried: &[Tried], height: i64) {
    let max = tried.iter().map(|it| it.income).fold(0.0, f64::max);
    for (at, it) in tried.iter().enumerate() {
        let before =
            at.checked_sub(1).and_then(|at| tried.get(at)).map_or(-it.place, |it| it.place);
        let behind = tried.get(at + 1).map_or(2.0 - it.place, |it| it.place);
        let (left, right) = ((before + it.place) / 2.0, (it.place + behind) / 2.0);
        let _ = write!(
            svg,
            "<rect class=\"col\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"{height}\"><title>{}; income: \
             {} credits; nodes used: {} %; {}</title></rect>",
            percent(left),
            percent(right - left),
            INCOME.0,
            escaped(&it.price),
            short(it.income, max),
            short(it.used, 100.0),
            escaped(&it.note)
        );
    }
}
