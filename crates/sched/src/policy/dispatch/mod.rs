//! A meta-scheduler over the queues of sites: the double auction and its baselines (paper 003; our
//! reading).
//!
//! A queue is a pool, and a job runs in one queue. Jobs wait at the meta-scheduler. In each cycle a
//! [`DispatchRule`] hands some of them to queues ([`Command::Trade`]); inside each queue EASY starts them,
//! or conservative backfilling ([`QueueDiscipline`]).
//!
//! - A queue's **plan** is what a cycle trades on: running jobs until their expected ends, announced
//!   outages, and the jobs that wait in the queue, in order, each at its earliest place. A trade
//!   says when the job is to start by the plan. EASY may start later jobs sooner and so delay one
//!   that is not the queue's first: nothing is promised. With conservative backfilling the plan is
//!   the queue's reservations, and no trade delays a job that waits.
//! - The **auction** (`auction`): the highest bid first; the lowest ask that the bid reaches, and
//!   that has a slot for the job, within its budget and before its deadline. Bids and asks:
//!   `valuation`.
//! - Its **baselines** (`baselines`) take the same jobs in orders of their own to the earliest
//!   slot, or by shares; [`DispatchRule::Admission`] is the auction's gate without its order.
//! - Jobs that expect to run late are refused as soon as no queue could finish them in time any
//!   more even if it were empty, unless deadlines are ignored.
//! - A job that exceeds its expected length is expected to take twice as long as believed so far.
//!   An interrupted job is at the meta-scheduler again, with the time that it has waited.
//! - A job that agreed with a queue by another's doing waits there behind all others. What was
//!   agreed holds whatever prices become; a job at the meta-scheduler that can pay no queue any
//!   more waits aside until prices change again or its deadline is out of reach.
//!
//! A cycle costs O(b log b + q log q) for b waiting jobs and q queues, and a search of a queue's
//! profile for each pair that is not ruled out by what smaller jobs found: at worst O(b·q·log n),
//! O(b·q) small steps if they fail for like reasons.

mod auction;
mod baselines;
mod clearing;
mod clock;
mod known;
mod obey;
mod price;
mod pricing;
mod published;
mod queue;
mod round;
mod settings;
mod to_come;
mod unit;
mod valuation;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Command, Event, JobId, Market, Pool, Pools, Reason, Span, Time};

use super::Policy;
use super::inbox::Comes;
pub use clearing::{Clearing, Fraction};
use clock::Clock;
use pricing::Board;
pub use pricing::{Dynamics, Prices};
use published::Published;
use queue::DispatchQueue;
use round::{Fate, JobTurn, Round};
pub use settings::{
    Deadline, DemandSupply, DispatchRule, DispatchSettings, Gate, QueueDiscipline, ShareOf, Slots,
    Ties, Wait,
};
use to_come::{CycleStarts, ToCome};
pub use unit::Valuation;
use valuation::Factor;
use waiting::UnassignedJob;

/// The policy; see the module's text.
#[derive(Debug, Clone)]
pub struct Dispatch {
    settings: DispatchSettings,
    clock: Clock,
    /// By pool; empty until the first call.
    queues: Vec<DispatchQueue>,
    /// By queue: when to look at it although nothing happened there.
    looks: Vec<Time>,
    /// Queues in which something happened since they were last looked at.
    news: Vec<usize>,
    /// Whether a cycle could come out differently from the last one, apart from what time does to
    /// bids and asks, slots and deadlines.
    changed: bool,
    /// What queues want; `None` until the first call.
    board: Option<Board>,
    /// Where prices follow load: the pools while nothing is in use.
    idle: Option<Pools>,
    /// The loads in asks, if they may be old.
    published: Published,
    /// At the meta-scheduler, in the order of submission.
    waiting: Vec<UnassignedJob>,
    /// Jobs that may not start yet.
    later: BTreeSet<(Time, JobId)>,
    /// Jobs that can pay no queue now, and since when they wait.
    dear: BTreeMap<JobId, Time>,
    /// Jobs that can pay no queue at any price to come, and why.
    unpaid: Vec<(JobId, Reason)>,
    /// Running jobs that this policy did not start.
    foreign: BTreeSet<JobId>,
    /// Whether the first call is yet to come, and goes on from another policy.
    resumed: bool,
}

