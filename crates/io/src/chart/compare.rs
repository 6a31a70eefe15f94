//! Policies side by side: one small panel of bars per measure.

use super::ink::{Ink, Rect, Style, fit, text_width};
use super::sheet::{self, HEAD, MARGIN, Pen, WIDTH};
use super::theme::{self, BODY, BOLD, DARK, EDGE, GRID, LINES, SMALL, USED};
use crate::present::grouped;
use crate::present::svg::num;
use crate::present::{self, Scale, Unit};

/// Policies beyond this number are left to the table.
const POLICIES_MOST: usize = 30;
/// Room for the names of policies.
const NAMES_LEAST: f64 = 110.0;
const NAMES_MOST: f64 = 340.0;
/// From this width of names on, two panels stand side by side instead of three.
const NAMES_WIDE: f64 = 230.0;
const ROW: f64 = 19.0;
const PANEL_HEAD: f64 = 40.0;
const PANEL_FOOT: f64 = 32.0;
const GAP: f64 = 26.0;
/// Room after the longest bar for its number.
const NUMBER: f64 = 66.0;

/// Measures of several policies.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Above the picture.
    pub title: String,
    /// The policies, from the top.
    pub policies: Vec<String>,
    /// Which of them are compared with each other: those of the same number. Empty: all.
    pub groups: Vec<usize>,
    /// What is marked as best, and why nothing else is; below the title.
    pub verdict: String,
    /// A panel each.
    pub measures: Vec<Measure>,
}

/// One measure of every policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    /// `mean wait`.
    pub name: String,
    /// What its values count.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// In the order of [`Comparison::policies`]; `None`, or a value that is not finite: unknown.
    pub values: Vec<Option<Estimate>>,
    /// In the same order: which of them are the best, for sure. Empty: none.
    pub best: Vec<bool>,
}

/// Which values are the better ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Low values are better.
    Lower,
    /// High values are better.
    Higher,
    /// That depends on who asks.
    Neither,
}

impl Better {
    /// In words; nothing for [`Better::Neither`].
    pub fn label(self) -> &'static str {
        match self {
            Better::Lower => "lower is better",
            Better::Higher => "higher is better",
            Better::Neither => "",
        }
    }
}

/// A value, or the mean of several runs with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value or the mean.
    pub mean: f64,
    /// The bounds of the 95 % interval, if there were several runs.
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// A value without an interval.
    pub fn exact(value: f64) -> Estimate {
        Estimate { mean: value, interval: None }
    }

    fn low(&self) -> f64 {
        self.interval.map_or(self.mean, |(low, _)| low.min(self.mean))
    }

    fn high(&self) -> f64 {
        self.interval.map_or(self.mean, |(_, high)| high.max(self.mean))
    }

    fn is_finite(&self) -> bool {
        self.low().is_finite() && self.high().is_finite()
    }
}

impl Comparison {
    pub(super) fn draw(&self, pen: &Pen) -> String {
        let some = |measure: &Measure| measure.values.iter().flatten().any(Estimate::is_finite);
        let measures: Vec<&Measure> = self.measures.iter().filter(|m| some(m)).collect();
        if measures.is_empty() || self.policies.is_empty() {
            return sheet::empty(pen, &self.title, "nothing ran");
        }
        let shown = self.policies.len().min(POLICIES_MOST);
        let all = grouped(self.policies.len());
        let subtitle = match shown {
            1 => "1 policy".to_owned(),
            _ if self.has_groups() => format!("{all} cases; {}", self.verdict),
            _ => format!("{all} policies; {}", self.verdict),
        };
        let mut ink = sheet::open(pen, &self.title, &subtitle);
        let height = PANEL_HEAD + shown as f64 * ROW + PANEL_FOOT;
        let names = self.names_width();
        let columns = if names < NAMES_WIDE { 3 } else { 2 }.min(measures.len());
        let width = (WIDTH - 2.0 * MARGIN - names - GAP * (columns - 1) as f64) / columns as f64;
        let (mut bottom, mut has_cut) = (HEAD, false);
        for (line, row) in measures.chunks(columns).enumerate() {
            let top = HEAD + line as f64 * (height + 14.0);
            self.names(&mut ink, (top + PANEL_HEAD, names), shown);
            for (column, measure) in row.iter().enumerate() {
                let x = MARGIN + names + column as f64 * (width + GAP);
                let place = Rect { x, y: top, width, height };
                has_cut |= measure.draw(&mut ink, place, shown);
            }
            bottom = top + height;
        }
        let mut notes = self.notes(&measures, shown);
        if has_cut {
            notes.push(
                "Bars with a slanted end are cut: whole, they would dwarf the others.".to_owned(),
            );
        }
        sheet::close(ink, pen, &self.title, &notes, bottom)
    }

