//! Ticks of the scales.

use tradewind_io::present::svg::{Svg, percent};
use tradewind_io::present::{self, time_step};

use super::{HIGH, LEFT, TOP, WIDE};
use crate::page::words::typeset;

/// A number with as many digits as it needs next to others of the size of `max`.
pub(crate) fn short(value: f64, max: f64) -> String {
    typeset(&present::beside(value, max))
}

/// Values upwards: three ticks with lines across, the unit above them. `top` and `height` in
/// pixels.
pub(super) fn upwards(svg: &mut Svg, max: f64, unit: &str, (top, height): (i64, i64)) {
    svg.words("text", format_args!("class=\"unit\" x=\"-{LEFT}\" y=\"{}\"", top - 12), unit);
    for part in [0.0, 0.5, 1.0] {
        let base = top + height - (height as f64 * part).round() as i64 + 4;
        let look = format_args!("x=\"-8\" y=\"{base}\" text-anchor=\"end\"");
        svg.words("text", look, &short(max * part, max));
    }
}

/// Lines across at the ticks, within the plot.
pub(super) fn grid(svg: &mut Svg) {
    for y in [0.0, HIGH / 2.0, HIGH] {
        svg.shape("path", format_args!("class=\"grid\" d=\"M0 {y}H{WIDE}\""));
    }
}

/// Ticks at most.
const MAX: i64 = 8;

/// Moments under the plot, of `height` pixels; scripts show them on another clock.
pub(super) fn across(svg: &mut Svg, (from, until): (i64, i64), height: i64) {
    let step = time_step(until - from, MAX);
    let (form, format) = if step >= 86_400 { ("day", "%m-%d") } else { ("hour", "%H:%M") };
    // Where there is little room, every other one of many is left out.
    let many = (until - from) / step > MAX / 2;
    let first = (from.div_euclid(step) + 1) * step;
    for (count, at) in (first..until).step_by(usize::try_from(step).unwrap_or(1)).enumerate() {
        let part = (at - from) as f64 / (until - from) as f64;
        // What would leave the picture is left out.
        if !(0.02..=0.98).contains(&part) {
            continue;
        }
        let class = if many && count % 2 == 1 { "tick odd" } else { "tick" };
        let look = format_args!(
            "class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\" data-at=\"{at}\" \
             data-form=\"{form}\"",
            percent(part),
            height + 18
        );
        let moment = jiff::Timestamp::from_second(at);
        let told = moment.map_or_else(|_| at.to_string(), |it| it.strftime(format).to_string());
        svg.words("text", look, &told);
    }
}

/// Where all plots begin.
pub(super) fn plot(svg: &mut Svg, (top, height): (i64, i64)) {
    let look = format_args!(
        "class=\"plot\" y=\"{top}\" height=\"{height}\" viewBox=\"0 0 {WIDE} {HIGH}\" \
         preserveAspectRatio=\"none\""
    );
    svg.open("svg", look);
}

/// What lies over them and is not stretched.
pub(super) fn over(svg: &mut Svg, top: i64, height: i64) {
    svg.open("svg", format_args!("class=\"over\" y=\"{top}\" height=\"{height}\""));
}

/// The usual plot's place.
pub(super) const PLACE: (i64, i64) = (TOP, 170);
