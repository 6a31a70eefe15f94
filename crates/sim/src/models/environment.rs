//! The simulation environment of paper 000, sections 5 and 6.1: one scheduling cycle of a virtual
//! organisation.

use tradewind_model::{
    Attributes, Criterion, Grid, Horizon, Job, Money, Node, Performance, Price, Request, Site,
    SiteId, Slot, SlotList, Snapshot, Span, Time, Times, VoPolicy,
};

use super::LocalLoad;
use super::draws::{Draws, wide};

/// Nodes with owners' load and prices, and a batch of jobs with budgets. Ranges include both
/// ends, all in them equally likely. What the paper does not give (market price, tasks and work
/// of the jobs, lengths of local tasks) has the values that fit its figures best.
#[derive(Debug, Clone, PartialEq)]
pub struct Environment {
    /// How many nodes there are (24; 100 in the study of single jobs).
    pub nodes: u32,
    /// How many sites they are dealt out to, in equal parts.
    pub sites: u32,
    /// The interval to plan in.
    pub horizon: Span,
    /// Whole performances of the nodes (2 to 10).
    pub performance: (u32, u32),
    /// The market price of performance P is `price_scale` × `price_base`^P credits per second.
    pub price_scale: f64,
    /// Base of prices; see `price_scale`.
    pub price_base: f64,
    /// A node's price is the market price × (1 + N(0, this)): its owner's discount or surcharge.
    pub price_deviation: f64,
    /// Prices are cut to the market price plus or minus this share (0.6).
    pub price_cut: f64,
    /// The owners' load.
    pub load: LocalLoad,
    /// How many jobs are in the batch (20).
    pub jobs: u32,
    /// Number of nodes a job wants.
    pub tasks: (u32, u32),
    /// How much work each of its tasks is.
    pub work: (Span, Span),
    /// Whole least performances that jobs take.
    pub min_performance: (u32, u32),
    /// A job's budget over the market value of its request, in thousandths.
    pub budget: (u32, u32),
    /// One of them is a job's own.
    pub criteria: Vec<Criterion>,
}

impl Default for Environment {
    fn default() -> Environment {
        Environment {
            nodes: 24,
            sites: 1,
            horizon: Span(600),
            performance: (2, 10),
            price_scale: 1.375,
            price_base: 1.3,
            price_deviation: 0.2,
            price_cut: 0.6,
            load: LocalLoad::default(),
            jobs: 20,
            tasks: (2, 6),
            work: (Span(150), Span(450)),
            min_performance: (2, 2),
            budget: (1_000, 1_600),
            criteria: vec![
                Criterion::Start,
                Criterion::Runtime,
                Criterion::Finish,
                Criterion::Cost,
            ],
        }
    }
}

/// What an [`Environment`] draws.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// The planning problem.
    pub snapshot: Snapshot,
    /// The owners' local tasks, by node and start; the slots are the rest of the horizon.
    pub busy: Vec<Slot>,
}

impl Environment {
    /// The setting of paper 000, figure 5: one job of five tasks, which take 150 s on the slowest
    /// node, with a budget of 1,500 on 100 nodes. The budget is the caller's to set: here it is
    /// relative to the market value.
    pub fn single_job() -> Environment {
        let work = (Span(300), Span(300));
        Environment { nodes: 100, jobs: 1, tasks: (5, 5), work, ..Environment::default() }
    }

    /// One scheduling cycle from time 0 on. `None` if a parameter makes it impossible (no nodes,
    /// performance 0, prices beyond all bounds).
    pub fn draw(&self, seed: u64) -> Option<Cycle> {
        let horizon = Horizon { start: Time(0), end: Time(self.horizon.0) };
        let sites = (1..=self.sites.max(1)).map(|n| Site { name: format!("site{n}") });
        let grid = Grid::new(sites.collect(), self.grid_nodes(seed)?).ok()?;
        let busy = self.load.draw(seed, self.nodes, horizon);
        let slots = SlotList::from_busy(&grid, horizon, &busy);
        let jobs = self.batch(seed)?;
        let snapshot = Snapshot { horizon, grid, slots, jobs, policy: VoPolicy::default() };
        snapshot.check().ok()?;
        Some(Cycle { snapshot, busy })
    }

    fn grid_nodes(&self, seed: u64) -> Option<Vec<Node>> {
        let mut speeds = Draws::new(seed, "environment-performance");
        let mut factors = Draws::new(seed, "environment-price");
        let sites = u64::from(self.sites.max(1));
        let mut node = |index: u32| {
            let speed = u32::try_from(speeds.within(wide(self.performance))).ok()?;
            let extra = factors.normal() * self.price_deviation;
            let factor = 1.0 + extra.clamp(-self.price_cut, self.price_cut);
            let site = u64::from(index) * sites / u64::from(self.nodes.max(1));
            Some(Node {
                name: format!("n{:03}", index + 1),
                site: SiteId(site as u32),
                host: None,
                performance: whole(speed)?,
                price: micro(self.market(speed) * factor)?,
                attributes: Attributes::new(),
                times: Times::Work,
            })
        };
        (self.nodes > 0).then_some(())?;
        (0..self.nodes).map(&mut node).collect()
    }

    /// Credits per second.
    fn market(&self, speed: u32) -> f64 {
        self.price_scale * libm::pow(self.price_base, f64::from(speed))
    }

