//! Values over time: step lines, and areas on top of each other.

use std::fmt::Write as _;

use super::axis::{PLACE, across, grid, over, plot, round_up, short, upwards};
use super::{HIGH, SHADES, WIDE, escaped, is_hatched, percent};
use crate::page::words;

/// What all that is drawn shares.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// For those who do not see it.
    pub(crate) title: String,
    /// Of the values.
    pub(crate) unit: &'static str,
    /// Both ends, seconds since 1970.
    pub(crate) span: (i64, i64),
    /// Where what was ends and what is planned begins, if that is within.
    pub(crate) now: Option<i64>,
    /// The scale's end; `None`: above the largest value.
    pub(crate) max: Option<f64>,
    /// Where one stops when one looks from value to value.
    pub(crate) stops: Vec<i64>,
}

/// A value that steps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// Of what.
    pub(crate) name: String,
    /// From when on, ascending; `None`: nothing is known.
    pub(crate) steps: Vec<(i64, Option<f64>)>,
    /// Which colour and dashes.
    pub(crate) shade: usize,
}

/// A part of a whole, by span.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layer {
    /// Of what.
    pub(crate) name: String,
    /// The class of its colour.
    pub(crate) kind: &'static str,
    /// Between the frame's stops; `None`: nothing is known.
    pub(crate) values: Vec<Option<f64>>,
}

impl Line {
    fn at(&self, moment: i64) -> Option<f64> {
        let behind = self.steps.partition_point(|(from, _)| *from <= moment);
        self.steps.get(behind.checked_sub(1)?)?.1
    }
}

impl Frame {
    fn x(&self, at: i64) -> f64 {
        let (from, until) = self.span;
        let at = at.clamp(from, until);
        (at - from) as f64 / ((until - from).max(1)) as f64
    }

    /// Where a stop's span begins, and how wide it is.
    fn stop(&self, stop: usize) -> (String, String) {
        let begin = self.stops.get(stop).copied().unwrap_or(self.span.1);
        let next = self.stops.get(stop + 1).copied().unwrap_or(self.span.1);
        (percent(self.x(begin)), percent(self.x(next) - self.x(begin)))
    }

    fn begin(&self, max: f64) -> String {
        let (top, height) = PLACE;
        let title = escaped(&self.title);
        let mut svg = format!(
            "<svg class=\"chart\" height=\"{}\" role=\"img\" tabindex=\"0\" aria-label=\"{title}\">",
            top + height + 26
        );
        upwards(&mut svg, max, self.unit, PLACE);
        let _ = write!(
            svg,
            "<text class=\"unit zone\" x=\"100%\" y=\"{}\" text-anchor=\"end\">UTC</text>",
            top - 12
        );
        plot(&mut svg, top, height);
        grid(&mut svg);
        svg
    }

    /// Ends the plot; puts over it what is told at each stop.
    fn end(&self, mut svg: String, under: &str, told: impl Fn(usize) -> Vec<String>) -> String {
        let (top, height) = PLACE;
        if let Some(now) = self.now {
            let x = self.x(now) * WIDE;
            let _ = write!(svg, "<path class=\"now\" d=\"M{x:.0} 0V{HIGH}\"/>");
        }
        svg.push_str("</svg>");
        over(&mut svg, top, height + 26);
        svg.push_str(under);
        if let Some(now) = self.now {
            let x = percent(self.x(now));
            let _ = write!(svg, "<text class=\"now\" x=\"{x}\" dx=\"5\" y=\"12\">now</text>");
        }
        across(&mut svg, self.span.0, self.span.1, height);
        for (stop, at) in self.stops.iter().enumerate() {
            let (x, wide) = self.stop(stop);
            let parts = told(stop);
            let parts = match parts.is_empty() {
                true => "nothing is known".to_owned(),
                false => parts.join("; "),
            };
            let _ = write!(
                svg,
                "<rect class=\"col\" x=\"{x}\" width=\"{wide}\" y=\"0\" height=\"{height}\" data-at=\"{at}\">\
                 <title>{}; {}</title></rect>",
                words::stamp(*at),
                escaped(&parts)
            );
        }
        svg + "</svg></svg>"
    }
}

