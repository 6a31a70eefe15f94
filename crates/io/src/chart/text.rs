//! A Gantt chart of characters, for terminals.

use std::fmt::Write as _;

use tradewind_model::{Span, Time};

use super::axis::Axis;
use super::rows::{self, Room, Shown};
use super::{Bar, Chart, ChartRow, Fate, Kind};

/// Which characters a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// Shades and box lines.
    Unicode,
    /// Only ASCII characters.
    Ascii,
}

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal; taken as at least 40.
    pub width: usize,
    /// Which characters to use.
    pub glyphs: Glyphs,
}

/// Rows beyond which only those that the batch uses are shown; if these are more, the chart has
/// one line per job.
const ROWS_MOST: usize = 40;
/// Lines of a chart with one line per job.
const JOBS_MOST: usize = 60;

/// A sign for each job that is placed, in the order of the batch; one more stands for the rest.
const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const REST: char = '#';

/// `chart` as lines of text: sites and nodes downwards, time to the right, a letter per placed
/// job, shades where a node is busy with its owner's load.
///
/// A cell stands for a span of time; it shows the placed job that uses most of it, or else the
/// owner's load if that fills half of it or more. Alternatives are not drawn.
pub fn text(chart: &Chart, options: TextOptions) -> String {
    let shown = rows::choose(chart, Room { rows: ROWS_MOST, alternatives: 0 });
    if shown.rows.len() <= ROWS_MOST {
        return draw(chart, &shown, options, NamePlacement::InLegend);
    }
    let by_job = by_job(chart);
    let mut shown = rows::choose(&by_job, Room { rows: usize::MAX, alternatives: 0 });
    let nodes = crate::present::grouped(used_rows(chart));
    let all = crate::present::grouped(chart.rows.len());
    shown.notes.push(format!("one line per job: the batch uses {nodes} of {all} nodes"));
    if shown.rows.len() > JOBS_MOST {
        let more = crate::present::grouped(shown.rows.len() - JOBS_MOST);
        shown.rows.truncate(JOBS_MOST);
        shown.notes.push(format!("{more} more placed jobs are not shown"));
    }
    draw(&by_job, &shown, options, NamePlacement::OnRows)
}

/// Where the names of jobs stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamePlacement {
    InLegend,
    OnRows,
}

fn draw(chart: &Chart, shown: &Shown, options: TextOptions, names: NamePlacement) -> String {
    let width = options.width.max(40);
    let label = label_width(chart, shown, width);
    let mut canvas = Canvas {
        chart,
        shown,
        label,
        cells: width - label - 3,
        signs: signs(chart),
        glyphs: options.glyphs,
        out: String::new(),
    };
    canvas.axis();
    canvas.rows();
    if names == NamePlacement::InLegend {
        canvas.legend();
    }
    if let Some(note) = canvas.axis_of_chart().note() {
        let _ = writeln!(canvas.out, "{note}");
    }
    for note in &shown.notes {
        let _ = writeln!(canvas.out, "{note}");
    }
    canvas.out
}

fn used_rows(chart: &Chart) -> usize {
    let placed = chart.bars.iter().filter(|bar| matches!(bar.kind, Kind::Placed(_)));
    let mut rows: Vec<usize> = placed.map(|bar| bar.row).collect();
    rows.sort_unstable();
    rows.dedup();
    rows.len()
}

/// One row per placed job instead of one per node.
fn by_job(chart: &Chart) -> Chart {
    let mut tasks = vec![0usize; chart.jobs.len()];
    for bar in &chart.bars {
        if let Kind::Placed(job) = bar.kind {
            tasks[job] += 1;
        }
    }
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    for (index, job) in chart.jobs.iter().enumerate() {
        if let Fate::Placed { start, finish, .. } = job.fate {
            let row = rows.len();
            bars.push(Bar { row, start, end: finish, kind: Kind::Placed(index) });
            let label = format!("{} on {}", job.name, crate::present::grouped(tasks[index]));
            rows.push(ChartRow { label, group: "job on nodes".to_owned() });
        }
    }
    Chart { rows, bars, ..chart.clone() }
}

fn label_width(chart: &Chart, shown: &Shown, width: usize) -> usize {
    let length = |row: &usize| chart.rows[*row].label.chars().count() + 2;
    shown.rows.iter().map(length).max().unwrap_or(0).clamp(6, width / 3)
}

fn signs(chart: &Chart) -> Vec<Option<char>> {
    let mut next = SIGNS.iter().map(|&sign| char::from(sign));
    let sign = |job: &super::ChartJob| match job.fate {
        Fate::Placed { .. } => Some(next.next().unwrap_or(REST)),
        Fate::Postponed(_) => None,
    };
    chart.jobs.iter().map(sign).collect()
}

struct Canvas<'a> {
    chart: &'a Chart,
    shown: &'a Shown,
    /// Columns of the row labels.
    label: usize,
    /// Columns of the plot.
    cells: usize,
    signs: Vec<Option<char>>,
    glyphs: Glyphs,
    out: String,
}

