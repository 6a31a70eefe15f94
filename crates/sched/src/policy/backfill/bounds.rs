//! Where a new job's search for a place can begin.
//!
//! A job was placed at the earliest moment at which it fitted. As long as nothing has become free
//! since, no job that is as wide and as long, or more so, fits anywhere before that moment.
//! Widths and estimates are taken in classes, four per power of two; two-dimensional prefix maxima
//! (a Fenwick tree) make looking up and adding O(log² classes), whatever the queue's length. With
//! it a search in a long queue does not begin with all the gaps that were too small before.

use tradewind_model::{Span, Time};

/// Up to widths and estimates of 2^21; what is larger counts as that, or not at all.
const CLASSES: usize = 80;
/// In a shorter queue a search is quicker than the bounds.
const LONG_QUEUE: usize = 256;
/// So many jobs are placed after something became free before bounds are begun: where jobs move,
/// each move makes an end of them.
const QUIET: u32 = if cfg!(test) { 1 } else { 32 };

#[derive(Debug, Clone)]
pub(super) struct Bounds {
    /// [`LONG_QUEUE`], but in tests.
    pub(super) long_queue: usize,
    /// Empty, or `CLASSES`² prefix maxima.
    latest: Vec<Time>,
    /// Jobs that were placed since something became free.
    learned: u32,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { long_queue: LONG_QUEUE, latest: Vec::new(), learned: 0 }
    }
}

/// The class of a number: its first three binary digits and how many follow.
fn class(number: u64) -> usize {
    let shift = (u64::BITS - number.leading_zeros()).saturating_sub(3);
    4 * shift as usize + (number >> shift) as usize
}

/// The classes of a job's width and length, from 1 on, each through `round`.
fn classes((width, length): (u32, Span), round: impl Fn(u64) -> usize) -> (usize, usize) {
    let length = u64::try_from(length.0).unwrap_or_default();
    (round(u64::from(width)), round(length))
}

/// Indices that make up the prefix up to `class`.
fn down(class: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(class.min(CLASSES)), |at| Some(at & at.wrapping_sub(1)))
        .take_while(|at| *at > 0)
}

/// Indices whose prefixes contain `class`.
fn up(class: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(class), |at| Some(at + (at & at.wrapping_neg())))
        .take_while(|at| *at <= CLASSES)
}

impl Bounds {
    /// Something has become free: nothing is known any more.
    pub(super) fn clear(&mut self) {
        self.latest.clear();
        self.learned = 0;
    }

    /// The job fits nowhere before this moment.
    pub(super) fn of(&self, size: (u32, Span)) -> Time {
        let mut bound = Time(i64::MIN);
        if self.latest.is_empty() {
            return bound;
        }
        let (width, length) = classes(size, class);
        for row in down(width) {
            for column in down(length) {
                bound = bound.max(self.latest[(row - 1) * CLASSES + column - 1]);
            }
        }
        bound
    }

    /// In a queue of `jobs`, the job fits nowhere before `start`.
    pub(super) fn learn(&mut self, size: (u32, Span), start: Time, jobs: usize) {
        self.learned = self.learned.saturating_add(1);
        if jobs < self.long_queue || self.learned < QUIET {
            return;
        }
        self.latest.resize(CLASSES * CLASSES, Time(i64::MIN));
        let (width, length) = classes(size, |number| class(number.saturating_sub(1)) + 1);
        for row in up(width) {
            for column in up(length) {
                let latest = &mut self.latest[(row - 1) * CLASSES + column - 1];
                *latest = start.max(*latest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job(width: u32, length: i64) -> (u32, Span) {
        (width, Span(length))
    }

    proptest! {
        #[test]
        fn bounds_come_from_jobs_that_are_no_wider_and_no_longer(
            known in prop::collection::vec((1u32..3_000_000, 1i64..3_000_000, 0i64..100), 0..40),
            small in prop::collection::vec((1u32..20, 1i64..20, 0i64..100), 0..40),
            (wide, long) in prop_oneof![
                (1u32..20, 1i64..20), (1u32..5_000_000, 1i64..5_000_000),
            ],
        ) {
            let mut bounds = Bounds { long_queue: 0, ..Bounds::default() };
            let known: Vec<_> = known.into_iter().chain(small).collect();
            for &(processors, estimate, start) in &known {
                bounds.learn(job(processors, estimate), Time(start), 1);
            }
            let latest = |wide: u32, long: i64| {
                let smaller = known.iter().filter(|it| it.0 <= wide && it.1 <= long);
                smaller.map(|it| Time(it.2)).max().unwrap_or(Time(i64::MIN))
            };
            let bound = bounds.of(job(wide, long));
            prop_assert!(bound <= latest(wide, long));
            // No more is lost than a class, up to the largest class.
            prop_assert!(bound >= latest((wide / 5 * 3).min(900_000), (long / 5 * 3).min(900_000)));
        }
    }

    #[test]
    fn classes_ascend_without_gaps() {
        let all: Vec<usize> = (1..5_000).map(class).collect();
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] <= 1));
        assert_eq!([class(1), class(7), class(8), class(9), class(10)], [1, 7, 8, 8, 9]);
        assert_eq!(class(1 << 21), CLASSES);
    }
}
