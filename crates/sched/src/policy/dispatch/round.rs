//! One cycle: what all rules share.

use std::sync::Arc;

use tradewind_model::{
    Command, Market, Money, PoolId, Price, Ratio, SkipReason, Span, Time, Trade,
};

use super::clearing::{self, Clearing, Range};
use super::known::KnownBounds;
use super::pricing::{Board, Prices};
use super::published::QueueLoad;
use super::queue::{DispatchQueue, Task};
use super::settings::{DispatchRule, DispatchSettings, Gate, Slots};
use super::unit::Valuation;
use super::valuation::Factor;
use super::waiting::UnassignedJob;
use super::{unit, valuation};

/// A job's turn in a cycle.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobTurn<'w> {
    pub(super) waiting: &'w UnassignedJob,
    /// Rank of the job in this round, from 1.
    pub(super) rank: u32,
    /// Zero where jobs do not bid.
    pub(super) bid: i128,
}

/// What happened to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It has a queue.
    Traded,
    /// It waits for the next cycle.
    Waits,
    /// The same, but this was its last chance, and the gate alone is to blame: the lowest ask of
    /// queues that could have used it.
    PricedOut(i128),
}

/// The queue at this place is this pool.
fn pool_id(queue: usize) -> PoolId {
    PoolId(u32::try_from(queue).unwrap_or(u32::MAX))
}

/// A cycle under way.
pub(super) struct Round<'a> {
    pub(super) settings: &'a DispatchSettings,
    market: &'a Market,
    pub(super) queues: &'a mut [DispatchQueue],
    board: &'a Board,
    /// By queue: what it wants per node and second, of the job whose turn it is.
    prices: Vec<Price>,
    /// By queue: the loads in asks, if they are not those of the moment.
    published: Option<&'a [QueueLoad]>,
    pub(super) now: Time,
    /// The latest start that is traded.
    pub(super) until: Time,
    /// When the next cycle begins.
    next: Time,
    /// Demand/Supply, in bids and asks.
    pub(super) factor: Factor,
    /// By queue; zeros where queues do not ask.
    asks: Vec<i128>,
    /// Lower bounds of starts, by queue.
    known: Vec<KnownBounds>,
    /// In the order of trades, where one price is found for all.
    ranges: Vec<Range>,
    commands: &'a mut Vec<Command>,
}

impl<'a> Round<'a> {
    /// Asks as they are before the first trade. Plans are up to date. The next cycle begins at
    /// `next`.
    pub(super) fn new(
        settings: &'a DispatchSettings,
        market: &'a Market,
        (queues, board, published): (&'a mut [DispatchQueue], &'a Board, Option<&'a [QueueLoad]>),
        (next, factor): (Time, Factor),
        commands: &'a mut Vec<Command>,
    ) -> Round<'a> {
        let now = market.now();
        let until = match (settings.slots, settings.rule) {
            (Slots::Immediate, _) | (_, DispatchRule::FairShare) => now,
            (Slots::Packaged, _) => Time(now.0.saturating_add(settings.horizon.0.max(1) - 1)),
        };
        let (asks, known) = (vec![0; queues.len()], vec![KnownBounds::default(); queues.len()]);
        let mut round = Round {
            settings,
            market,
            queues,
            board,
            prices: board.posted().to_vec(),
            published,
            now,
            until,
            next,
            factor,
            asks,
            known,
            ranges: Vec::new(),
            commands,
        };
        if round.trades_by_value() {
            (0..round.queues.len()).for_each(|queue| round.ask_anew(queue));
        }
        round
    }

