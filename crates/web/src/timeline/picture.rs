//! A part of the board, as few numbers as will do.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use super::cells::cells;
use super::table::{Table, Writer};
use super::{Board, Task, Visibility};

/// Beyond so many rectangles, cells are drawn.
pub(crate) const MOST_RECTANGLES: usize = 20_000;

/// Which part, and how fine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// Seconds since 1970.
    pub(crate) from: i64,
    /// Seconds since 1970, later than `from`.
    pub(crate) until: i64,
    /// At least one row of the board.
    pub(crate) rows: Range<u32>,
    /// Of pixels across: 1 to 4,096.
    pub(crate) columns: u32,
    /// Of pixels down: 1 to 4,096.
    pub(crate) lines: u32,
}

/// A part of the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Picture {
    /// Every task, as what it is.
    Rectangles(Box<Rectangles>),
    /// What most of each cell is.
    Cells(Cells),
}

/// A rectangle per place in all three, and what they are pieces of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Rectangles {
    /// The first row.
    pub(crate) row: Vec<u32>,
    /// Number of rows.
    pub(crate) count: Vec<u32>,
    /// Its place in the table.
    pub(crate) task: Vec<u32>,
    /// The tasks, each once.
    pub(crate) table: Table,
}

/// A picture made of cells of equal size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Cells {
    /// The first column's start: a multiple of `step`.
    pub(crate) from: i64,
    /// Seconds per column: a power of two.
    pub(crate) step: i64,
    /// Number of columns.
    pub(crate) columns: u32,
    /// Groups of rows.
    pub(crate) groups: u32,
    /// Group by group: a [`super::Kind`]'s number above, how full it is below (1 to 15); 0: empty.
    /// They are sent beside the rest.
    #[serde(skip)]
    pub(crate) bytes: Vec<u8>,
    /// Rectangles that are in them.
    pub(crate) rectangles: usize,
}

impl Board {
    /// The part of the board that `view` asks for; what it asks for beyond the board is left out.
    /// `sight` says what the reader may know.
    pub(crate) fn picture(&self, view: &View, sight: &dyn Fn(&Task) -> Visibility) -> Picture {
        let rows = view.rows.start.min(self.rows())..view.rows.end.min(self.rows());
        let view = View { rows: rows.clone(), ..view.clone() };
        if rows.is_empty() {
            return Picture::Rectangles(Box::default());
        }
        let count = self.meeting(rows.clone(), view.from, view.until).count();
        let height = view.lines / (rows.end - rows.start).max(1);
        if count <= MOST_RECTANGLES && (height >= 3 || count <= 2_000) {
            return Picture::Rectangles(Box::new(self.rectangles(&view, sight)));
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

    fn rectangles(&self, view: &View, sight: &dyn Fn(&Task) -> Visibility) -> Rectangles {
        let mut all = Rectangles::default();
        let mut writer = Writer::default();
        let mut places = BTreeMap::new();
        for (block, task) in self.meeting(view.rows.clone(), view.from, view.until) {
            let place = *places.entry(block.task).or_insert_with(|| writer.add(task, sight(task)));
            all.row.push(block.rows.start);
            all.count.push(block.rows.end - block.rows.start);
            all.task.push(place);
        }
        all.table = writer.table;
        all
    }
}
