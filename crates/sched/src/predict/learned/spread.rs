//! How likely which run time is.

use tradewind_model::Span;

/// Bins of run times: four for each doubling, up to 2^24 s.
pub(super) const BINS: usize = 96;
/// The quarters of a doubling.
const QUARTERS: [f64; 4] = [1.0, 1.189_207_115, std::f64::consts::SQRT_2, 1.681_792_830];
/// From the lower edge of a bin to its middle, as a factor.
const MIDDLE: f64 = 1.090_507_733;
/// The middle of each bin, in seconds.
static MIDDLES: [f64; BINS] = {
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
/// The middle of each bin as bounded slowdowns count it.
static DIVISORS: [f64; BINS] = {
    let (mut divisors, mut bin) = (MIDDLES, 0);
    while bin < BINS {
        divisors[bin] = if MIDDLES[bin] > SHORT { MIDDLES[bin] } else { SHORT };
        bin += 1;
    }
    divisors
};

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
        let last = bin_of(requested);
        let mut spread = Spread { requested, shares: [0.0; BINS], last };
        spread.shares[..=last].fill(1.0 / (last + 1) as f64);
        spread
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
        // All but the last bin end before the request.
        let before = 0..self.last;
        let whole = (&self.shares[before.clone()], &MIDDLES[before.clone()], &DIVISORS[before]);
        let mut sums = FirstBins::default();
        let median = self.reached(HALF, whole, &mut sums);
        let late = self.reached(LATE, whole, &mut sums);
        sums.add_until(f64::INFINITY, whole);
        let (part, seconds) = (self.shares[self.last], MIDDLES[self.last]);
        let seconds = seconds.min(self.requested.0 as f64);
        let mean = sums.mean + part * seconds;
        Reading { median, late, mean, inverse: sums.inverse + part / seconds.max(SHORT) }
    }

    /// The run time that so large a share does not exceed.
    fn reached(&self, share: f64, whole: WholeBins<'_>, sums: &mut FirstBins) -> Span {
        sums.add_until(share, whole);
        let part = self.shares[sums.bin];
        match sums.shares + part >= share {
            true => self.within(sums.bin, (share - sums.shares) / part.max(f64::MIN_POSITIVE)),
            false => self.requested,
        }
    }

    /// So far within a bin, from 1 s up to the request.
    fn within(&self, bin: usize, part: f64) -> Span {
        let seconds = EDGES[bin] + (EDGES[bin + 1] - EDGES[bin]) * part.clamp(0.0, 1.0);
        Span(seconds as i64).max(Span(1)).min(self.requested)
    }
}

/// Bins that end before the request: their shares, middles, and middles in slowdowns.
type WholeBins<'a> = (&'a [f64], &'a [f64], &'a [f64]);

/// FirstBins over the first bins.
#[derive(Debug, Default)]
struct FirstBins {
    /// The first bin that is not in them.
    bin: usize,
    shares: f64,
    mean: f64,
    inverse: f64,
}

impl FirstBins {
    /// Adds bins as long as their shares are less than this together.
    fn add_until(&mut self, share: f64, (shares, middles, divisors): WholeBins<'_>) {
        let from = self.bin;
        let bins = shares[from..].iter().zip(&middles[from..]).zip(&divisors[from..]);
        for ((part, middle), divisor) in bins {
            let with = self.shares + part;
            if with >= share {
                break;
            }
            self.shares = with;
            self.mean += part * middle;
            self.inverse += part / divisor;
            self.bin += 1;
        }
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
