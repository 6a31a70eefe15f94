//! A part of the board, as few numbers as will do.

use std::ops::Range;

use super::cells::cells;
use super::{Board, Kind, Sight, Task};

/// Beyond so many rectangles, cells are drawn.
pub(crate) const MOST_RECTANGLES: usize = 20_000;

/// Which part, and how fine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// Seconds since 1970.
    pub(crate) from: i64,
    /// After `from`.
    pub(crate) until: i64,
    /// At least one row of the board.
    pub(crate) rows: Range<u32>,
    /// Of pixels across: 1 to 4,096.
    pub(crate) columns: u32,
    /// Of pixels down: 1 to 4,096.
    pub(crate) lines: u32,
}

/// A part of the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Picture {
    /// Every task, as what it is.
    Rectangles(Rectangles),
    /// What most of each cell is.
    Cells(Cells),
}

/// A column per property; all are of one length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rectangles {
    /// The first row.
    pub(crate) row: Vec<u32>,
    /// How many rows.
    pub(crate) count: Vec<u32>,
    /// Seconds since 1970, of the whole task.
    pub(crate) start: Vec<i64>,
    /// The same.
    pub(crate) end: Vec<i64>,
    /// What it is: a [`Kind`]'s number; 16 more if it is the reader's own.
    pub(crate) kind: Vec<u8>,
    /// The job's number; 0: none.
    pub(crate) job: Vec<u64>,
    /// Its place among `labels`.
    pub(crate) label: Vec<u32>,
    /// Each once.
    pub(crate) labels: Vec<String>,
}

/// A grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cells {
    /// The first column's start: a multiple of `step`.
    pub(crate) from: i64,
    /// Seconds per column: a power of two.
    pub(crate) step: i64,
    /// Columns.
    pub(crate) columns: u32,
    /// Groups of rows.
    pub(crate) groups: u32,
    /// Group by group: a [`Kind`]'s number above, how full it is below (1 to 15); 0: empty.
    pub(crate) bytes: Vec<u8>,
    /// Rectangles that are in them.
    pub(crate) rectangles: usize,
}

impl Board {
    /// The part of the board that `view` asks for; what it asks for beyond the board is left out.
    /// `sight` says what the reader may know.
    pub(crate) fn picture(&self, view: &View, sight: &dyn Fn(&Task) -> Sight) -> Picture {
        let rows = view.rows.start.min(self.rows())..view.rows.end.min(self.rows());
        let view = View { rows: rows.clone(), ..view.clone() };
        if rows.is_empty() {
            return Picture::Rectangles(Rectangles::default());
        }
        let count = self.meeting(rows.clone(), view.from, view.until).count();
        let height = view.lines / (rows.end - rows.start).max(1);
        if count <= MOST_RECTANGLES && (height >= 3 || count <= 2_000) {
            return Picture::Rectangles(self.rectangles(&view, sight));
        }
        let wide = (view.until - view.from + i64::from(view.columns) - 1) / i64::from(view.columns);
        let step = wide.max(1).unsigned_abs().next_power_of_two().cast_signed();
        let from = view.from.div_euclid(step) * step;
        let columns = ((view.until - from + step - 1) / step).max(1) as u32;
        let groups = view.lines.min(rows.end - rows.start);
        let fine = View { columns, ..view };
        let bytes = cells(self, &fine, from, step, groups);
        Picture::Cells(Cells { from, step, columns, groups, bytes, rectangles: count })
    }

    fn rectangles(&self, view: &View, sight: &dyn Fn(&Task) -> Sight) -> Rectangles {
        let mut all = Rectangles::default();
        let mut labels = std::collections::BTreeMap::new();
        for (block, task) in self.meeting(view.rows.clone(), view.from, view.until) {
            let seen = sight(task);
            let next = labels.len() as u32;
            let label = if seen.whole { task.label.as_str() } else { "" };
            let label = *labels.entry(label).or_insert_with(|| {
                all.labels.push(label.to_owned());
                next
            });
            all.row.push(block.rows.start);
            all.count.push(block.rows.end - block.rows.start);
            all.start.push(task.start);
            all.end.push(task.end);
            all.kind.push(number(task.kind, seen.mine));
            all.job.push(task.job.filter(|_| seen.whole).unwrap_or(0));
            all.label.push(label);
        }
        all
    }
}

fn number(kind: Kind, mine: bool) -> u8 {
    kind as u8 + if mine { 16 } else { 0 }
}
