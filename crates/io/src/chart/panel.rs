//! One frame with a value axis at its left, and steps in it.

use std::fmt::Write as _;

use super::clock::Clock;
use super::ink::{Ink, Rect};
use super::theme::{self, BOLD, EDGE, GRID, SMALL};
use crate::present::svg::num;

/// A frame whose values run upwards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panel {
    pub(super) frame: Rect,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Panel {
    /// Where `value` is, within the frame.
    pub(super) fn y(&self, value: f64) -> f64 {
        let range = if self.high > self.low { self.high - self.low } else { 1.0 };
        let share = ((value - self.low) / range).clamp(0.0, 1.0);
        self.frame.y + self.frame.height * (1.0 - share)
    }

    fn right(&self) -> f64 {
        self.frame.x + self.frame.width
    }

    fn bottom(&self) -> f64 {
        self.frame.y + self.frame.height
    }

    /// What the panel shows, above it; and a line with its label at each value.
    pub(super) fn values(&self, ink: &mut Ink, name: &str, labels: &[(f64, String)]) {
        ink.text(self.frame.x, self.frame.y - 9.0, BOLD, name);
        for (value, label) in labels {
            let y = self.y(*value);
            ink.line((self.frame.x, y), (self.right(), y), &format!("stroke=\"{GRID}\""));
            ink.text(self.frame.x - 8.0, y + 4.0, theme::end(SMALL), label);
        }
    }

    /// Lines at round moments, with labels below the panel.
    pub(super) fn times(&self, ink: &mut Ink, clock: &Clock) {
        for (at, label) in clock.ticks(12) {
            let x = clock.x(at);
            ink.line((x, self.frame.y), (x, self.bottom()), &format!("stroke=\"{GRID}\""));
            let x = x.min(self.right() - 14.0);
            ink.text(x, self.bottom() + 16.0, theme::middle(SMALL), &label);
        }
        self.ground(ink);
    }

    /// The line that values stand on.
    pub(super) fn ground(&self, ink: &mut Ink) {
        let y = self.y(0.0_f64.max(self.low));
        ink.line((self.frame.x, y), (self.right(), y), &format!("stroke=\"{EDGE}\""));
    }

    /// The outline of steps as path data, from the left edge of the first to the right edge of the
    /// last; `edges` has one more than `values`.
    pub(super) fn outline(&self, edges: &[f64], values: &[f64]) -> String {
        let Some(first) = edges.first() else { return String::new() };
        let mut path = format!("M{}", num(*first));
        self.climb(&mut path, edges, values, " ");
        path
    }

    /// The area between two step lines as path data.
    pub(super) fn area(&self, edges: &[f64], upper: &[f64], lower: &[f64]) -> String {
        let Some(last) = edges.last() else { return String::new() };
        let mut path = self.outline(edges, upper);
        let back: Vec<f64> = edges.iter().rev().copied().collect();
        let reversed: Vec<f64> = lower.iter().rev().copied().collect();
        let _ = write!(path, "L{}", num(*last));
        self.climb(&mut path, &back, &reversed, " ");
        path.push('Z');
        path
    }

    /// Appends the steps; equal neighbours are one.
    fn climb(&self, path: &mut String, edges: &[f64], values: &[f64], first: &str) {
        let height = |value: &f64| num(self.y(*value));
        for (i, value) in values.iter().enumerate() {
            let y = height(value);
            let lead = if i == 0 { first } else { "V" };
            if i == 0 || y != height(&values[i - 1]) {
                let _ = write!(path, "{lead}{y}");
            }
            if values.get(i + 1).is_none_or(|next| height(next) != y) {
                let _ = write!(path, "H{}", num(edges[i + 1]));
            }
        }
    }
}
