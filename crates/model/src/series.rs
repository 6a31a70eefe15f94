//! Numbers that change with time, with exact integrals: prices, and the carbon intensity of
//! electricity.

use crate::{Span, Time};

/// A number that changes at given moments and stays in between.
///
/// Before the first moment the first number holds, after the last moment the last one. A series
/// that [repeats](Series::repeated) has no such ends: its values hold in every period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    steps: Vec<Step>,
    period: Option<Period>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    from: Time,
    value: i64,
    /// The integral from the first step to this one.
    before: i128,
}

/// How a series repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Period {
    length: Span,
    /// The integral over one period.
    whole: i128,
}

/// Why steps are not a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// No step.
    #[error("no values")]
    Empty,
    /// A step that does not come after the one before; its place from 0.
    #[error("value {0} is not later than the one before")]
    Unordered(usize),
    /// A value below zero or above [`Series::MAX`]; its place from 0.
    #[error("value {0} is out of range")]
    OutOfRange(usize),
    /// A step at or beyond the end of the period that begins with the first; its place from 0.
    #[error("value {0} is beyond the period")]
    BeyondPeriod(usize),
}

impl Series {
    /// The largest value.
    pub const MAX: i64 = 1_000_000_000_000;

    /// A series with these values from these moments on.
    ///
    /// # Errors
    /// [`SeriesError`].
    pub fn new(values: &[(Time, i64)]) -> Result<Series, SeriesError> {
        let mut steps: Vec<Step> = Vec::with_capacity(values.len());
        for (at, &(from, value)) in values.iter().enumerate() {
            if !(0..=Self::MAX).contains(&value) {
                return Err(SeriesError::OutOfRange(at));
            }
            let before = match steps.last() {
                Some(last) if last.from >= from => return Err(SeriesError::Unordered(at)),
                Some(last) => {
                    last.before + i128::from((from - last.from).0) * i128::from(last.value)
                }
                None => 0,
            };
            steps.push(Step { from, value, before });
        }
        if steps.is_empty() {
            return Err(SeriesError::Empty);
        }
        Ok(Series { steps, period: None })
    }

    /// The same values again and again, every `length` (at least 1 s) from the first moment on
    /// and before it.
    ///
    /// # Errors
    /// [`SeriesError::BeyondPeriod`] if the values need longer than a period.
    pub fn repeated(mut self, length: Span) -> Result<Series, SeriesError> {
        let end = self.steps[0].from + length;
        if let Some(at) = self.steps.iter().position(|step| step.from >= end) {
            return Err(SeriesError::BeyondPeriod(at));
        }
        let whole = self.since_first(end);
        self.period = Some(Period { length, whole });
        Ok(self)
    }

    /// The same values, so much later.
    #[must_use]
    pub fn later_by(mut self, span: Span) -> Series {
        self.steps.iter_mut().for_each(|step| step.from = step.from + span);
        self
    }