    fn has_groups(&self) -> bool {
        self.groups.iter().any(|group| *group != self.groups[0])
    }

    /// Room for the widest name, as far as there is any.
    fn names_width(&self) -> f64 {
        let width = |name: &String| text_width(name, BODY.size) * 1.08 + 16.0;
        let widest = self.policies.iter().take(POLICIES_MOST).map(width).fold(0.0, f64::max);
        widest.clamp(NAMES_LEAST, NAMES_MOST)
    }

    fn names(&self, ink: &mut Ink, (top, width): (f64, f64), shown: usize) {
        for (index, name) in self.policies.iter().take(shown).enumerate() {
            let y = top + index as f64 * ROW;
            ink.text_cut((MARGIN, y + 13.5), BODY, name, (width - 16.0) / 1.08 + 0.01);
        }
    }

    fn notes(&self, measures: &[&Measure], shown: usize) -> Vec<String> {
        let mut notes = Vec::new();
        let intervals = |m: &&Measure| m.values.iter().flatten().any(|v| v.interval.is_some());
        if measures.iter().any(intervals) {
            notes.push(
                "Bars are means over all seeds; the line across a bar's end is its 95 % \
                        confidence interval."
                    .to_owned(),
            );
        }
        if shown < self.policies.len() {
            let hidden = grouped(self.policies.len() - shown);
            notes.push(format!("{hidden} more policies are not drawn; the table has them."));
        }
        let unknown: Vec<&str> = self
            .measures
            .iter()
            .filter(|m| !m.values.iter().flatten().any(Estimate::is_finite))
            .map(|m| m.name.as_str())
            .collect();
        if !unknown.is_empty() {
            notes.push(format!("Without a value under any policy: {}.", unknown.join(", ")));
        }
        notes
    }
}

impl Measure {
    fn known(&self, index: usize) -> Option<&Estimate> {
        self.values.get(index).and_then(Option::as_ref).filter(|value| value.is_finite())
    }

    /// Draws the panel; says whether a bar had to be cut.
    fn draw(&self, ink: &mut Ink, place: Rect, shown: usize) -> bool {
        let better = self.better.label();
        let room = place.width - text_width(better, SMALL.size) * 1.1 - 12.0;
        ink.text(place.x + place.width, place.y + 16.0, theme::end(SMALL), better);
        let known: Vec<&Estimate> = (0..shown).filter_map(|index| self.known(index)).collect();
        let axis = ValueAxis::new(self.unit, &known, place);
        let name = match axis.scale.label {
            "" => self.name.clone(),
            unit => format!("{}, {unit}", self.name),
        };
        ink.text_cut((place.x, place.y + 16.0), BOLD, &name, room / 1.12);
        let top = place.y + PANEL_HEAD;
        let bottom = top + shown as f64 * ROW;
        axis.draw(ink, top - 8.0, bottom + 2.0);
        for index in 0..shown.min(self.values.len()) {
            let y = top + index as f64 * ROW;
            let is_best = self.best.get(index).copied().unwrap_or(false);
            match self.known(index) {
                Some(value) => self.bar(ink, &axis, y, (value, is_best)),
                None => ink.text(axis.x(0.0) + 5.0, y + 13.5, SMALL, "no value"),
            }
        }
        known.iter().any(|value| axis.cuts(value.mean))
    }

