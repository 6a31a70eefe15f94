//! A scene whose tasks have their rows.

use std::ops::Range;

use super::rows::{assign, joined};
use super::{Lane, Scene, Task};

/// What lasts longer and is no job's has no end that is known: a year, seconds.
const OPEN: i64 = 366 * 86_400;

/// One rectangle: a task in some rows side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// In the order of the board's tasks.
    pub(super) task: u32,
    /// Of the whole board.
    pub(super) rows: Range<u32>,
}

/// A scene whose tasks have their rows: all pools below each other, in their order.
#[derive(Debug, Default)]
pub(crate) struct Board {
    pub(super) tasks: Vec<Task>,
    /// By start of the task.
    pub(super) blocks: Vec<Block>,
    /// The longest task, seconds.
    pub(super) longest: i64,
    lanes: Vec<Band>,
    names: Vec<Option<String>>,
}

/// A pool's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Band {
    /// Of the pool.
    pub(crate) name: String,
    /// Micro-credits per node and second, if it asks something.
    pub(crate) price: Option<i64>,
    /// Since when its site is not reached, seconds since 1970.
    pub(crate) away: Option<i64>,
    /// Of the board.
    pub(crate) rows: Range<u32>,
}

impl Board {
    /// Gives rows to all. O(n log n + n·p) for n tasks in p pools, and linear in the rectangles that
    /// this makes.
    pub(crate) fn new(scene: Scene) -> Board {
        let Scene { pools, mut tasks } = scene;
        tasks.retain(|task| task.pool < pools.len() && task.start < task.end && task.nodes > 0);
        tasks.sort_by_key(|task| (task.start, task.end));
        let mut board = Board::default();
        for (place, lane) in pools.into_iter().enumerate() {
            let first = board.names.len() as u32;
            let own: Vec<u32> =
                (0..tasks.len() as u32).filter(|at| tasks[*at as usize].pool == place).collect();
            let refs: Vec<&Task> = own.iter().map(|at| &tasks[*at as usize]).collect();
            let (names, ranges) = assign(lane.nodes, &refs);
            board.names.extend(names);
            let rows = first..first + lane.nodes;
            let Lane { name, price, away, .. } = lane;
            board.lanes.push(Band { name, price, away, rows });
            for (task, ranges) in own.into_iter().zip(ranges) {
                let shifted = ranges.into_iter().map(|it| it.start + first..it.end + first);
                board.blocks.extend(shifted.map(|rows| Block { task, rows }));
            }
        }
        board.blocks.sort_by_key(|block| (block.task, block.rows.start));
        board.longest = tasks.iter().map(|task| task.end - task.start).max().unwrap_or(0);
        board.tasks = tasks;
        board
    }

    /// Rows of all pools.
    pub(crate) fn rows(&self) -> u32 {
        self.names.len() as u32
    }

    /// When the first task begins and the last one ends. Nodes that are missing until an unknown moment
    /// count with their beginning.
    pub(crate) fn ends(&self) -> Option<(i64, i64)> {
        let first = self.tasks.first()?.start;
        let end = |task: &Task| match task.job.is_none() && task.end - task.start > OPEN {
            true => task.start,
            false => task.end,
        };
        self.tasks.iter().map(end).max().map(|last| (first, last))
    }

    /// Pools and their rows, in order.
    pub(crate) fn lanes(&self) -> &[Band] {
        &self.lanes
    }

    /// The board with only those rows that `keep`, of a pool's name and the row's, lets stay. Linear
    /// in rows and rectangles.
    pub(crate) fn only(&self, keep: impl Fn(&str, &str) -> bool) -> Board {
        let mut board = Board { longest: self.longest, ..Board::default() };
        // By row: its new place, and before that of how many rows that stay.
        let mut places: Vec<(bool, u32)> = Vec::with_capacity(self.names.len());
        for lane in &self.lanes {
            let first = board.names.len() as u32;
            for row in lane.rows.clone() {
                let stays = keep(&lane.name, self.row_name(row));
                places.push((stays, board.names.len() as u32));
                if stays {
                    board.names.push(self.names[row as usize].clone());
                }
            }
            let rows = first..board.names.len() as u32;
            if !rows.is_empty() {
                board.lanes.push(Band { rows, ..lane.clone() });
            }
        }
        for block in &self.blocks {
            let stay = block.rows.clone().filter(|row| places[*row as usize].0);
            // Rows that stay are side by side again.
            if let Some(first) = stay.clone().next().map(|row| places[row as usize].1) {
                let rows = first..first + stay.count() as u32;
                board.blocks.push(Block { task: block.task, rows });
            }
        }
        board.tasks.clone_from(&self.tasks);
        board
    }

    /// The lowest rows of a pool (by its place among the lanes) that nothing holds during
    /// `[start, end)`; if there are too few, the last ones as well. Linear in the rectangles that
    /// may meet that time.
    pub(crate) fn room(&self, lane: usize, nodes: u32, start: i64, end: i64) -> Vec<Range<u32>> {
        let Some(rows) = self.lanes.get(lane).map(|lane| lane.rows.clone()) else {
            return Vec::new();
        };
        let mut held = vec![false; rows.len()];
        for (block, _) in self.meeting(rows.clone(), start, end) {
            let own = block.rows.start.max(rows.start)..block.rows.end.min(rows.end);
            own.for_each(|row| held[(row - rows.start) as usize] = true);
        }
        let is_free = |row: &u32| !held[(row - rows.start) as usize];
        let free = rows.clone().filter(is_free);
        let taken = rows.clone().rev().filter(|row| !is_free(row));
        joined(free.chain(taken).take(nodes as usize))
    }

    /// What the row's node is called; empty: no task has told yet. A number would look like a name.
    pub(crate) fn row_name(&self, row: u32) -> &str {
        self.names.get(row as usize).and_then(Option::as_deref).unwrap_or_default()
    }

    /// The rectangles that meet the rows and `[from, until)`. Logarithmic, and linear in those
    /// that may.
    pub(super) fn meeting(
        &self,
        rows: Range<u32>,
        from: i64,
        until: i64,
    ) -> impl Iterator<Item = (&Block, &Task)> {
        let task = |block: &Block| &self.tasks[block.task as usize];
        let first = self.blocks.partition_point(|it| task(it).start < from - self.longest);
        let last = self.blocks.partition_point(|it| task(it).start < until);
        let may = self.blocks.get(first..last).unwrap_or_default().iter();
        may.map(move |block| (block, task(block))).filter(move |(block, task)| {
            task.end > from && block.rows.start < rows.end && block.rows.end > rows.start
        })
    }
}
