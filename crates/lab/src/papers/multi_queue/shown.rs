//! Claims over many cases, gains and figures, written shortly.

use tradewind_io::chart::{Mark, Picture, Plot, PlotAcross, PlotPanel, PlotSeries, PlotValue};

use super::load::LOADS;
use super::schemes::Scheme;
use crate::findings::{Claim, Figure, Gain};
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

/// Something is more than another in each of several cases: all of these differences are above 0.
/// It holds in the main if it does in most cases, and the mean is above 0 in all but one of the
/// others.
pub(super) fn everywhere(
    text: &'static str,
    cases: &[(String, Estimate)],
    measured: String,
) -> Claim {
    let count = |holds: fn(&Estimate) -> bool| cases.iter().filter(|case| holds(&case.1)).count();
    let (sure, against) = (count(|of| of.low > 0.0), count(|of| of.high <= 0.0));
    let verdict = match (sure, against) {
        (sure, _) if sure == cases.len() && sure > 0 => Verdict::Reproduced,
        (sure, against) if 2 * sure > cases.len() && against <= 1 => Verdict::Trend,
        (sure, against) if against > 0 && 2 * sure <= cases.len() => Verdict::NotReproduced,
        (_, 0) => Verdict::Inconclusive,
        _ => Verdict::NotReproduced,
    };
    let failing: Vec<&str> =
        cases.iter().filter(|case| case.1.low <= 0.0).map(|case| case.0.as_str()).collect();
    let measured = match (verdict, failing.is_empty()) {
        (Verdict::Reproduced, _) | (_, true) => measured,
        _ => format!("{measured}; not, or not surely, at {}", failing.join(", ")),
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

/// An estimate at its place.
pub(super) fn value(x: f64, of: Estimate) -> PlotValue {
    PlotValue { x, y: of.mean, interval: (of.count > 1).then_some((of.low, of.high)) }
}

/// A picture of one or more panels.
pub(super) fn picture(title: &str, subtitle: &str, panels: Vec<PlotPanel>) -> Option<Figure> {
    let (title, subtitle) = (title.to_owned(), subtitle.to_owned());
    let plot = Plot { title, subtitle, panels, notes: Vec::new() };
    Some(Figure::Picture(Box::new(Picture::Plot(plot))))
}
