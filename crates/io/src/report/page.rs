//! From plain data to the page.

use askama::Template;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{CampaignReport, DrawnPicture, FileLink, ReportPicture, ReportRow, RunReport};
use crate::chart::{self, Estimate};

/// Pictures of runs stop being drawn inside the page beyond this size; those of the campaign as a
/// whole are always there.
const PICTURES_BYTES_MOST: usize = 16 << 20;

/// What is escaped in a path.
const IN_PATHS: AsciiSet =
    NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The page as HTML. All text is escaped. The same report gives the same bytes.
///
/// Pictures of runs beyond 16 MB in all are left to their files; the page says so in their place.
pub fn campaign(report: &CampaignReport) -> String {
    let mut drawn = DrawnSoFar::default();
    let pictures = report.pictures.iter().map(|picture| drawn.always(picture)).collect();
    let runs = report.runs.iter().map(|run| RunView::new(run, &mut drawn)).collect();
    let page = Page {
        report,
        style: include_str!("style.css"),
        dark: chart::dark_style(),
        script: include_str!("sort.js"),
        columns: columns(report),
        rows: rows(report),
        pictures,
        runs,
        files: links(&report.files),
        intervals: report
            .rows
            .iter()
            .flat_map(|row| &row.values)
            .flatten()
            .any(|v| v.interval.is_some()),
    };
    // Writing to memory fails only where a value cannot be written; text always can.
    page.render().unwrap_or_default() + "\n"
}

#[derive(Template)]
#[template(path = "report/page.html")]
struct Page<'a> {
    report: &'a CampaignReport,
    style: &'static str,
    dark: String,
    script: &'static str,
    columns: Vec<Column>,
    rows: Vec<RowView<'a>>,
    pictures: Vec<PictureView<'a>>,
    runs: Vec<RunView<'a>>,
    files: Vec<LinkView<'a>>,
    /// Whether any value has a confidence interval.
    intervals: bool,
}

/// The head of a column: its name with its unit, and which way is better.
struct Column {
    head: String,
    better: &'static str,
}

struct RowView<'a> {
    place: &'a [String],
    cells: Vec<Cell>,
}

/// One number of the table.
struct Cell {
    text: String,
    /// What sorting goes by.
    key: String,
    /// Text that the page shows on hover.
    hint: String,
    interval: String,
    best: bool,
}

struct PictureView<'a> {
    caption: &'a str,
    /// What shows it, as HTML. Empty: left to the files.
    html: String,
    files: Vec<LinkView<'a>>,
}

struct RunView<'a> {
    run: &'a RunReport,
    pictures: Vec<PictureView<'a>>,
    files: Vec<LinkView<'a>>,
}

struct LinkView<'a> {
    name: &'a str,
    href: String,
}

/// What has been drawn so far.
#[derive(Default)]
struct DrawnSoFar {
    count: usize,
    bytes: usize,
}

impl DrawnSoFar {
    fn always<'a>(&mut self, of: &'a ReportPicture) -> PictureView<'a> {
        self.count += 1;
        let svg = of.picture.inline(&format!("p{}", self.count));
        self.bytes += svg.len();
        PictureView { caption: &of.caption, html: svg, files: links(&of.files) }
    }

    fn while_there_is_room<'a>(&mut self, of: &'a DrawnPicture) -> PictureView<'a> {
        let html = match self.bytes >= PICTURES_BYTES_MOST {
            true => String::new(),
            false => format!("<img alt=\"\" src=\"{}\">", data_address(&of.svg)),
        };
        self.bytes += html.len();
        PictureView { caption: &of.caption, html, files: links(&of.files) }
    }
}

impl<'a> RunView<'a> {
    fn new(run: &'a RunReport, drawn: &mut DrawnSoFar) -> RunView<'a> {
        let pictures =
            run.pictures.iter().map(|picture| drawn.while_there_is_room(picture)).collect();
        RunView { run, pictures, files: links(&run.files) }
    }
}

fn columns(report: &CampaignReport) -> Vec<Column> {
    let column = |measure: &super::ReportMeasure| Column {
        head: match measure.unit.label() {
            "" => measure.name.clone(),
            unit => format!("{},\u{a0}{unit}", measure.name),
        },
        better: measure.better.label(),
    };
    report.measures.iter().map(column).collect()
}

fn rows(report: &CampaignReport) -> Vec<RowView<'_>> {
    let rows = report.rows.iter();
    rows.map(|row| RowView { place: &row.place, cells: cells(report, row) }).collect()
}

fn value(row: &ReportRow, at: usize) -> Option<Estimate> {
    row.values.get(at).copied().flatten().filter(|value| value.mean.is_finite())
}

fn cells(report: &CampaignReport, row: &ReportRow) -> Vec<Cell> {
    let cell = |(at, measure): (usize, &super::ReportMeasure)| match value(row, at) {
        None => Cell {
            text: "–".to_owned(),
            key: String::new(),
            hint: "no value".to_owned(),
            interval: String::new(),
            best: false,
        },
        Some(Estimate { mean, interval }) => Cell {
            text: measure.unit.number(mean),
            key: format!("{mean:?}"),
            hint: measure.unit.say(mean),
            interval: interval.map_or_else(String::new, |(low, high)| {
                format!("{} to {}", measure.unit.number(low), measure.unit.number(high))
            }),
            best: row.best.get(at).copied().unwrap_or(false),
        },
    };
    report.measures.iter().enumerate().map(cell).collect()
}

fn links(files: &[FileLink]) -> Vec<LinkView<'_>> {
    files.iter().map(|file| LinkView { name: &file.name, href: href(&file.path) }).collect()
}

/// A drawing as an address. What would end the address or the attribute that contains it is
/// escaped.
pub fn data_address(svg: &str) -> String {
    const ESCAPED: AsciiSet = IN_PATHS
        .add(b'_')
        .add(b'~')
        .remove(b' ')
        .remove(b'!')
        .remove(b'\'')
        .remove(b'(')
        .remove(b')')
        .remove(b'*')
        .remove(b'+')
        .remove(b',')
        .remove(b':')
        .remove(b';')
        .remove(b'=')
        .remove(b'?')
        .remove(b'@');
    format!("data:image/svg+xml,{}", utf8_percent_encode(svg, &ESCAPED))
}

/// A relative address: everything but letters, digits, `-._~` and `/` is escaped.
fn href(path: &str) -> String {
    format!("./{}", utf8_percent_encode(path.trim_start_matches('/'), &IN_PATHS))
}
