//! Many rectangles as few cells.

use std::ops::Range;

use super::{Board, Kind, View};

/// Of a cell's sixteen levels, the highest.
const FULL: i64 = 15;
const KINDS: usize = Kind::ALL.len() + 1;

/// A piece of a rectangle in one group of rows.
#[derive(Debug, Clone, Copy)]
struct CellPiece {
    kind: Kind,
    rows: u32,
    start: i64,
    end: i64,
}

/// A byte per cell, group by group: the kind that has most of it (or the worst that went wrong
/// there) above, and below how much of it is held, from 1 to 15; 0: nothing at all.
///
/// `step` seconds per cell, from `from` on. O(rectangles × groups that they touch + cells).
pub(super) fn cells(board: &Board, view: &View, from: i64, step: i64, groups: u32) -> Vec<u8> {
    let columns = view.columns as usize;
    let until = from + step * i64::from(view.columns);
    let mut pieces: Vec<Vec<CellPiece>> = vec![Vec::new(); groups as usize];
    let rows = view.rows.clone();
    for (block, task) in board.meeting(rows.clone(), from, until) {
        let own = block.rows.start.max(rows.start)..block.rows.end.min(rows.end);
        for group in group_of(own.start, &rows, groups)..=group_of(own.end - 1, &rows, groups) {
            let band = band(group, &rows, groups);
            let held = own.end.min(band.end).saturating_sub(own.start.max(band.start));
            let (start, end) = (task.start.max(from), task.end.min(until));
            if held > 0 {
                pieces[group as usize].push(CellPiece { kind: task.kind, rows: held, start, end });
            }
        }
    }
    let mut scratch = Scratch::new(columns);
    let mut all = Vec::with_capacity(columns * groups as usize);
    for (group, pieces) in pieces.into_iter().enumerate() {
        let band = band(group as u32, &rows, groups);
        let room = i64::from(band.end - band.start) * step;
        scratch.fill(&pieces, from, step);
        all.extend((0..columns).map(|column| scratch.cell(column, room)));
    }
    all
}

/// The rows of a group.
pub(super) fn band(group: u32, rows: &Range<u32>, groups: u32) -> Range<u32> {
    let all = u64::from(rows.end - rows.start);
    let edge = |at: u32| rows.start + (all * u64::from(at) / u64::from(groups)) as u32;
    edge(group)..edge(group + 1)
}

fn group_of(row: u32, rows: &Range<u32>, groups: u32) -> u32 {
    let (all, at) = (u64::from(rows.end - rows.start), u64::from(row - rows.start));
    // The last group whose first row is not behind: ⌊all · g / groups⌋ ≤ at.
    (((at + 1) * u64::from(groups) - 1) / all) as u32
}

/// Node-seconds by kind and column, of one group at a time.
struct Scratch {
    columns: usize,
    /// Those that are in the group: few, mostly, so that the others cost nothing.
    kinds: Vec<Kind>,
    /// What a column has more of whole cells than the one before it: rows.
    steps: Vec<i64>,
    /// Parts of cells: node-seconds.
    parts: Vec<i64>,
    /// Occupied node-seconds, by kind and column.
    held: Vec<i64>,
}

impl Scratch {
    fn new(columns: usize) -> Scratch {
        let (steps, parts) = (vec![0; KINDS * (columns + 1)], vec![0; KINDS * columns]);
        Scratch { columns, kinds: Vec::new(), steps, held: parts.clone(), parts }
    }

    fn fill(&mut self, pieces: &[CellPiece], from: i64, step: i64) {
        let is_there = |kind: &Kind| pieces.iter().any(|piece| piece.kind == *kind);
        self.kinds = Kind::ALL.into_iter().filter(is_there).collect();
        for kind in &self.kinds {
            let kind = *kind as usize;
            self.steps[kind * (self.columns + 1)..(kind + 1) * (self.columns + 1)].fill(0);
            self.parts[kind * self.columns..(kind + 1) * self.columns].fill(0);
        }
        for piece in pieces {
            self.add(piece, from, step);
        }
        for kind in &self.kinds {
            let kind = *kind as usize;
            let mut level = 0;
            for column in 0..self.columns {
                level += self.steps[kind * (self.columns + 1) + column];
                let at = kind * self.columns + column;
                self.held[at] = level * step + self.parts[at];
            }
        }
    }

    fn add(&mut self, piece: &CellPiece, from: i64, step: i64) {
        let (kind, rows) = (piece.kind as usize, i64::from(piece.rows));
        let (start, end) = (piece.start - from, piece.end - from);
        let (first, last) = ((start / step) as usize, ((end - 1) / step) as usize);
        let part = |column: usize| {
            let (begin, until) = (column as i64 * step, (column as i64 + 1) * step);
            (end.min(until) - start.max(begin)) * rows
        };
        self.parts[kind * self.columns + first] += part(first);
        if last > first {
            self.parts[kind * self.columns + last] += part(last);
        }
        if last > first + 1 {
            self.steps[kind * (self.columns + 1) + first + 1] += rows;
            self.steps[kind * (self.columns + 1) + last] -= rows;
        }
    }

    fn cell(&self, column: usize, room: i64) -> u8 {
        let (mut all, mut max, mut worst) = (0, (0, None), (0, None));
        for kind in &self.kinds {
            let held = self.held[*kind as usize * self.columns + column];
            all += held;
            let best = if kind.is_alarm() { &mut worst } else { &mut max };
            if held > 0 && held >= best.0 {
                *best = (held, Some(*kind));
            }
        }
        let Some(kind) = worst.1.or(max.1) else { return 0 };
        let level = (all.saturating_mul(FULL) / room.max(1)).clamp(1, FULL);
        ((kind as u8) << 4) | level as u8
    }
}
