//! The cells of the table: percentiles alone and beside the load, their ratio, and how sure it is.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use crate::second::{ASKED, Times};

/// Slices that are drawn again, so many times.
const DRAWS: usize = 1_000;
/// Beside the load, a p99 of more than so many times that alone is too much.
const GOAL: f64 = 2.0;

/// Times alone, and beside the load right before or after it.
pub(crate) type Pair = (Times, Times);

/// What the interval says of the goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    Missed,
    Open,
}

fn at(times: &mut [f64], share: usize) -> f64 {
    let last = times.len().saturating_sub(1);
    let place = (times.len() * share / 100).min(last);
    match times.is_empty() {
        true => 0.0,
        false => *times.select_nth_unstable_by(place, f64::total_cmp).1,
    }
}

/// The percentile alone and beside, of the slices with these numbers.
fn both(pairs: &[Pair], kind: usize, chosen: &[usize], share: usize) -> (f64, f64) {
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for (one, other) in chosen.iter().filter_map(|at| pairs.get(*at)) {
        alone.extend_from_slice(&one[kind]);
        beside.extend_from_slice(&other[kind]);
    }
    (at(&mut alone, share), at(&mut beside, share))
}

fn ratio((alone, beside): (f64, f64)) -> f64 {
    beside / alone.max(0.001)
}

/// The middle 95 % of the ratios of p99 when slices are drawn again (bootstrap): neighbouring times
/// depend on each other, slices hardly do.
fn interval(pairs: &[Pair], kind: usize, seed: u64) -> (f64, f64) {
    let mut draw = Pcg64Mcg::seed_from_u64(seed);
    let one = |_| {
        let chosen: Vec<usize> = pairs.iter().map(|_| draw.random_range(0..pairs.len())).collect();
        ratio(both(pairs, kind, &chosen, 99))
    };
    let mut ratios: Vec<f64> = (0..DRAWS).map(one).collect();
    ratios.sort_by(f64::total_cmp);
    let of = |place: usize| ratios.get(place).copied().unwrap_or(0.0);
    (of(DRAWS * 25 / 1_000), of(DRAWS * 975 / 1_000 - 1))
}

/// A cell, and whether the goal holds.
pub(crate) fn cell(pairs: &[Pair], kind: usize, seed: u64) -> (String, Verdict) {
    let all: Vec<usize> = (0..pairs.len()).collect();
    let told = |(a, b): (f64, f64)| format!("{a:.1} → {b:.1} ({:.1}", ratio((a, b)));
    let (low, high) = interval(pairs, kind, seed);
    let verdict = match (low > GOAL, high <= GOAL) {
        (true, _) => Verdict::Missed,
        (_, true) => Verdict::Holds,
        _ => Verdict::Open,
    };
    let (half, most) = (both(pairs, kind, &all, 50), both(pairs, kind, &all, 99));
    (format!("{}); {}; {low:.1}–{high:.1})", told(half), told(most)), verdict)
}

/// A row, with the samples of a cell, and the verdicts of its cells.
pub(crate) fn row(kind: &str, rate: u64, pairs: &[Pair], seed: u64) -> (String, Vec<Verdict>) {
    let cells = (0..ASKED.len()).map(|kind| cell(pairs, kind, seed));
    let (cells, verdicts): (Vec<String>, Vec<Verdict>) = cells.unzip();
    let count = |of: fn(&Pair) -> &Times| pairs.iter().map(|it| of(it)[0].len()).sum::<usize>();
    let (alone, beside) = (count(|it| &it.0), count(|it| &it.1));
    (format!("| {kind} | {rate} | {alone}, {beside} | {} |", cells.join(" | ")), verdicts)
}
