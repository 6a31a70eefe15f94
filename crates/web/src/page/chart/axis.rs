//! Scales and their ticks.

use std::fmt::Write as _;

use super::{HIGH, LEFT, TOP, WIDE, percent};

/// A round number that is not below `largest`, which is not below 0.
pub(super) fn round_up(largest: f64) -> f64 {
    if largest <= 0.0 || !largest.is_finite() {
        return 1.0;
    }
    let size = 10_f64.powf(largest.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let fits = |step: &f64| step * size >= largest * (1.0 - 1e-9);
    steps.into_iter().find(fits).unwrap_or(10.0) * size
}

/// A number with as many digits as it needs next to others of the size of `max`.
pub(crate) fn short(value: f64, max: f64) -> String {
    let digits = (2.0 - max.max(f64::MIN_POSITIVE).log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    let (sign, rest) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("−", rest));
    let (whole, part) = rest.split_once('.').unwrap_or((rest, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), super::super::words::grouped);
    match part {
        "" => format!("{sign}{whole}"),
        part => format!("{sign}{whole}.{part}"),
    }
}

/// Values upwards: three ticks with lines across, the unit above them. `top` and `height` in
/// pixels.
pub(super) fn upwards(svg: &mut String, max: f64, unit: &str, (top, height): (i64, i64)) {
    let _ = write!(svg, "<text class=\"unit\" x=\"-{LEFT}\" y=\"{}\">{unit}</text>", top - 12);
    for part in [0.0, 0.5, 1.0] {
        let y = top + height - (height as f64 * part).round() as i64;
        let text = short(max * part, max);
        let base = y + 4;
        let _ = write!(svg, "<text x=\"-8\" y=\"{base}\" text-anchor=\"end\">{text}</text>");
    }
}

/// Lines across at the ticks, within the plot.
pub(super) fn grid(svg: &mut String) {
    for y in [0.0, HIGH / 2.0, HIGH] {
        let _ = write!(svg, "<path class=\"grid\" d=\"M0 {y}H{WIDE}\"/>");
    }
}

/// Lengths between ticks of time, seconds.
const STEPS: [i64; 12] =
    [300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800];
/// Ticks at most.
const MAX: i64 = 8;

/// Moments under the plot, of `height` pixels; scripts tell them on another clock.
pub(super) fn across(svg: &mut String, from: i64, until: i64, height: i64) {
    let fits = |step: &&i64| (until - from) / **step <= MAX;
    let step = *STEPS.iter().find(fits).unwrap_or(&STEPS[STEPS.len() - 1]);
    let form = if step >= 86_400 { "day" } else { "hour" };
    let mut at = (from.div_euclid(step) + 1) * step;
    // Where there is little room, every other one of many is left out.
    let many = (until - from) / step > MAX / 2;
    let mut odd = false;
    while at < until {
        let part = (at - from) as f64 / (until - from) as f64;
        // What would leave the picture is left out.
        if (0.02..=0.98).contains(&part) {
            let (x, class) = (percent(part), if odd { "tick odd" } else { "tick" });
            let text = tick(at, form);
            let _ = write!(
                svg,
                "<text class=\"{class}\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\" data-at=\"{at}\" \
                 data-form=\"{form}\">{text}</text>",
                height + 18
            );
        }
        odd = many && !odd;
        at += step;
    }
}

/// A moment on an axis: its day, or its hour.
fn tick(at: i64, form: &str) -> String {
    let format = if form == "day" { "%m-%d" } else { "%H:%M" };
    jiff::Timestamp::from_second(at)
        .map_or_else(|_| at.to_string(), |it| it.strftime(format).to_string())
}

/// Where all plots begin.
pub(super) fn plot(svg: &mut String, top: i64, height: i64) {
    let _ = write!(
        svg,
        "<svg class=\"plot\" y=\"{top}\" height=\"{height}\" viewBox=\"0 0 {WIDE} {HIGH}\" \
         preserveAspectRatio=\"none\">"
    );
}

/// What lies over them and is not stretched.
pub(super) fn over(svg: &mut String, top: i64, height: i64) {
    let _ = write!(svg, "<svg class=\"over\" y=\"{top}\" height=\"{height}\">");
}

/// The usual plot's place.
pub(super) const PLACE: (i64, i64) = (TOP, 170);
