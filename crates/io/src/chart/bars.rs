//! Shares of the jobs of each class: a group of bars per class, a bar per policy.

use super::compare::Estimate;
use super::ink::{Ink, Rect, Style};
use super::panel::Panel;
use super::sheet::{self, HEAD, Key, MARGIN, Pen, Swatch, WIDTH};
use super::theme::{self, BODY, DARK, FILLS, GREY, PAPER, SMALL};
use crate::present::Unit;

/// Policies beyond this number are left to the table: fills come twice, full and hollow.
const POLICIES_MOST: usize = 2 * FILLS.len();
const LEFT: f64 = 64.0;
const HEIGHT: f64 = 230.0;
/// From the foot of a panel to the next one's frame.
const APART: f64 = 84.0;
/// The widest bar.
const WIDE: f64 = 34.0;

/// Shares of several policies, by class.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Above the picture.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// The policies, in the order of bars.
    pub policies: Vec<String>,
    /// One below the other.
    pub panels: Vec<Classes>,
}

/// A panel: its classes from the left.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// Above the panel.
    pub name: String,
    /// A group of bars each.
    pub classes: Vec<ClassOfJobs>,
}

/// One class of jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassOfJobs {
    /// Bounds of the class, as text.
    pub label: String,
    /// How many jobs are in it.
    pub size: String,
    /// Shares from 0 to 1, in the order of [`Bars::policies`]; `None`, or a value that is not
    /// finite: unknown.
    pub shares: Vec<Option<Estimate>>,
}

impl Bars {
    pub(super) fn draw(&self, pen: &Pen) -> String {
        if self.policies.is_empty() || self.panels.is_empty() {
            return sheet::empty(pen, &self.title, "nothing ran");
        }
        let mut ink = sheet::open(pen, &self.title, &self.subtitle);
        let names = self.policies.iter().take(POLICIES_MOST).enumerate();
        let keys: Vec<Key> = names
            .map(|(index, name)| Key { swatch: Swatch::Box(look(index)), text: name.clone() })
            .collect();
        let top = sheet::legend(&mut ink, &keys, HEAD) + 30.0;
        for (index, classes) in self.panels.iter().enumerate() {
            let y = top + index as f64 * (HEIGHT + APART);
            let frame = Rect { x: LEFT, y, width: WIDTH - MARGIN - LEFT, height: HEIGHT };
            self.panel(&mut ink, classes, frame);
        }
        let bottom = top + self.panels.len() as f64 * (HEIGHT + APART) - APART + 44.0;
        sheet::close(ink, pen, &self.title, &self.notes(), bottom)
    }

    fn panel(&self, ink: &mut Ink, classes: &Classes, frame: Rect) {
        let panel = Panel { frame, low: 0.0, high: 1.0 };
        let tick = |i: u32| {
            let share = f64::from(i) / 4.0;
            (share, Unit::Share.say(share))
        };
        panel.values(ink, &classes.name, &(0..=4).map(tick).collect::<Vec<_>>());
        let room = frame.width / classes.classes.len().max(1) as f64;
        for (index, class) in classes.classes.iter().enumerate() {
            self.group(ink, &panel, class, (frame.x + index as f64 * room, room));
        }
        panel.ground(ink);
    }

    fn group(&self, ink: &mut Ink, panel: &Panel, class: &ClassOfJobs, (x, room): (f64, f64)) {
        let (middle, bottom) = (x + room / 2.0, panel.y(0.0));
        ink.text(middle, bottom + 17.0, theme::middle(BODY), &class.label);
        ink.text(middle, bottom + 33.0, Style { fill: GREY, ..theme::middle(SMALL) }, &class.size);
        let shown = self.policies.len().min(POLICIES_MOST);
        let wide = (room * 0.86 / shown as f64).min(WIDE);
        let left = middle - wide * shown as f64 / 2.0;
        let known = |index: usize| {
            let share = class.shares.get(index).copied().flatten();
            share.filter(|share| share.mean.is_finite())
        };
        for index in 0..shown {
            let Some(share) = known(index) else { continue };
            let x = left + index as f64 * wide;
            let (y, width) = (panel.y(share.mean), wide - if wide > 8.0 { 2.0 } else { 0.5 });
            let bar = Rect { x, y, width, height: (bottom - y).max(0.75) };
            ink.rect_titled(bar, &look(index), &self.says(index, class, share));
            if let Some((low, high)) = share.interval.filter(|(low, high)| low < high) {
                whisker(ink, x + width / 2.0, (panel.y(low), panel.y(high)), width);
            }
        }
        if (0..shown).all(|index| known(index).is_none()) {
            ink.text(middle, bottom - 8.0, theme::middle(SMALL), "no jobs");
        }
    }

    fn says(&self, index: usize, class: &ClassOfJobs, share: Estimate) -> String {
        let mean = Unit::Share.say(share.mean);
        let range = share.interval.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", Unit::Share.say(low), Unit::Share.say(high))
        });
        format!("{}, {}: {mean}{range}", self.policies[index], class.label)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let shares = self.panels.iter().flat_map(|panel| &panel.classes).flat_map(|it| &it.shares);
        if shares.flatten().any(|share| share.interval.is_some()) {
            notes.push(
                "Bars are means over all seeds; the line across a bar's end is its 95 % \
                 confidence interval."
                    .to_owned(),
            );
        }
        let hidden = self.policies.len().saturating_sub(POLICIES_MOST);
        if hidden > 0 {
            notes.push(format!("{hidden} more policies are not drawn; the table has them."));
        }
        notes
    }
}

/// The first round of fills is full, the second hollow.
fn look(index: usize) -> String {
    let (fill, edge) = FILLS[index % FILLS.len()];
    match index < FILLS.len() {
        true => format!("fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"0.8\""),
        false => format!("fill=\"{PAPER}\" stroke=\"{edge}\" stroke-width=\"1.8\""),
    }
}

/// A line with ends, on a rim of paper that sets it off from the bar below.
fn whisker(ink: &mut Ink, x: f64, (low, high): (f64, f64), width: f64) {
    let half = (width / 4.0).clamp(1.5, 4.0);
    for (colour, thick) in [(PAPER, "3.4"), (DARK, "1.3")] {
        let look = format!("stroke=\"{colour}\" stroke-width=\"{thick}\"");
        ink.line((x, low), (x, high), &look);
        for end in [low, high] {
            ink.line((x - half, end), (x + half, end), &look);
        }
    }
}
