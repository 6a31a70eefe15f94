//! The worked example of section 4.
//!
//! Its layout is only in a figure that the text lacks. Ours meets every statement of the text:
//! six nodes, seven local tasks, ten slots; cpu1 + cpu4 cost 10, cpu1 + cpu2 + cpu4 cost 14 and
//! cpu6 costs 12; W1 = [150, 230) on cpu1 and cpu4; W3 = [450, 500); eight alternatives in all.

use tradewind_io::chart::Chart;
use tradewind_model::{
    Attributes, Grid, Horizon, Job, Money, Node, NodeId, Performance, Plan, Price, Request, Site,
    SiteId, Slot, SlotList, Snapshot, Span, Time, Times, VoPolicy, Window,
};
use tradewind_sched::policy::cyclic::{Cyclic, SearchBy, plan};
use tradewind_sched::window::{self, Algorithm, Search};

use super::parameters::{BUDGET_TEST, LIMITS, variant};
use crate::case::Case;
use crate::experiment::Experiment;
use crate::findings::Figure;
use crate::tally::Tally;

pub(in crate::papers) static EXAMPLE: Experiment = Experiment {
    id: "worked-example",
    summary: "plans the three jobs of section 4 by AMP and by ALP; nothing is drawn",
    parameters: &[&LIMITS, &BUDGET_TEST],
    logs: &[],
    parts: |_| 1,
    part: |case, _| count(case).unwrap_or_default(),
};

/// Prices of cpu1 to cpu6.
const PRICES: [i64; 6] = [8, 4, 9, 2, 10, 12];
/// Node (from 0), start, end.
const FREE: [(u32, i64, i64); 10] = [
    (2, 0, 120),
    (4, 0, 140),
    (5, 0, 250),
    (0, 130, 510),
    (3, 150, 510),
    (1, 210, 260),
    (2, 300, 510),
    (5, 320, 510),
    (1, 450, 510),
    (4, 490, 510),
];
const END: i64 = 510;
const CPU6: NodeId = NodeId(5);
/// Nodes, run time, and the most that a window may cost per unit of time.
const JOBS: [(u32, i64, i64); 3] = [(2, 80, 10), (3, 30, 30), (2, 50, 6)];

fn world(case: &Case) -> Option<Snapshot> {
    let node = |(at, price): (usize, i64)| Node {
        name: format!("cpu{}", at + 1),
        site: SiteId(0),
        host: None,
        performance: Performance::REFERENCE,
        price: Price::credits(price),
        attributes: Attributes::new(),
        times: Times::Work,
    };
    let sites = vec![Site { name: "grid".to_owned() }];
    let nodes = PRICES.into_iter().enumerate().map(node).collect();
    let slot = |(node, start, end)| Slot { node: NodeId(node), start: Time(start), end: Time(end) };
    let jobs = JOBS.into_iter().enumerate().map(|(at, job)| Job {
        name: format!("job{}", at + 1),
        priority: 0,
        request: request(case, job),
    });
    Some(Snapshot {
        horizon: Horizon { start: Time(0), end: Time(END) },
        grid: Grid::new(sites, nodes).ok()?,
        slots: SlotList::new(FREE.into_iter().map(slot).collect()).ok()?,
        jobs: jobs.collect(),
        policy: VoPolicy::default(),
    })
}

/// The limit per unit of time is a budget for AMP; shared by the tasks it is ALP's cap.
fn request(case: &Case, (tasks, run, per_unit): (u32, i64, i64)) -> Request {
    let per_unit = (per_unit as f64 * 1e6 * case.number(&LIMITS)).round() as i64;
    Request {
        max_price: Some(Price(per_unit / i64::from(tasks))),
        budget: Some(Money(per_unit * run)),
        ..Request::new(tasks, Span(run))
    }
}

fn planned(case: &Case, world: &Snapshot, algorithm: Algorithm) -> Plan {
    let cyclic = Cyclic {
        search: SearchBy::All(algorithm),
        variant: variant(case),
        max_alternatives: None,
        ..Cyclic::default()
    };
    plan(world, &cyclic, &mut |_| {})
}

fn count(case: &Case) -> Option<Tally> {
    let world = world(case)?;
    let amp = planned(case, &world, Algorithm::Amp);
    let alp = planned(case, &world, Algorithm::Alp);
    let mut tally = Tally::default();
    for (name, plan) in [("amp", &amp), ("alp", &alp)] {
        let windows = || plan.jobs.iter().flat_map(|job| &job.alternatives);
        tally.add(&format!("{name}/alternatives"), windows().count() as f64);
        let on_cpu6 = windows().filter(|window| window.tasks().iter().any(|t| t.node == CPU6));
        tally.add(&format!("{name}/on-cpu6"), on_cpu6.count() as f64);
    }
    for (number, job) in (1..).zip(&amp.jobs) {
        let Some(first) = job.alternatives.first() else { continue };
        tally.add(&format!("w{number}/start"), first.start().0 as f64);
        tally.add(&format!("w{number}/finish"), first.finish().0 as f64);
        tally.add(&format!("w{number}/cost"), per_unit(first));
    }
    let cap = world.jobs[1].request.max_price?;
    tally.add("alp/cap", cap.0 as f64 / 1e6);
    if let Some(earliest) = without_limit(&world) {
        tally.add("unlimited/start", earliest.start().0 as f64);
        tally.add("unlimited/cost", per_unit(&earliest));
    }
    Some(tally)
}

fn per_unit(window: &Window) -> f64 {
    window.cost().0 as f64 / 1e6 / window.runtime().0 as f64
}

/// Job 1's earliest window if it might cost anything.
fn without_limit(world: &Snapshot) -> Option<Window> {
    let job = &world.jobs[0].request;
    let free = Request { max_price: None, budget: None, ..job.clone() };
    window::find(&world.grid, &world.slots, &free, &Search::new(Algorithm::Amp))
        .map(|found| found.window)
}

/// AMP's plan; what the combination chooses is in full colour.
pub(in crate::papers) fn picture(case: &Case, title: String) -> Option<Figure> {
    let world = world(case)?;
    let plan = planned(case, &world, Algorithm::Amp);
    Some(Figure::Plan(Box::new(Chart::of_plan(title, &world, &plan))))
}
