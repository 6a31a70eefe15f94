//! What a job would pay in an idle queue, in the cycles to come, where prices change with time.
//!
//! Between two moments at which the price steps on either end of a job's time there, its cost is
//! linear in the start. So of the cycles within such a piece it is the first or the last that is
//! cheapest, and the first that can be paid is found by bisection.

use tradewind_model::{PoolId, Pools, Price, Series, Span, Time};

use super::settings::DispatchSettings;
use super::{price, pricing};

/// Beginnings of cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CycleStarts {
    pub(super) first: Time,
    /// From one to the next, at least a second.
    pub(super) every: Span,
}

impl CycleStarts {
    fn at(self, number: i64) -> Time {
        self.first + Span(number * self.every.0)
    }

    /// The numbers of those from `start` to `end`: first and last. None if the last is below the first.
    fn within(self, start: Time, end: Time) -> (i64, i64) {
        let (start, end) = ((start - self.first).0, (end - self.first).0);
        let before = (start.max(0) - 1).div_euclid(self.every.0);
        (before + 1, end.div_euclid(self.every.0))
    }
}

/// What queues want in the cycles to come, if they are empty then and demand is at its lowest.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToCome<'a> {
    pub(super) pools: &'a Pools,
    pub(super) settings: &'a DispatchSettings,
    pub(super) cycles: CycleStarts,
}

impl ToCome<'_> {
    /// The first cycle in which the queue wants no more than `limit` of a job of this length.
    pub(super) fn first_paid(&self, id: PoolId, length: Span, limit: Price) -> Option<Time> {
        let pays = |list| limit >= pricing::lowest(list, self.settings.dynamics());
        // Where the price changes, this is the lowest that it ever is.
        let first = pays(price::list(self.pools.pool(id))).then_some(self.cycles.first)?;
        match self.pools.rate(id) {
            None => Some(first),
            Some(rate) => first_paid(rate, length, self.cycles, pays),
        }
    }

    /// The lowest price that the queue wants of a job of this length in any of them.
    pub(super) fn lowest(&self, id: PoolId, length: Span) -> Price {
        let list = match self.pools.rate(id) {
            None => price::list(self.pools.pool(id)),
            Some(rate) => lowest(rate, length, self.cycles),
        };
        pricing::lowest(list, self.settings.dynamics())
    }
}

/// The first of the cycles in which a job of this length is offered a price that `pays` says yes to;
/// it says yes to all lower ones, too. Exact, but for periods without a common multiple of
/// [`Rates::LONGEST`](tradewind_model::Rates::LONGEST) with that of the cycles, which are followed so
/// far. O(s log s) for s steps of the price until then.
fn first_paid(
    rate: &Series,
    length: Span,
    cycles: CycleStarts,
    pays: impl Fn(Price) -> bool,
) -> Option<Time> {
    let pays = |number: i64| pays(rate.mean_price(cycles.at(number), length));
    pieces(rate, length, cycles).find_map(|(first, last)| {
        if pays(first) {
            return Some(cycles.at(first));
        }
        let (mut dear, mut paid) = (first, pays(last).then_some(last)?);
        while paid - dear > 1 {
            let middle = dear + (paid - dear) / 2;
            *(if pays(middle) { &mut paid } else { &mut dear }) = middle;
        }
        Some(cycles.at(paid))
    })
}

/// The lowest price that a job of this length is offered in any of the cycles, which are followed as
/// far as [`first_paid`] does.
fn lowest(rate: &Series, length: Span, cycles: CycleStarts) -> Price {
    let ends = pieces(rate, length, cycles).flat_map(|(first, last)| [first, last]);
    let prices = ends.map(|number| rate.mean_price(cycles.at(number), length));
    prices.min().unwrap_or(Price(rate.least()))
}

/// The numbers of the first and the last cycle of each piece that has one.
fn pieces(
    rate: &Series,
    length: Span,
    cycles: CycleStarts,
) -> impl Iterator<Item = (i64, i64)> + '_ {
    let settled = rate.settled(cycles.first, cycles.every);
    let next = move |start: Time| {
        let of_start = rate.next(start).map(|(at, _)| at);
        let of_end = rate.next(start + length).map(|(at, _)| at - length);
        of_start.into_iter().chain(of_end).min()
    };
    let mut begin = Some(cycles.first);
    let piece = move || {
        let start = begin.filter(|start| *start <= settled)?;
        begin = next(start);
        // A price that steps no more is the same in the next cycle as in all that follow.
        Some((start, begin.unwrap_or(start + cycles.every)))
    };
    let numbers = move |(start, end)| cycles.within(start, end);
    std::iter::from_fn(piece).map(numbers).filter(|(first, last)| first <= last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_rate() -> impl Strategy<Value = Series> {
        let steps = prop::collection::btree_map(-20i64..60, 0i64..9, 1..6);
        (steps, prop::option::of(80i64..130)).prop_map(|(steps, period)| {
            let steps: Vec<_> = steps.into_iter().map(|(at, price)| (Time(at), price)).collect();
            let series = Series::new(&steps).unwrap();
            period.map_or(series.clone(), |period| series.repeated(Span(period)).unwrap())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_first_cycle_that_is_paid_is_that_of_a_plain_search(
            rate in any_rate(), length in 1i64..150, first in -40i64..200, every in 1i64..40,
            most in 0i64..9,
        ) {
            let cycles = CycleStarts { first: Time(first), every: Span(every) };
            let mean = |start: i64| {
                let sum: i64 = (start..start + length).map(|at| rate.at(Time(at))).sum();
                sum.div_euclid(length) + i64::from(sum % length > 0)
            };
            // Periods and cycles have a common multiple of 129 · 39 seconds or less.
            let starts = || (0..).map(|number| first + number * every).take_while(|at| *at < first + 5_200);
            let found = first_paid(&rate, Span(length), cycles, |price| price.0 <= most);
            prop_assert_eq!(found, starts().find(|at| mean(*at) <= most).map(Time));
            prop_assert_eq!(Some(lowest(&rate, Span(length), cycles).0), starts().map(mean).min());
        }
    }
}
