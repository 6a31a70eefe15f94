//! Which rows and bars a picture shows, and what it says about the rest.

use super::{Chart, Kind, grouped};

/// How much fits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Up to this many rows, all are shown; beyond, only those that the batch uses.
    pub(super) rows: usize,
    /// Up to this many bars of alternatives, all are shown; beyond, none.
    pub(super) alternatives: usize,
}

/// What is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// Indices into the chart's rows, ascending.
    pub(super) rows: Vec<usize>,
    /// Whether alternatives are drawn.
    pub(super) alternatives: bool,
    /// What is not shown, one sentence each.
    pub(super) notes: Vec<String>,
}

pub(super) fn choose(chart: &Chart, room: Room) -> Shown {
    let is_alternative = |kind: Kind| matches!(kind, Kind::Alternative(_));
    let count = chart.bars.iter().filter(|bar| is_alternative(bar.kind)).count();
    let alternatives = count <= room.alternatives;
    let mut notes = Vec::new();
    if !alternatives && room.alternatives > 0 {
        notes.push(format!("{} tasks of alternatives are not drawn", grouped(count)));
    }
    let mut used = vec![chart.rows.len() <= room.rows; chart.rows.len()];
    for bar in &chart.bars {
        let draws = match bar.kind {
            Kind::Local => false,
            Kind::Placed(_) => true,
            Kind::Alternative(_) => alternatives,
        };
        used[bar.row] |= draws;
    }
    if !used.contains(&true) {
        used[..room.rows.min(chart.rows.len())].fill(true);
    }
    let rows: Vec<usize> = (0..used.len()).filter(|&row| used[row]).collect();
    let hidden = used.len() - rows.len();
    if hidden > 0 {
        let all = grouped(used.len());
        let why = if chart.placed() > 0 { "that the batch does not use " } else { "" };
        notes.push(format!("{} of {all} nodes {why}are not shown", grouped(hidden)));
    }
    Shown { rows, alternatives, notes }
}
