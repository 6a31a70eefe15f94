//! Values over time as step lines, and values against a price: SVG with labels at the lines.

use std::fmt::Write as _;

use super::words;

const WIDTH: i64 = 640;
const HEIGHT: i64 = 220;
const LEFT: i64 = 70;
const RIGHT: i64 = 110;
const TOP: i64 = 14;
const BOTTOM: i64 = 30;
/// Lines are told apart by dashes, too.
const DASHES: [&str; 4] = ["", "6 3", "2 3", "8 3 2 3"];

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// At its end.
    pub(crate) name: String,
    /// One per span, not below 0.
    pub(crate) values: Vec<f64>,
}

/// What all lines share.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// For those who do not see it.
    pub(crate) title: String,
    /// Of the values.
    pub(crate) unit: &'static str,
    /// When the first span begins, seconds since 1970.
    pub(crate) from: i64,
    /// Of a span, seconds.
    pub(crate) step: i64,
    /// The scale's end; `None`: the largest value.
    pub(crate) most: Option<f64>,
}

fn escaped(text: &str) -> String {
    let escaped = askama::filters::escape(text, askama::filters::Html);
    escaped.map(|it| it.to_string()).unwrap_or_default()
}

/// A number with at most two decimals.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The lines over time.
pub(crate) fn over_time(frame: &Frame, lines: &[Line]) -> String {
    let spans = lines.iter().map(|line| line.values.len()).max().unwrap_or(0).max(1);
    let largest = lines.iter().flat_map(|line| &line.values).copied().fold(0.0, f64::max);
    let most = frame.most.unwrap_or(largest).max(f64::MIN_POSITIVE);
    let (right, low) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let x = |span: usize| LEFT + (right - LEFT) * span as i64 / spans as i64;
    let y = |value: f64| low - ((low - TOP) as f64 * (value / most).min(1.0)).round() as i64;
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escaped(&frame.title)
    );
    let _ = write!(svg, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{low}H{right}\"/>");
    let mut labels: Vec<(i64, String)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut path = String::new();
        for (span, value) in line.values.iter().enumerate() {
            let level = y(*value);
            let begin = if span == 0 { format!("M{LEFT} {level}") } else { format!("V{level}") };
            let _ = write!(path, "{begin}H{}", x(span + 1));
        }
        let (shade, dash) = (at % 4, DASHES[at % DASHES.len()]);
        let _ =
            write!(svg, "<path class=\"line s{shade}\" stroke-dasharray=\"{dash}\" d=\"{path}\"/>");
        labels.push((y(line.values.last().copied().unwrap_or(0.0)) + 4, line.name.clone()));
    }
    // Labels that would meet are moved apart, downwards.
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|at| labels[*at].0);
    let mut free = i64::MIN;
    for at in order {
        let place = labels[at].0.max(free);
        free = place + 14;
        let name = escaped(&labels[at].1);
        let _ = write!(
            svg,
            "<text class=\"s{}\" x=\"{}\" y=\"{place}\">{name}</text>",
            at % 4,
            right + 8
        );
    }
    for (value, place) in [(0.0, low), (most, TOP + 6)] {
        let text = format!("{} {}", short(value), frame.unit);
        let _ =
            write!(svg, "<text x=\"{}\" y=\"{place}\" text-anchor=\"end\">{text}</text>", LEFT - 6);
    }
    let until = frame.from + frame.step * spans as i64;
    for (place, at, anchor) in [(LEFT, frame.from, "start"), (right, until, "end")] {
        let text = words::stamp(at);
        let _ = write!(
            svg,
            "<text x=\"{place}\" y=\"{}\" text-anchor=\"{anchor}\">{text}</text>",
            HEIGHT - 8
        );
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_names_units_and_ends() {
        let frame = Frame { title: "a<b".to_owned(), unit: "%", from: 0, step: 3_600, most: None };
        let line =
            |name: &str, values: &[f64]| Line { name: name.to_owned(), values: values.to_vec() };
        let svg = over_time(&frame, &[line("alpha", &[0.0, 50.0]), line("beta", &[1.0, 50.0])]);
        assert!(svg.contains("a&lt;b") || svg.contains("a&#60;b"), "{svg}");
        for part in ["alpha</text>", "beta</text>", "50 %", "1970-01-01 00:00 UTC", "02:00 UTC"] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert!(over_time(&frame, &[]).ends_with("</svg>"));
    }
}
