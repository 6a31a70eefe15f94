//! The experiment of figure 6: how much work the searches are, on ever more nodes and over ever
//! longer intervals.
//!
//! Work is counted in steps, so that it is the same on every machine: to look once at a slot of
//! the expanded window. Of m slots, sorting them by cost takes m · log₂ m steps.

use tradewind_model::{Request, Slot, SlotList, Snapshot, Span, Time, Window};

use super::parameters::{
    BUDGET, DEVIATION, LOAD_STEPS, LOCAL_TASK, MARKET, PRICE_BASE, STEP, WORK,
};
use super::single::alternatives;
use super::world::{draw_single, seed, single_job};
use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// 1,000 cycles per point at full size. Names in the tally: `nodes/n/…` and `horizon/h/…`, then
/// `slots`, `alternatives`, or the milliseconds of a strategy: `amp`, `min-proc-time`, `aep` (the
/// four others, which sort at every step), `csa`.
pub(in crate::papers) static WORKING: Experiment = Experiment {
    id: "working-time",
    summary: "counts the steps of the searches on 50 to 400 nodes, and over 600 to 3,600",
    parameters: &[
        &STEP,
        &BUDGET,
        &WORK,
        &MARKET,
        &PRICE_BASE,
        &DEVIATION,
        &LOCAL_TASK,
        &LOAD_STEPS,
    ],
    logs: &[],
    parts,
    part,
};

pub(super) const NODES: [u32; 5] = [50, 100, 200, 300, 400];
pub(super) const HORIZONS: [u32; 6] = [600, 1_200, 1_800, 2_400, 3_000, 3_600];

fn of_point(case: &Case) -> (u32, u32) {
    match case.size {
        Size::Full => (20, 50),
        Size::Quick => (1, 3),
    }
}

fn parts(case: &Case) -> u32 {
    of_point(case).0 * (NODES.len() + HORIZONS.len()) as u32
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    let (parts, cycles) = of_point(case);
    let (point, within) = ((index / parts) as usize, index % parts);
    let (name, nodes, horizon) = match NODES.get(point) {
        Some(nodes) => (format!("nodes/{nodes}"), *nodes, 600),
        None => {
            let horizon = HORIZONS[(point - NODES.len()).min(HORIZONS.len() - 1)];
            (format!("horizon/{horizon}"), 100, horizon)
        }
    };
    let environment = single_job(case, nodes, Span(i64::from(horizon)));
    for cycle in 0..cycles {
        let seed = seed(case, "working-time", u64::from(within * cycles + cycle));
        if let Some(snapshot) = draw_single(case, &environment, seed) {
            one(case, &name, &snapshot, &mut tally);
        }
    }
    tally
}

fn one(case: &Case, point: &str, snapshot: &Snapshot, tally: &mut Tally) {
    let Some(job) = snapshot.jobs.first() else { return };
    let milliseconds = |steps: f64| steps * case.number(&STEP) / 1e6;
    let found = alternatives(snapshot, tradewind_sched::window::Variant::Exact);
    let mut counter = Counter::new(snapshot, &job.request);
    let all = counter.pass(&snapshot.slots, Time::MAX);
    let mut list = snapshot.slots.clone();
    let (mut csa, mut first) = (0.0, None);
    for window in &found {
        let steps = counter.pass(&list, window.start()).sorting;
        first = first.or(Some(steps));
        csa += steps;
        if take(&mut list, window).is_none() {
            return;
        }
    }
    // The last pass finds nothing.
    csa += counter.pass(&list, Time::MAX).sorting;
    tally.add(&format!("{point}/slots"), snapshot.slots.len() as f64);
    tally.add(&format!("{point}/alternatives"), found.len() as f64);
    for (strategy, steps) in [
        ("amp", first.unwrap_or(all.sorting)),
        ("aep", all.sorting),
        ("min-proc-time", all.drawing),
        ("csa", csa),
    ] {
        tally.add(&format!("{point}/{strategy}"), milliseconds(steps));
    }
    let each = csa / found.len().max(1) as f64;
    tally.add(&format!("{point}/csa-each"), milliseconds(each));
}

fn take(list: &mut SlotList, window: &Window) -> Option<()> {
    list.subtract_window(window).ok()
}

/// Steps of one pass over a list.
struct Steps {
    /// If the expanded window is sorted by cost at every slot.
    sorting: f64,
    /// If as many slots as the job wants are drawn from it instead.
    drawing: f64,
}

/// Counts the steps of paper 000, algorithm 1.
struct Counter {
    wanted: usize,
    /// Lengths of tasks, by node.
    lengths: Vec<Span>,
    /// The last starts of the expanded window.
    alive: Vec<Time>,
}

impl Counter {
    fn new(snapshot: &Snapshot, request: &Request) -> Counter {
        let nodes = snapshot.grid.nodes().iter();
        let lengths = nodes.map(|node| request.length_on(node)).collect();
        Counter { wanted: request.tasks as usize, lengths, alive: Vec::new() }
    }

    /// Of a pass that ends with the first slot after `until`.
    fn pass(&mut self, list: &SlotList, until: Time) -> Steps {
        let mut steps = Steps { sorting: 0.0, drawing: 0.0 };
        self.alive.clear();
        for &Slot { start, end, node } in list.as_slice() {
            if start > until {
                break;
            }
            let last = end - self.lengths[node.0 as usize];
            if last < start {
                continue;
            }
            self.alive.retain(|last| *last >= start);
            self.alive.push(last);
            let size = self.alive.len() as f64;
            steps.sorting += size;
            steps.drawing += size;
            if self.alive.len() >= self.wanted {
                steps.sorting += size * size.log2();
                steps.drawing += self.wanted as f64;
            }
        }
        steps
    }
}
