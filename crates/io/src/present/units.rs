//! What a number counts, and how it is written.

use super::numbers::significant;
use super::span;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds; written with minutes, hours and days where there is room.
    Seconds,
    /// A share from 0 to 1, written in percent.
    Share,
    /// A plain number.
    Ratio,
    /// Credits.
    Credits,
    /// Kilowatt-hours.
    KilowattHours,
    /// Grams of CO₂e.
    Grams,
    /// A number of things.
    Count,
}

impl Unit {
    /// What stands on an axis or in the head of a column; nothing for plain numbers.
    pub fn label(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Share => "%",
            Unit::Credits => "credits",
            Unit::KilowattHours => "kWh",
            Unit::Grams => "gCO2e",
            Unit::Ratio | Unit::Count => "",
        }
    }

    /// `value` with four significant digits at most, thousands separated, without its unit.
    pub fn number(self, value: f64) -> String {
        match self {
            Unit::Share => significant(value * 100.0),
            _ => significant(value),
        }
    }

    /// `value` with its unit, for people: `1 h 20 min`, `83.4 %`.
    pub fn say(self, value: f64) -> String {
        match self {
            Unit::Seconds => span(value),
            Unit::Share => format!("{} %", significant(value * 100.0)),
            Unit::Credits | Unit::KilowattHours | Unit::Grams => {
                format!("{} {}", significant(value), self.label())
            }
            Unit::Ratio | Unit::Count => significant(value),
        }
    }
}

/// The unit of an axis: spans of time and amounts have the unit that suits the largest of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// How its numbers are written.
    pub unit: Unit,
    /// What one of it is.
    pub size: f64,
    /// What stands on the axis.
    pub label: &'static str,
}

impl Scale {
    /// For values up to `max`.
    pub fn new(unit: Unit, max: f64) -> Scale {
        let (size, label) = match (unit, max) {
            (Unit::Seconds, 259_200.0..) => (86_400.0, "d"),
            (Unit::Seconds, 7_200.0..) => (3_600.0, "h"),
            (Unit::Seconds, 300.0..) => (60.0, "min"),
            (Unit::Credits, 1e7..) => (1e6, "million credits"),
            _ => (1.0, unit.label()),
        };
        let unit = if unit == Unit::Seconds { Unit::Ratio } else { unit };
        Scale { unit, size, label }
    }

    /// `value`, given in seconds or whatever else the unit was made for, as it is written.
    pub fn number(&self, value: f64) -> String {
        self.unit.number(value / self.size)
    }
}
