//! Agents that decide at submissions on a grid: at which site a job waits, or what it bids.

use std::sync::Arc;

use tradewind_model::{Demand, JobId, Money, Pool, PoolId, Pools, SiteId, Span, Terms, Time};
use tradewind_sched::policy::Policy;

use super::features::{log, many, share};
use super::line::{PARTS, rate};
use super::{Episode, MakePolicy, Turn};
use crate::stepped::Stepped;
use crate::workload::Workload;
use crate::{Estimate, Run, SimError};

/// Features of a pool, and of a job.
pub(super) const FEATURES: usize = 8;

/// Of jobs that ask for nothing else.
static NONE: Terms = Terms::NONE;

/// What the agent decides when a job is submitted.
#[derive(Debug, Clone)]
pub(super) enum GridChoice {
    /// Its home, which is one of so many sites.
    Site(usize),
    /// What it says that the job is worth: so many thousandths of what it is worth. The agent has
    /// the jobs whose [`drawn`](super::drawn) number is below `share` thousandths.
    Bid { levels: Arc<[u32]>, seed: u64, share: u32 },
}

/// A job of the agent's that has not ended.
struct Mine {
    job: JobId,
    value: Money,
    deadline: Option<Time>,
}

/// A job that has not started.
struct Open {
    job: JobId,
    /// What it gained is counted until then.
    counted: Time,
    rate: u64,
}

/// An episode whose agent decides at submissions.
pub(super) struct Grid {
    stepped: Stepped<Box<dyn Policy>>,
    workload: Arc<Workload>,
    choice: GridChoice,
    open: Vec<Open>,
    /// Parts of slowdown that waiting jobs have gained.
    gained: u128,
    mine: Vec<Mine>,
    /// Micro-credits that the agent's jobs have brought, and are worth in all.
    profit: i128,
    worth: i128,
    coming: Option<JobId>,
}

impl Grid {
    pub(super) fn new(
        workload: Arc<Workload>,
        estimate: Estimate,
        policy: &MakePolicy,
        choice: GridChoice,
    ) -> Grid {
        let made = policy(&workload);
        let stepped = Stepped::new(Arc::clone(&workload), estimate, made);
        let mut grid = Grid {
            stepped,
            workload,
            choice,
            open: Vec::new(),
            gained: 0,
            mine: Vec::new(),
            profit: 0,
            worth: 0,
            coming: None,
        };
        let jobs = (0..grid.workload.jobs.len()).filter(|at| grid.is_mine(*at));
        grid.worth = jobs.map(|at| i128::from(value(grid.terms(at)).0)).sum();
        grid
    }

    fn terms(&self, at: usize) -> &Terms {
        self.workload.jobs[at].terms.as_deref().unwrap_or(&NONE)
    }

    /// Whether the agent decides for the job.
    fn is_mine(&self, at: usize) -> bool {
        match self.choice {
            GridChoice::Site(_) => true,
            GridChoice::Bid { seed, share, .. } => {
                value(self.terms(at)) > Money::ZERO
                    && super::drawn(seed, "mine", at as u64, 1_000) < u64::from(share)
            }
        }
    }

    fn go_on(&mut self) -> Result<Turn, SimError> {
        self.coming = None;
        while let Some(job) = self.stepped.advance()? {
            if self.is_mine(job.index()) && self.has_choice() {
                self.count();
                self.coming = Some(job);
                return Ok(Turn::Choice);
            }
            self.submit(job, None)?;
        }
        self.count();
        Ok(Turn::Over)
    }

    fn submit(&mut self, job: JobId, terms: Option<Arc<Terms>>) -> Result<(), SimError> {
        if let Some(demand) = self.stepped.coming() {
            let (counted, rate) = (self.stepped.market().now(), rate(demand.estimate));
            self.open.push(Open { job, counted, rate });
        }
        self.stepped.submit(terms)
    }

