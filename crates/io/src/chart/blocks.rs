//! Bars of neighbouring rows, drawn as one rectangle.

use tradewind_model::Time;

use super::rows::Shown;
use super::{Chart, Kind};

/// A rectangle over neighbouring shown rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// First row, as an index into the shown rows.
    pub(super) first: usize,
    /// Number of rows.
    pub(super) rows: usize,
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) kind: Kind,
}

/// The bars on the shown rows, cut to the horizon; equal spans of one kind on neighbouring rows
/// of one group are one block. In drawing order: local, alternatives, placed.
pub(super) fn blocks(chart: &Chart, shown: &Shown) -> Vec<Block> {
    let mut place = vec![usize::MAX; chart.rows.len()];
    for (to, &row) in shown.rows.iter().enumerate() {
        place[row] = to;
    }
    let cut = |bar: &super::Bar| Block {
        first: place[bar.row],
        rows: 1,
        start: bar.start.max(chart.horizon.start),
        end: bar.end.min(chart.horizon.end),
        kind: bar.kind,
    };
    let visible = |block: &Block| {
        let drawn = shown.alternatives || !matches!(block.kind, Kind::Alternative(_));
        drawn && block.first != usize::MAX && block.start < block.end
    };
    let mut singles: Vec<Block> = chart.bars.iter().map(cut).filter(visible).collect();
    singles.sort_by_key(|b| (layer(b.kind), b.kind, b.start, b.end, b.first));
    let mut merged: Vec<Block> = Vec::new();
    for next in singles {
        match merged.last_mut() {
            Some(last) if continues(chart, shown, last, &next) => last.rows += 1,
            _ => merged.push(next),
        }
    }
    merged
}

fn layer(kind: Kind) -> u8 {
    match kind {
        Kind::Local => 0,
        Kind::Alternative(_) => 1,
        Kind::Placed(_) => 2,
    }
}

fn continues(chart: &Chart, shown: &Shown, last: &Block, next: &Block) -> bool {
    let group = |at: usize| &chart.rows[shown.rows[at]].group;
    (last.kind, last.start, last.end) == (next.kind, next.start, next.end)
        && last.first + last.rows == next.first
        && group(last.first) == group(next.first)
}
