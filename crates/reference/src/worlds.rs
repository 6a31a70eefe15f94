//! Markets to measure searches on.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{
    Attributes, Criterion, Grid, Horizon, Money, Node, NodeId, Performance, Price, Request, Site,
    SiteId, Slot, SlotList, Span, Time, Times,
};
use tradewind_sched::window::{Search, find};

/// Micro-credits per second and performance 1, before the node's own discount.
const MARKET_PRICE: f64 = 1_000_000.0;

/// A grid and what is free on it.
#[derive(Debug, Clone)]
pub struct Market {
    /// Performance 2..10, price about 1.3^performance.
    pub grid: Grid,
    /// In order of start.
    pub slots: SlotList,
    /// Of a task on the reference node; the slowest nodes need half of it.
    pub work: Span,
}

impl Market {
    /// `slots` slots in all on `nodes` nodes, in turn idle and busy for 40 to 200 s. One tick is a
    /// millisecond, so that hardly any two slots start together: the hardest case for a search
    /// that looks once per start.
    pub fn random(seed: u64, slots: usize, nodes: usize) -> Market {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let grid = random_grid(&mut random, nodes, 1_000..=10_000);
        let mut free = Vec::with_capacity(slots);
        for node in 0..nodes {
            let count = (slots * (node + 1)) / nodes - (slots * node) / nodes;
            let mut at = random.random_range(0..240_000);
            for _ in 0..count {
                let end = at + random.random_range(40_000..200_000);
                free.push(Slot { start: Time(at), end: Time(end), node: NodeId(node as u32) });
                at = end + random.random_range(40_000..200_000);
            }
        }
        let slots = SlotList::new(free).unwrap_or_default();
        Market { grid, slots, work: Span(300_000) }
    }

    /// The environment of paper 000, section 6.1, as far as it is known: integer performance
    /// 2..10, price 1.3^performance, a fifth up or down, local tasks of 40 to 150 s on 10 to 50 %
    /// of each node's time, work 300.
    pub fn of_paper(seed: u64, nodes: usize, horizon: i64) -> Market {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let grid = random_grid(&mut random, nodes, 2..=10);
        let mut busy = Vec::new();
        for node in 0..nodes {
            let load = horizon * random.random_range(10..=50) / 100;
            let mut taken = 0;
            while taken < load {
                let length = random.random_range(40..=150).min(load - taken);
                let start = random.random_range(0..=horizon - length);
                let (start, end) = (Time(start), Time(start + length));
                busy.push(Slot { start, end, node: NodeId(node as u32) });
                taken += length;
            }
        }
        let horizon = Horizon { start: Time(0), end: Time(horizon) };
        let slots = SlotList::from_busy(&grid, horizon, &busy);
        Market { grid, slots, work: Span(300) }
    }

    /// A request for `tasks` tasks without limits.
    pub fn request(&self, tasks: u32, criterion: Criterion) -> Request {
        Request { criterion, ..Request::new(tasks, self.work) }
    }

    /// What the cheapest window of `tasks` tasks costs.
    pub fn cheapest(&self, tasks: u32) -> Option<Money> {
        let search = Search::best(Criterion::Cost);
        let request = self.request(tasks, Criterion::Cost);
        find(&self.grid, &self.slots, &request, &search).map(|found| found.window.cost())
    }
}

/// Performances from `steps`: whole numbers, or thousandths if the steps are that fine. Lowest 2.
fn random_grid(random: &mut Pcg64Mcg, nodes: usize, steps: std::ops::RangeInclusive<u32>) -> Grid {
    let unit = if *steps.end() > 10 { 1 } else { 1_000 };
    let all = (0..nodes).map(|i| {
        let thousandths = (random.random_range(steps.clone()) * unit).max(2_000);
        let market = MARKET_PRICE * 1.3_f64.powf(f64::from(thousandths) / 1_000.0);
        let price = Price((market * random.random_range(0.8..1.2)) as i64);
        Node {
            name: format!("n{i}"),
            site: SiteId(0),
            host: None,
            performance: Performance::from_thousandths(thousandths)
                .unwrap_or(Performance::REFERENCE),
            price,
            attributes: Attributes::new(),
            times: Times::Work,
        }
    });
    let sites = vec![Site { name: "site".into() }];
    let nodes: Vec<Node> = all.collect();
    Grid::new(sites, nodes).unwrap_or_else(|error| unreachable!("{error}"))
}
