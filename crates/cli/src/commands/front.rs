//! Combinations by several components: as a table, a document and a picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use tradewind_io::chart::{self, Mark, Plot, PlotAcross, PlotPanel, PlotSeries, PlotValue};
use tradewind_io::wire::Amount;
use tradewind_io::wire::combine::{Additive, AdditivePoint};

use crate::commands::plan::Picture;
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output;

/// A front, ready to be shown.
pub(crate) struct FrontView {
    /// What it is about.
    pub(crate) title: String,
    /// The components by name, most important first, each with its unit.
    pub(crate) components: Vec<(String, &'static str)>,
    /// The limits that applied, by quantity.
    pub(crate) limits: BTreeMap<String, Amount>,
    /// By point: the choice, and the sums of the components in their order.
    pub(crate) points: Vec<(Vec<Option<usize>>, Vec<Amount>)>,
    /// What the points are.
    pub(crate) kind: PointKind,
    /// Whether these are all points, or the choice is proven best.
    pub(crate) complete: bool,
}

/// What the points are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointKind {
    /// A Pareto front.
    Front,
    /// One choice.
    Choice,
}

impl FrontView {
    /// Prints it, and draws it where a file is named.
    pub(crate) fn show(&self, format: Format, file: Option<(&Path, Picture)>) -> Outcome {
        if let Some((path, kind)) = file {
            output::write_file(path, &draw(kind, &self.picture())?)?;
        }
        match format {
            Format::Json => output::json(&self.document())?,
            Format::Csv => output::print(&output::csv(&self.csv())?)?,
            Format::Table => output::print(&self.table())?,
        }
        Ok(Exit::Ok)
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.components.iter().map(|(name, _)| name)
    }

    fn document(&self) -> Additive {
        let point = |(chosen, sums): &(Vec<Option<usize>>, Vec<Amount>)| AdditivePoint {
            chosen: chosen.clone(),
            sums: self.names().cloned().zip(sums.iter().copied()).collect(),
        };
        Additive {
            order: self.names().cloned().collect(),
            limits: self.limits.clone(),
            pareto: self.points.iter().map(point).collect(),
            complete: self.complete,
        }
    }

    fn csv(&self) -> Vec<Vec<String>> {
        let head = self.names().cloned().chain(["chosen".to_owned()]).collect();
        let row = |(chosen, sums): &(Vec<Option<usize>>, Vec<Amount>)| {
            let word = |at: &Option<usize>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
            let chosen: Vec<String> = chosen.iter().map(word).collect();
            sums.iter().map(Amount::to_string).chain([chosen.join(" ")]).collect()
        };
        std::iter::once(head).chain(self.points.iter().map(row)).collect()
    }

    fn table(&self) -> String {
        let head = |(name, unit): &(String, &str)| format!("{name} {unit}").trim_end().to_owned();
        let mut rows: Vec<Vec<String>> = vec![self.components.iter().map(head).collect()];
        rows.extend(self.points.iter().map(|it| it.1.iter().map(Amount::to_string).collect()));
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> =
            (0..self.components.len()).map(|column| width(column).unwrap_or_default()).collect();
        let mut text = String::new();
        for row in &rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
            let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  "));
        }
        let said = match (self.kind, self.complete) {
            (PointKind::Choice, true) => "proven best in this order".to_owned(),
            (PointKind::Choice, false) => "not proven best: the work limit was reached".to_owned(),
            (PointKind::Front, complete) => {
                let all = if complete { "all there are" } else { "of a larger front" };
                let points = self.points.len();
                format!("{points} points, {all}: none is better in a component and no worse in all")
            }
        };
        let _ = writeln!(text, "\n{said}");
        text
    }

    /// A panel for each component after the first, over the first.
    fn picture(&self) -> Plot {
        let label = |at: usize| {
            let (name, unit) = &self.components[at];
            if unit.is_empty() { name.clone() } else { format!("{name}, {unit}") }
        };
        let number = |amount: &Amount| amount.to_string().parse::<f64>().unwrap_or(f64::NAN);
        let panel = |up: usize| {
            let value = |(_, sums): &(Vec<Option<usize>>, Vec<Amount>)| {
                PlotValue::exact(number(&sums[0]), number(&sums[up]))
            };
            // Of two components the points are a line; of more, a cloud.
            let mark = if self.components.len() == 2 { Mark::Line } else { Mark::Points };
            let values = self.points.iter().map(value).collect();
            let series = vec![PlotSeries { name: "front".to_owned(), mark, values }];
            PlotPanel { up: label(up), across: PlotAcross::Numbers(label(0)), series }
        };
        let shown = self.points.len();
        let part = if self.complete { "all" } else { "some" };
        Plot {
            title: self.title.clone(),
            subtitle: format!("{part} combinations that no other one beats: {shown} points"),
            panels: (1..self.components.len()).map(panel).collect(),
            notes: Vec::new(),
        }
    }
}

/// The bytes of a plot.
pub(crate) fn draw(kind: Picture, plot: &Plot) -> Result<Vec<u8>, Failure> {
    let picture = chart::Picture::Plot(plot.clone());
    match kind {
        Picture::Svg => Ok(picture.svg().into_bytes()),
        Picture::Png => {
            picture.png().map_err(|error| Failure::data(format!("failed to draw: {error}")))
        }
    }
}
