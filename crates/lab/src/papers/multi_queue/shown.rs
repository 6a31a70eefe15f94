//! Claims over many cases, gains and figures, written shortly.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel, PlotSeries};

use super::load::LOADS;
use super::schemes::Scheme;
use crate::findings::{Claim, Gain};
pub(super) use crate::papers::shorthand::{picture, value};
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

/// Something is more than another in each of several cases: all of these differences are above 0.
/// It holds in the main if it surely does in most cases, and surely does not in one at most.
pub(super) fn everywhere(
    text: &'static str,
    cases: &[(String, Estimate)],
    measured: String,
) -> Claim {
    let count = |holds: fn(&Estimate) -> bool| cases.iter().filter(|case| holds(&case.1)).count();
    let (holds, fails) = (count(|of| of.low > 0.0), count(|of| of.high <= 0.0));
    let verdict = if holds == cases.len() && holds > 0 {
        Verdict::Reproduced
    } else if 2 * holds > cases.len() && fails <= 1 {
        Verdict::Trend
    } else if fails == 0 {
        Verdict::Inconclusive
    } else {
        Verdict::NotReproduced
    };
    let open: Vec<&str> =
        cases.iter().filter(|case| case.1.low <= 0.0).map(|case| case.0.as_str()).collect();
    let measured = match open.len() {
        0 => measured,
        all if all == cases.len() => format!("{measured}; nowhere for sure"),
        _ => format!("{measured}; not, or not surely: {}", open.join(", ")),
    };
    Claim::new(text, verdict, measured)
}

/// What `one` has more of than `other` in every load of the figures.
pub(super) fn more_at_loads(
    tally: &Tally,
    one: Scheme,
    other: Scheme,
    measure: &str,
) -> Vec<(String, Estimate)> {
    let at =
        |(load, _): &(&str, f64)| (format!("load {load}"), more(tally, load, one, other, measure));
    LOADS.iter().map(at).collect()
}

/// What `one` has more of than `other` on the same jobs, in the mean.
pub(super) fn more(
    tally: &Tally,
    load: &str,
    one: Scheme,
    other: Scheme,
    measure: &str,
) -> Estimate {
    tally.pairs(&format!("{load}/{}:{}/{measure}", one.key, other.key)).difference()
}

/// Upside down: what the other has more of.
pub(super) fn less(of: Estimate) -> Estimate {
    of.map(|x| -x)
}

/// The mean of a measure.
pub(super) fn mean(tally: &Tally, load: &str, scheme: Scheme, measure: &str) -> f64 {
    tally.mean(&format!("{load}/{}/{measure}", scheme.key)).mean
}

/// `name 0.31` for each scheme, with so many decimals.
pub(super) fn listed(
    tally: &Tally,
    load: &str,
    schemes: &[Scheme],
    measure: &str,
    decimals: usize,
) -> String {
    let one = |scheme: &Scheme| {
        format!("{} {:.decimals$}", scheme.name, mean(tally, load, *scheme, measure))
    };
    schemes.iter().map(one).collect::<Vec<String>>().join(", ")
}

/// `ours` in the place of `paper`, run by run at one load.
pub(super) fn gain(
    tally: &Tally,
    load: &str,
    (ours, paper): (Scheme, Scheme),
    name: &'static str,
    (measure, shown): (&str, &'static str),
) -> Gain {
    let pairs = tally.pairs(&format!("{load}/{}:{}/{measure}", ours.key, paper.key));
    let [ours, paper] = pairs.means();
    Gain { name, measure: shown, paper, ours, ratio: pairs.ratio() }
}

/// Curves of a measure over the load.
pub(super) fn over_loads(tally: &Tally, schemes: &[Scheme], measure: &str, up: &str) -> PlotPanel {
    let curve = |scheme: &Scheme| PlotSeries {
        name: scheme.name.to_owned(),
        mark: Mark::Line,
        values: LOADS
            .iter()
            .map(|(name, load)| {
                let of = tally.mean(&format!("{name}/{}/{measure}", scheme.key));
                value(*load, of)
            })
            .collect(),
    };
    PlotPanel {
        up: up.to_owned(),
        across: PlotAcross::Numbers("offered load".to_owned()),
        series: schemes.iter().map(curve).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(intervals: &[(f64, f64)]) -> Verdict {
        let cases: Vec<(String, Estimate)> = intervals
            .iter()
            .map(|&(low, high)| {
                let mean = f64::midpoint(low, high);
                (format!("{low}"), Estimate { mean, low, high, count: 9 })
            })
            .collect();
        everywhere("it is so", &cases, "seen".to_owned()).because("Why.").verdict
    }

    #[test]
    fn many_cases_make_one_verdict() {
        const YES: (f64, f64) = (1.0, 2.0);
        const NO: (f64, f64) = (-2.0, -1.0);
        const OPEN: (f64, f64) = (-1.0, 2.0);
        assert_eq!(verdict(&[YES, YES]), Verdict::Reproduced);
        assert_eq!(verdict(&[YES, YES, OPEN]), Verdict::Trend);
        assert_eq!(verdict(&[YES, YES, NO]), Verdict::Trend);
        assert_eq!(verdict(&[YES, YES, YES, NO, NO]), Verdict::NotReproduced);
        assert_eq!(verdict(&[YES, NO]), Verdict::NotReproduced);
        assert_eq!(verdict(&[YES, OPEN]), Verdict::Inconclusive);
        assert_eq!(verdict(&[OPEN, OPEN, NO]), Verdict::NotReproduced);
        assert_eq!(verdict(&[]), Verdict::Inconclusive);
    }
}
