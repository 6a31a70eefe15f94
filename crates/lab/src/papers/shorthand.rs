//! Published numbers and pictures, written shortly.

use tradewind_io::chart::{Mark, Picture, Plot, PlotPanel, PlotSeries, PlotValue};

use crate::findings::{Evidence, Figure, Published};
use crate::tally::Estimate;

/// The same with a cause of its own.
pub(super) const fn because(cause: &'static str, published: Published) -> Published {
    Published { cause, ..published }
}

/// The same with what is misprinted there.
pub(super) const fn misprint(erratum: &'static str, published: Published) -> Published {
    Published { erratum: Some(erratum), ..published }
}

/// It was used to choose a parameter, which `cause` names.
pub(super) const fn fitted(cause: &'static str, published: Published) -> Published {
    Published { cause, kind: Evidence::Fitted, ..published }
}

/// An estimate at its place; what was observed once has no interval.
pub(super) fn value(x: f64, of: Estimate) -> PlotValue {
    PlotValue { x, y: of.mean, interval: (of.count > 1).then_some((of.low, of.high)) }
}

/// Estimates at their places.
pub(super) fn series(name: &str, mark: Mark, values: Vec<(f64, Estimate)>) -> PlotSeries {
    let values = values.into_iter().map(|(x, of)| value(x, of)).collect();
    PlotSeries { name: name.to_owned(), mark, values }
}

/// A picture of one or more panels.
pub(super) fn picture(title: &str, subtitle: &str, panels: Vec<PlotPanel>) -> Option<Figure> {
    let (title, subtitle) = (title.to_owned(), subtitle.to_owned());
    let plot = Plot { title, subtitle, panels, notes: Vec::new() };
    Some(Figure::Picture(Box::new(Picture::Plot(plot))))
}
