//! How likely which run time is.

use tradewind_model::Span;

/// Bins of run times: four for each doubling, up to 2^24 s.
pub(super) const BINS: usize = 96;
/// The quarters of a doubling.
const QUARTERS: [f64; 4] = [1.0, 1.189_207_115, std::f64::consts::SQRT_2, 1.681_792_830];
/// From the lower edge of a bin to its middle, as a factor.
const MIDDLE: f64 = 1.090_507_733;
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
pub(super) struct Runs {
    counts: Box<[f32; BINS]>,
    total: f32,
}

impl Default for Runs {
    fn default() -> Runs {
        Runs { counts: Box::new([0.0; BINS]), total: 0.0 }
    }
}

impl Runs {
    /// One more run; those before count `kept` times what they counted.
    pub(super) fn add(&mut self, bin: usize, kept: f32) {
        self.counts.iter_mut().for_each(|count| *count *= kept);
        self.counts[bin] += 1.0;
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
    pub(super) fn refine(&mut self, runs: &Runs, prior: f64) {
        let each = 1.0 / (f64::from(runs.total) + prior);
        let kept = prior * each;
        for (share, count) in self.shares[..=self.last].iter_mut().zip(runs.counts.iter()) {
            *share = f64::from(*count) * each + *share * kept;
        }
        let beyond: f32 = runs.counts[self.last + 1..].iter().sum();
        self.shares[self.last] += f64::from(beyond) * each;
    }

    /// The run time that a share of the runs does not exceed, from 1 s up to the request.
    pub(super) fn quantile(&self, share: f64) -> Span {
        let mut sum = 0.0;
        for (bin, part) in self.shares[..=self.last].iter().enumerate() {
            if sum + part >= share {
                let within = (share - sum) / part.max(f64::MIN_POSITIVE);
                let seconds = EDGES[bin] + (EDGES[bin + 1] - EDGES[bin]) * within.clamp(0.0, 1.0);
                return Span(seconds as i64).max(Span(1)).min(self.requested);
            }
            sum += part;
        }
        self.requested
    }

    /// The mean run time in seconds, and the mean of 1 / run time, where runs of less than 10 s count
    /// as 10 s: what a second of waiting adds to the bounded slowdown.
    pub(super) fn means(&self) -> (f64, f64) {
        let requested = self.requested.0 as f64;
        let each = self.shares[..=self.last].iter().enumerate();
        each.fold((0.0, 0.0), |(mean, inverse), (bin, share)| {
            let seconds = (EDGES[bin] * MIDDLE).min(requested);
            (mean + share * seconds, inverse + share / seconds.max(SHORT))
        })
    }
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
        let mut runs = Runs::default();
        (0..50).for_each(|_| runs.add(bin_of(Span(60)), 1.0));
        spread.refine(&runs, 1.0);
        assert!((54..=70).contains(&spread.quantile(0.5).0), "{:?}", spread.quantile(0.5));
        (0..500).for_each(|_| runs.add(bin_of(Span(90_000)), 1.0));
        spread.refine(&runs, 1.0);
        assert_eq!(spread.quantile(1.0), Span(1_000));
        let sum: f64 = spread.shares.iter().sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        let (mean, inverse) = spread.means();
        assert!(mean <= 1_000.0 && mean * inverse > 0.999, "{mean} {inverse}");
    }
}
