//! A grid of cells, each in the colour of the job that held most of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{GanttBar, Paint};
use crate::chart::ink::Rect;
use crate::chart::steps::TimeColumns;
use crate::present::svg::num;
use tradewind_model::Horizon;

/// Neighbouring cells of one colour, in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) paint: Paint,
    pub(super) column: usize,
    pub(super) row: usize,
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// How fine a grid is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) window: Horizon,
    pub(super) processors: u64,
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Paints that cells may have; reservations are left out.
const PAINTS: usize = 3 + super::USERS;

fn slot(paint: Paint) -> Option<usize> {
    match paint {
        Paint::Closed => Some(0),
        Paint::Failed => Some(1),
        Paint::Other => Some(2),
        Paint::Fill(colour) => Some(3 + colour % super::USERS),
        Paint::Reserved => None,
    }
}

fn paint(slot: usize) -> Paint {
    match slot {
        0 => Paint::Closed,
        1 => Paint::Failed,
        2 => Paint::Other,
        colour => Paint::Fill(colour - 3),
    }
}

impl Grid {
    /// The processors from which row `row` begins.
    pub(super) fn edge(&self, row: usize) -> u64 {
        (u128::from(self.processors) * row as u128 / self.rows.max(1) as u128) as u64
    }

    fn row_of(&self, processor: u64) -> usize {
        let guess = u128::from(processor) * self.rows as u128 / u128::from(self.processors.max(1));
        let mut row = (guess as usize).min(self.rows - 1);
        while row + 1 < self.rows && self.edge(row + 1) <= processor {
            row += 1;
        }
        row
    }

    /// What each cell shows: the paint that held most of its processor time, the idle share
    /// counting as one of them; of equal ones idle time wins, then the paint drawn first.
    /// O(parts × rows touched × columns touched).
    pub(super) fn cells(&self, bars: &[GanttBar]) -> Vec<Option<Paint>> {
        let columns = TimeColumns::new(self.window, self.columns);
        let width = columns.len();
        let mut by_row: Vec<Vec<(usize, i64, &GanttBar, usize)>> = vec![Vec::new(); self.rows];
        for bar in bars {
            let Some(slot) = slot(bar.paint) else { continue };
            for (at, &(first, last, _)) in bar.parts.iter().enumerate() {
                let (first, last) = (u64::from(first), u64::from(last));
                if first >= self.processors {
                    continue;
                }
                let rows = self.row_of(first)..=self.row_of(last.min(self.processors - 1));
                for (row, here) in rows.clone().zip(&mut by_row[rows]) {
                    let from = self.edge(row).max(first);
                    let until = self.edge(row + 1).min(last + 1);
                    here.push((slot, until as i64 - from as i64, bar, at));
                }
            }
        }
        let mut cells = Vec::with_capacity(width * self.rows);
        let mut areas: Vec<Vec<i128>> = vec![vec![0; width]; PAINTS];
        for (row, parts) in by_row.iter().enumerate() {
            areas.iter_mut().for_each(|paint| paint.fill(0));
            for &(slot, processors, bar, at) in parts {
                columns.add(&mut areas[slot], processors, bar.start, bar.parts[at].2);
            }
            let height = i128::from(self.edge(row + 1) - self.edge(row));
            cells.extend((0..width).map(|column| {
                let whole = height * i128::from(columns.seconds(column));
                dominant(whole, &areas, column)
            }));
        }
        cells
    }

    /// The cells as tiles: runs along time, joined where the row below has the same run.
    pub(super) fn tiles(&self, cells: &[Option<Paint>]) -> Vec<Tile> {
        let width = cells.len() / self.rows.max(1);
        let mut tiles: Vec<Tile> = Vec::new();
        // Tiles that end with the row above, by first column.
        let mut above: BTreeMap<usize, usize> = BTreeMap::new();
        for row in 0..self.rows {
            let mut here = BTreeMap::new();
            for (paint, column, columns) in runs(&cells[row * width..(row + 1) * width]) {
                let joined = above
                    .get(&column)
                    .copied()
                    .filter(|&at| tiles[at].paint == paint && tiles[at].columns == columns);
                let at = joined.unwrap_or(tiles.len());
                match joined {
                    Some(at) => tiles[at].rows += 1,
                    None => tiles.push(Tile { paint, column, row, columns, rows: 1 }),
                }
                here.insert(column, at);
            }
            above = here;
        }
        tiles
    }
}

/// The paint with most of a cell; `None` if most of it is idle.
fn dominant(whole: i128, areas: &[Vec<i128>], column: usize) -> Option<Paint> {
    let used: i128 = areas.iter().map(|paint| paint[column]).sum();
    let (mut best, mut max) = (None, whole - used);
    for (slot, paint_areas) in areas.iter().enumerate() {
        if paint_areas[column] > max {
            (best, max) = (Some(paint(slot)), paint_areas[column]);
        }
    }
    best
}

/// Runs of one paint: paint, first column, columns.
fn runs(row: &[Option<Paint>]) -> Vec<(Paint, usize, usize)> {
    let mut runs: Vec<(Paint, usize, usize)> = Vec::new();
    for (column, paint) in row.iter().enumerate() {
        let Some(paint) = *paint else { continue };
        match runs.last_mut() {
            Some(last) if last.0 == paint && last.1 + last.2 == column => last.2 += 1,
            _ => runs.push((paint, column, 1)),
        }
    }
    runs
}

/// All tiles of each paint as one path, in whole cells.
pub(super) fn paths(tiles: &[Tile]) -> BTreeMap<Paint, String> {
    let mut paths: BTreeMap<Paint, String> = BTreeMap::new();
    for tile in tiles {
        let path = paths.entry(tile.paint).or_default();
        let Tile { column, row, columns, rows, .. } = tile;
        let _ = write!(path, "M{column} {row}h{columns}v{rows}h-{columns}z");
    }
    paths
}

/// Tiles of `size` pixels to a cell as one path on the sheet.
pub(super) fn outline(tiles: &[Tile], frame: Rect, size: (f64, f64)) -> String {
    let mut path = String::new();
    for tile in tiles {
        let x = num(frame.x + tile.column as f64 * size.0);
        let y = num(frame.y + tile.row as f64 * size.1);
        let (w, h) = (num(tile.columns as f64 * size.0), num(tile.rows as f64 * size.1));
        let _ = write!(path, "M{x} {y}h{w}v{h}h-{w}z");
    }
    path
}
