//! Published numbers and claims, written shortly.

use tradewind_io::chart::PlotPanel;

use crate::findings::{Evidence, Findings, Number, Published};
use crate::papers::shorthand::picture;
pub(super) use crate::papers::shorthand::{because, fitted, misprint, series};
use crate::tally::{Estimate, Tally};

/// What moves every number that no cause of its own is given for.
pub(super) const SETTING: &str = "The paper leaves open the market price, the jobs' work and \
                                  widths and the local tasks, and this moves with all of them; the \
                                  sensitivity table has by how much.";

/// Of a percentage of two means.
pub(super) const PERCENT: &str = "A difference of two means: their errors weigh several times as \
                                  much in it, and it is printed without decimals.";

/// A number of the paper.
pub(super) const fn number(
    name: &'static str,
    (value, decimals): (f64, u8),
    unit: &'static str,
    place: &'static str,
    measured: fn(&Tally) -> Estimate,
) -> Published {
    let (cause, erratum, kind) = (SETTING, None, Evidence::Measured);
    Published { name, value, decimals, unit, place, cause, erratum, measured, kind }
}

pub(super) fn against(published: &'static [Published], tally: &Tally) -> Vec<Number> {
    published.iter().map(|one| one.against(tally)).collect()
}

/// Findings with a picture of one or more panels.
pub(super) fn drawn(title: &str, subtitle: &str, panels: Vec<PlotPanel>) -> Findings {
    Findings { figure: picture(title, subtitle, panels), ..Findings::default() }
}

/// By how many percent the first of a pair is less than the second.
pub(super) fn percent_less(tally: &Tally, pair: &str) -> Estimate {
    tally.pairs(pair).ratio().map(|ratio| 100.0 * (1.0 - ratio))
}

/// By how many percent the first of a pair is more than the second.
pub(super) fn percent_more(tally: &Tally, pair: &str) -> Estimate {
    tally.pairs(pair).ratio().map(|ratio| 100.0 * (ratio - 1.0))
}
