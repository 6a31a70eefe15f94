//! Expected starts with their ranges, as tables and sentences have them.

use tradewind_web::documents::{Expectation, LimitAdvice, RangeScore, StartRange};

use crate::client::words::{clock, length, moment};

/// The moment, and the range for most jobs: `2026-11-24T14:05:00 (80 %: 13:50 to 15:10)`.
pub(super) fn expected(it: &Expectation) -> String {
    let at = moment(it.at);
    match it.most() {
        Some(most) => format!("{at} ({})", range(&most, it.at)),
        None if it.lacks_starts() => {
            format!("{at} (no range yet: {} of {} past starts are known)", it.samples, it.needed)
        }
        None => at,
    }
}

/// All ranges, and what they rest on.
pub(super) fn ranges(it: &Expectation) -> Option<String> {
    let ranges = it.ranges?;
    let each: Vec<String> = ranges.within.iter().map(|one| range(one, it.at)).collect();
    let (median, each) = (clock(ranges.median, it.at), each.join("; "));
    Some(format!("median {median}; {each}; from {} past starts", it.samples))
}

/// `80 %: 13:50 to 15:10`.
pub(super) fn range(it: &StartRange, at: i64) -> String {
    format!("{} %: {} to {}", it.percent, clock(it.from, at), clock(it.to, at))
}

/// The range for most jobs in a column.
pub(super) fn cell(it: &Expectation) -> Option<String> {
    let most = it.most()?;
    Some(format!("{}..{}", clock(most.from, it.at), clock(most.to, it.at)))
}

/// Columns of a CSV.
pub(super) const HEADS: [&str; 7] = [
    "start_median",
    "start_50_from",
    "start_50_to",
    "start_80_from",
    "start_80_to",
    "start_95_from",
    "start_95_to",
];

/// Their cells, empty where there are no ranges.
pub(super) fn cells(it: Option<&Expectation>) -> Vec<String> {
    let Some(ranges) = it.and_then(|it| it.ranges) else {
        return vec![String::new(); HEADS.len()];
    };
    let ends = ranges.within.iter().flat_map(|it| [it.from, it.to]);
    [ranges.median].into_iter().chain(ends).map(|at| at.to_string()).collect()
}

/// Advice on the time limit, as a sentence.
pub(super) fn advice(it: &LimitAdvice) -> String {
    it.sentence(length, |credits| credits.to_string())
}

/// How the widest but one of the ranges held: `82% of 200`.
pub(super) fn score(it: &RangeScore) -> String {
    let share = it.shares().find(|(percent, _)| *percent == 80).map_or(0, |(_, share)| share);
    format!("{share}% of {}", it.starts)
}
