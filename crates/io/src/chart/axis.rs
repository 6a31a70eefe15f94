//! Round ticks on a time axis, and times in words.

use tradewind_model::{Horizon, Span, Time};

/// The unit of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AxisUnit {
    name: &'static str,
    seconds: i64,
    /// Round numbers of it; beyond the last, its multiples by 2, 5 and 10 are.
    steps: &'static [i64],
}

const SECONDS: AxisUnit =
    AxisUnit { name: "s", seconds: 1, steps: &[1, 2, 5, 10, 20, 50, 100, 200] };
const MINUTES: AxisUnit = AxisUnit { name: "min", seconds: 60, steps: &[1, 2, 5, 10, 15, 30] };
const HOURS: AxisUnit = AxisUnit { name: "h", seconds: 3_600, steps: &[1, 2, 3, 6, 12] };
const DAYS: AxisUnit = AxisUnit { name: "d", seconds: 86_400, steps: &[1, 2, 5, 10, 20, 50] };

/// An axis over a horizon, counted from its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) horizon: Horizon,
    unit: AxisUnit,
    step: i64,
}

/// One tick of an axis, with its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tick {
    pub(super) at: Time,
    pub(super) label: String,
}

impl Axis {
    /// An axis with at most `max` steps.
    pub(super) fn new(horizon: Horizon, max: usize) -> Axis {
        let span = horizon.span().0.max(1);
        let unit = match span {
            ..1_801 => SECONDS,
            1_801..14_401 => MINUTES,
            14_401..259_201 => HOURS,
            _ => DAYS,
        };
        let fits = |step: &i64| span / (step * unit.seconds) <= max.max(1) as i64;
        let listed = unit.steps.iter().copied().find(fits);
        let step = listed.unwrap_or_else(|| {
            let mut step = unit.steps[unit.steps.len() - 1] * 2;
            while !fits(&step) {
                step *= 2;
            }
            step
        });
        Axis { horizon, unit, step }
    }

    /// Ticks from the start on, inside the horizon.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let Horizon { start, end } = self.horizon;
        let absolute = start == Time(0);
        let tick = |i: i64| {
            let count = i * self.step;
            let at = start + Span(count * self.unit.seconds);
            let plus = if absolute || count == 0 { "" } else { "+" };
            let unit = if count == 0 { "" } else { self.unit.name };
            let gap = if count == 0 { "" } else { " " };
            (at <= end).then(|| Tick { at, label: format!("{plus}{count}{gap}{unit}") })
        };
        (0..).map_while(tick).collect()
    }

    /// What the zero of the axis is, where it is not the zero of the clock.
    pub(super) fn note(&self) -> Option<String> {
        let start = self.horizon.start;
        (start != Time(0)).then(|| format!("time axis: 0 is {start} s on the scenario's clock"))
    }

    /// `at` as a share of the horizon, within 0..=1.
    pub(super) fn share(&self, at: Time) -> f64 {
        let span = self.horizon.span().0.max(1);
        let from = (at - self.horizon.start).0.clamp(0, span);
        from as f64 / span as f64
    }

    /// `at` counted from the start of the axis, to the second on short axes and else to the
    /// minute: `45 s`, `0:02:30 h`, `2:30 h`, `1d 03:00 h`.
    pub(super) fn say(&self, at: Time) -> String {
        let from = (at - self.horizon.start).0;
        let plus = if self.horizon.start == Time(0) { "" } else { "+" };
        let (sign, from) = (if from < 0 { "-" } else { plus }, from.abs());
        if self.unit == SECONDS {
            return format!("{sign}{from} s");
        }
        let (days, hours) = (from / 86_400, from / 3_600 % 24);
        let (minutes, seconds) = (from / 60 % 60, from % 60);
        let tail = if self.unit == MINUTES { format!(":{seconds:02}") } else { String::new() };
        match days {
            0 => format!("{sign}{hours}:{minutes:02}{tail} h"),
            _ => format!("{sign}{days}d {hours:02}:{minutes:02}{tail} h"),
        }
    }
}
