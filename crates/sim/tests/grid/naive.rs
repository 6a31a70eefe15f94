//! Backfilling on several pools, second by second with flat arrays.

use tradewind_model::{
    Demand, LicenceShare, LoadPrice, Pool, PoolId, Price, Share, Span, Time, TimeMode, Times,
};
use tradewind_sched::policy::availability::expected_span;
use tradewind_sched::policy::gridfill::{Depth, GridFillSettings, Order, Spread};
use tradewind_sim::workload::Workload;

use crate::posted::{self, Posted};

const AHEAD: i64 = 1_500;
/// By then all prices of these tests have come once.
const PRICES_KNOWN: i64 = 200;

/// Nodes of a pool, or licences, during a span: those are numbered behind all pools.
#[derive(Clone, Copy, Debug)]
struct Piece {
    share: Share,
    start: i64,
    end: i64,
}

#[derive(Clone)]
struct Waits {
    job: usize,
    joined: i64,
    reserved: Vec<Piece>,
}

#[derive(Clone)]
struct Runs {
    job: usize,
    start: i64,
    pieces: Vec<Piece>,
}

/// What happens to a job: where and when it starts, or a refusal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fate {
    Starts(i64, Vec<Share>),
    Refused,
}

struct Naive<'a> {
    workload: &'a Workload,
    knobs: GridFillSettings,
    queue: Vec<Waits>,
    running: Vec<Runs>,
    fates: Vec<Option<Fate>>,
    /// By pool whose price follows its load or demand: the price of now.
    asked: Vec<Option<i64>>,
    /// By pool, where prices follow demand.
    posted: Vec<Posted>,
    /// Jobs that could not pay now if all nodes were free.
    dear: Vec<usize>,
}

/// How long so much of a job takes in a pool: as long by the clock, or by the pool's performance.
fn takes(workload: &Workload, job: usize, pool: PoolId, span: Span) -> Span {
    let pool = workload.pools.pool(pool);
    let mode = workload.jobs[job].terms.as_ref().map(|terms| terms.times);
    let by_the_clock = match mode {
        None | Some(TimeMode::Fixed(Times::Work)) => false,
        Some(TimeMode::Fixed(Times::Wall)) => true,
        Some(TimeMode::Owner) => pool.times == Times::Wall,
    };
    let run = if by_the_clock { span } else { pool.performance.length_of(span) };
    Span(run.0 + transfers(workload, job, pool))
}

/// How long a job's data takes to a pool's site and away, second by second; none where no link is: the
/// job never runs there.
fn transfers(workload: &Workload, job: usize, pool: &Pool) -> i64 {
    let terms = workload.jobs[job].terms.as_ref();
    let Some(staging) = terms.and_then(|terms| terms.data.as_ref()) else { return 0 };
    let (data, pools) = (staging.data(), &workload.pools);
    let here = &pools.sites()[pool.site.0 as usize].name;
    let seconds = |bytes: u64, there: &String| {
        if bytes == 0 || there == here {
            return Some(0);
        }
        let links = pools.links().map_or(&[][..], |links| links.as_slice());
        let link =
            links.iter().find(|it| it.between.contains(there) && it.between.contains(here))?;
        (0..).find(|after| after * link.bandwidth >= bytes * 8)
    };
    let both = seconds(data.input, &data.from).zip(seconds(data.output, &data.to));
    both.map_or(0, |(before, after)| (before + after) as i64)
}

/// What a node asks for this second.
pub(crate) fn price_at(workload: &Workload, pool: PoolId, second: i64) -> i64 {
    let changing = workload.pools.rates().and_then(|rates| rates.get(pool.index()));
    changing.map_or(workload.pools.pool(pool).price.0, |rate| rate.at(Time(second)))
}

/// What a node asks while so many of its pool are in use.
pub(crate) fn price_under(price: &LoadPrice, used: u32, nodes: u32) -> i64 {
    let reached = |(from, _): &&(u32, Price)| used * 1_000 >= from * nodes;
    price.steps().iter().rfind(reached).unwrap().1.0
}

/// A node for a job: its cost, how long a task takes there, its pool.
type NodeOffer = (i64, i64, u32);

