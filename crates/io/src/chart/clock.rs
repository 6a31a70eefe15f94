//! Ticks at round moments of a log's clock, for pictures of a part of a log.

use tradewind_model::{Horizon, Time};

use super::scale;

const DAY: i64 = 86_400;
/// Steps from tick to tick; beyond the last, it doubles.
const STEPS: [i64; 20] = [
    1,
    5,
    15,
    30,
    60,
    300,
    900,
    1_800,
    3_600,
    2 * 3_600,
    3 * 3_600,
    6 * 3_600,
    12 * 3_600,
    DAY,
    2 * DAY,
    5 * DAY,
    10 * DAY,
    20 * DAY,
    50 * DAY,
    100 * DAY,
];

/// A time axis of `width` pixels from `left` on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Clock {
    pub(super) horizon: Horizon,
    pub(super) left: f64,
    pub(super) width: f64,
}

impl Clock {
    /// Where `at` is, within the axis.
    pub(super) fn x(&self, at: Time) -> f64 {
        let span = self.horizon.span().0.max(1);
        let from = (at - self.horizon.start).0.clamp(0, span);
        self.left + from as f64 / span as f64 * self.width
    }

    /// Round moments and what to write there, at most `max` steps apart.
    pub(super) fn ticks(&self, max: usize) -> Vec<(Time, String)> {
        let Horizon { start, end } = self.horizon;
        let span = (end - start).0.max(1);
        let fits = |step: &i64| span / step <= max.max(1) as i64;
        let step = STEPS.into_iter().find(fits).unwrap_or_else(|| {
            let mut step = 200 * DAY;
            while !fits(&step) {
                step *= 2;
            }
            step
        });
        let first =
            start.0.div_euclid(step) * step + if start.0.rem_euclid(step) > 0 { step } else { 0 };
        (0..)
            .map(|i| first + i * step)
            .take_while(|&at| at <= end.0)
            .map(|at| (Time(at), tick_label(at, step)))
            .collect()
    }
}

/// A whole day by its number, other moments by the time of day.
fn tick_label(at: i64, step: i64) -> String {
    let (day, second) = (at.div_euclid(DAY), at.rem_euclid(DAY));
    let (hour, minute, rest) = (second / 3_600, second / 60 % 60, second % 60);
    match () {
        () if second == 0 => format!("day {day}"),
        () if step < 60 => format!("{hour}:{minute:02}:{rest:02}"),
        () => format!("{hour}:{minute:02}"),
    }
}

/// A moment in words: `day 12, 6:00`.
pub(super) fn moment(at: Time) -> String {
    let (day, second) = (at.0.div_euclid(DAY), at.0.rem_euclid(DAY));
    let (hour, minute, rest) = (second / 3_600, second / 60 % 60, second % 60);
    match (second, rest) {
        (0, _) => format!("day {day}"),
        (_, 0) => format!("day {day}, {hour}:{minute:02}"),
        _ => format!("day {day}, {hour}:{minute:02}:{rest:02}"),
    }
}

/// A length of time in words.
pub(super) fn length(horizon: Horizon) -> String {
    scale::span(horizon.span().0 as f64)
}