    /// It is this job's turn. Where prices change with time, queues want of it what they want on the
    /// mean of its time there, from its earliest start by the plan on; from now on if it has none, or
    /// only the present moment is traded. And they ask accordingly. Whether that is so.
    pub(super) fn offer(&mut self, waiting: &UnassignedJob) -> bool {
        let demand = self.market.demand(waiting.job).filter(|_| self.board.changes_with_time());
        let Some(demand) = demand else { return false };
        for at in 0..self.queues.len() {
            let length = self.market.pools().as_slice()[at].length_of(demand).max(Span(1));
            let planned = || self.queues[at].earliest(waiting.processors, length);
            let start = Some(self.until).filter(|until| *until > self.now).and_then(|_| planned());
            self.prices[at] = self.board.price(at, start.unwrap_or(self.now), length);
            if self.trades_by_value() {
                self.ask_anew(at);
            }
        }
        true
    }

    /// Whether bids and asks are made.
    pub(super) fn trades_by_value(&self) -> bool {
        self.settings.gate == Gate::On || self.settings.rule == DispatchRule::Auction
    }

    /// A bid or an ask as it is shown.
    fn told(&self, amount: i128) -> Money {
        valuation::money(self.factor.told(amount))
    }

    /// What the queue asks now.
    pub(super) fn ask(&self, queue: usize) -> i128 {
        self.asks[queue]
    }

    /// What the queue wants per node and second, of the job whose turn it is.
    pub(super) fn price(&self, queue: usize) -> Price {
        self.prices[queue]
    }

    /// Whether the job can pay what the queue wants of it. Where that never changes, it was known
    /// from the beginning.
    fn affords(&self, waiting: &UnassignedJob, at: usize, length: Span) -> bool {
        let moves = self.board.changes_with_time() || self.market.pools().follow_load();
        let stands = self.settings.prices == Prices::List && !moves;
        stands || waiting.limit(length, self.ask_factor(at)) >= self.prices[at]
    }

    /// O_k of the queue.
    fn ask_factor(&self, at: usize) -> Ratio {
        self.market.pools().ask_factor(pool_id(at))
    }

    /// The queue's load, as far as it is known.
    fn load(&self, at: usize) -> QueueLoad {
        match self.published {
            Some(loads) => loads[at],
            None => QueueLoad::of(&self.queues[at], self.settings.wait),
        }
    }

    /// Processors of the queue that are free now, as far as that is known.
    pub(super) fn free_in(&self, at: usize) -> i64 {
        match self.published {
            Some(loads) => i64::from(self.queues[at].nodes()) - loads[at].occupied,
            None => self.queues[at].free_now(),
        }
    }

    fn ask_anew(&mut self, at: usize) {
        let QueueLoad { wait, occupied } = self.load(at);
        let pool = &self.market.pools().as_slice()[at];
        let (price, load) = (self.price(at), (occupied, pool.nodes));
        let factor = self.ask_factor(at);
        let ask = match self.settings.valuation {
            Valuation::Paper => valuation::ask(factor, wait, price, load),
            Valuation::Unit => {
                unit::ask(factor, price, pool.performance, (wait, self.settings.tau), load)
            }
        };
        self.asks[at] = self.factor.weigh(ask);
    }

    /// Whether the job may go to the queue as far as its bid is concerned.
    pub(super) fn gate_opens(&self, bid: i128, queue: usize) -> bool {
        self.settings.gate == Gate::Off || bid >= self.asks[queue]
    }

    /// The job's slot in the queue, if it begins by `until` and in time. Exact.
    pub(super) fn slot(&mut self, waiting: &UnassignedJob, at: usize, until: Time) -> Option<Time> {
        let (latest, length) = waiting.in_queue(at)?;
        let until = until.min(latest);
        let processors = waiting.processors;
        if until < self.now
            || !self.affords(waiting, at, length)
            || self.known[at].rules_out(processors, length, until)
        {
            return None;
        }
        let queue = &self.queues[at];
        let start = match until == self.now {
            true if queue.fits_now(processors, length) => self.now,
            true => self.now + Span(1),
            false => queue.earliest(processors, length)?,
        };
        self.known[at].learn(processors, length, start);
        (start <= until).then_some(start)
    }

