//! The drawing.

use tradewind_model::Money;

use super::axis::Axis;
use super::blocks::{Block, blocks};
use super::ink::{Anchor, Ink, Lettering, Rect, Style, Weight, fit, text_width};
use super::rows::{self, Room, Shown};
use super::{Chart, ChartJob, Fate, Kind, grouped};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 28.0;
const HEAD: f64 = 84.0;
const GROUP_HEAD: f64 = 26.0;
/// A row is this high where there is room for it.
const ROW_MOST: f64 = 22.0;
/// Many rows share this height.
const PLOT_MOST: f64 = 1600.0;
const ROW_LEAST: f64 = 0.25;
/// From this height on, rows and bars are labelled.
const LABELLED: f64 = 8.0;
const ROOM: Room = Room { rows: 64, alternatives: 600 };
const LEGEND_ROW: f64 = 22.0;
const LEGEND_COLUMNS: usize = 3;
/// Entries of the legend, placed and postponed alike.
const LEGEND_MOST: usize = 60;

const DARK: &str = "#1f2328";
const GREY: &str = "#656d76";

/// Fill and edge per job, in turn. Paul Tol's "light" scheme, made for dark labels on top and
/// for colour-blind readers; the number beside each colour distinguishes more jobs.
const COLOURS: [(&str, &str); 8] = [
    ("#77aadd", "#3d74ab"),
    ("#ee8866", "#b8502c"),
    ("#eedd88", "#a8922a"),
    ("#44bb99", "#1f7f64"),
    ("#ffaabb", "#c25a70"),
    ("#bbcc33", "#7c8a12"),
    ("#99ddff", "#3f93bd"),
    ("#c9b6e4", "#7a5fa8"),
];

const TITLE: Style = Style { size: 20.0, anchor: Anchor::Start, weight: Weight::Bold, fill: DARK };
const BODY: Style =
    Style { size: 12.0, anchor: Anchor::Start, weight: Weight::Regular, fill: DARK };
const SMALL: Style = Style { size: 11.0, fill: GREY, ..BODY };

/// `chart` as an SVG document, 1,200 pixels wide.
///
/// Up to 64 rows are all drawn; of more, only those that the batch uses, and the caption says
/// how many were left out. The same chart gives the same bytes.
pub fn svg(chart: &Chart) -> String {
    draw(chart, Lettering::Text)
}

