//! Pictures: plans, replays and comparisons of policies.
//!
//! A [`Chart`] is a Gantt chart of a plan, as SVG, PNG or text. A [`Picture`] is made of one or
//! several replays, as SVG or PNG: [`GanttOfRun`], [`Usage`], [`Curves`], [`Lines`], [`Bars`],
//! [`Comparison`]; or of a study: [`Plot`].
//!
//! Everything drawn is a function of plain data: no font, clock or locale of the machine has a
//! say, so the same data give the same bytes everywhere. What a picture leaves out, its caption
//! says.

mod axis;
mod bars;
mod blocks;
mod clock;
mod compare;
mod curves;
mod distribution;
mod gantt;
mod ink;
mod lanes;
mod letters;
mod lines;
mod panel;
mod picture;
mod plan;
mod plot;
mod png;
mod replay;
mod rows;
mod sheet;
mod steps;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod theme;
mod trace;
mod usage;

use tradewind_model::{Horizon, Money, Time};

pub use crate::present::Unit;
use crate::present::grouped;

pub use bars::{Bars, ClassOfJobs, Classes};
pub use compare::{Better, Comparison, Estimate, Measure};
pub use curves::{Curve, Curves, Spread};
pub use distribution::Distribution;
pub use gantt::{Colours, GanttOfRun, GanttOptions};
pub use lines::{Across, Line, Lines};
pub use picture::Picture;
pub use plot::{Mark, Plot, PlotAcross, PlotPanel, PlotSeries, PlotValue};
pub use png::{HAS_PNG, PngError, png};
pub use replay::{Hold, HoldCause, Processors, Replay, ReplayJob, ReplayPool, RunFate};
pub use svg::svg;
pub use text::{Glyphs, TextOptions, text};
pub(crate) use theme::dark_style;
pub use trace::Trace;
pub use usage::Usage;

/// What to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// Above the picture.
    pub title: String,
    /// The time axis.
    pub horizon: Horizon,
    /// A vertical line at this moment.
    pub now: Option<Time>,
    /// One per node; rows of one group stand together.
    pub rows: Vec<ChartRow>,
    /// In any order.
    pub bars: Vec<Bar>,
    /// The batch, for colours and the legend.
    pub jobs: Vec<ChartJob>,
}

/// One node's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartRow {
    /// The node's name.
    pub label: String,
    /// The site's name.
    pub group: String,
}

/// A span on one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    /// Index into [`Chart::rows`].
    pub row: usize,
    /// First second.
    pub start: Time,
    /// First second after it.
    pub end: Time,
    /// What it stands for.
    pub kind: Kind,
}

/// What a bar stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The owner's own load, or anything else that keeps the node busy.
    Local,
    /// The job of this index in [`Chart::jobs`] runs here.
    Placed(usize),
    /// The job of this index could have run here.
    Alternative(usize),
}

/// One line of the legend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartJob {
    /// The job's name.
    pub name: String,
    /// What happened to it.
    pub fate: Fate,
}

/// What happened to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The job is placed in the plan.
    Placed {
        /// First second.
        start: Time,
        /// First second after its longest task.
        finish: Time,
        /// What it costs in all.
        cost: Money,
    },
    /// It waits, for this reason.
    Postponed(String),
}

impl Chart {
    fn placed(&self) -> usize {
        self.jobs.iter().filter(|job| matches!(job.fate, Fate::Placed { .. })).count()
    }

    /// "6 of 8 jobs placed", the line under every title.
    fn summary(&self) -> String {
        let nodes = grouped(self.rows.len());
        let jobs = self.jobs.len();
        format!("{} of {jobs} jobs placed on {nodes} nodes", self.placed())
    }
}
