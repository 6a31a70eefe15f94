//! Published numbers and claims, written shortly.

use tradewind_io::chart::{Mark, Picture, Plot, PlotPanel, PlotSeries, PlotValue};

use crate::findings::{Evidence, Figure, Findings, Number, Published};
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

pub(super) const fn because(cause: &'static str, published: Published) -> Published {
    Published { cause, ..published }
}

pub(super) const fn misprint(erratum: &'static str, published: Published) -> Published {
    Published { erratum: Some(erratum), ..published }
}

/// It was used to choose a parameter, which `cause` names.
pub(super) const fn fitted(cause: &'static str, published: Published) -> Published {
    Published { cause, kind: Evidence::Fitted, ..published }
}

pub(super) fn against(published: &'static [Published], tally: &Tally) -> Vec<Number> {
    published.iter().map(|one| one.against(tally)).collect()
}

/// Numbers and a picture of one or more panels.
pub(super) fn drawn(title: &str, subtitle: &str, panels: Vec<PlotPanel>) -> Findings {
    let (title, subtitle) = (title.to_owned(), subtitle.to_owned());
    let plot = Plot { title, subtitle, panels, notes: Vec::new() };
    let figure = Some(Figure::Picture(Box::new(Picture::Plot(plot))));
    Findings { figure, ..Findings::default() }
}

/// Estimates at their places.
pub(super) fn series(name: &str, mark: Mark, values: Vec<(f64, Estimate)>) -> PlotSeries {
    let value = |(x, of): (f64, Estimate)| PlotValue {
        x,
        y: of.mean,
        interval: (of.count > 1).then_some((of.low, of.high)),
    };
    let values = values.into_iter().map(value).collect();
    PlotSeries { name: name.to_owned(), mark, values }
}

/// By how many percent the first of a pair is less than the second.
pub(super) fn percent_less(tally: &Tally, pair: &str) -> Estimate {
    tally.pairs(pair).ratio().map(|ratio| 100.0 * (1.0 - ratio))
}

/// By how many percent the first of a pair is more than the second.
pub(super) fn percent_more(tally: &Tally, pair: &str) -> Estimate {
    tally.pairs(pair).ratio().map(|ratio| 100.0 * (ratio - 1.0))
}