/// Step lines over time.
pub(crate) fn lines(frame: &Frame, all: &[Line]) -> String {
    let values = all.iter().flat_map(|line| line.steps.iter().filter_map(|(_, value)| *value));
    let max = frame.max.unwrap_or_else(|| round_up(values.fold(0.0, f64::max)));
    let mut svg = frame.begin(max);
    for line in all {
        // What is ahead is drawn otherwise than what was.
        let now = frame.now.unwrap_or(frame.span.1);
        for (class, from, until) in [("line", frame.span.0, now), ("line ahead", now, frame.span.1)]
        {
            let path = stepped(frame, line, (from, until), max);
            if !path.is_empty() {
                let shade = line.shade % SHADES;
                let _ = write!(svg, "<path class=\"{class} s{shade}\" d=\"{path}\"/>");
            }
        }
    }
    frame.end(svg, "", |stop| {
        let at = frame.stops.get(stop).copied().unwrap_or_default();
        let known = all.iter().filter_map(|line| Some((line, line.at(at)?)));
        known.map(|(line, value)| format!("{}: {}", line.name, short(value, value))).collect()
    })
}

fn stepped(frame: &Frame, line: &Line, (from, until): (i64, i64), max: f64) -> String {
    let mut path = String::new();
    if from >= until {
        return path;
    }
    let begin = (from, line.at(from));
    let inside = line.steps.iter().copied().filter(|(at, _)| *at > from && *at < until);
    let mut steps: Vec<(i64, Option<f64>)> = vec![begin];
    steps.extend(inside);
    steps.push((until, None));
    let mut pen = false;
    for pair in steps.windows(2) {
        let ((start, value), (end, _)) = (pair[0], pair[1]);
        let Some(value) = value else {
            pen = false;
            continue;
        };
        let y = HIGH - HIGH * (value / max).clamp(0.0, 1.0);
        let (x, right) = (frame.x(start) * WIDE, frame.x(end) * WIDE);
        let _ = match pen {
            true => write!(path, "V{y:.0}H{right:.0}"),
            false => write!(path, "M{x:.0} {y:.0}H{right:.0}"),
        };
        pen = true;
    }
    path
}

/// Parts of a whole over time, the first at the bottom.
pub(crate) fn areas(frame: &Frame, layers: &[Layer]) -> String {
    let sum = |stop: usize| {
        layers.iter().filter_map(|it| it.values.get(stop).copied().flatten()).sum::<f64>()
    };
    let largest = (0..frame.stops.len()).map(sum).fold(0.0, f64::max);
    let max = frame.max.unwrap_or_else(|| round_up(largest));
    let (_, height) = PLACE;
    let y = |value: f64| (height as f64 * (1.0 - (value / max).clamp(0.0, 1.0))).round() as i64;
    let mut floor = vec![0.0; frame.stops.len()];
    let mut drawn = String::new();
    for layer in layers {
        let kind = layer.kind;
        // A hatch brings its own colour.
        let fill = match is_hatched(kind) {
            true => format!("fill=\"url(#hatch-{kind})\""),
            false => format!("class=\"area {kind}\""),
        };
        for (stop, value) in layer.values.iter().enumerate() {
            let (Some(value), Some(low)) = (value, floor.get_mut(stop)) else { continue };
            let (bottom, top) = (y(*low), y(*low + value));
            *low += value;
            // What is there is seen: a pixel at least.
            let tall = if *value > 0.0 { (bottom - top).max(1) } else { 0 };
            if tall > 0 {
                let (x, wide) = frame.stop(stop);
                let top = bottom - tall;
                let _ = write!(
                    drawn,
                    "<rect {fill} x=\"{x}\" width=\"{wide}\" y=\"{top}\" height=\"{tall}\"/>"
                );
            }
        }
    }
    frame.end(frame.begin(max), &drawn, |stop| {
        let known = layers.iter().filter_map(|it| Some((it, it.values.get(stop).copied()??)));
        known
            .map(|(it, value)| format!("{}: {} {}", it.name, short(value, max), frame.unit))
            .collect()
    })
}
