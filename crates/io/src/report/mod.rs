//! One page about a campaign: what was run, the table, the pictures, what was odd about the logs.
//!
//! The page is a single file without anything from elsewhere: style, a few lines of script for
//! sorting the table, and all pictures are inside, and a policy in its head forbids the rest.

mod page;
#[cfg(test)]
mod tests;

use crate::chart::{Better, Estimate, Picture, Unit};

pub use page::{campaign, data_address};

/// Content of the report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CampaignReport {
    /// Title of the report.
    pub title: String,
    /// Program and version, such as `tradewind 0.1.0`.
    pub version: String,
    /// The command line that repeats the campaign.
    pub command: String,
    /// Names and values of what holds for all runs: semantics, seeds, trimming.
    pub settings: Vec<(String, String)>,
    /// The logs or models, and what had to be done to them.
    pub workloads: Vec<WorkloadReport>,
    /// The names of [`ReportRow::place`]. The first one is what is compared, the policy.
    pub axes: Vec<String>,
    /// The columns of the table.
    pub measures: Vec<ReportMeasure>,
    /// The rows of the table.
    pub rows: Vec<ReportRow>,
    /// What is marked in the table and what cannot be said, a sentence each.
    pub verdicts: Vec<String>,
    /// Further tables: differences between policies, and what was measured on other jobs.
    pub tables: Vec<ReportTable>,
    /// Pictures of the campaign as a whole.
    pub pictures: Vec<ReportPicture>,
    /// A folded section per run.
    pub runs: Vec<RunReport>,
    /// Files about the campaign as a whole.
    pub files: Vec<FileLink>,
}

/// Where jobs came from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkloadReport {
    /// The log's file, or the model's name.
    pub name: String,
    /// Names and values: jobs, processors, days.
    pub facts: Vec<(String, String)>,
    /// What was dropped, repaired or assumed, a sentence each.
    pub notes: Vec<String>,
}

/// A column of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportMeasure {
    /// Heading of the column.
    pub name: String,
    /// What it counts.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReportRow {
    /// One value per axis.
    pub place: Vec<String>,
    /// One per measure.
    pub values: Vec<Option<Estimate>>,
    /// One per measure: whether it is the best, for sure. Empty: none is.
    pub best: Vec<bool>,
}

/// A table of texts below the one of the measures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportTable {
    /// Its heading.
    pub title: String,
    /// What a reader should know of it, a sentence or two.
    pub note: String,
    /// The heads of its columns.
    pub heads: Vec<String>,
    /// As many cells per row as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// A picture with what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportPicture {
    /// Drawn inside the page.
    pub picture: Picture,
    /// Caption below the picture.
    pub caption: String,
    /// The same as files of their own.
    pub files: Vec<FileLink>,
}

/// A picture that was drawn before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnPicture {
    /// A whole SVG document.
    pub svg: String,
    /// Caption below the picture.
    pub caption: String,
    /// The same as files of their own.
    pub files: Vec<FileLink>,
}

/// The report of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunReport {
    /// The policy, with whatever else sets the run apart.
    pub name: String,
    /// Names and values.
    pub facts: Vec<(String, String)>,
    /// What a reader should know, a sentence each.
    pub notes: Vec<String>,
    /// Pictures of the run.
    pub pictures: Vec<DrawnPicture>,
    /// Files of the run.
    pub files: Vec<FileLink>,
}

/// A file beside the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLink {
    /// As it is called on the page.
    pub name: String,
    /// Its path from the page's folder on, with `/` between folders.
    pub path: String,
}
