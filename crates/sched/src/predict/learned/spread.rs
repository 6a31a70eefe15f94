//! How likely which run time is.

use tradewind_model::Span;

/// Bins of run times: four for each doubling, up to 2^24 s.
pub(super) const BINS: usize = 96;
/// The quarters of a doubling.
const QUARTERS: [f64; 4] = [1.0, 1.189_207_115, std::f64::consts::SQRT_2, 1.681_792_830];
/// From the lower edge of a bin to its middle, as a factor.
const MIDDLE: f64 = 1.090_507_733;
/// The middle of each bin, in seconds.
const MIDDLES: [f64; BINS] = {
    let mut middles = [0.0; BINS];
    let mut bin = 0;
    while bin < BINS {
        middles[bin] = EDGES[bin] * MIDDLE;
        bin += 1;
    }
    middles
};
/// Runs that are shorter than this count as long as this in a bounded slowdown, in seconds.
const SHORT: f64 = 10.0;

/// Where each bin begins, in seconds. Only products and powers of two: the same on every machine.
const EDGES: [f64; BINS + 1] = {
    let mut edges = [0.0; BINS + 1];
    let mut bin = 0;
    while bin <= BINS {
        edges[bin] = QUARTERS[bin % 4] * (1_u64 << (bin / 4)) as f64;
        bin += 1;
    }
    edges
};

/// The bin of a run time; 0 s counts as 1 s.
pub(super) fn bin_of(run: Span) -> usize {
    let seconds = run.0.max(1);
    let first = 4 * (63 - seconds.leading_zeros() as usize);
    if first >= BINS {
        return BINS - 1;
    }
    let quarter = (1..4).rev().find(|quarter| seconds as f64 >= EDGES[first + quarter]);
    first + quarter.unwrap_or(0)
}

/// Runs of one class of jobs, by bin. The older they are, the less they count.
#[derive(Debug, Clone)]
pub(super) struct ClassRuns {
    counts: Box<[f32; BINS]>,
    total: f32,
    /// The bins outside have no runs; `low` is not above `high`, but where there are none at all.
    low: usize,
    high: usize,
}

impl Default for ClassRuns {
    fn default() -> ClassRuns {
        ClassRuns { counts: Box::new([0.0; BINS]), total: 0.0, low: BINS, high: 0 }
    }
}

impl ClassRuns {
    /// One more run; those before count `kept` times what they counted.
    pub(super) fn add(&mut self, bin: usize, kept: f32) {
        let seen = self.counts.get_mut(self.low..=self.high);
        seen.into_iter().flatten().for_each(|count| *count *= kept);
        self.counts[bin] += 1.0;
        (self.low, self.high) = (self.low.min(bin), self.high.max(bin));
        self.total = self.total * kept + 1.0;
    }
}

/// The shares of run times from 1 s up to a request, which add up to 1.
#[derive(Debug, Clone)]
pub(super) struct Spread {
    requested: Span,
    shares: [f64; BINS],
    /// The bin of the request.
    last: usize,
}

impl Spread {
    /// Nothing is known: every bin up to the request is as likely.
    pub(super) fn unknown(requested: Span) -> Spread {
        let (mut shares, last) = ([0.0; BINS], bin_of(requested));
        shares[..=last].fill(1.0 / (last + 1) as f64);
        Spread { requested, shares, last }
    }

    /// Takes runs of such jobs into account; what was expected before counts as `prior` runs. Runs
    /// beyond the request would have ended there.
    pub(super) fn refine(&mut self, runs: &ClassRuns, prior: f64) {
        let each = 1.0 / (f64::from(runs.total) + prior);
        let kept = prior * each;
        for (share, count) in self.shares[..=self.last].iter_mut().zip(runs.counts.iter()) {
            *share = f64::from(*count) * each + *share * kept;
        }
        if runs.high > self.last {
            let beyond: f32 = runs.counts[self.last + 1..].iter().sum();
            self.shares[self.last] += f64::from(beyond) * each;
        }
    }

    /// What the shares say, in one pass over them: half of all runs, and one in a hundred, are
    /// longer than the first two.
    pub(super) fn reading(&self) -> Reading {
        let requested = self.requested.0 as f64;
        let (mut sum, mut mean, mut inverse) = (0.0, 0.0, 0.0);
        let (mut median, mut late) = (None, None);
        for (bin, part) in self.shares[..=self.last].iter().enumerate() {
            let with = sum + part;
            if with >= HALF && median.is_none() {
                median = Some(self.within(bin, (HALF - sum) / part.max(f64::MIN_POSITIVE)));
            }
            if with >= LATE && late.is_none() {
                late = Some(self.within(bin, (LATE - sum) / part.max(f64::MIN_POSITIVE)));
            }
            sum = with;
            let seconds = MIDDLES[bin].min(requested);
            mean += part * seconds;
            inverse += part / seconds.max(SHORT);
        }
        let [median, late] = [median, late].map(|found| found.unwrap_or(self.requested));
        Reading { median, late, mean, inverse }
    }

    /// So far within a bin, from 1 s up to the request.
    fn within(&self, bin: usize, part: f64) -> Span {
        let seconds = EDGES[bin] + (EDGES[bin + 1] - EDGES[bin]) * part.clamp(0.0, 1.0);
        Span(seconds as i64).max(Span(1)).min(self.requested)
    }
}

/// Shares of runs that are not longer.
const HALF: f64 = 0.5;
const LATE: f64 = 0.99;

/// What a spread says of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) median: Span,
    pub(super) late: Span,
    /// The mean run time in seconds.
    pub(super) mean: f64,
    /// The mean of 1 / run time, where runs of less than 10 s count as 10 s: what a second of
    /// waiting adds to the bounded slowdown.
    pub(super) inverse: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_time_is_between_the_edges_of_its_bin() {
        for seconds in (1..5_000).chain([86_400, 215_999, 16_777_215]) {
            let bin = bin_of(Span(seconds));
            assert!(EDGES[bin] <= seconds as f64 && (seconds as f64) < EDGES[bin + 1], "{seconds}");
        }
        assert_eq!((bin_of(Span(0)), bin_of(Span(i64::MAX))), (0, BINS - 1));
    }

    #[test]
    fn runs_move_the_spread_and_never_beyond_the_request() {
        let mut spread = Spread::unknown(Span(1_000));
        let mut runs = ClassRuns::default();
        (0..50).for_each(|_| runs.add(bin_of(Span(60)), 1.0));
        spread.refine(&runs, 1.0);
        let median = spread.reading().median;
        assert!((54..=70).contains(&median.0), "{median:?}");
        (0..500).for_each(|_| runs.add(bin_of(Span(90_000)), 1.0));
        spread.refine(&runs, 1.0);
        assert_eq!(spread.reading().late, Span(1_000));
        let sum: f64 = spread.shares.iter().sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        let Reading { mean, inverse, .. } = spread.reading();
        assert!(mean <= 1_000.0 && mean * inverse > 0.999, "{mean} {inverse}");
    }
}
