//! The experiment of table 2 and figure 8: one node's owner asks ever higher prices.

use tradewind_model::{Grid, Node, NodeId, Performance, Price, Snapshot, Window};

use super::parameters::{MEDIUM, OWNED, SUB_BATCHES};
use super::world::{BATCH_PARAMETERS, BatchScheme, CREDIT, draw_batch, loaded, schedule, seed};
use crate::case::{Case, Parameter, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// 5,000 cycles for each price at full size. Names in the tally: `price/failed` of all cycles;
/// `price/used`, time of the owner's node that the jobs take, and `price/profit` of those in
/// which all jobs get a window.
pub(in crate::papers) static OWNERS: Experiment = Experiment {
    id: "owners-price",
    summary: "draws batches and a node that costs what its owner asks, and plans by batch-slicer",
    parameters: &PARAMETERS,
    logs: &[],
    parts,
    part,
};

static PARAMETERS: [&Parameter; 13] = {
    let [a, b, c, d, e, f, g, h, i, j] = BATCH_PARAMETERS;
    [&OWNED, &MEDIUM, &SUB_BATCHES, a, b, c, d, e, f, g, h, i, j]
};

/// What the owner asks for a unit of time, in credits: table 2 has the even ones.
pub(super) const PRICES: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

const PART: u32 = 40;
const OWNER: NodeId = NodeId(0);

fn parts(case: &Case) -> u32 {
    match case.size {
        Size::Full => 125,
        Size::Quick => 1,
    }
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    let environment = loaded(case, case.number(&MEDIUM));
    for cycle in 0..PART {
        let seed = seed(case, "owners", u64::from(index * PART + cycle));
        let Some(snapshot) = draw_batch(&environment, seed) else { continue };
        for price in PRICES {
            if let Some(snapshot) = with_price(case, &snapshot, price) {
                one(case, price, &snapshot, &mut tally);
            }
        }
    }
    tally
}

/// The same cycle, but the owner's node has the case's performance and costs `price`.
fn with_price(case: &Case, snapshot: &Snapshot, price: u32) -> Option<Snapshot> {
    let thousandths = (case.number(&OWNED) * 1_000.0).round() as u32;
    let performance = Performance::from_thousandths(thousandths)?;
    let price = Price((f64::from(price) * CREDIT).round() as i64);
    let node = |(id, node): (NodeId, &Node)| match id {
        OWNER => Node { performance, price, ..node.clone() },
        _ => node.clone(),
    };
    let nodes = snapshot.grid.iter().map(node).collect();
    let grid = Grid::new(snapshot.grid.sites().to_vec(), nodes).ok()?;
    Some(Snapshot { grid, ..snapshot.clone() })
}

fn one(case: &Case, price: u32, snapshot: &Snapshot, tally: &mut Tally) {
    let count = case.number(&SUB_BATCHES).round() as u32;
    let plan = schedule(case, snapshot, BatchScheme::Slicer(count));
    tally.add_if(&format!("{price}/failed"), plan.is_none());
    let Some(plan) = plan else { return };
    let on_node = |window: &Window| {
        let tasks = window.tasks().iter().filter(|task| task.node == OWNER);
        tasks.map(|task| task.length.0).sum::<i64>()
    };
    let used = plan.iter().map(|job| on_node(&job.window)).sum::<i64>() as f64;
    tally.add(&format!("{price}/used"), used);
    tally.add(&format!("{price}/profit"), used * f64::from(price));
}
