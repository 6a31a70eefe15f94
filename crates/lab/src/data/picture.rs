//! Pictures like the papers'.

use tradewind_io::chart::{Picture, Plot, PlotAcross, PlotPanel, PlotSeries, PlotValue};

use super::formula::{FormulaValue, Result, Scope};
use super::read::{FigureEntry, PanelEntry, SeriesEntry};
use crate::case::Case;
use crate::findings::Figure;
use crate::papers;
use crate::tally::Estimate;

/// Of panels; without any it is the plan of the worked example.
pub(super) fn figure<'a>(
    entry: &'a FigureEntry,
    title: &str,
    scope: &mut Scope<'a>,
    case: &Case,
) -> Result<Option<Figure>> {
    let title = entry.title.as_deref().unwrap_or(title).to_owned();
    if entry.panels.is_empty() {
        return Ok(papers::plan(case, title));
    }
    let mut panels = Vec::new();
    for entry in &entry.panels {
        panels.extend(scope.every(entry.each.as_ref(), |scope| panel(entry, scope))?);
    }
    let plot = Plot { title, subtitle: entry.subtitle.clone(), panels, notes: Vec::new() };
    Ok(Some(Figure::Picture(Box::new(Picture::Plot(plot)))))
}

fn panel<'a>(entry: &'a PanelEntry, scope: &mut Scope<'a>) -> Result<PlotPanel> {
    let across = match (&entry.numbers, &entry.cases) {
        (Some(numbers), _) => PlotAcross::Numbers(scope.text(numbers)?),
        (None, Some(cases)) => PlotAcross::Cases(scope.read(cases, texts)?),
        (None, None) => PlotAcross::Cases(Vec::new()),
    };
    let mut series = Vec::new();
    for entry in &entry.series {
        series.extend(scope.every(entry.each.as_ref(), |scope| values(entry, scope))?);
    }
    Ok(PlotPanel { up: scope.text(&entry.up)?, across, series })
}

fn values<'a>(entry: &'a SeriesEntry, scope: &mut Scope<'a>) -> Result<PlotSeries> {
    let across = entry.x.as_ref().map(|x| scope.read(x, estimates)).transpose()?;
    let up = scope.read(&entry.y, estimates)?;
    let x = |at: usize| match &across {
        Some(across) => across.get(at).map_or(f64::NAN, |x| x.mean),
        None => at as f64,
    };
    let value = |(at, y): (usize, &Estimate)| {
        // What was observed once has no interval.
        let interval = (y.count > 1).then_some((y.low, y.high));
        PlotValue { x: x(at), y: y.mean, interval }
    };
    let values = up.iter().enumerate().map(value).collect();
    Ok(PlotSeries { name: scope.text(&entry.name)?, mark: entry.mark, values })
}

fn texts(list: &FormulaValue) -> Result<Vec<String>> {
    list.list()?.iter().map(|text| text.text().map(str::to_owned)).collect()
}

fn estimates(list: &FormulaValue) -> Result<Vec<Estimate>> {
    list.list()?.iter().map(FormulaValue::estimate).collect()
}