    fn bar(&self, ink: &mut Ink, axis: &ValueAxis, y: f64, (value, is_best): (&Estimate, bool)) {
        let (from, to) = (axis.x(value.mean.min(0.0)), axis.x(value.mean.max(0.0)));
        let (height, thick) = (ROW - 7.0, if is_best { "1.8" } else { "0.6" });
        let look = format!("fill=\"{USED}\" stroke=\"{}\" stroke-width=\"{thick}\"", LINES[0].0);
        let title = format!("{}: {}", self.name, self.in_full(value));
        // A cut bar ends in a slant.
        let slant = if axis.cuts(value.mean) { 7.0 } else { 0.0 };
        let width = (to - from).max(0.75);
        let outline = format!(
            "M{} {}h{}l-{slant} {height}H{}z",
            num(from),
            num(y + 3.0),
            num(width + slant),
            num(from)
        );
        ink.path_titled(&outline, &look, &title);
        let mut after = to + slant + 6.0;
        if let Some((low, high)) = value.interval.filter(|_| !axis.cuts(value.mean)) {
            whisker(ink, (axis.x(low), axis.x(high)), y + ROW / 2.0 - 0.5);
            after = after.max(axis.x(high) + 6.0);
        }
        let style = if is_best { Style { size: SMALL.size, ..BOLD } } else { SMALL };
        let text = axis.scale.number(value.mean);
        ink.text(after, y + 13.0, style, &fit(&text, SMALL.size, NUMBER));
    }

    /// With its unit and its interval.
    fn in_full(&self, value: &Estimate) -> String {
        let mean = self.unit.say(value.mean);
        match value.interval {
            Some((low, high)) => {
                format!("{mean} ({} to {})", self.unit.say(low), self.unit.say(high))
            }
            None => mean,
        }
    }
}

fn whisker(ink: &mut Ink, (low, high): (f64, f64), y: f64) {
    let look = format!("stroke=\"{DARK}\" stroke-width=\"1.3\"");
    ink.line((low, y), (high, y), &look);
    for end in [low, high] {
        ink.line((end, y - 3.0), (end, y + 3.0), &look);
    }
}

/// A value axis that runs to the right and has a zero.
struct ValueAxis {
    scale: Scale,
    left: f64,
    width: f64,
    /// In the unit of `scale`.
    ticks: Vec<f64>,
}

impl ValueAxis {
    fn new(unit: Unit, known: &[&Estimate], place: Rect) -> ValueAxis {
        let limit = outliers_from(known);
        let kept = || known.iter().filter(|value| value.mean <= limit);
        let low = kept().map(|value| value.low()).fold(0.0, f64::min);
        let high = kept().map(|value| value.high()).fold(0.0, f64::max);
        let scale = Scale::new(unit, high.max(-low));
        let ticks = present::ticks(low / scale.size, high / scale.size, 4);
        ValueAxis { scale, left: place.x, width: place.width - NUMBER, ticks }
    }

    /// Where `value` is, within the axis.
    fn x(&self, value: f64) -> f64 {
        let (low, high) = self.ends();
        let share = (value / self.scale.size - low) / (high - low);
        self.left + share.clamp(0.0, 1.0) * self.width
    }

    fn ends(&self) -> (f64, f64) {
        (self.ticks[0], self.ticks[self.ticks.len() - 1])
    }

    fn cuts(&self, value: f64) -> bool {
        value / self.scale.size > self.ends().1 * (1.0 + 1e-9)
    }

    fn draw(&self, ink: &mut Ink, top: f64, bottom: f64) {
        let look = |colour: &str| format!("stroke=\"{colour}\"");
        let mut free_from = f64::MIN;
        for &tick in &self.ticks {
            let value = tick * self.scale.size;
            let x = self.x(value);
            let colour = if tick == 0.0 { EDGE } else { GRID };
            ink.line((x, top), (x, bottom), &look(colour));
            let label = self.scale.number(value);
            let half = text_width(&label, SMALL.size) / 2.0;
            if x - half >= free_from {
                free_from = x + half + 6.0;
                ink.text(x, bottom + 14.0, theme::middle(SMALL), &label);
            }
        }
    }
}

/// The value beyond which bars are cut: where a few dwarf the others, nothing else could be told
/// apart. Infinite unless some value is above five times the median of at least three.
fn outliers_from(known: &[&Estimate]) -> f64 {
    const TIMES: f64 = 5.0;
    let mut means: Vec<f64> = known.iter().map(|value| value.mean).collect();
    means.sort_by(f64::total_cmp);
    match means.get(means.len() / 2) {
        Some(median) if means.len() > 2 && *median > 0.0 => median * TIMES,
        _ => f64::INFINITY,
    }
}