    /// What a request is worth: tasks × the mean, over the performances it takes, of market price
    /// × task length. Rounded to micro-credits.
    pub fn market_value(&self, request: &Request) -> Option<Money> {
        let (slowest, fastest) = self.performance;
        let min = request.min_performance.map_or(0, Performance::thousandths).div_ceil(1_000);
        let speeds = slowest.max(min.min(fastest))..=fastest;
        let count = f64::from(fastest - speeds.start().min(&fastest) + 1);
        let mut sum = 0.0;
        for speed in speeds {
            sum += self.market(speed) * whole(speed)?.length_of(request.work).0 as f64;
        }
        let value = micro(sum / count * f64::from(request.tasks))?;
        Some(Money(value.0.min(Money::MAX.0)))
    }

    fn batch(&self, seed: u64) -> Option<Vec<Job>> {
        let mut draws = Draws::new(seed, "environment-job");
        let mut budgets = Draws::new(seed, "environment-budget");
        let mut job = |number: u32| {
            let tasks = draws.within(wide(self.tasks)).max(1) as u32;
            let work = Span(draws.within((self.work.0.0, self.work.1.0)).max(1));
            let min = u32::try_from(draws.within(wide(self.min_performance))).ok()?;
            let last = self.criteria.len() as i64 - 1;
            let criterion = self.criteria.get(draws.within((0, last)) as usize).cloned();
            let mut request = Request {
                min_performance: Some(whole(min)?).filter(|_| min > self.performance.0),
                criterion: criterion.unwrap_or_default(),
                ..Request::new(tasks, work)
            };
            let factor = budgets.within(wide(self.budget));
            let value = i128::from(self.market_value(&request)?.0) * i128::from(factor);
            request.budget = i64::try_from((value + 500) / 1_000).ok().map(Money);
            Some(Job { name: format!("job{number}"), priority: 0, request })
        };
        (1..=self.jobs).map(&mut job).collect()
    }
}

fn whole(performance: u32) -> Option<Performance> {
    performance.checked_mul(1_000).and_then(Performance::from_thousandths)
}

/// To the nearest micro-credit.
fn micro(credits: f64) -> Option<Price> {
    let micro = libm::round(credits * 1e6);
    (0.0..9e15).contains(&micro).then_some(Price(micro as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tradewind_sched::window::{Search, find};

    #[test]
    fn nodes_and_jobs_are_as_published() {
        let (mut extras, mut nodes) = (0.0, 0);
        for seed in 0..50 {
            let Cycle { snapshot, busy } = Environment::default().draw(seed).unwrap();
            assert_eq!((snapshot.grid.len(), snapshot.jobs.len()), (24, 20));
            for node in snapshot.grid.nodes() {
                let speed = node.performance.thousandths() / 1_000;
                assert!((2..=10).contains(&speed));
                let market = Environment::default().market(speed);
                let extra = node.price.0 as f64 / 1e6 / market - 1.0;
                assert!(extra.abs() < 0.600_001, "{extra}");
                extras += extra * extra;
                nodes += 1;
            }
            let taken: i64 = busy.iter().map(|task| task.span().0).sum();
            let free: i64 = snapshot.slots.as_slice().iter().map(|slot| slot.span().0).sum();
            assert_eq!(taken + free, 24 * 600);
            for job in &snapshot.jobs {
                let value = Environment::default().market_value(&job.request).unwrap();
                let budget = job.request.budget.unwrap();
                assert!(budget >= value && budget.0 as f64 <= value.0 as f64 * 1.601);
            }
        }
        let deviation = (extras / f64::from(nodes)).sqrt();
        assert!((deviation - 0.2).abs() < 0.02, "{deviation}");
    }

    #[test]
    fn market_value_is_the_mean_over_the_performances_taken() {
        let two = Environment {
            performance: (2, 3),
            price_scale: 1.0,
            price_base: 2.0,
            ..Environment::default()
        };
        let mut request = Request::new(3, Span(60));
        // 4 × 30 and 8 × 20, three tasks.
        assert_eq!(two.market_value(&request), Some(Money::credits(3 * 140)));
        request.min_performance = Performance::from_thousandths(3_000);
        assert_eq!(two.market_value(&request), Some(Money::credits(3 * 160)));
    }

    /// Paper 000, figure 5: five slots for a work of 300 on 100 nodes cost 1,027.3 at least, in
    /// the mean.
    #[test]
    fn the_cheapest_window_costs_what_was_published() {
        let mut sum = 0;
        for seed in 0..200 {
            let world = Environment::single_job().draw(seed).unwrap().snapshot;
            let request = Request { budget: None, ..world.jobs[0].request.clone() };
            let search = Search::best(Criterion::Cost);
            let request = Request { criterion: Criterion::Cost, ..request };
            let found = find(&world.grid, &world.slots, &request, &search).unwrap();
            sum += found.window.cost().0;
        }
        let mean = sum as f64 / 200.0 / 1e6;
        assert!((mean - 1_027.3).abs() < 10.0, "{mean}");
    }

    #[test]
    fn sites_share_the_nodes_and_impossible_parameters_draw_nothing() {
        let three = Environment { sites: 3, ..Environment::default() };
        let grid = three.draw(1).unwrap().snapshot.grid;
        let count = |site: u32| grid.nodes().iter().filter(|it| it.site == SiteId(site)).count();
        assert_eq!([count(0), count(1), count(2)], [8, 8, 8]);
        for bad in [
            Environment { nodes: 0, ..Environment::default() },
            Environment { performance: (0, 0), ..Environment::default() },
            Environment { price_base: 1e9, ..Environment::default() },
            Environment { horizon: Span(0), ..Environment::default() },
        ] {
            assert_eq!(bad.draw(1), None);
        }
    }
}