    /// The moments and the values from each of them on; of one period if it repeats.
    pub fn values(&self) -> impl Iterator<Item = (Time, i64)> + '_ {
        self.steps.iter().map(|step| (step.from, step.value))
    }

    /// After how long it repeats, if it does.
    pub fn period(&self) -> Option<Span> {
        self.period.map(|period| period.length)
    }

    /// The value at this moment.
    pub fn at(&self, time: Time) -> i64 {
        let (_, time) = self.within(time);
        self.steps[self.step(time)].value
    }

    /// The integral over `[start, end)`: value × seconds.
    pub fn integral(&self, start: Time, end: Time) -> i128 {
        self.since_first(end) - self.since_first(start)
    }

    /// The largest value there is.
    pub fn most(&self) -> i64 {
        self.steps.iter().map(|step| step.value).max().unwrap_or(0)
    }

    /// The smallest value there is.
    pub fn least(&self) -> i64 {
        self.steps.iter().map(|step| step.value).min().unwrap_or(0)
    }

    /// The largest value within `[start, end)`; that at `start` if this is empty.
    pub fn most_within(&self, start: Time, end: Time) -> i64 {
        if self.period().is_some_and(|period| end - start >= period) {
            return self.most();
        }
        self.changes(start, end).map(|(_, value)| value).fold(self.at(start), i64::max)
    }

    /// The first moment after `time` from which a step holds, and its value.
    pub fn next(&self, time: Time) -> Option<(Time, i64)> {
        let (periods, inner) = self.within(time);
        let at = self.steps.partition_point(|step| step.from <= inner);
        let step = match (self.steps.get(at), self.period) {
            (Some(step), _) => Some((step.from, step.value)),
            (None, Some(period)) => Some((self.steps[0].from + period.length, self.steps[0].value)),
            (None, None) => None,
        };
        step.map(|(from, value)| (from + self.shift(periods), value))
    }

    /// The steps within `(start, end)`: from when on, and the value.
    pub fn changes(&self, start: Time, end: Time) -> impl Iterator<Item = (Time, i64)> + '_ {
        let next = move |&(from, _): &(Time, i64)| self.next(from);
        std::iter::successors(self.next(start), next).take_while(move |&(from, _)| from < end)
    }

    /// Whether both have the same values at all times, as far as they repeat equally often. Linear.
    pub fn is_same(&self, other: &Series) -> bool {
        if self.period() != other.period() {
            return false;
        }
        let first = self.steps[0].from.min(other.steps[0].from);
        let end = match self.period() {
            Some(period) => first + period + Span(1),
            None => Time::INFINITY,
        };
        let changes = |it: &Series| {
            let mut last = it.at(first);
            let mut all = vec![(first, last)];
            all.extend(
                it.changes(first, end)
                    .filter(|(_, value)| std::mem::replace(&mut last, *value) != *value),
            );
            all
        };
        changes(self) == changes(other)
    }

    /// The last step that is not later, or the first.
    fn step(&self, time: Time) -> usize {
        self.steps.partition_point(|step| step.from <= time).saturating_sub(1)
    }

    /// Whole periods before this moment, and the moment of the first period that is like it.
    fn within(&self, time: Time) -> (i64, Time) {
        let Some(Period { length, .. }) = self.period else { return (0, time) };
        let since = (time - self.steps[0].from).0;
        let periods = since.div_euclid(length.0);
        (periods, time - Span(periods * length.0))
    }

    fn shift(&self, periods: i64) -> Span {
        self.period.map_or(Span::ZERO, |period| Span(period.length.0 * periods))
    }

    fn since_first(&self, time: Time) -> i128 {
        let (periods, time) = self.within(time);
        let step = &self.steps[self.step(time)];
        let whole = self.period.map_or(0, |period| period.whole * i128::from(periods));
        whole + step.before + i128::from((time - step.from).0) * i128::from(step.value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(values: &[(i64, i64)]) -> Series {
        let values: Vec<(Time, i64)> = values.iter().map(|&(at, it)| (Time(at), it)).collect();
        Series::new(&values).unwrap()
    }

    #[test]
    fn a_series_needs_rising_moments_and_values_in_range() {
        let of = |values: &[(i64, i64)]| {
            let values: Vec<(Time, i64)> = values.iter().map(|&(at, it)| (Time(at), it)).collect();
            Series::new(&values)
        };
        assert_eq!(of(&[]), Err(SeriesError::Empty));
        assert_eq!(of(&[(0, 1), (0, 2)]), Err(SeriesError::Unordered(1)));
        assert_eq!(of(&[(0, -1)]), Err(SeriesError::OutOfRange(0)));
    }

    proptest! {
        #[test]
        fn the_integral_is_the_sum_of_its_seconds(
            mut at in prop::collection::btree_set(-50..50i64, 1..8),
            values in prop::collection::vec(0..1_000i64, 8),
            start in -70..70i64,
            length in 0..70i64,
        ) {
            let first = at.pop_first().unwrap();
            let steps: Vec<(i64, i64)> =
                std::iter::once(first).chain(at).zip(values).collect();
            let series = series(&steps);
            let naive = |second: i64| {
                let last = steps.iter().rev().find(|(from, _)| *from <= second);
                i128::from(last.unwrap_or(&steps[0]).1)
            };
            let sum: i128 = (start..start + length).map(naive).sum();
            prop_assert_eq!(series.integral(Time(start), Time(start + length)), sum);
            prop_assert_eq!(i128::from(series.at(Time(start))), naive(start));
        }

        /// A series that repeats is the one with many periods written out.
        #[test]
        fn a_repeated_series_is_the_one_written_out(
            mut at in prop::collection::btree_set(0..20i64, 1..5),
            values in prop::collection::vec(0..1_000i64, 5),
            more in 1..9i64,
            start in -60..60i64,
            length in 0..60i64,
        ) {
            let period = *at.last().unwrap() - *at.first().unwrap() + more;
            let first = at.pop_first().unwrap();
            let steps: Vec<(i64, i64)> = std::iter::once(first).chain(at).zip(values).collect();
            let again = |k: i64| steps.iter().map(move |&(from, value)| (from + k * period, value));
            let plain = series(&(-150..150).flat_map(again).collect::<Vec<_>>());
            let repeated = series(&steps).repeated(Span(period)).unwrap();
            let (start, end) = (Time(start), Time(start + length));
            prop_assert_eq!(repeated.integral(start, end), plain.integral(start, end));
            prop_assert_eq!(repeated.at(start), plain.at(start));
            prop_assert_eq!(repeated.most_within(start, end), plain.most_within(start, end));
            let changes = |it: &Series| it.changes(start, end).collect::<Vec<_>>();
            prop_assert_eq!(changes(&repeated), changes(&plain));
        }
    }

    #[test]
    fn values_must_lie_within_one_period() {
        let two = series(&[(0, 1), (10, 2)]);
        assert_eq!(two.clone().repeated(Span(10)), Err(SeriesError::BeyondPeriod(1)));
        assert!(two.repeated(Span(11)).is_ok());
    }
}