impl Canvas<'_> {
    fn pick(&self, unicode: char, ascii: char) -> char {
        match self.glyphs {
            Glyphs::Unicode => unicode,
            Glyphs::Ascii => ascii,
        }
    }

    fn axis_of_chart(&self) -> Axis {
        Axis::new(self.chart.horizon, (self.cells / 10).max(1))
    }

    /// Tick labels over tick marks.
    fn axis(&mut self) {
        let axis = self.axis_of_chart();
        let mut labels = vec![' '; self.cells + 12];
        let mut marks = vec![self.pick('─', '-'); self.cells];
        let mut clear_from = 0;
        for tick in axis.ticks() {
            let at = (axis.share(tick.at) * self.cells as f64) as usize;
            if at >= self.cells || at < clear_from || at + tick.label.len() > self.cells + 2 {
                continue;
            }
            marks[at] = self.pick('┬', '+');
            for (i, letter) in tick.label.chars().enumerate() {
                labels[at + i] = letter;
            }
            clear_from = at + tick.label.len() + 1;
        }
        let pad = " ".repeat(self.label + 1);
        let corner = self.pick('┌', '+');
        let labels: String = labels.into_iter().collect();
        let marks: String = marks.into_iter().collect();
        let _ = writeln!(self.out, "{pad} {}", labels.trim_end());
        let _ = writeln!(self.out, "{pad}{corner}{marks}");
    }

    fn rows(&mut self) {
        let lines = self.lines();
        let wall = self.pick('│', '|');
        let mut group = None;
        for (&row, line) in self.shown.rows.iter().zip(lines) {
            let row = &self.chart.rows[row];
            if group != Some(&row.group) {
                group = Some(&row.group);
                let name = cut(&row.group, self.label);
                let _ = writeln!(self.out, "{name:<width$} {wall}", width = self.label);
            }
            let name = cut(&row.label, self.label - 2);
            let _ = writeln!(self.out, "  {name:<width$} {wall}{line}", width = self.label - 2);
        }
    }

    /// The cells of each shown row.
    fn lines(&self) -> Vec<String> {
        let mut place = vec![None; self.chart.rows.len()];
        for (to, &row) in self.shown.rows.iter().enumerate() {
            place[row] = Some(to);
        }
        // Per cell: seconds of local load, and the placed job with the most seconds.
        let mut local = vec![0i64; self.shown.rows.len() * self.cells];
        let mut placed = vec![(0i64, None); local.len()];
        for bar in &self.chart.bars {
            let Some(row) = place[bar.row] else { continue };
            for cell in self.cells_of(bar.start, bar.end) {
                let seconds = self.overlap(cell, bar.start, bar.end);
                let at = row * self.cells + cell;
                match bar.kind {
                    Kind::Local => local[at] += seconds,
                    Kind::Placed(job) if seconds > placed[at].0 => {
                        placed[at] = (seconds, Some(job));
                    }
                    Kind::Placed(_) | Kind::Alternative(_) => {}
                }
            }
        }
        let sign = |at: usize| {
            let (start, end) = self.span_of(at % self.cells);
            match placed[at].1.and_then(|job| self.signs[job]) {
                Some(sign) => sign,
                None if local[at] > 0 && local[at] * 2 >= (end - start).0 => self.pick('░', ':'),
                None => self.pick('·', '.'),
            }
        };
        (0..self.shown.rows.len())
            .map(|row| (row * self.cells..(row + 1) * self.cells).map(sign).collect())
            .collect()
    }

    /// The time that a cell stands for.
    fn span_of(&self, cell: usize) -> (Time, Time) {
        let span = i128::from(self.chart.horizon.span().0);
        let edge = |cell: usize| {
            let offset = span * cell as i128 / self.cells as i128;
            self.chart.horizon.start + Span(offset as i64)
        };
        (edge(cell), edge(cell + 1))
    }

    /// The cells that `[start, end)` may touch.
    fn cells_of(&self, start: Time, end: Time) -> std::ops::Range<usize> {
        let span = i128::from(self.chart.horizon.span().0.max(1));
        let cell = |at: Time| {
            let offset = i128::from((at - self.chart.horizon.start).0).clamp(0, span);
            (offset * self.cells as i128 / span) as usize
        };
        cell(start).min(self.cells)..(cell(end) + 1).min(self.cells)
    }

    fn overlap(&self, cell: usize, start: Time, end: Time) -> i64 {
        let (from, to) = self.span_of(cell);
        (end.min(to) - start.max(from)).0.max(0)
    }

    /// Who is who, several to a line.
    fn legend(&mut self) {
        let wide = self.label + self.cells + 2;
        let local = self.pick('░', ':');
        let mut entries = Vec::new();
        if self.chart.bars.iter().any(|bar| bar.kind == Kind::Local) {
            entries.push(format!("{local} owner's load"));
        }
        for (job, sign) in self.chart.jobs.iter().zip(&self.signs) {
            match sign {
                Some(REST) | None => {}
                Some(sign) => entries.push(format!("{sign} {}", job.name)),
            }
        }
        if self.signs.contains(&Some(REST)) {
            entries.push(format!("{REST} other jobs"));
        }
        let mut line = String::new();
        for entry in entries {
            if !line.is_empty() && line.chars().count() + 3 + entry.chars().count() > wide {
                let _ = writeln!(self.out, "{line}");
                line.clear();
            }
            if !line.is_empty() {
                line.push_str("   ");
            }
            line.push_str(&entry);
        }
        if !line.is_empty() {
            let _ = writeln!(self.out, "{line}");
        }
    }
}

/// At most `width` characters of `text`; control characters become spaces.
fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
