//! Rows for tasks that share a node: as many as it has tasks at a time.

use tradewind_model::{Grid, NodeId, Plan, Time};

use super::{Bar, ChartRow};

/// Which rows a node has. Whole nodes have one.
pub(super) struct Lanes {
    /// By node, its first row; one more at the end.
    first: Vec<usize>,
    /// By row, until when it is taken.
    until: Vec<Time>,
}

impl Lanes {
    /// As many rows as the tasks of chosen windows need. O(t log t) for t tasks.
    pub(super) fn new(grid: &Grid, plan: &Plan) -> Lanes {
        let mut edges: Vec<Vec<(Time, i32)>> = vec![Vec::new(); grid.len()];
        let chosen = plan.jobs.iter().filter_map(|job| job.window());
        for slot in
            chosen.filter(|window| window.each().is_some()).flat_map(tradewind_model::Window::taken)
        {
            edges[slot.node.0 as usize].extend([(slot.end, -1), (slot.start, 1)]);
        }
        let mut first = vec![0];
        for mut edges in edges {
            edges.sort_unstable();
            let mut now = 0;
            let counts = edges.iter().map(|(_, change)| {
                now += change;
                now
            });
            let most = counts.max().unwrap_or(0).max(1);
            first.push(first.last().copied().unwrap_or(0) + most as usize);
        }
        let rows = first.last().copied().unwrap_or(0);
        Lanes { first, until: vec![Time::MIN; rows] }
    }

    /// Bars whose rows are nodes, on all rows of these.
    pub(super) fn on_all(&self, bars: Vec<Bar>) -> Vec<Bar> {
        let rows = |bar: &Bar| self.first[bar.row]..self.first[bar.row + 1];
        let on = |bar: Bar| rows(&bar).map(move |row| Bar { row, ..bar });
        bars.into_iter().flat_map(on).collect()
    }

    /// A bar whose row is a node, on the first of its rows that no earlier bar takes then. Bars come
    /// in order of their starts.
    pub(super) fn on_one(&mut self, bar: Bar) -> Bar {
        let rows = self.first[bar.row]..self.first[bar.row + 1];
        let last = rows.end - 1;
        let free = rows.into_iter().find(|row| self.until[*row] <= bar.start);
        let row = free.unwrap_or(last);
        self.until[row] = bar.end.max(self.until[row]);
        Bar { row, ..bar }
    }

    /// The rows with their labels: `lyra1`, then `lyra1/2` and so on.
    pub(super) fn rows(&self, grid: &Grid) -> Vec<ChartRow> {
        let of_node = |(id, node): (NodeId, &tradewind_model::Node)| {
            let count = self.first[id.0 as usize + 1] - self.first[id.0 as usize];
            let group = grid.site_of(id).name.clone();
            let label = |lane: usize| match lane {
                1 => node.name.clone(),
                _ => format!("{}/{lane}", node.name),
            };
            (1..=count)
                .map(|lane| ChartRow { label: label(lane), group: group.clone() })
                .collect::<Vec<_>>()
        };
        grid.iter().flat_map(of_node).collect()
    }
}
