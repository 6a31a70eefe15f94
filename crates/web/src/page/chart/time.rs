//! Values over time: step lines, and areas on top of each other.

use std::fmt::Write as _;

use tradewind_io::present::round_up;
use tradewind_io::present::svg::{Svg, percent};

use super::axis::{PLACE, across, grid, over, plot, short, upwards};
use super::{HIGH, SHADES, WIDE, begin, fill};
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
pub(crate) struct StepLine {
    /// Name in the legend.
    pub(crate) name: String,
    /// From when on, ascending; `None`: nothing is known.
    pub(crate) steps: Vec<(i64, Option<f64>)>,
    /// Which colour and dashes.
    pub(crate) shade: usize,
}

/// A part of a whole, by span.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layer {
    /// Name in the legend.
    pub(crate) name: String,
    /// The class of its colour.
    pub(crate) kind: &'static str,
    /// Between the frame's stops; `None`: nothing is known.
    pub(crate) values: Vec<Option<f64>>,
}

impl StepLine {
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

    fn begin(&self, max: f64) -> Svg {
        let (top, height) = PLACE;
        let mut svg = begin("chart", top + height + 26, &self.title);
        upwards(&mut svg, max, self.unit, PLACE);
        let y = top - 12;
        let look = format_args!("class=\"unit zone\" x=\"100%\" y=\"{y}\" text-anchor=\"end\"");
        svg.words("text", look, "UTC");
        plot(&mut svg, PLACE);
        grid(&mut svg);
        svg
    }

    /// Ends the plot; puts over it the tooltip of each stop.
    fn end(&self, mut svg: Svg, under: &Svg, told: impl Fn(usize) -> Vec<String>) -> String {
        let (top, height) = PLACE;
        if let Some(now) = self.now {
            let x = self.x(now) * WIDE;
            svg.shape("path", format_args!("class=\"now\" d=\"M{x:.0} 0V{HIGH}\""));
        }
        svg.close("svg");
        over(&mut svg, top, height + 26);
        svg.append(under);
        if let Some(now) = self.now {
            let x = percent(self.x(now));
            let look = format_args!("class=\"now\" x=\"{x}\" dx=\"5\" y=\"12\"");
            svg.words("text", look, "now");
        }
        across(&mut svg, self.span, height);
        for (stop, at) in self.stops.iter().enumerate() {
            let (x, wide) = self.stop(stop);
            let parts = told(stop);
            let parts = match parts.is_empty() {
                true => "nothing is known".to_owned(),
                false => parts.join("; "),
            };
            let look = format_args!(
                "class=\"col\" x=\"{x}\" width=\"{wide}\" y=\"0\" height=\"{height}\" data-at=\"{at}\""
            );
            svg.titled("rect", look, &format!("{}; {parts}", words::stamp(*at)));
        }
        svg.close("svg");
        svg.close("svg");
        svg.finish()
    }
}

/// Step lines over time.
pub(crate) fn lines(frame: &Frame, all: &[StepLine]) -> String {
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
                svg.shape("path", format_args!("class=\"{class} s{shade}\" d=\"{path}\""));
            }
        }
    }
    frame.end(svg, &Svg::new(), |stop| {
        let at = frame.stops.get(stop).copied().unwrap_or_default();
        let known = all.iter().filter_map(|line| Some((line, line.at(at)?)));
        known.map(|(line, value)| format!("{}: {}", line.name, short(value, value))).collect()
    })
}

fn stepped(frame: &Frame, line: &StepLine, (from, until): (i64, i64), max: f64) -> String {
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
    let mut drawn = Svg::new();
    for layer in layers {
        let fill = fill(layer.kind);
        for (stop, value) in layer.values.iter().enumerate() {
            let (Some(value), Some(low)) = (value, floor.get_mut(stop)) else { continue };
            let (bottom, top) = (y(*low), y(*low + value));
            *low += value;
            // What is there is seen: a pixel at least.
            let tall = if *value > 0.0 { (bottom - top).max(1) } else { 0 };
            if tall > 0 {
                let (x, wide) = frame.stop(stop);
                let top = bottom - tall;
                let place =
                    format_args!("x=\"{x}\" width=\"{wide}\" y=\"{top}\" height=\"{tall}\"");
                drawn.shape("rect", format_args!("{fill} {place}"));
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
