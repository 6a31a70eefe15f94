//! A part of the board in a few numbers: what is in a cell, and what is in view.

use std::collections::BTreeMap;
use std::ops::Range;

use super::table::{Table, Writer};
use super::{Board, Kind, Task, Visibility};

/// Rows and a span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Area {
    /// Seconds since 1970.
    pub(crate) from: i64,
    /// Seconds since 1970, later than `from`.
    pub(crate) until: i64,
    /// Of the board.
    pub(crate) rows: Range<u32>,
}

/// What is in an area.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Digest {
    /// By kind: how many tasks meet the area, and for how many node-seconds of it.
    pub(crate) kinds: BTreeMap<Kind, (u32, i64)>,
    /// The weightiest tasks: those that went wrong first, then those that hold most of the area.
    pub(crate) table: Table,
    /// Of each of these: the first of its rows that are in the area.
    pub(crate) rows: Vec<u32>,
}

/// What a task has of an area.
struct Occupied<'a> {
    task: &'a Task,
    row: u32,
    node_seconds: i64,
}

impl Board {
    /// What meets the area, and at most so many of the tasks themselves. Linear in the rectangles
    /// that may meet it, and n log n for n tasks that do.
    pub(crate) fn digest(
        &self,
        area: &Area,
        max: usize,
        sight: &dyn Fn(&Task) -> Visibility,
    ) -> Digest {
        let mut held = BTreeMap::<u32, Occupied<'_>>::new();
        for (block, task) in self.meeting(area.rows.clone(), area.from, area.until) {
            let row = block.rows.start.max(area.rows.start);
            let rows = i64::from(block.rows.end.min(area.rows.end) - row);
            let length = task.end.min(area.until) - task.start.max(area.from);
            let of = held.entry(block.task).or_insert(Occupied { task, row, node_seconds: 0 });
            of.node_seconds += rows * length;
        }
        let mut digest = Digest::default();
        for it in held.values() {
            let (count, node_seconds) = digest.kinds.entry(it.task.kind).or_default();
            *count += 1;
            *node_seconds += it.node_seconds;
        }
        let mut order: Vec<&Occupied<'_>> = held.values().collect();
        order.sort_by_key(|it| (!it.task.kind.is_alarm(), -it.node_seconds, it.task.start, it.row));
        let mut writer = Writer::default();
        for it in order.into_iter().take(max) {
            writer.add(it.task, sight(it.task));
            digest.rows.push(it.row);
        }
        digest.table = writer.table;
        digest
    }
}