    /// The terms that the agent's action gives the job that is about to be submitted.
    fn chosen(&self, job: JobId, action: usize) -> Terms {
        let demand = self.stepped.coming().map_or(&NONE, Demand::terms);
        let mut terms = demand.clone();
        match &self.choice {
            GridChoice::Site(sites) => {
                let asked = Some(action).filter(|site| site < sites && self.suits(*site));
                let site = asked.or_else(|| (0..*sites).find(|site| self.suits(*site)));
                terms.home = site.map(|site| SiteId(site as u32));
            }
            GridChoice::Bid { levels, .. } => {
                let level = levels.get(action).or(levels.last()).copied().unwrap_or(1_000);
                let worth = i128::from(value(self.terms(job.index())).0);
                let said = worth * i128::from(level) / 1_000;
                terms.value = Some(Money(i64::try_from(said).unwrap_or(i64::MAX)));
            }
        }
        terms
    }

    /// Whether more than one site can take the job; a bid is always a choice.
    fn has_choice(&self) -> bool {
        match self.choice {
            GridChoice::Bid { .. } => true,
            GridChoice::Site(sites) => (0..sites).filter(|site| self.suits(*site)).nth(1).is_some(),
        }
    }

    /// Whether a pool of the site can take the job that is about to be submitted.
    fn suits(&self, site: usize) -> bool {
        let Some(demand) = self.stepped.coming() else { return false };
        let pools = self.stepped.market().pools();
        let here = |(_, pool): &(PoolId, &Pool)| pool.site.0 as usize == site;
        pools.iter().filter(here).any(|it| self.takes(it, demand))
    }

    /// Whether the pool can take the job. One that is to stay there has no other time to wait for, so
    /// its cap is compared with the highest price, as its site does.
    fn takes(&self, (id, pool): (PoolId, &Pool), demand: &Demand) -> bool {
        let stays = matches!(self.choice, GridChoice::Site(_));
        let rate = self.stepped.market().pools().rate(id).filter(|_| stays);
        let cap = demand.terms().max_price;
        let capped = rate.zip(cap).is_none_or(|(rate, cap)| rate.most() <= cap.0);
        demand.processors <= pool.nodes && pool.suits(demand) && capped
    }

    /// Counts what waiting jobs have gained, and what the agent's jobs brought that have ended.
    fn count(&mut self) {
        let (stepped, market) = (&self.stepped, self.stepped.market());
        let (gained, profit) = (&mut self.gained, &mut self.profit);
        self.open.retain_mut(|open| {
            let waits = market.waits(open.job);
            let until = if waits { market.now() } else { stepped.ran(open.job).start };
            let span = (until - open.counted).0.unsigned_abs();
            *gained += u128::from(open.rate) * u128::from(span);
            open.counted = until;
            waits
        });
        self.mine.retain(|mine| {
            if market.waits(mine.job) || market.run_of(mine.job).is_some() {
                return true;
            }
            let ran = stepped.ran(mine.job);
            if ran.refused.is_none() {
                let in_time = mine.deadline.is_none_or(|deadline| ran.end <= deadline);
                let brought = if in_time { mine.value.0 } else { 0 };
                *profit += i128::from(brought) - i128::from(ran.cost.0);
            }
            false
        });
    }

    /// Processor-seconds, for each pool, of jobs that run there, and for each site of those that wait
    /// there, with their number; waiting jobs without a site are everywhere.
    fn load(&self) -> (Vec<i64>, Vec<(i64, usize)>) {
        let market = self.stepped.market();
        let pools = market.pools();
        let mut running = vec![0; pools.as_slice().len()];
        for run in market.running() {
            for share in run.shares() {
                let length = pools.pool(share.pool).length_of(run.demand);
                let left = (run.start + length - market.now()).max(Span::ZERO);
                running[share.pool.index()] += left.0 * i64::from(share.nodes);
            }
        }
        let sites = pools.iter().map(|(_, pool)| pool.site.0 as usize + 1).max().unwrap_or(0);
        let mut waiting = vec![(0, 0); sites];
        for demand in market.queue().filter_map(|job| market.demand(job)) {
            let work = demand.estimate.0.saturating_mul(i64::from(demand.processors));
            let add = |it: &mut (i64, usize)| *it = (it.0.saturating_add(work), it.1 + 1);
            match demand.terms().home.and_then(|home| waiting.get_mut(home.0 as usize)) {
                Some(site) => add(site),
                None => waiting.iter_mut().for_each(add),
            }
        }
        (running, waiting)
    }

