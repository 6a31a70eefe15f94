//! Published numbers, comparisons and pictures, written shortly.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel};

use super::week::MECHANISMS;
use crate::findings::{Claim, Evidence, Findings, Published};
pub(super) use crate::papers::shorthand::{because, misprint, picture as drawn, series};
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

/// What moves every number that no cause of its own is given for.
pub(super) const SETTING: &str = "The paper gives neither the length of a cycle nor the kind of \
                                  slots, and both move the shares more than the mechanism does; \
                                  the sensitivity table has by how much.";

/// Of the gate and wide jobs.
pub(super) const GATE: &str = "Our auction gains by its gate, which keeps large jobs out of busy \
                               queues; the algorithm as printed never ends, and what was simulated \
                               is not known.";

/// A number of the paper, in percent without decimals or as given.
pub(super) const fn number(
    name: &'static str,
    value: f64,
    unit: &'static str,
    place: &'static str,
    measured: fn(&Tally) -> Estimate,
) -> Published {
    let (cause, erratum, kind) = (SETTING, None, Evidence::Measured);
    Published { name, value, decimals: 0, unit, place, cause, erratum, measured, kind }
}

/// Every number beside what `tally` says.
pub(super) fn against(published: &'static [Published], tally: &Tally) -> Findings {
    let numbers = published.iter().map(|one| one.against(tally)).collect();
    Findings { numbers, ..Findings::default() }
}

/// A panel with a series per mechanism, of `values(mechanism)`.
pub(super) fn panel(
    up: &str,
    across: PlotAcross,
    mark: Mark,
    values: impl Fn(&str) -> Vec<(f64, Estimate)>,
) -> PlotPanel {
    let series = MECHANISMS.iter().map(|(id, name, _)| series(name, mark, values(id))).collect();
    PlotPanel { up: up.to_owned(), across, series }
}

/// By how many percent the auction has more of `group` than `other`.
pub(super) fn more(tally: &Tally, other: &str, group: &str) -> Estimate {
    tally.pairs(&format!("{other}/{group}")).ratio().map(|ratio| 100.0 * (ratio - 1.0))
}

/// A share of `group` in percent.
pub(super) fn share(tally: &Tally, mechanism: &str, group: &str) -> Estimate {
    tally.mean(&format!("{mechanism}/{group}")).map(|share| 100.0 * share)
}

/// The auction's rivals.
pub(super) fn rivals() -> impl Iterator<Item = (&'static str, &'static str)> {
    MECHANISMS.iter().skip(1).map(|(id, name, _)| (*id, *name))
}

/// The estimates with the least and with the greatest mean; nothing known of none.
pub(super) fn extremes(estimates: impl Iterator<Item = Estimate>) -> (Estimate, Estimate) {
    let known = estimates.filter(|estimate| estimate.mean.is_finite());
    let mut known: Vec<Estimate> = known.collect();
    known.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    let nothing = Estimate::none();
    (known.first().copied().unwrap_or(nothing), known.last().copied().unwrap_or(nothing))
}

/// A claim that holds or does not, if anything was run at all.
pub(super) fn claim(text: &'static str, holds: bool, tally: &Tally, measured: String) -> Claim {
    graded(text, if holds { Verdict::Reproduced } else { Verdict::NotReproduced }, tally, measured)
}

/// The same with a verdict of its own.
pub(super) fn graded(
    text: &'static str,
    verdict: Verdict,
    tally: &Tally,
    measured: String,
) -> Claim {
    match tally.series("dam/all").count {
        0 => Claim::new(text, Verdict::Inconclusive, "the log is not there".to_owned()),
        _ => Claim::new(text, verdict, measured),
    }
}

/// In how many of how many: all, most (`trend`) or not.
pub(super) fn of(held: usize, all: usize) -> Verdict {
    match () {
        () if held == all => Verdict::Reproduced,
        () if 3 * held >= 2 * all => Verdict::Trend,
        () => Verdict::NotReproduced,
    }
}
