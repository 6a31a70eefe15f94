//! Which time limit would be enough, by the runs of similar jobs.

use tradewind_model::Span;

/// Of so many runs of 100 the length is known not to be exceeded.
pub const PERCENT: u32 = 95;
/// Fewer runs say nothing: the longest of 19 is exceeded by more than one run in twenty.
const LEAST: usize = 20;
/// Minutes of limits that people ask for; beyond the last one, whole days.
const USUAL: [i64; 17] =
    [1, 2, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240, 360, 480, 720, 1_080, 1_440];
const DAY: i64 = 86_400;

/// What runs say of a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitAdvice {
    /// Runs that were looked at.
    pub runs: usize,
    /// What 95 of 100 such runs used at most.
    pub used: Span,
    /// A limit with room to spare: at least a quarter more than that.
    pub limit: Span,
}

/// Whether so many runs are enough.
pub fn is_enough(runs: usize) -> bool {
    runs >= LEAST
}

/// Advice for a job that asks for `asked`, by the lengths of `runs`. `None`: there are too few of
/// them, or the limit is not much longer than what they use: it is to become shorter by a quarter or
/// more. O(n log n).
///
/// The bound is the order statistic of rank ⌈0.95 (n + 1)⌉: a further run like these is longer in at
/// most 5 of 100 cases.
pub fn advice(runs: &[Span], asked: Span) -> Option<LimitAdvice> {
    if !is_enough(runs.len()) {
        return None;
    }
    let mut sorted = runs.to_vec();
    sorted.sort_unstable();
    let rank = ((sorted.len() + 1) * PERCENT as usize).div_ceil(100);
    let used = sorted.get(rank.checked_sub(1)?).copied()?;
    let limit = usual(Span(used.0.saturating_add(used.0 / 4)));
    let is_much = i128::from(limit.0) * 4 <= i128::from(asked.0) * 3;
    is_much.then_some(LimitAdvice { runs: sorted.len(), used, limit })
}

/// The shortest usual limit that is not shorter than this.
fn usual(least: Span) -> Span {
    let minutes = USUAL.into_iter().map(|minutes| minutes * 60);
    let days = least.0.saturating_add(DAY - 1) / DAY * DAY;
    Span(minutes.into_iter().find(|limit| *limit >= least.0).unwrap_or(days))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(all: impl IntoIterator<Item = i64>) -> Vec<Span> {
        all.into_iter().map(|minutes| Span(minutes * 60)).collect()
    }

    #[test]
    fn of_a_hundred_runs_the_five_longest_do_not_count() {
        let runs = minutes((1..=95).map(|run| run % 38 + 1).chain([600; 5]));
        // 96 of 101: the first of the five counts.
        let advice_of = |runs: &[Span]| advice(runs, Span(DAY));
        assert_eq!(advice_of(&runs).map(|it| it.used), Some(Span(600 * 60)));
        let said = advice_of(&runs[..96]).unwrap();
        assert_eq!((said.runs, said.used, said.limit), (96, Span(37 * 60), Span(3_600)));
    }

    #[test]
    fn there_is_no_advice_from_few_runs_or_for_little() {
        let runs = minutes([10; 20]);
        assert_eq!(advice(&runs[..19], Span(DAY)), None);
        let of = |asked: i64| advice(&runs, Span(asked * 60)).map(|it| it.limit);
        assert_eq!((of(19), of(20), of(60)), (None, Some(Span(900)), Some(Span(900))));
    }

    #[test]
    fn limits_are_usual_ones() {
        let of = |seconds| usual(Span(seconds)).0;
        assert_eq!([1, 60, 61, 3_600, 3_601].map(of), [60, 60, 120, 3_600, 7_200]);
        assert_eq!([DAY, DAY + 1, 2 * DAY].map(of), [DAY, 2 * DAY, 2 * DAY]);
    }

    #[test]
    fn drawn_runs_exceed_the_bound_as_rarely_as_is_said() {
        let mut draw = 7_u64;
        let mut run = || {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            Span(60 + ((draw >> 33) % 3_000) as i64)
        };
        let (mut longer, worlds) = (0, 4_000);
        for _ in 0..worlds {
            let runs: Vec<Span> = (0..40).map(|_| run()).collect();
            longer += u32::from(advice(&runs, Span(DAY)).unwrap().used < run());
        }
        // Three standard deviations above 5 %.
        assert!(longer <= 200 + 42, "{longer} of {worlds}");
    }
}