    /// Why the job passes the queue by, if it has no slot there by `until`. Where its deadline is
    /// nearer than that, it is the deadline that it would miss.
    fn why(&self, turn: &JobTurn<'_>, at: usize, until: Time) -> SkipReason {
        let (pool, waiting) = (&self.market.pools().as_slice()[at], turn.waiting);
        let suits = |demand| pool.nodes >= waiting.processors && pool.suits(demand);
        if !self.market.demand(waiting.job).is_some_and(suits) {
            return SkipReason::Closed;
        }
        if !self.gate_opens(turn.bid, at) {
            return SkipReason::LowBid;
        }
        match waiting.in_queue(at) {
            None => SkipReason::Dear,
            Some((_, length)) if !self.affords(waiting, at, length) => SkipReason::Dear,
            Some((latest, _)) if latest < until => SkipReason::Late,
            Some(_) => SkipReason::Full,
        }
    }

    /// The job goes to the queue, to start at `start`. `passed`: queues that it passed by before
    /// because they had no slot for it by `until`.
    pub(super) fn trade(
        &mut self,
        turn: &JobTurn<'_>,
        (at, start): (usize, Time),
        passed: impl ExactSizeIterator<Item = usize>,
        until: Time,
    ) -> Fate {
        let waiting = turn.waiting;
        let Some((_, length)) = waiting.in_queue(at) else { return Fate::Waits };
        let passed_in_all = u32::try_from(passed.len()).unwrap_or(u32::MAX);
        let passed = passed.take(Trade::MAX_PASSED);
        let by_value = self.trades_by_value();
        let (reserve, limit) = (self.price(at), waiting.limit(length, self.ask_factor(at)));
        let performance = self.market.pools().as_slice()[at].performance;
        let trade = Trade {
            price: self.agree(Range { reserve, limit, performance }),
            reserve,
            limit: self.settings.has_limits().then_some(limit),
            bid: by_value.then(|| self.told(turn.bid)),
            ask: by_value.then(|| self.told(self.asks[at])),
            rank: turn.rank,
            passed: passed.map(|queue| (pool_id(queue), self.why(turn, queue, until))).collect(),
            passed_in_all,
            ..Trade::at(pool_id(at), reserve, start)
        };
        let UnassignedJob { job, since, processors, .. } = *waiting;
        self.commands.push(Command::Trade { job, trade: Arc::new(trade) });
        self.queues[at].join(Task { job, since, processors, length }, start);
        self.known[at].learn(processors, length, start);
        if by_value {
            self.ask_anew(at);
        }
        Fate::Traded
    }

    /// What the job pays in the queue, as far as that is known before the cycle is over.
    fn agree(&mut self, range: Range) -> Price {
        match self.settings.clearing {
            Clearing::Posted | Clearing::List => range.reserve,
            Clearing::Bid => range.limit,
            Clearing::K => range.at(self.settings.k),
            Clearing::Uniform => {
                self.ranges.push(range);
                range.reserve
            }
        }
    }

    /// No more trades: where one price holds for all, it is in the trades among the commands from
    /// `first` on now.
    pub(super) fn settle(&mut self, first: usize) {
        let prices = clearing::uniform(&self.ranges, self.settings.k);
        let trades = self.commands[first..].iter_mut().filter_map(|command| match command {
            Command::Trade { trade, .. } => Some(Arc::make_mut(trade)),
            _ => None,
        });
        trades.zip(prices).for_each(|(trade, price)| trade.price = price);
    }

    /// The job found no queue. Whether that was its last chance, and the gate's fault alone.
    pub(super) fn pend(&mut self, turn: &JobTurn<'_>) -> Fate {
        let last_chance = !turn.waiting.in_time(self.next);
        if !last_chance || self.settings.gate == Gate::Off {
            return Fate::Waits;
        }
        let mut lowest = None;
        for at in 0..self.queues.len() {
            let ask = self.asks[at];
            let lower = turn.bid < ask && lowest.is_none_or(|lowest| ask < lowest);
            if lower && self.slot(turn.waiting, at, self.until).is_some() {
                lowest = Some(ask);
            }
        }
        lowest.map_or(Fate::Waits, Fate::PricedOut)
    }
}