/// What a job takes along.
fn along(workload: &Workload, job: usize) -> Vec<LicenceShare> {
    let terms = workload.jobs[job].terms.as_ref();
    terms.and_then(|terms| terms.licences.as_ref()).map_or(vec![], |all| all.to_vec())
}

impl Naive<'_> {
    /// The cheapest of these nodes (cost, length, pool), with the licences for as long as the longest
    /// of them: whatever the longest may be.
    fn cheapest(&self, job: usize, nodes: &[NodeOffer]) -> Option<(i64, Vec<NodeOffer>)> {
        let price = |share: &LicenceShare| {
            self.workload.pools.licences()[share.licence.index()].price.0 * i64::from(share.count)
        };
        let each: i64 = along(self.workload, job).iter().map(price).sum();
        let mut lengths: Vec<i64> = nodes.iter().map(|node| node.1).collect();
        lengths.sort_unstable();
        let of = |most: i64| {
            let mut nodes: Vec<_> = nodes.iter().filter(|it| it.1 <= most).copied().collect();
            nodes.sort_unstable();
            nodes.truncate(self.workload.jobs[job].processors as usize);
            let cost: i64 = nodes.iter().map(|node| node.0).sum();
            let longest = nodes.iter().map(|node| node.1).max().unwrap_or(0);
            let enough = nodes.len() == self.workload.jobs[job].processors as usize;
            enough.then_some((cost + each * longest, nodes))
        };
        match each {
            0 => of(i64::MAX),
            _ => lengths.into_iter().filter_map(of).min_by_key(|(cost, _)| *cost),
        }
    }

    /// By licence, up to when it is free for the job from a moment on.
    fn licensed_until(&self, job: usize, (from, start): (i64, i64), free: &[Vec<i64>]) -> i64 {
        let pools = self.workload.pools.as_slice().len();
        let of = |share: &LicenceShare| {
            let free = &free[pools + share.licence.index()][(start - from) as usize..];
            let lacks = free.iter().position(|free| *free < i64::from(share.count));
            lacks.map_or(i64::MAX, |at| start + at as i64)
        };
        along(self.workload, job).iter().map(of).min().unwrap_or(i64::MAX)
    }

    /// The price of now where it follows load, else that of the second.
    fn price_at(&self, pool: PoolId, second: i64) -> i64 {
        self.asked[pool.index()].unwrap_or_else(|| price_at(self.workload, pool, second))
    }

    /// Prices by load follow what runs; whether any changed.
    fn reprice(&mut self) -> bool {
        let pools = &self.workload.pools;
        let asks = |(id, pool): (PoolId, &Pool)| match pools.load_price(id)? {
            by_demand if by_demand.every().is_some() => self.asked[id.index()],
            by_load => Some(price_under(by_load, self.used(id), pool.nodes)),
        };
        let asked: Vec<_> = pools.iter().map(asks).collect();
        std::mem::replace(&mut self.asked, asked.clone()) != asked
    }

    /// Prices by demand whose moment it is follow what ran and waited until now; whether any changed,
    /// if it is the moment of any.
    fn post(&mut self, now: i64, submitted: usize) -> Option<bool> {
        let (workload, before) = (self.workload, self.asked.clone());
        let waits = |job: &usize| {
            self.fates[*job].is_none() && self.running.iter().all(|runs| runs.job != *job)
        };
        let waiting: Vec<Demand> =
            (0..submitted).filter(waits).map(|job| self.demand(job)).collect();
        let mut is_moment = false;
        for (id, pool) in workload.pools.iter() {
            let price = workload.pools.load_price(id);
            let from = workload.jobs[0].submit.0;
            if let Some(price) = price.filter(|price| posted::is_made(price, from, now)) {
                is_moment = true;
                let used = self.used(id);
                let asks = self.posted[id.index()].make((price, pool), used, &waiting);
                self.asked[id.index()] = Some(asks);
            }
        }
        is_moment.then(|| self.asked != before)
    }

    /// Prices of idle pools.
    fn idle(&mut self) {
        let pools = &self.workload.pools;
        self.asked = pools.iter().map(|(id, _)| Some(pools.load_price(id)?.idle().0)).collect();
    }

    fn used(&self, pool: PoolId) -> u32 {
        let pieces = self.running.iter().flat_map(|runs| &runs.pieces);
        pieces.filter(|it| it.share.pool == pool).map(|it| it.share.nodes).sum()
    }

    fn length(&self, job: usize, pool: PoolId) -> i64 {
        takes(self.workload, job, pool, self.workload.jobs[job].requested).0
    }

    fn demand(&self, job: usize) -> Demand {
        let job = &self.workload.jobs[job];
        let terms = job.terms.clone();
        Demand { terms, ..Demand::new(job.processors, job.requested) }
    }

    fn key(&self, waits: &Waits) -> (i64, usize) {
        match self.knobs.order {
            Order::Arrival => (waits.joined, waits.job),
            order => self.key_by(order, waits),
        }
    }

    fn key_by(&self, order: Order, waits: &Waits) -> (i64, usize) {
        let job = &self.workload.jobs[waits.job];
        let (procs, estimate) = (i64::from(job.processors), job.requested.0);
        let of =
            |job: &tradewind_sim::workload::Job| job.terms.as_deref().cloned().unwrap_or_default();
        let key = match order {
            Order::Arrival => 0,
            Order::Shortest => estimate,
            Order::Longest => -estimate,
            Order::Widest => -procs,
            Order::Narrowest => procs,
            Order::Smallest => estimate * procs,
            Order::Deadline => of(job).deadline.map_or(i64::MAX, |deadline| deadline.0),
            Order::Value => of(job).value.map_or(i64::MAX, |value| -value.0),
            Order::Priority => -of(job).priority,
            Order::Expansion | Order::FairShare(_) => unreachable!("it has tests of its own"),
        };
        (key, waits.job)
    }

    /// By pool and second from `now` on.
    fn free(&self, now: i64, but: usize) -> Vec<Vec<i64>> {
        let pools = self.workload.pools.as_slice();
        let licences = self.workload.pools.licences().iter().map(|licence| licence.count);
        let all = pools.iter().map(|pool| pool.nodes).chain(licences);
        let mut free: Vec<Vec<i64>> =
            all.map(|count| vec![i64::from(count); AHEAD as usize]).collect();
        let running = self.running.iter().flat_map(|runs| &runs.pieces);
        let others = self.queue.iter().filter(|waits| waits.job != but);
        for piece in running.chain(others.flat_map(|waits| &waits.reserved)) {
            for at in piece.start.max(now)..piece.end.min(now + AHEAD) {
                free[piece.share.pool.index()][(at - now) as usize] -= i64::from(piece.share.nodes);
            }
        }
        free
    }

    /// Whether the job could pay if all nodes were free now, in time or not.
    fn pays(&self, now: i64, job: usize) -> bool {
        let it = &self.workload.jobs[job];
        let budget = it.terms.as_ref().and_then(|t| t.budget).map_or(i64::MAX, |it| it.0);
        let cap = it.terms.as_ref().and_then(|t| t.max_price).map_or(i64::MAX, |it| it.0);
        let nodes = |site: Option<u32>| {
            let suits = |id: PoolId, pool: &Pool| {
                let here = site.is_none_or(|site| site == pool.site.0);
                here && pool.suits(&self.demand(job)) && self.price_at(id, now) <= cap
            };
            let node = |id: PoolId| {
                let length = self.length(job, id);
                (self.price_at(id, now) * length, length, id.0)
            };
            let pools = self.workload.pools.iter().filter(|(id, pool)| suits(*id, pool));
            let nodes = pools.flat_map(|(id, pool)| vec![node(id); pool.nodes as usize]);
            self.cheapest(job, &nodes.collect::<Vec<_>>()).map(|(cost, _)| cost)
        };
        let changes = self.workload.pools.rates().is_some();
        changes || self.sites().into_iter().filter_map(nodes).any(|cost| cost <= budget)
    }

    /// The cheapest nodes at `start`, with so many free in each pool.
    fn choose(
        &self,
        job: usize,
        start: i64,
        (usable, licensed): (&[i64], i64),
        site: Option<u32>,
    ) -> Option<(i64, Vec<Piece>)> {
        let it = &self.workload.jobs[job];
        let terms = it.terms.as_deref();
        let mut nodes: Vec<NodeOffer> = Vec::new();
        for (id, pool) in self.workload.pools.iter() {
            let length = self.length(job, id);
            let late = terms.and_then(|t| t.deadline).is_some_and(|at| start + length > at.0)
                || start + length > licensed;
            let suits = pool.suits(&self.demand(job));
            let capped = terms
                .and_then(|t| t.max_price)
                .is_none_or(|max| (start..start + length).all(|at| self.price_at(id, at) <= max.0));
            if suits && capped && !late && site.is_none_or(|site| site == pool.site.0) {
                let cost = (start..start + length).map(|at| self.price_at(id, at)).sum();
                for _ in 0..usable[id.index()] {
                    nodes.push((cost, length, id.0));
                }
            }
        }
        let (cost, chosen) = self.cheapest(job, &nodes)?;
        if terms.and_then(|t| t.budget).is_some_and(|budget| cost > budget.0) {
            return None;
        }
        let mut pieces: Vec<Piece> = Vec::new();
        for &(_, length, pool) in &chosen {
            let pool = PoolId(pool);
            match pieces.iter_mut().find(|piece| piece.share.pool == pool) {
                Some(piece) => piece.share.nodes += 1,
                None => pieces.push(Piece {
                    share: Share { pool, nodes: 1 },
                    start,
                    end: start + length,
                }),
            }
        }
        let longest = chosen.iter().map(|node| node.1).max()?;
        let pools = self.workload.pools.as_slice().len() as u32;
        pieces.extend(along(self.workload, job).iter().map(|share| Piece {
            share: Share { pool: PoolId(pools + share.licence.0), nodes: share.count },
            start,
            end: start + longest,
        }));
        Some((cost, pieces))
    }

    fn sites(&self) -> Vec<Option<u32>> {
        match self.knobs.spread {
            Spread::Grid => vec![None],
            Spread::Site => (0..self.workload.pools.sites().len() as u32).map(Some).collect(),
        }
    }

    fn from(&self, now: i64, job: usize) -> i64 {
        let earliest = self.workload.jobs[job].terms.as_ref().and_then(|t| t.earliest_start);
        earliest.map_or(now, |at| at.0.max(now))
    }

    /// Whether the job could run on idle pools.
    fn possible(&mut self, now: i64, job: usize) -> bool {
        let asked = self.asked.clone();
        self.idle();
        let possible = self.possible_at_these(now, job);
        self.asked = asked;
        possible
    }

    fn possible_at_these(&self, now: i64, job: usize) -> bool {
        let all: Vec<i64> =
            self.workload.pools.as_slice().iter().map(|p| i64::from(p.nodes)).collect();
        let from = self.from(now, job);
        let until = from + if self.priced() { PRICES_KNOWN } else { 1 };
        let at = |start| {
            let mut sites = self.sites().into_iter();
            sites.any(|s| self.choose(job, start, (&all, i64::MAX), s).is_some())
        };
        (from..until).any(at)
    }

    fn earliest(&self, now: i64, job: usize) -> Option<Vec<Piece>> {
        let free = self.free(now, job);
        for start in self.from(now, job)..now + AHEAD / 2 {
            let pools = self.workload.pools.as_slice().len();
            let licensed = self.licensed_until(job, (now, start), &free);
            let usable: Vec<i64> = (0u32..)
                .zip(&free[..pools])
                .map(|(pool, free)| {
                    let first = (start - now) as usize;
                    let span = &free[first..first + self.length(job, PoolId(pool)) as usize];
                    span.iter().copied().min().unwrap().max(0)
                })
                .collect();
            let found = self
                .sites()
                .into_iter()
                .filter_map(|s| self.choose(job, start, (&usable, licensed), s));
            if let Some((_, pieces)) = found.min_by_key(|(cost, _)| *cost) {
                return Some(pieces);
            }
        }
        None
    }

    /// Jobs as they are looked at: once so many have reservations as the depth says, candidates come
    /// in their own order.
    fn next_to_look_at(&self, looked: &[usize]) -> Option<usize> {
        let left = |waits: &&Waits| !looked.contains(&waits.job);
        let first = self.queue.iter().position(|waits| left(&waits))?;
        let candidates = self.knobs.candidates.filter(|order| *order != self.knobs.order);
        match (candidates, self.knobs.depth) {
            (Some(order), Depth::First(depth @ 1..)) if self.before(first) >= depth as usize => {
                Some(self.queue.iter().filter(left).min_by_key(|it| self.key_by(order, it))?.job)
            }
            _ => Some(self.queue[first].job),
        }
    }

    /// How many are before this one in the queue; those that wait for a lower load stand in no job's
    /// way.
    fn before(&self, place: usize) -> usize {
        self.queue[..place].iter().filter(|waits| !self.dear.contains(&waits.job)).count()
    }

    fn walk(&mut self, now: i64, only: Option<usize>) {
        let mut looked = Vec::new();
        let dear = self.queue.iter().map(|it| it.job);
        self.dear = dear.filter(|job| !self.pays(now, *job)).collect();
        while let Some(job) = self.next_to_look_at(&looked) {
            looked.push(job);
            if only.is_some_and(|only| only != job) {
                continue;
            }
            let place = self.queue.iter().position(|waits| waits.job == job).unwrap();
            if !self.possible(now, job) {
                self.queue.remove(place);
                self.fates[job] = Some(Fate::Refused);
                continue;
            }
            if self.dear.contains(&job) {
                self.queue[place].reserved.clear();
                continue;
            }
            if self.knobs.depth == Depth::First(0) && self.before(place) > 0 {
                continue;
            }
            let found = self.earliest(now, job);
            let starts = found.as_ref().is_some_and(|pieces| pieces[0].start == now);
            let covered = match self.knobs.depth {
                Depth::First(depth) => self.before(place) < depth as usize,
                Depth::All => true,
            };
            if starts {
                let pieces = found.unwrap();
                self.queue.remove(place);
                let pools = self.workload.pools.as_slice().len();
                let mut shares: Vec<Share> = pieces.iter().map(|piece| piece.share).collect();
                shares.retain(|share| share.pool.index() < pools);
                shares.sort_by_key(|share| share.pool);
                shares.iter().for_each(|share| self.posted[share.pool.index()].sold = true);
                self.fates[job] = Some(Fate::Starts(now, shares));
                self.running.push(Runs { job, start: now, pieces });
            } else {
                self.queue[place].reserved = found.filter(|_| covered).unwrap_or_default();
            }
        }
    }

    /// Tasks that are over go; whether there were any.
    fn end(&mut self, now: i64) -> bool {
        let (workload, mut ended) = (self.workload, false);
        for runs in &mut self.running {
            let (job, run) = (runs.job, workload.jobs[runs.job].run);
            let over =
                |piece: &Piece| runs.start + takes(workload, job, piece.share.pool, run).0 <= now;
            let is_node =
                |piece: &Piece| piece.share.pool.index() < workload.pools.as_slice().len();
            ended |= runs.pieces.iter().any(|piece| is_node(piece) && over(piece));
            runs.pieces.retain(|piece| !is_node(piece) || !over(piece));
            if !runs.pieces.iter().any(is_node) {
                runs.pieces.clear();
            }
        }
        self.running.retain(|runs| !runs.pieces.is_empty());
        ended
    }

    fn outlived(&mut self, now: i64) -> bool {
        let mut upset = false;
        let workload = self.workload;
        let pools = workload.pools.as_slice().len();
        for runs in &mut self.running {
            for piece in runs.pieces.iter_mut().filter(|piece| piece.end <= now) {
                let requested = workload.jobs[runs.job].requested;
                let pool = piece.share.pool;
                if pool.index() >= pools {
                    continue;
                }
                let length = takes(workload, runs.job, pool, requested);
                piece.end = runs.start + expected_span(length, Span(now - runs.start)).0;
                upset = true;
            }
            let nodes = runs.pieces.iter().filter(|it| it.share.pool.index() < pools);
            let last = nodes.map(|it| it.end).max().unwrap_or(0);
            let mut licences = runs.pieces.iter_mut().filter(|it| it.share.pool.index() >= pools);
            licences.by_ref().for_each(|it| it.end = it.end.max(last));
        }
        upset
    }

    fn priced(&self) -> bool {
        self.workload.pools.rates().is_some()
    }

    /// Nothing happened but that prices have changed; whether a job started. A pass takes place, and
    /// longer runs are expected of jobs, only if one could start by what was known before.
    fn look_again(&mut self, now: i64) -> bool {
        let before = (self.queue.clone(), self.running.clone(), self.fates.clone());
        if !self.starts_any(now) {
            (self.queue, self.running, self.fates) = before;
            return false;
        }
        (self.queue, self.running, self.fates) = before;
        self.outlived(now);
        self.starts_any(now)
    }

    fn starts_any(&mut self, now: i64) -> bool {
        let waited = self.queue.len();
        self.queue.iter_mut().for_each(|waits| waits.reserved.clear());
        self.walk(now, None);
        self.queue.len() < waited
    }

    fn round(
        &mut self,
        now: i64,
        posted: Option<bool>,
        next: &mut usize,
        later: &mut Vec<(i64, usize)>,
    ) -> bool {
        let (ended, before) = (self.end(now), *next);
        // At such a moment prices by load are made, too.
        let posted = posted.is_some_and(|changed| changed | self.reprice());
        let mut new = Vec::new();
        while self.workload.jobs.get(*next).is_some_and(|job| job.submit.0 <= now) {
            let (job, joins) = (*next, self.from(now, *next));
            *next += 1;
            match self.possible(now, job) {
                false => self.fates[job] = Some(Fate::Refused),
                true if joins > now && self.knobs.depth != Depth::All => later.push((joins, job)),
                true => new.push(job),
            }
        }
        new.extend(later.iter().filter(|(at, _)| *at <= now).map(|(_, job)| *job));
        later.retain(|(at, _)| *at > now);
        let due = self.queue.iter().any(|w| w.reserved.first().is_some_and(|p| p.start <= now));
        let waiting: Vec<usize> = self.queue.iter().map(|waits| waits.job).collect();
        let expired = waiting.into_iter().any(|job| !self.possible(now, job));
        let all = self.knobs.depth == Depth::All;
        if !posted && !ended && *next == before && new.is_empty() && !due && !expired {
            if self.priced() && !all {
                return self.look_again(now);
            }
            return false;
        }
        let repriced = self.reprice() || posted;
        let upset = self.outlived(now);
        if !all || upset {
            self.queue.iter_mut().for_each(|waits| waits.reserved.clear());
        }
        self.queue.extend(new.iter().map(|&job| Waits { job, joined: now, reserved: vec![] }));
        let mut queue = std::mem::take(&mut self.queue);
        queue.sort_by_key(|waits| self.key(waits));
        self.queue = queue;
        match all && !ended && !due && !expired && !upset && !repriced {
            true => {
                new.sort_unstable();
                new.into_iter().for_each(|job| self.walk(now, Some(job)));
            }
            false => self.walk(now, None),
        }
        true
    }
}

/// What happens to each job. Jobs are expected to run for what they request.
pub(crate) fn fates(workload: &Workload, knobs: GridFillSettings) -> Vec<Fate> {
    let fates = vec![None; workload.jobs.len()];
    let asked = vec![None; workload.pools.as_slice().len()];
    let posted = vec![Posted::default(); workload.pools.as_slice().len()];
    let (queue, running, dear) = (vec![], vec![], vec![]);
    let mut naive = Naive { workload, knobs, queue, running, fates, asked, dear, posted };
    naive.idle();
    let (mut now, mut next, mut later) = (0, 0, Vec::new());
    while naive.fates.iter().any(Option::is_none) {
        let mut posted = naive.post(now, next);
        while naive.round(now, posted, &mut next, &mut later) {
            posted = None;
        }
        now += 1;
    }
    naive.fates.into_iter().flatten().collect()
}