pub(super) fn draw(chart: &Chart, lettering: Lettering) -> String {
    let shown = rows::choose(chart, ROOM);
    let layout = Layout::new(chart, &shown);
    let mut notes = shown.notes.clone();
    notes.extend(layout.axis.note());
    let legend = Legend::new(chart, &mut notes);
    let notes_at = layout.bottom + 22.0;
    let legend_at = notes_at + notes.len() as f64 * 17.0 + 8.0;
    let height = legend_at + legend.height() + 12.0;
    let mut ink = Ink::new(WIDTH, height, &chart.title, lettering);
    ink.raw(HATCH);
    ink.raw("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    head(&mut ink, chart, &shown);
    layout.frame(&mut ink, chart, &shown);
    for block in blocks(chart, &shown) {
        layout.block(&mut ink, chart, &block);
    }
    layout.labels(&mut ink, chart, &shown);
    layout.now(&mut ink, chart);
    for (i, note) in notes.iter().enumerate() {
        ink.text(MARGIN, notes_at + i as f64 * 17.0, SMALL, note);
    }
    legend.draw(&mut ink, &layout.axis, legend_at);
    ink.finish()
}

const HATCH: &str = "<defs><pattern id=\"local\" width=\"6\" height=\"6\" \
    patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
    <rect width=\"6\" height=\"6\" fill=\"#eaecef\"/>\
    <rect width=\"1.6\" height=\"6\" fill=\"#c4c9d0\"/></pattern></defs>";
const LOCAL: &str = "fill=\"url(#local)\"";
const LOCAL_FLAT: &str = "fill=\"#dde1e6\"";

fn head(ink: &mut Ink, chart: &Chart, shown: &Shown) {
    ink.text(MARGIN, 36.0, TITLE, &fit(&chart.title, TITLE.size, WIDTH - 2.0 * MARGIN));
    ink.text(MARGIN, 58.0, Style { fill: GREY, ..BODY }, &chart.summary());
    let mut right = WIDTH - MARGIN;
    let mut key = |look: &str, text: &str| {
        right -= text_width(text, SMALL.size);
        ink.text(right, 58.0, SMALL, text);
        right -= 26.0;
        ink.rect(Rect { x: right, y: 49.0, width: 20.0, height: 11.0 }, look);
        right -= 22.0;
    };
    if shown.alternatives && chart.bars.iter().any(|b| matches!(b.kind, Kind::Alternative(_))) {
        key(
            "rx=\"2\" fill=\"none\" stroke=\"#656d76\" stroke-dasharray=\"3 2\"",
            "alternative, not taken",
        );
    }
    key(LOCAL, "owner's load");
}

/// Where everything goes.
struct Layout {
    axis: Axis,
    left: f64,
    width: f64,
    /// The top of each shown row.
    tops: Vec<f64>,
    row: f64,
    bottom: f64,
}

impl Layout {
    fn new(chart: &Chart, shown: &Shown) -> Layout {
        let row = (PLOT_MOST / shown.rows.len().max(1) as f64).clamp(ROW_LEAST, ROW_MOST);
        let label = |row: &usize| text_width(&chart.rows[*row].label, SMALL.size);
        let widest = shown.rows.iter().map(label).fold(0.0, f64::max);
        let left = MARGIN + if row < LABELLED { 12.0 } else { widest.clamp(40.0, 180.0) + 10.0 };
        let width = WIDTH - MARGIN - left;
        let mut y = HEAD;
        let mut tops = Vec::with_capacity(shown.rows.len());
        let mut group = None;
        for &index in &shown.rows {
            if group != Some(&chart.rows[index].group) {
                group = Some(&chart.rows[index].group);
                y += GROUP_HEAD;
            }
            tops.push(y);
            y += row;
        }
        let axis = Axis::new(chart.horizon, 12);
        Layout { axis, left, width, tops, row, bottom: y + 4.0 }
    }

    fn x(&self, at: tradewind_model::Time) -> f64 {
        self.left + self.axis.share(at) * self.width
    }

    /// Axis, grid lines, group heads, row labels.
    fn frame(&self, ink: &mut Ink, chart: &Chart, shown: &Shown) {
        let right = self.left + self.width;
        for (i, &top) in self.tops.iter().enumerate().filter(|_| self.row >= LABELLED) {
            if i % 2 == 0 {
                let rect = Rect { x: self.left, y: top, width: self.width, height: self.row };
                ink.rect(rect, "fill=\"#f6f8fa\"");
            }
        }
        for tick in self.axis.ticks() {
            let x = self.x(tick.at);
            ink.line((x, HEAD + 2.0), (x, self.bottom), "stroke=\"#d8dee4\" stroke-width=\"1\"");
            let label = text_width(&tick.label, SMALL.size) / 2.0;
            let x = x.clamp(self.left, right - label);
            ink.text(x, HEAD - 4.0, Style { anchor: Anchor::Middle, ..SMALL }, &tick.label);
        }
        let mut group = None;
        for (&index, &top) in shown.rows.iter().zip(&self.tops) {
            let row = &chart.rows[index];
            if group != Some(&row.group) {
                group = Some(&row.group);
                self.group_head(ink, chart, shown, &row.group, top);
            }
            if self.row >= LABELLED {
                let size = label_size(self.row);
                let text = fit(&row.label, size, 180.0);
                let style = Style { anchor: Anchor::End, size, ..SMALL };
                ink.text(self.left - 8.0, top + self.row / 2.0 + size * 0.36, style, &text);
            }
        }
        ink.line((self.left, self.bottom), (right, self.bottom), "stroke=\"#afb8c1\"");
    }

    fn group_head(&self, ink: &mut Ink, chart: &Chart, shown: &Shown, group: &str, top: f64) {
        let all = chart.rows.iter().filter(|row| row.group == group).count();
        let visible = shown.rows.iter().filter(|&&row| chart.rows[row].group == group).count();
        let bold = Style { weight: Weight::Bold, ..BODY };
        let name = fit(group, BODY.size, 400.0);
        // A light ground keeps the grid lines out of the letters.
        let count = match visible == all {
            true => format!("{} nodes", grouped(all)),
            false => format!("{} of {} nodes", grouped(visible), grouped(all)),
        };
        let after = MARGIN + text_width(&name, BODY.size) * 1.08 + 10.0;
        let end = after + text_width(&count, SMALL.size) + 8.0;
        ink.rect(
            Rect { x: MARGIN - 2.0, y: top - 20.0, width: end - MARGIN, height: 18.0 },
            "fill=\"#ffffff\"",
        );
        ink.text(MARGIN, top - 6.0, bold, &name);
        ink.text(after, top - 6.0, SMALL, &count);
    }

    fn block(&self, ink: &mut Ink, chart: &Chart, block: &Block) {
        let gap = match self.row {
            row if row >= 14.0 => 2.0,
            row if row >= 5.0 => 0.5,
            _ => 0.0,
        };
        let (x, end) = (self.x(block.start), self.x(block.end));
        let rect = Rect {
            x,
            y: self.tops[block.first] + gap,
            width: (end - x).max(0.75),
            height: (self.row * block.rows as f64 - 2.0 * gap).max(0.25),
        };
        match block.kind {
            // A hatch needs some height to be seen.
            Kind::Local => ink.rect(rect, if self.row < 5.0 { LOCAL_FLAT } else { LOCAL }),
            Kind::Alternative(job) => {
                let edge = COLOURS[job % COLOURS.len()].1;
                let look = format!(
                    "rx=\"2\" fill=\"none\" stroke=\"{edge}\" stroke-width=\"0.9\" \
                     stroke-dasharray=\"3 2\" stroke-opacity=\"0.75\""
                );
                ink.rect(inset(rect, 0.5), &look);
            }
            Kind::Placed(job) => self.placed(ink, chart, rect, job),
        }
    }

    fn placed(&self, ink: &mut Ink, chart: &Chart, rect: Rect, job: usize) {
        let (fill, edge) = COLOURS[job % COLOURS.len()];
        let thick = if rect.height >= 4.0 { "1" } else { "0.3" };
        let look = format!("rx=\"2\" fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"{thick}\"");
        ink.rect_titled(inset(rect, 0.5), &look, &self.axis_title(&chart.jobs[job]));
    }

    /// Names or numbers on the bars of placed jobs: on each block where rows are high, else on
    /// the part that neighbouring rows have in common.
    fn labels(&self, ink: &mut Ink, chart: &Chart, shown: &Shown) {
        let blocks = blocks(chart, shown);
        let placed = blocks.iter().filter(|block| matches!(block.kind, Kind::Placed(_)));
        let parts: Vec<Block> = match self.row >= LABELLED {
            true => placed.copied().collect(),
            false => common_parts(placed.copied().collect()),
        };
        for part in parts {
            let Kind::Placed(job) = part.kind else { continue };
            let (x, end) = (self.x(part.start), self.x(part.end));
            let last = part.first + part.rows - 1;
            let (top, bottom) = (self.tops[part.first], self.tops[last] + self.row);
            let number = numbered(job);
            let size = label_size(bottom - top);
            let fits = |label: &&str| text_width(label, size) <= end - x - 6.0;
            let label = [chart.jobs[job].name.as_str(), &number].into_iter().find(fits);
            if let Some(label) = label.filter(|_| bottom - top >= LABELLED) {
                let style = Style { anchor: Anchor::Middle, size, ..BODY };
                ink.text((x + end) / 2.0, (top + bottom) / 2.0 + size * 0.36, style, label);
            }
        }
    }

    fn axis_title(&self, job: &ChartJob) -> String {
        format!("{}: {}", job.name, said(&self.axis, &job.fate))
    }

    fn now(&self, ink: &mut Ink, chart: &Chart) {
        if let Some(now) = chart.now {
            let x = self.x(now);
            ink.line((x, HEAD), (x, self.bottom), "stroke=\"#cf222e\" stroke-width=\"1.5\"");
        }
    }
}

/// The size of letters for a row or bar of this height.
fn label_size(height: f64) -> f64 {
    (height * 0.75).clamp(6.0, SMALL.size)
}

/// Blocks of one job and start that lie under each other, as the span that all of them share.
fn common_parts(mut placed: Vec<Block>) -> Vec<Block> {
    placed.sort_by_key(|block| (block.kind, block.start, block.first));
    let mut parts: Vec<Block> = Vec::new();
    for block in placed {
        match parts.last_mut() {
            Some(part)
                if (part.kind, part.start) == (block.kind, block.start)
                    && part.first + part.rows == block.first =>
            {
                part.rows += block.rows;
                part.end = part.end.min(block.end);
            }
            _ => parts.push(block),
        }
    }
    parts
}

fn inset(rect: Rect, by: f64) -> Rect {
    if rect.height < 4.0 || rect.width < 2.0 {
        return rect;
    }
    Rect {
        x: rect.x + by,
        y: rect.y + by,
        width: rect.width - 2.0 * by,
        height: rect.height - 2.0 * by,
    }
}

fn said(axis: &Axis, fate: &Fate) -> String {
    match fate {
        Fate::Placed { start, finish, cost } => {
            let cost = cents(*cost);
            format!("{} – {}, {cost} credits", axis.say(*start), axis.say(*finish))
        }
        Fate::Postponed(reason) => format!("postponed: {reason}"),
    }
}

/// Rounded to hundredths of a credit: a picture is not a ledger.
fn cents(cost: Money) -> Money {
    const CENT: i64 = Money::PER_CREDIT / 100;
    Money((cost.0 + CENT / 2).div_euclid(CENT) * CENT)
}

/// Who is who: placed jobs in columns, postponed ones below, each with its reason.
struct Legend<'a> {
    placed: Vec<(usize, &'a ChartJob)>,
    postponed: Vec<(usize, &'a ChartJob)>,
}

impl<'a> Legend<'a> {
    /// Leaves out what is beyond [`LEGEND_MOST`], and says so in `notes`.
    fn new(chart: &'a Chart, notes: &mut Vec<String>) -> Legend<'a> {
        let is_placed = |job: &(usize, &ChartJob)| matches!(job.1.fate, Fate::Placed { .. });
        let (mut placed, mut postponed): (Vec<_>, Vec<_>) =
            chart.jobs.iter().enumerate().partition(is_placed);
        let mut cut = |list: &mut Vec<_>, what: &str| {
            if list.len() > LEGEND_MOST {
                let more = grouped(list.len() - LEGEND_MOST);
                notes.push(format!("{more} more {what} jobs are not in the legend"));
                list.truncate(LEGEND_MOST);
            }
        };
        cut(&mut placed, "placed");
        cut(&mut postponed, "postponed");
        Legend { placed, postponed }
    }

    fn rows_of_placed(&self) -> usize {
        self.placed.len().div_ceil(LEGEND_COLUMNS)
    }

    fn height(&self) -> f64 {
        (self.rows_of_placed() + self.postponed.len()) as f64 * LEGEND_ROW + 8.0
    }

    fn draw(&self, ink: &mut Ink, axis: &Axis, top: f64) {
        let column = (WIDTH - 2.0 * MARGIN) / LEGEND_COLUMNS as f64;
        let rows = self.rows_of_placed();
        for (i, (number, job)) in self.placed.iter().enumerate() {
            let x = MARGIN + (i / rows.max(1)) as f64 * column;
            let y = top + (i % rows.max(1)) as f64 * LEGEND_ROW;
            let (fill, edge) = COLOURS[number % COLOURS.len()];
            let look = format!("rx=\"2\" fill=\"{fill}\" stroke=\"{edge}\"");
            entry(ink, (x, y), *number, &look);
            let name = fit(&job.name, BODY.size, 116.0);
            ink.text(x + 36.0, y + 12.0, BODY, &name);
            let detail = fit(&said(axis, &job.fate), SMALL.size, column - 170.0);
            ink.text(x + 160.0, y + 12.0, SMALL, &detail);
        }
        for (i, (number, job)) in self.postponed.iter().enumerate() {
            let y = top + (rows + i) as f64 * LEGEND_ROW;
            entry(ink, (MARGIN, y), *number, "rx=\"2\" fill=\"none\" stroke=\"#afb8c1\"");
            ink.text(MARGIN + 36.0, y + 12.0, BODY, &fit(&job.name, BODY.size, 116.0));
            let room = WIDTH - 2.0 * MARGIN - 160.0;
            let detail = fit(&said(axis, &job.fate), SMALL.size, room);
            ink.text(MARGIN + 160.0, y + 12.0, SMALL, &detail);
        }
    }
}

/// How the legend and narrow bars number a job; the sign keeps it apart from jobs that have
/// numbers for names, as those of logs do.
fn numbered(job: usize) -> String {
    format!("#{}", job + 1)
}

/// A swatch with the job's number.
fn entry(ink: &mut Ink, at: (f64, f64), number: usize, look: &str) {
    ink.rect(Rect { x: at.0, y: at.1, width: 28.0, height: 16.0 }, look);
    let style = Style { anchor: Anchor::Middle, size: 11.0, ..BODY };
    ink.text(at.0 + 14.0, at.1 + 12.0, style, &numbered(number));
}
