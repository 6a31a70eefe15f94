//! A cycle of the double auction as the paper's algorithm reads, for the ratio: for every bid the
//! asks are sorted, and every queue on the way is searched from the beginning.

use tradewind_model::{
    Admission, Attributes, Cause, Command, Demand, Event, JobId, Market, Money, Outage, OutageId,
    Performance, Pool, PoolId, Pools, Price, Site, SiteId, Span, Terms, Time, Times, random,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::dispatch::{Dispatch, DispatchSettings, Slots};

use std::sync::Arc;

/// A cycle that is about to begin.
#[derive(Debug, Clone)]
pub struct Cycle {
    /// All bids have been submitted.
    pub market: Market,
    /// The policy knows them.
    pub policy: Dispatch,
    settings: DispatchSettings,
    bids: usize,
}

impl Cycle {
    /// `bids` jobs of 1 to 64 tasks that take 1 to 600 minutes and must be over within one to three
    /// times as long, before `queues` queues: three of each site's 48 to 384 processors, in parts
    /// of 1:2:3, a tenth to all of them taken by twenty local tasks of up to four hours.
    pub fn new(seed: u64, bids: usize, queues: usize, settings: DispatchSettings) -> Cycle {
        let pools = Arc::new(grid(seed, queues));
        let mut market = Market::new(Arc::clone(&pools), Time(0));
        let mut events = local_load(seed, &pools);
        events.extend((0..).take(bids).map(|job| submission(seed, job)));
        events.iter().for_each(|event| tell(&mut market, event));
        let mut policy = Dispatch::new(settings);
        let mut commands = Vec::new();
        // The first job begins a cycle of its own; all others wait for the next.
        let first = events.iter().position(|event| matches!(event, Event::Submitted { .. }));
        let (known, rest) = events.split_at(first.map_or(0, |at| at + 1));
        policy.decide(&market, known, &mut commands);
        follow(&mut market, &commands);
        market.pass_to(Time(1)).unwrap_or_default();
        commands.clear();
        policy.decide(&market, rest, &mut commands);
        follow(&mut market, &commands);
        market.pass_to(Time(0) + settings.cycle).unwrap_or_default();
        Cycle { market, policy, settings, bids }
    }

    /// The cycle: who trades where, and when each is to start.
    pub fn run(&mut self, commands: &mut Vec<Command>) -> Vec<(JobId, PoolId, Time)> {
        self.policy.decide(&self.market, &[], commands);
        let trade = |command: &Command| match command {
            Command::Trade { job, trade } => Some((*job, trade.pool, trade.expected)),
            _ => None,
        };
        commands.iter().filter_map(trade).collect()
    }

    /// The auction plainly, with the gate and the wait until a processor is free.
    pub fn plain(&self) -> Vec<(JobId, PoolId, Time)> {
        let now = self.market.now();
        let mut queues: Vec<Plain> = self
            .market
            .pools()
            .iter()
            .map(|(id, pool)| Plain::new(id, pool, &self.market))
            .collect();
        let mut bids: Vec<(i128, JobId)> = self
            .market
            .queue()
            .filter_map(|job| Some((-self.bid(self.market.demand(job)?), job)))
            .collect();
        bids.sort_unstable();
        let until = match self.settings.slots {
            Slots::Immediate => now,
            Slots::Packaged => now + self.settings.horizon - Span(1),
        };
        let mut trades = Vec::with_capacity(self.bids);
        for (bid, job) in bids {
            let Some(demand) = self.market.demand(job) else { continue };
            queues.sort_by_cached_key(Plain::key);
            let take = |queue: &mut Plain| queue.trade(demand, -bid, now, until);
            let found = queues.iter_mut().find_map(|queue| Some((queue.id, take(queue)?)));
            trades.extend(found.map(|(queue, start)| (job, queue, start)));
        }
        trades
    }

    fn bid(&self, demand: &Demand) -> i128 {
        let terms = demand.terms();
        let left = terms.deadline.map_or(1, |deadline| (deadline - self.market.now()).0.max(1));
        let value = i128::from(terms.value.unwrap_or_default().0);
        // All were submitted a second after the first cycle.
        value * i128::from(self.settings.cycle.0) / i128::from(left)
    }
}

fn follow(market: &mut Market, commands: &[Command]) {
    for command in commands {
        let event = match command.clone() {
            Command::Trade { job, trade } => Event::Traded { job, trade },
            Command::Start { job, place } => Event::Started { job, place },
            Command::Refuse { job, .. } => Event::Refused { job },
            Command::Preempt { .. } | Command::Wake { .. } => continue,
        };
        tell(market, &event);
    }
}

fn tell(market: &mut Market, event: &Event) {
    let known = market.apply(event);
    debug_assert!(known.is_ok(), "{event:?}: {known:?}");
}

fn grid(seed: u64, queues: usize) -> Pools {
    let mut rng = random::stream(seed, "queues", 0);
    let mut draw = |low, high| random::within(&mut rng, low, high);
    let count = queues.div_ceil(3);
    let sites = (0..count).map(|site| Site { name: format!("site{site}") }).collect();
    let mut pools = Vec::new();
    for site in 0..count {
        let (unit, speed) = (draw(8, 64) as u32, draw(500, 2_000) as u32);
        let price = Price(draw(4_500_000, 9_500_000));
        for part in 1..=3 {
            pools.push(Pool {
                name: format!("site{site}-{part}"),
                site: SiteId(site as u32),
                nodes: unit * part,
                performance: Performance::from_thousandths(speed).unwrap_or(Performance::REFERENCE),
                price,
                attributes: Attributes::new(),
                admission: Admission::NONE,
                times: Times::Work,
            });
        }
    }
    pools.truncate(queues);
    Pools::new(sites, pools).unwrap_or_else(|_| Pools::cluster(1))
}

fn local_load(seed: u64, pools: &Pools) -> Vec<Event> {
    let mut events = Vec::new();
    for (id, pool) in pools.iter() {
        let mut rng = random::stream(seed, "load", id.0.into());
        let share = random::within(&mut rng, 10, 100);
        let mut left = i64::from(pool.nodes) * share / 100;
        for _ in 0..20 {
            let nodes = random::within(&mut rng, 1, left.min(1 + i64::from(pool.nodes) / 10));
            let until = Time(random::within(&mut rng, 60, 14_400));
            if left == 0 {
                break;
            }
            left -= nodes;
            let (from, cause) = (Time(0), Cause::Local);
            let what = Outage { pool: id, nodes: nodes as u32, from, until, cause };
            let closure = OutageId(events.len() as u32);
            events.push(Event::Announced { closure, what });
        }
    }
    events
}

fn submission(seed: u64, job: u32) -> Event {
    let mut rng = random::stream(seed, "bid", job.into());
    let mut draw = |low, high| random::within(&mut rng, low, high);
    let processors = 1 << draw(0, 6);
    let estimate = 60 * draw(1, 10) * draw(1, 60);
    let terms = Terms {
        value: Some(Money::credits(draw(90_000, 160_000))),
        deadline: Some(Time(draw(estimate, 3 * estimate))),
        ..Terms::NONE
    };
    let demand = Demand { terms: Some(Arc::new(terms)), ..Demand::new(processors, Span(estimate)) };
    Event::Submitted { job: JobId(job), demand }
}

/// A queue as a list of moments and how many processors are free from each on.
struct Plain {
    id: PoolId,
    pool: Pool,
    levels: Vec<(Time, i64)>,
}

impl Plain {
    fn new(id: PoolId, pool: &Pool, market: &Market) -> Plain {
        let levels = vec![(market.now(), i64::from(pool.nodes))];
        let mut plain = Plain { id, pool: pool.clone(), levels };
        for (_, closure) in market.outages().filter(|(_, closure)| closure.pool == id) {
            plain.take(i64::from(closure.nodes), closure.from, closure.until);
        }
        for job in market.running().filter(|job| job.nodes_in(id) > 0) {
            let end = job.start + pool.length_of(job.demand);
            plain.take(i64::from(job.demand.processors), job.start, end);
        }
        plain
    }

    fn split(&mut self, at: Time) {
        if let Some(before) = self.levels.iter().rposition(|level| level.0 <= at)
            && self.levels[before].0 < at
        {
            let free = self.levels[before].1;
            self.levels.insert(before + 1, (at, free));
        }
    }

    fn take(&mut self, processors: i64, from: Time, until: Time) {
        let from = from.max(self.levels[0].0);
        self.split(from);
        self.split(until);
        for level in self.levels.iter_mut().filter(|level| level.0 >= from && level.0 < until) {
            level.1 -= processors;
        }
    }

    fn ask(&self) -> i128 {
        let free = self.levels[0].1;
        let full = self.levels.iter().rposition(|level| level.1 <= 0);
        let wait = full
            .and_then(|at| self.levels.get(at + 1))
            .map_or(0, |level| (level.0 - self.levels[0].0).0);
        let occupied = i128::from(i64::from(self.pool.nodes) - free.max(0));
        i128::from(wait) * i128::from(self.pool.price.0) * occupied / i128::from(self.pool.nodes)
    }

    fn key(&self) -> (i128, i64, PoolId) {
        (self.ask(), -self.levels[0].1.max(0), self.id)
    }

    fn trade(&mut self, demand: &Demand, bid: i128, now: Time, until: Time) -> Option<Time> {
        if bid < self.ask() || demand.processors > self.pool.nodes || !self.pool.suits(demand) {
            return None;
        }
        let wanted = i64::from(demand.processors);
        let length = self.pool.length_of(demand);
        let room = |start: Time| {
            let after = self.levels.iter().rev().take_while(|level| level.0 > start);
            let within = after.filter(|level| level.0 < start + length);
            let at = self.levels.iter().rev().find(|level| level.0 <= start);
            within.chain(at).all(|level| level.1 >= wanted)
        };
        let start = self.levels.iter().map(|level| level.0.max(now)).find(|start| room(*start))?;
        let deadline = demand.terms().deadline;
        if start > until || deadline.is_some_and(|deadline| start + length > deadline) {
            return None;
        }
        self.take(wanted, start, start + length);
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use tradewind_sched::policy::dispatch::{Clearing, Wait};

    use super::*;

    #[test]
    fn the_plain_cycle_trades_the_same() {
        for (seed, slots) in [(1, Slots::Packaged), (2, Slots::Immediate), (3, Slots::Packaged)] {
            let wait = Wait::First;
            let settings = DispatchSettings {
                slots,
                wait,
                clearing: Clearing::List,
                ..DispatchSettings::auction()
            };
            let mut cycle = Cycle::new(seed, 400, 12, settings);
            let plain = cycle.plain();
            assert!(plain.len() > 50, "{}", plain.len());
            assert_eq!(cycle.run(&mut Vec::new()), plain);
        }
    }
}
