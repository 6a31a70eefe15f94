//! A scene whose tasks have their rows.

use std::ops::Range;

use super::rows::assign;
use super::{Scene, Task};

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
    lanes: Vec<(String, Range<u32>)>,
    names: Vec<Option<String>>,
}

impl Board {
    /// Gives rows to all. O(n log n) for n tasks, and linear in the rectangles that this makes.
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
            board.lanes.push((lane.name, first..first + lane.nodes));
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

    /// When the first task begins and the last one ends.
    pub(crate) fn ends(&self) -> Option<(i64, i64)> {
        let first = self.tasks.first()?.start;
        self.tasks.iter().map(|task| task.end).max().map(|last| (first, last))
    }

    /// Pools and their rows, in order.
    pub(crate) fn lanes(&self) -> &[(String, Range<u32>)] {
        &self.lanes
    }

    /// What the row's node is called; without a name, its number in the pool, from 1.
    pub(crate) fn row_name(&self, row: u32) -> String {
        if let Some(Some(name)) = self.names.get(row as usize) {
            return name.clone();
        }
        let lane = self.lanes.iter().find(|(_, rows)| rows.contains(&row));
        lane.map_or_else(String::new, |(_, rows)| format!("{}", row - rows.start + 1))
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
