//! Every job as its own shape.

use std::fmt::Write as _;

use super::draw::Place;
use super::{Bar, Paint};
use crate::chart::ink::{Ink, Style, num, text_width};
use crate::chart::replay::RunFate;
use crate::chart::theme::{self, BODY, ON_FILL, SMALL};

/// Letters on bars: more are noise.
const LABELS_MOST: usize = 200;
/// A bar is at least this wide, so that the shortest job is seen.
const WIDTH_LEAST: f64 = 0.6;

/// Draws all bars, then the marks at the ends of jobs, then names.
pub(super) fn draw(ink: &mut Ink, place: &Place<'_>, bars: &[Bar]) {
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

fn outline(place: &Place<'_>, bar: &Bar) -> String {
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

fn end_marks(place: &Place<'_>, bar: &Bar) -> String {
    let mut path = String::new();
    for &(first, last, until) in &bar.parts {
        let (top, bottom) = (place.y(first), place.y(last.saturating_add(1)));
        let _ = write!(path, "M{} {}V{}", num(place.clock.x(until)), num(top), num(bottom));
    }
    path
}

/// Names of jobs on the parts that have room for them.
fn labels(ink: &mut Ink, place: &Place<'_>, bars: &[Bar]) {
    let mut left = LABELS_MOST;
    for bar in bars {
        let fill = match bar.paint {
            Paint::Fill(_) => ON_FILL,
            Paint::Other => theme::DARK,
            Paint::Closed | Paint::Failed | Paint::Reserved => continue,
        };
        let x = place.clock.x(bar.start);
        for &(first, last, until) in &bar.parts {
            let (top, bottom) = (place.y(first), place.y(last.saturating_add(1)));
            let size = ((bottom - top) * 0.75).clamp(7.0, SMALL.size);
            let end = place.clock.x(until);
            let fits = text_width(&bar.name, size) * 1.12 + 6.0 <= end - x && bottom - top >= 9.0;
            if fits && left > 0 {
                left -= 1;
                let y = (top + bottom) / 2.0 + size * 0.36;
                ink.text(
                    (x + end) / 2.0,
                    y,
                    theme::middle(Style { size, fill, ..BODY }),
                    &bar.name,
                );
            }
        }
    }
}