    fn describe(&self, demand: &Demand, job: JobId) -> [f32; FEATURES] {
        let market = self.stepped.market();
        let worth = value(self.terms(job.index()));
        let highest = highest_price(market.pools());
        let cost =
            i128::from(highest) * i128::from(demand.processors) * i128::from(demand.estimate.0);
        let per_cost = if cost > 0 { worth.0 as f64 / cost as f64 } else { 0.0 };
        let deadline = demand.terms().deadline.map_or(1.0, |at| log(at - market.now()));
        let slack =
            demand.terms().deadline.map_or(1.0, |at| log(at - (market.now() + demand.estimate)));
        let queue = many(market.queue().len(), 16);
        let wide = share(demand.processors, market.processors());
        let free = share(market.free(), market.processors());
        [
            1.0,
            wide,
            log(demand.estimate),
            (per_cost / 4.0).min(1.0) as f32,
            deadline,
            slack,
            queue,
            free,
        ]
    }
}

impl Episode for Grid {
    fn begin(&mut self) -> Result<Turn, SimError> {
        let turn = self.go_on()?;
        self.reward();
        Ok(turn)
    }

    fn act(&mut self, action: usize) -> Result<Turn, SimError> {
        let Some(job) = self.coming else { return self.go_on() };
        if let GridChoice::Bid { .. } = self.choice {
            let terms = self.terms(job.index());
            self.mine.push(Mine { job, value: value(terms), deadline: terms.deadline });
        }
        let terms = self.chosen(job, action);
        self.submit(job, Some(Arc::new(terms)))?;
        self.go_on()
    }

    fn observe(&self, out: &mut [f32]) {
        out.fill(0.0);
        let (Some(job), Some(demand)) = (self.coming, self.stepped.coming()) else { return };
        let market = self.stepped.market();
        let (running, waiting) = self.load();
        let pools = market.pools();
        let fastest = pools.iter().map(|(_, it)| it.performance.thousandths()).max().unwrap_or(1);
        let highest = highest_price(pools).max(1);
        let (rows, _) = out.as_chunks_mut::<FEATURES>();
        for ((id, pool), row) in pools.iter().zip(rows.iter_mut()) {
            let (work, jobs) = waiting[pool.site.0 as usize];
            let price = pools.mean_price(id, market.now(), pool.length_of(demand));
            let each = |work: i64| log(Span(work / i64::from(pool.nodes)));
            *row = [
                f32::from(self.takes((id, pool), demand)),
                share(market.free_in(id), pool.nodes),
                share(demand.processors, pool.nodes),
                many(jobs, 16),
                each(work),
                each(running[id.index()]),
                pool.performance.thousandths() as f32 / fastest as f32,
                price.0 as f32 / highest as f32,
            ];
        }
        if let Some(row) = rows.last_mut() {
            *row = self.describe(demand, job);
        }
    }

    fn mask(&self, out: &mut [bool]) {
        match self.choice {
            GridChoice::Bid { .. } => out.fill(true),
            GridChoice::Site(_) => {
                for (site, allowed) in out.iter_mut().enumerate() {
                    *allowed = self.suits(site);
                }
                if !out.contains(&true) {
                    out[0] = true;
                }
            }
        }
    }

    fn reward(&mut self) -> f64 {
        let (gained, profit) = (std::mem::take(&mut self.gained), std::mem::take(&mut self.profit));
        match self.choice {
            GridChoice::Site(_) => {
                -(gained as f64 / PARTS as f64) / self.workload.jobs.len().max(1) as f64
            }
            GridChoice::Bid { .. } => profit as f64 / self.worth.max(1) as f64,
        }
    }

    fn finish(self: Box<Self>) -> Result<Run, SimError> {
        self.stepped.finish()
    }
}

fn value(terms: &Terms) -> Money {
    terms.value.or(terms.budget).unwrap_or(Money::ZERO)
}

/// The highest price that any pool ever has, in micro-credits per node and second.
fn highest_price(pools: &Pools) -> i64 {
    pools.iter().map(|(id, _)| pools.highest_price(id).0).max().unwrap_or(0)
}
