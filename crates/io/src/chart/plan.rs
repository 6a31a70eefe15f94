//! From a plan to a chart.

use tradewind_model::{NodeId, Plan, Slot, Snapshot, Time, Window};

use super::lanes::Lanes;
use super::{Bar, Chart, ChartJob, Fate, Kind};

impl Chart {
    /// The chart of `plan` on `snapshot`: what is not free is the owners' load.
    ///
    /// O(nodes + slots log slots + tasks of all alternatives).
    pub fn of_plan(title: String, snapshot: &Snapshot, plan: &Plan) -> Chart {
        let mut lanes = Lanes::new(&snapshot.grid, plan);
        let mut bars = lanes.on_all(busy(snapshot));
        let mut sharing: Vec<Bar> = Vec::new();
        let mut jobs = Vec::with_capacity(plan.jobs.len());
        for (index, (job, planned)) in snapshot.jobs.iter().zip(&plan.jobs).enumerate() {
            let chosen = planned.window();
            for window in &planned.alternatives {
                let kind = match chosen.is_some_and(|chosen| std::ptr::eq(chosen, window)) {
                    true => Kind::Placed(index),
                    false => Kind::Alternative(index),
                };
                match window.each() {
                    None => bars.extend(lanes.on_all(tasks(window, kind).collect())),
                    // Alternatives of tasks that share nodes would cover each other.
                    Some(_) if matches!(kind, Kind::Alternative(_)) => {}
                    Some(_) => sharing.extend(tasks(window, kind)),
                }
            }
            jobs.push(ChartJob { name: job.name.clone(), fate: fate(planned) });
        }
        sharing.sort_by_key(|bar| bar.start);
        bars.extend(sharing.into_iter().map(|bar| lanes.on_one(bar)));
        let rows = lanes.rows(&snapshot.grid);
        Chart { title, horizon: snapshot.horizon, now: None, rows, bars, jobs }.by_group()
    }

    /// Puts rows of one group together, groups in order of their first row.
    fn by_group(mut self) -> Chart {
        let mut groups: Vec<&str> = Vec::new();
        let mut group_of = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let known = groups.iter().rposition(|group| *group == row.group);
            group_of.push(known.unwrap_or_else(|| {
                groups.push(&row.group);
                groups.len() - 1
            }));
        }
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|&row| group_of[row]);
        let mut place = vec![0; order.len()];
        for (to, &from) in order.iter().enumerate() {
            place[from] = to;
        }
        self.rows = order.iter().map(|&from| self.rows[from].clone()).collect();
        for bar in &mut self.bars {
            bar.row = place[bar.row];
        }
        self
    }
}

fn fate(planned: &tradewind_model::JobPlan) -> Fate {
    match (&planned.outcome, planned.window()) {
        (_, Some(window)) => {
            let (start, finish, cost) = (window.start(), window.finish(), window.cost());
            Fate::Placed { start, finish, cost }
        }
        (tradewind_model::Outcome::Postponed(reason), _) => Fate::Postponed(reason.to_string()),
        (tradewind_model::Outcome::Placed(_), None) => Fate::Postponed("no window".to_owned()),
    }
}

fn tasks(window: &Window, kind: Kind) -> impl Iterator<Item = Bar> {
    window.taken().map(move |slot| Bar {
        row: slot.node.0 as usize,
        start: slot.start,
        end: slot.end,
        kind,
    })
}

/// The horizon minus the slots, node by node; of a shared node, the time in which no core is free.
fn busy(snapshot: &Snapshot) -> Vec<Bar> {
    let list = &snapshot.slots;
    let is_whole = |slot: &&Slot| list.shared().is_none_or(|shared| !shared.has(slot.node));
    let parts = parts(snapshot);
    let mut slots: Vec<&Slot> = list.as_slice().iter().filter(is_whole).chain(&parts).collect();
    slots.sort_by_key(|slot| (slot.node, slot.start));
    let mut free_from = vec![snapshot.horizon.start; snapshot.grid.len()];
    let mut bars = Vec::new();
    let mut gap = |row: usize, start: Time, end: Time| {
        if start < end {
            bars.push(Bar { row, start, end, kind: Kind::Local });
        }
    };
    for slot in slots {
        let row = slot.node.0 as usize;
        gap(row, free_from[row], slot.start);
        free_from[row] = slot.end;
    }
    for (row, &from) in free_from.iter().enumerate() {
        gap(row, from, snapshot.horizon.end);
    }
    bars
}

/// When anything of each shared node is free.
fn parts(snapshot: &Snapshot) -> Vec<Slot> {
    let Some(shared) = snapshot.slots.shared() else { return Vec::new() };
    let of_node = |(node, _): (NodeId, _)| {
        let steps = shared.steps(node).unwrap_or_default();
        let idle = steps.windows(2).filter(|pair| pair[0].free.cores > 0);
        idle.map(move |pair| Slot { start: pair[0].from, end: pair[1].from, node })
    };
    snapshot.grid.iter().flat_map(of_node).collect()
}