impl Dispatch {
    /// A policy that has seen nothing so far.
    pub fn new(settings: DispatchSettings) -> Dispatch {
        Dispatch {
            settings,
            clock: Clock::new(settings.cycle),
            queues: Vec::new(),
            looks: Vec::new(),
            news: Vec::new(),
            changed: false,
            board: None,
            idle: None,
            published: Published::default(),
            waiting: Vec::new(),
            later: BTreeSet::new(),
            dear: BTreeMap::new(),
            unpaid: Vec::new(),
            foreign: BTreeSet::new(),
            resumed: false,
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &DispatchSettings {
        &self.settings
    }

    /// The queue that the job agreed on last.
    fn home(&mut self, market: &Market, job: JobId) -> Option<(usize, &mut DispatchQueue)> {
        let at = market.trade(job)?.pool.index();
        self.queues.get_mut(at).map(|queue| (at, queue))
    }

    /// Writes an event down.
    fn follow(&mut self, market: &Market, event: &Event, commands: &mut Vec<Command>) {
        let now = market.now();
        match event {
            Event::Submitted { job, demand } => {
                self.clock.submitted(now);
                let since = demand.terms().earliest_start.unwrap_or(now).max(now);
                match since > now && market.waits(*job) {
                    true => drop(self.later.insert((since, *job))),
                    false => self.arrive(market, (*job, since), commands),
                }
            }
            Event::Ended { job } => drop(self.release(market, *job, now)),
            Event::Interrupted { job } => {
                let since = self.release(market, *job, now).unwrap_or(now);
                self.join(market, (*job, since), Comes::Again, commands);
            }
            Event::Released { job, pool } => {
                self.queues[pool.index()].release(*job, now);
                self.news.push(pool.index());
            }
            Event::Announced { closure, what } => {
                self.queues[what.pool.index()].announce(*closure, *what, now);
                self.news.push(what.pool.index());
            }
            Event::Closed { closure } => {
                self.queues.iter_mut().for_each(|queue| queue.close(*closure, now));
            }
            Event::Reopened { closure } => {
                for (at, queue) in self.queues.iter_mut().enumerate() {
                    if queue.reopen(*closure, now) {
                        self.news.push(at);
                    }
                }
            }
            Event::Traded { .. }
            | Event::Lined { .. }
            | Event::Noticed { .. }
            | Event::Started { .. }
            | Event::Cancelled { .. }
            | Event::Refused { .. }
            | Event::Priced { .. }
            | Event::Rated { .. } => self.obey(market, event),
        }
    }

    /// A job gave its processors back; since when it had waited for a queue.
    fn release(&mut self, market: &Market, job: JobId, now: Time) -> Option<Time> {
        if self.foreign.remove(&job) {
            let mut found = None;
            for (at, queue) in self.queues.iter_mut().enumerate() {
                if let Some(since) = queue.release(job, now) {
                    self.news.push(at);
                    found = Some(since);
                }
            }
            return found;
        }
        let (at, queue) = self.home(market, job)?;
        let since = queue.release(job, now);
        self.news.push(at);
        since
    }

    /// A job may start from now on.
    fn arrive(
        &mut self,
        market: &Market,
        (job, since): (JobId, Time),
        commands: &mut Vec<Command>,
    ) {
        match market.trade(job) {
            Some(_) => self.line_up(market, (job, since)),
            None => {
                let comes = if self.resumed { Comes::Again } else { Comes::Newly };
                self.join(market, (job, since), comes, commands);
            }
        }
    }

    /// The job waits at the meta-scheduler from now on, or is refused.
    fn join(
        &mut self,
        market: &Market,
        (job, since): (JobId, Time),
        comes: Comes,
        commands: &mut Vec<Command>,
    ) {
        let Some(demand) = market.demand(job).filter(|_| market.waits(job)) else { return };
        match UnassignedJob::new(&self.to_come(market), (job, demand), since) {
            Ok(waiting) => self.take_in(waiting),
            Err(_) if comes == Comes::Again && self.may_hope(market, demand) => {
                self.dear.insert(job, since);
            }
            Err(reason) => commands.push(Command::Refuse { job, reason }),
        }
    }

    fn take_in(&mut self, waiting: UnassignedJob) {
        let place = self.waiting.partition_point(|other| other.job < waiting.job);
        if self.waiting.get(place).is_none_or(|other| other.job != waiting.job) {
            self.waiting.insert(place, waiting);
            self.changed = true;
        }
    }

    /// EASY in every queue where it could start a job.
    fn start(&mut self, now: Time, commands: &mut Vec<Command>) {
        let late = self.looks.iter().enumerate().filter(|(_, look)| **look <= now);
        self.news.extend(late.map(|(at, _)| at));
        self.news.sort_unstable();
        self.news.dedup();
        self.changed |= !self.news.is_empty();
        for at in self.news.drain(..) {
            self.queues[at].start(now, commands);
            self.looks[at] = self.queues[at].look_at().unwrap_or(Time::INFINITY);
        }
    }

    /// Sets down when the next cycle is to be.
    ///
    /// Where bids are not compared with asks, prices stand still, loads are those of the moment and
    /// only the present moment is traded, a job that found no slot finds none until something
    /// happens in a queue, however long that takes. Where prices change with time and queues are empty,
    /// none finds one before it can pay.
    fn want_cycle(&mut self, market: &Market) {
        let now = market.now();
        let DispatchSettings { slots, rule, gate, prices, publish, .. } = self.settings;
        let immediate = slots == Slots::Immediate || rule == DispatchRule::FairShare;
        let steady = immediate && gate == Gate::Off && prices == Prices::List && publish.is_none();
        let changing = self.board.as_ref().is_some_and(Board::changes_with_time);
        let idle = changing && self.queues.iter().all(DispatchQueue::idle);
        if self.waiting.is_empty() {
            self.clock.rest();
        } else if idle {
            let pools = self.idle.as_ref().unwrap_or(market.pools());
            let to_come = ToCome { pools, settings: &self.settings, cycles: self.clock.from(now) };
            let next = self.waiting.iter_mut().map(|waiting| waiting.next_chance(&to_come)).min();
            self.clock.rest();
            next.into_iter().for_each(|next| self.clock.want(next.max(now)));
        } else if self.changed || changing || !steady {
            self.clock.want(now);
        } else if self.clock.due().is_none() {
            let last = self.waiting.iter().map(UnassignedJob::last).min();
            last.filter(|last| *last < Time::MAX)
                .into_iter()
                .for_each(|last| self.clock.want(last + Span(1)));
        }
    }

    /// What queues will want in this cycle, or the next one if none begins now, and later.
    fn to_come<'a>(&'a self, market: &'a Market) -> ToCome<'a> {
        let (pools, settings) = (self.idle.as_ref().unwrap_or(market.pools()), &self.settings);
        ToCome { pools, settings, cycles: self.clock.from(market.now()) }
    }

    /// Refuses jobs that no cycle from this one on can help.
    fn refuse_hopeless(&mut self, market: &Market, commands: &mut Vec<Command>) {
        let now = market.now();
        let changing = market.pools().has_final_rates();
        let cycles = CycleStarts { first: now, ..self.clock.from(now) };
        let to_come = ToCome {
            cycles,
            pools: self.idle.as_ref().unwrap_or(market.pools()),
            settings: &self.settings,
        };
        self.waiting.retain_mut(|waiting| {
            let demand = market.demand(waiting.job).filter(|_| changing);
            let late = waiting.hopeless(now);
            let reason = late.or_else(|| waiting.unpaid(&to_come, demand?));
            let (job, keeps) = (waiting.job, reason.is_none());
            commands.extend(reason.map(|reason| Command::Refuse { job, reason }));
            keeps
        });
    }

    /// A cycle: refuses the hopeless, and lets the rule trade.
    fn trade(&mut self, market: &Market, commands: &mut Vec<Command>) {
        let now = market.now();
        let before = self.waiting.len();
        self.refuse_hopeless(market, commands);
        let waiting = std::mem::take(&mut self.waiting);
        let next = self.clock.after(now);
        let first_trade = commands.len();
        let Some(board) = &mut self.board else { return };
        self.queues.iter_mut().for_each(|queue| queue.make_plan(now));
        board.follow(&self.queues, &waiting, now);
        let loads = self.published.in_cycle(&self.settings, &self.queues, now);
        let factor = factor(&self.settings, &waiting, &self.queues);
        let queues = (&mut self.queues[..], &*board, loads);
        let mut round = Round::new(&self.settings, market, queues, (next, factor), commands);
        let turns = turns(&waiting, &round);
        let fates = match self.settings.rule {
            DispatchRule::Auction => {
                let mut asks = auction::Asks::new(&round);
                turns.iter().map(|turn| asks.bid(&mut round, turn)).collect()
            }
            DispatchRule::Admission => {
                turns.iter().map(|turn| baselines::first(&mut round, turn)).collect()
            }
            DispatchRule::FairShare => baselines::fair_shares(&mut round, &turns),
            DispatchRule::Fcfs | DispatchRule::Sjf | DispatchRule::EdfFq | DispatchRule::Hvfq => {
                turns.iter().map(|turn| baselines::earliest(&mut round, turn)).collect::<Vec<_>>()
            }
        };
        round.settle(first_trade);
        let fates: BTreeMap<JobId, (Fate, i128)> = turns
            .iter()
            .zip(fates)
            .map(|(turn, fate)| (turn.waiting.job, (fate, turn.bid)))
            .collect();
        for command in &commands[first_trade..] {
            if let Command::Trade { trade, .. } = command {
                self.news.push(trade.pool.index());
            }
        }
        self.waiting = waiting;
        self.waiting.retain_mut(|waiting| {
            let (fate, bid) = fates.get(&waiting.job).copied().unwrap_or((Fate::Waits, 0));
            waiting.priced_out = match fate {
                Fate::PricedOut(ask) => Some((factor.told(bid), factor.told(ask))),
                _ => None,
            };
            fate != Fate::Traded
        });
        self.changed = self.waiting.len() < before;
    }
}

/// Demand/Supply of the moment, where it is a factor.
fn factor(
    settings: &DispatchSettings,
    waiting: &[UnassignedJob],
    queues: &[DispatchQueue],
) -> Factor {
    match settings.demand_supply {
        DemandSupply::LeftOut => Factor::ONE,
        DemandSupply::BothSides => {
            let demand = waiting.iter().map(|waiting| i64::from(waiting.processors)).sum();
            let supply = queues.iter().map(DispatchQueue::free_now).sum();
            Factor::new(demand, supply)
        }
    }
}

/// The turns of all jobs, in the order of the rule.
fn turns<'w>(waiting: &'w [UnassignedJob], round: &Round<'_>) -> Vec<JobTurn<'w>> {
    let bid = |waiting: &UnassignedJob| match round.trades_by_value() {
        true => round.factor.weigh(waiting.bid(round.settings, round.now)),
        false => 0,
    };
    let key = |waiting: &UnassignedJob, bid: i128| match round.settings.rule {
        DispatchRule::Auction => -bid,
        DispatchRule::Admission | DispatchRule::Fcfs | DispatchRule::FairShare => 0,
        DispatchRule::Sjf => i128::from(waiting.estimate.0),
        DispatchRule::EdfFq => {
            waiting.deadline.map_or(i128::MAX, |deadline| i128::from(deadline.0))
        }
        DispatchRule::Hvfq => -i128::from(waiting.value.0),
    };
    let mut order: Vec<(i128, usize, i128)> = (0..)
        .zip(waiting)
        .map(|(at, waiting)| {
            let bid = bid(waiting);
            (key(waiting, bid), at, bid)
        })
        .collect();
    order.sort_unstable();
    let ranked = (1..).zip(order);
    ranked.map(|(rank, (_, at, bid))| JobTurn { waiting: &waiting[at], rank, bid }).collect()
}

impl Policy for Dispatch {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let now = market.now();
        if self.queues.is_empty() {
            let pools = market.pools().iter();
            let local = self.settings.local;
            let queue = |(id, pool): (_, &Pool)| DispatchQueue::new(id, pool.nodes, local, now);
            self.queues = pools.map(queue).collect();
            self.looks = vec![Time::INFINITY; self.queues.len()];
            let DispatchSettings { cycle, .. } = self.settings;
            self.board = Some(Board::new(market.pools(), self.settings.dynamics(), cycle));
            self.idle = market.pools().idle();
        }
        for event in events {
            self.follow(market, event, commands);
        }
        self.resumed = false;
        while let Some((since, job)) = self.later.first().copied().filter(|(at, _)| *at <= now) {
            self.later.pop_first();
            self.arrive(market, (job, since), commands);
        }
        self.give_up(market, commands);
        self.start(now, commands);
        self.want_cycle(market);
        if self.clock.begins(now) {
            self.trade(market, commands);
            self.start(now, commands);
            self.want_cycle(market);
        }
        let later = self.later.first().map(|(at, _)| *at);
        let reserved = self.queues.iter().filter_map(DispatchQueue::reserved).min();
        let unsaid = self.queues.iter().filter_map(DispatchQueue::next_unsaid_end).min();
        let unsaid = unsaid.filter(|_| market.queue().len() > 0);
        let wake = [self.clock.due(), later, reserved, self.hope(market), unsaid]
            .into_iter()
            .flatten()
            .min();
        commands.extend(wake.map(|at| Command::Wake { at }));
    }

    fn resume(&mut self, _usage: &BTreeMap<i64, u64>) {
        self.resumed = true;
    }

    fn trades_at_list(&self) -> bool {
        self.settings.prices == Prices::List
    }
}
