//! Every job as its own shape.

use std::fmt::Write as _;

use tradewind_model::Time;

use super::draw::Place;
use super::{GanttBar, Paint};
use crate::chart::ink::{Ink, Style, text_width};
use crate::chart::replay::RunFate;
use crate::chart::theme::{self, BODY, ON_FILL, SMALL};
use crate::present::svg::num;

/// Letters on bars: more are noise.
const LABELS_MOST: usize = 200;
/// A bar is at least this wide, so that the shortest job is seen.
const WIDTH_LEAST: f64 = 0.6;

/// Draws all bars, then the marks at the ends of jobs, then names.
pub(super) fn draw(ink: &mut Ink, place: &Place<'_>, bars: &[GanttBar]) {
    for paint in bars.chunk_by(|a, b| a.paint == b.paint) {
        let Some(first) = paint.first() else { continue };
        ink.raw(&format!("<g {}>", place.look(first.paint)));
        for bar in paint {
            ink.path_titled(&outline(place, bar), "", &bar.title);
        }
        ink.raw("</g>");
    }
    for fate in [RunFate::Killed, RunFate::Interrupted] {
        let ends: String = bars
            .iter()
            .filter(|bar| bar.fate == Some(fate))
            .map(|bar| end_marks(place, bar))
            .collect();
        if !ends.is_empty() {
            ink.path(&ends, &super::draw::end_look(fate));
        }
    }
    labels(ink, place, bars);
}

fn outline(place: &Place<'_>, bar: &GanttBar) -> String {
    let mut path = String::new();
    let x = place.clock.x(bar.start);
    for &(first, last, until) in &bar.parts {
        let (top, bottom) = (place.y(first), place.y(last.saturating_add(1)));
        let width = (place.clock.x(until) - x).max(WIDTH_LEAST);
        let (w, h) = (num(width), num((bottom - top).max(0.2)));
        let _ = write!(path, "M{} {}h{w}v{h}h-{w}z", num(x), num(top));
    }
    path
}

fn end_marks(place: &Place<'_>, bar: &GanttBar) -> String {
    let mut path = String::new();
    for &(first, last, until) in &bar.parts {
        let (top, bottom) = (place.y(first), place.y(last.saturating_add(1)));
        let _ = write!(path, "M{} {}V{}", num(place.clock.x(until)), num(top), num(bottom));
    }
    path
}

/// Names of jobs on the parts that have room for them, the largest first.
fn labels(ink: &mut Ink, place: &Place<'_>, bars: &[GanttBar]) {
    let mut labels: Vec<Label<'_>> = bars.iter().flat_map(|bar| labels_of(place, bar)).collect();
    labels.sort_by(|a, b| b.area.total_cmp(&a.area));
    for label in labels.iter().take(LABELS_MOST) {
        let style = theme::middle(Style { size: label.size, fill: label.fill, ..BODY });
        ink.text(label.at.0, label.at.1 + label.size * 0.36, style, label.text);
    }
}

struct Label<'a> {
    text: &'a str,
    at: (f64, f64),
    size: f64,
    fill: &'static str,
    area: f64,
}

fn labels_of<'a>(place: &Place<'_>, bar: &'a GanttBar) -> Vec<Label<'a>> {
    let fill = match bar.paint {
        Paint::Fill(_) => ON_FILL,
        Paint::Other => theme::DARK,
        Paint::Closed | Paint::Failed | Paint::Reserved => return Vec::new(),
    };
    let x = place.clock.x(bar.start);
    let label = |&(first, last, until): &(u32, u32, Time)| {
        let (top, bottom) = (place.y(first), place.y(last.saturating_add(1)));
        let (width, height) = (place.clock.x(until) - x, bottom - top);
        let size = (height * 0.75).clamp(7.0, SMALL.size);
        let fits = text_width(&bar.name, size) * 1.12 + 6.0 <= width && height >= 9.0;
        let at = (x + width / 2.0, (top + bottom) / 2.0);
        fits.then_some(Label { text: &bar.name, at, size, fill, area: width * height })
    };
    bar.parts.iter().filter_map(label).collect()
}
