//! All rules once more, plainly: no books, everything again at every call, an array of seconds for
//! each queue, every queue looked at for every job.

mod money;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{
    Command, Demand, Event, JobId, Market, Money, Place, Pool, PoolId, Price, Reason, SkipReason,
    Span, Time, Trade, random,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::availability::expected_span;
use tradewind_sched::policy::dispatch::{
    Clearing, Deadline, DispatchRule, DispatchSettings, Dynamics, Gate, Prices, ShareOf, Slots,
    Ties, Valuation, Wait,
};

const AHEAD: usize = 3_000;
const NEVER: i64 = 1 << 50;

type Queue = usize;

pub(crate) struct Naive {
    knobs: DispatchSettings,
    first: Option<i64>,
    last: Option<i64>,
    due: Option<i64>,
    since: BTreeMap<JobId, i64>,
    later: BTreeSet<(i64, JobId)>,
    pending: BTreeSet<JobId>,
    /// Jobs that wait in queues, in the order of trades.
    local: Vec<(JobId, Queue)>,
    priced_out: BTreeMap<JobId, (i128, i128)>,
    /// By queue: millionths of the list price.
    levels: Vec<i128>,
    /// By queue: wait and occupied processors, and when they were published.
    published: (Option<i64>, Vec<(i128, i128)>),
    /// Jobs that could not pay a queue in any cycle to come when they came.
    never: BTreeSet<(JobId, Queue)>,
}

impl Naive {
    pub(crate) fn new(knobs: DispatchSettings) -> Naive {
        Naive {
            knobs,
            first: None,
            last: None,
            due: None,
            since: BTreeMap::new(),
            later: BTreeSet::new(),
            pending: BTreeSet::new(),
            local: vec![],
            priced_out: BTreeMap::new(),
            levels: vec![],
            published: (None, vec![]),
            never: BTreeSet::new(),
        }
    }
}

/// What one call looks at.
struct Now<'a> {
    market: &'a Market,
    at: i64,
    started: Vec<(JobId, Queue)>,
    commands: &'a mut Vec<Command>,
}

impl Now<'_> {
    fn pools(&self) -> &[Pool] {
        self.market.pools().as_slice()
    }

    /// Whether any price changes with time.
    fn changing(&self) -> bool {
        self.market.pools().rates().is_some()
    }

    /// In thousandths.
    fn ask_factor(&self, queue: Queue) -> i128 {
        i128::from(self.market.pools().ask_factor(PoolId(queue as u32)).thousandths())
    }

    fn demand(&self, job: JobId) -> &Demand {
        self.market.demand(job).unwrap()
    }

    fn wide(&self, job: JobId) -> i64 {
        i64::from(self.demand(job).processors)
    }

    fn length(&self, job: JobId, queue: Queue) -> i64 {
        self.pools()[queue].length_of(self.demand(job)).0
    }

    fn size(&self, job: JobId, queue: Queue) -> i128 {
        i128::from(self.wide(job)) * i128::from(self.length(job, queue))
    }

    fn suits(&self, job: JobId, queue: Queue) -> bool {
        let (pool, demand) = (&self.pools()[queue], self.demand(job));
        pool.suits(demand) && pool.nodes >= demand.processors
    }

    /// Who runs in the queue, and until when it is expected to.
    fn running(&self, queue: Queue) -> Vec<(JobId, i64)> {
        let mut running = vec![];
        for job in self.market.running() {
            if job.place == &Place::Pool(PoolId(queue as u32)) {
                let length = Span(self.length(job.job, queue));
                let span = expected_span(length, Span(self.at - job.start.0));
                running.push((job.job, job.start.0 + span.0));
            }
        }
        for &(job, of) in self.started.iter().filter(|it| it.1 == queue) {
            running.push((job, self.at + self.length(job, of)));
        }
        running
    }

    /// Free processors in each second from now on.
    fn free(&self, queue: Queue) -> Vec<i64> {
        let mut free = vec![i64::from(self.pools()[queue].nodes); AHEAD];
        for (job, end) in self.running(queue) {
            take(&mut free, 0, end - self.at, self.wide(job));
        }
        for (_, closure) in self.market.outages() {
            if closure.pool.index() == queue {
                let (from, until) = (closure.from.0 - self.at, closure.until.0 - self.at);
                take(&mut free, from, until, i64::from(closure.nodes));
            }
        }
        free
    }

    fn start(&mut self, job: JobId, queue: Queue) {
        self.started.push((job, queue));
        self.commands.push(Command::Start { job, place: Place::Pool(PoolId(queue as u32)) });
    }
}

fn take(free: &mut [i64], from: i64, until: i64, processors: i64) {
    for at in from.max(0)..until.min(AHEAD as i64) {
        free[at as usize] -= processors;
    }
}

fn fits(free: &[i64], from: i64, length: i64, processors: i64) -> bool {
    free[from as usize..(from + length) as usize].iter().all(|free| *free >= processors)
}

fn earliest(free: &[i64], length: i64, processors: i64) -> i64 {
    (0..AHEAD as i64 - length).find(|from| fits(free, *from, length, processors)).unwrap()
}

/// One job's turn.
#[derive(Clone, Copy)]
struct Turn {
    job: JobId,
    rank: u32,
    bid: i128,
}

impl Naive {
    fn end(&self, now: &Now<'_>, job: JobId) -> i64 {
        let deadline = now.demand(job).terms().deadline;
        match self.knobs.deadline {
            Deadline::Check => deadline.map_or(NEVER, |it| it.0),
            Deadline::Ignore => NEVER,
        }
    }

    fn join(&mut self, now: &mut Now<'_>, job: JobId) {
        self.write_down_never(now, job);
        let queues = 0..now.pools().len();
        let demand = now.demand(job).clone();
        let fitting: Vec<Queue> = queues.filter(|queue| now.suits(job, *queue)).collect();
        let reason = if self.needs_value() && self.value(now, job) <= 0 {
            Reason::NoValue
        } else if fitting.is_empty() {
            let suiting = now.pools().iter().filter(|pool| pool.suits(&demand));
            let widest = suiting.map(|pool| pool.nodes).max().unwrap_or(0);
            Reason::WiderThanQueues { needed: demand.processors, widest }
        } else if fitting.iter().all(|queue| !self.could_afford(now, job, *queue)) {
            self.too_dear(now, job)
        } else {
            self.pending.insert(job);
            return;
        };
        now.commands.push(Command::Refuse { job, reason });
    }

    fn easy(&mut self, now: &mut Now<'_>, queue: Queue) -> Option<i64> {
        let jobs: Vec<JobId> =
            self.local.iter().filter(|it| it.1 == queue).map(|it| it.0).collect();
        let mut head = None;
        for job in jobs {
            let mut free = now.free(queue);
            let (wide, length) = (now.wide(job), now.length(job, queue));
            if let Some((first, at)) = head {
                take(&mut free, at, at + now.length(first, queue), now.wide(first));
            }
            let at = earliest(&free, length, wide);
            if at == 0 {
                now.start(job, queue);
                self.local.retain(|it| it.0 != job);
            } else if head.is_none() {
                head = Some((job, at));
            }
        }
        head.map(|(_, at)| now.at + at)
    }

    fn plan(&self, now: &Now<'_>, queue: Queue) -> Vec<i64> {
        let mut free = now.free(queue);
        for (job, _) in self.local.iter().filter(|it| it.1 == queue) {
            let (wide, length) = (now.wide(*job), now.length(*job, queue));
            let at = earliest(&free, length, wide);
            take(&mut free, at, at + length, wide);
        }
        free
    }

    /// Wait and occupied processors.
    fn load(&self, now: &Now<'_>, queue: Queue) -> (i128, i128) {
        let plan = self.plan(now, queue);
        let pool = &now.pools()[queue];
        let wait = match self.knobs.wait {
            Wait::First => plan.iter().rposition(|free| *free <= 0).map_or(0, |at| at as i128 + 1),
            Wait::Backlog => {
                let running = now.running(queue).into_iter().map(|(job, end)| (job, end - now.at));
                let local = self.local.iter().filter(|it| it.1 == queue);
                let local = local.map(|it| (it.0, now.length(it.0, queue)));
                let left = running.chain(local).map(|(job, left)| now.wide(job) * left);
                i128::from(left.sum::<i64>() / i64::from(pool.nodes))
            }
        };
        (wait, i128::from(pool.nodes) - i128::from(plan[0].max(0)))
    }

    /// The load that asks and ties go by.
    fn known_load(&self, now: &Now<'_>, queue: Queue) -> (i128, i128) {
        match self.knobs.publish {
            Some(_) => self.published.1[queue],
            None => self.load(now, queue),
        }
    }

    fn ask(&self, now: &Now<'_>, job: JobId, queue: Queue) -> i128 {
        let pool = &now.pools()[queue];
        let (wait, occupied) = self.known_load(now, queue);
        let (price, nodes) = (self.price(now, job, queue), i128::from(pool.nodes));
        let factor = now.ask_factor(queue);
        match self.knobs.valuation {
            Valuation::Paper => factor * wait * price * occupied / (1_000 * nodes),
            Valuation::Unit => {
                let (speed, tau) = (pool.performance.thousandths(), self.knobs.tau.0.max(1));
                let (speed, tau) = (i128::from(speed), i128::from(tau));
                factor * price * (nodes + occupied) * (tau + wait) / (speed * nodes * tau)
            }
        }
    }

    fn bid(&self, now: &Now<'_>, job: JobId) -> i128 {
        let deadline = now.demand(job).terms().deadline;
        let left = deadline.map_or(self.knobs.patience.0, |deadline| deadline.0 - now.at).max(1);
        let factor = self.bid_factor(now, job);
        let waited = i128::from(now.at - self.since[&job]);
        let (value, left) = (self.value(now, job), i128::from(left));
        let work = i128::from(now.demand(job).estimate.0.max(1)) * i128::from(now.wide(job));
        match self.knobs.valuation {
            Valuation::Paper => factor * value * (waited + 1) / (1_000_000 * left),
            Valuation::Unit => factor * value * (left + waited) / (1_000_000 * left * work),
        }
    }

    fn gate_opens(&self, now: &Now<'_>, turn: Turn, queue: Queue) -> bool {
        self.knobs.gate == Gate::Off || turn.bid >= self.ask(now, turn.job, queue)
    }

    /// The latest start that a cycle trades.
    fn until(&self, now: &Now<'_>) -> i64 {
        match (self.knobs.slots, self.knobs.rule) {
            (Slots::Immediate, _) | (_, DispatchRule::FairShare) => now.at,
            (Slots::Packaged, _) => now.at + self.knobs.horizon.0.max(1) - 1,
        }
    }

    /// When the job would start in the queue, whatever the gate says.
    fn slot(&self, now: &Now<'_>, job: JobId, queue: Queue) -> Option<i64> {
        if !now.suits(job, queue) || !self.affords(now, job, queue) {
            return None;
        }
        let length = now.length(job, queue);
        let at = now.at + earliest(&self.plan(now, queue), length, now.wide(job));
        (at <= self.until(now) && at + length <= self.end(now, job)).then_some(at)
    }

    fn why(&self, now: &Now<'_>, turn: Turn, queue: Queue, until: i64) -> SkipReason {
        if !now.suits(turn.job, queue) {
            SkipReason::Closed
        } else if !self.gate_opens(now, turn, queue) {
            SkipReason::LowBid
        } else if !self.affords(now, turn.job, queue) {
            SkipReason::Dear
        } else if self.end(now, turn.job) - now.length(turn.job, queue) < until {
            SkipReason::Late
        } else {
            SkipReason::Full
        }
    }

    fn trade(
        &mut self,
        now: &mut Now<'_>,
        turn: Turn,
        (queue, at): (Queue, i64),
        before: &[Queue],
        until: i64,
    ) {
        let passed = before.iter().take(Trade::MAX_PASSED);
        let passed = passed.map(|it| (PoolId(*it as u32), self.why(now, turn, *it, until)));
        let by_value = self.trades_by_value();
        let trade = Trade {
            pool: PoolId(queue as u32),
            price: Price(self.price(now, turn.job, queue) as i64),
            reserve: Price(self.price(now, turn.job, queue) as i64),
            limit: None,
            expected: Time(at),
            bid: by_value.then_some(Money(turn.bid as i64)),
            ask: by_value.then(|| Money(self.ask(now, turn.job, queue) as i64)),
            rank: turn.rank,
            passed: passed.collect(),
            passed_in_all: before.len() as u32,
        };
        now.commands.push(Command::Trade { job: turn.job, trade: Arc::new(trade) });
        self.local.push((turn.job, queue));
        self.pending.remove(&turn.job);
    }

    /// Queues in the order of their asks.
    fn asks(&self, now: &Now<'_>, job: JobId, lots: &[i64]) -> Vec<Queue> {
        let mut queues: Vec<Queue> = (0..now.pools().len()).collect();
        queues.sort_by_key(|&queue| {
            let tie = match self.knobs.ties {
                Ties::Index => 0,
                Ties::MostFree => {
                    self.known_load(now, queue).1 - i128::from(now.pools()[queue].nodes)
                }
                Ties::Cheapest => self.price(now, job, queue),
                Ties::Random => i128::from(lots[queue]),
            };
            (self.ask(now, job, queue), tie, queue)
        });
        queues
    }

    fn turns(&self, now: &Now<'_>) -> Vec<Turn> {
        let mut jobs: Vec<JobId> = self.pending.iter().copied().collect();
        match self.knobs.rule {
            DispatchRule::Auction => jobs.sort_by_key(|job| std::cmp::Reverse(self.bid(now, *job))),
            DispatchRule::Admission | DispatchRule::Fcfs | DispatchRule::FairShare => {}
            DispatchRule::Sjf => jobs.sort_by_key(|job| now.demand(*job).estimate),
            DispatchRule::EdfFq => {
                jobs.sort_by_key(|job| now.demand(*job).terms().deadline.unwrap_or(Time(NEVER)));
            }
            DispatchRule::Hvfq => jobs.sort_by_key(|job| std::cmp::Reverse(self.value(now, *job))),
        }
        let by_value = self.trades_by_value();
        let bid = |job| if by_value { self.bid(now, job) } else { 0 };
        (1..).zip(jobs).map(|(rank, job)| Turn { job, rank, bid: bid(job) }).collect()
    }

    /// The first of these queues that the gate lets the job into and that has a slot.
    fn first(&self, now: &Now<'_>, turn: Turn, queues: &[Queue]) -> Option<(usize, i64)> {
        queues.iter().enumerate().find_map(|(place, &queue)| {
            let at = self.slot(now, turn.job, queue)?;
            self.gate_opens(now, turn, queue).then_some((place, at))
        })
    }

    fn take_turn(&mut self, now: &mut Now<'_>, turn: Turn, lots: &[i64]) {
        let by_id: Vec<Queue> = (0..now.pools().len()).collect();
        let until = self.until(now);
        match self.knobs.rule {
            DispatchRule::Auction | DispatchRule::Admission => {
                let order = match self.knobs.rule {
                    DispatchRule::Auction => self.asks(now, turn.job, lots),
                    _ => by_id,
                };
                if let Some((place, at)) = self.first(now, turn, &order) {
                    self.trade(now, turn, (order[place], at), &order[..place], until);
                    return;
                }
            }
            _ => {
                let open = by_id.iter().filter(|queue| self.gate_opens(now, turn, **queue));
                let slots = open.filter_map(|&it| Some((self.slot(now, turn.job, it)?, it)));
                if let Some((at, queue)) = slots.min() {
                    self.trade(now, turn, (queue, at), &by_id[..queue], at);
                    return;
                }
            }
        }
        self.pend(now, turn);
    }

    fn pend(&mut self, now: &Now<'_>, turn: Turn) {
        let queues = (0..now.pools().len()).filter(|it| !self.gate_opens(now, turn, *it));
        let lowest = queues.filter(|it| self.slot(now, turn.job, *it).is_some());
        if let Some(ask) = lowest.map(|it| self.ask(now, turn.job, it)).min() {
            self.priced_out.insert(turn.job, (turn.bid, ask));
        }
    }

    fn shares(&self, now: &Now<'_>) -> (i128, i128) {
        let value = self.pending.iter().map(|job| self.value(now, *job)).sum();
        let processors = |queue: Queue| match self.knobs.share {
            ShareOf::All => i128::from(now.pools()[queue].nodes),
            ShareOf::Free => i128::from(self.plan(now, queue)[0].max(0)),
        };
        (value, (0..now.pools().len()).map(processors).sum())
    }

    fn suffices(&self, now: &Now<'_>, job: JobId, (value, processors): (i128, i128)) -> bool {
        self.value(now, job) * processors >= value * i128::from(now.wide(job))
    }

    fn fair_shares(&mut self, now: &mut Now<'_>, turns: &[Turn]) {
        let queues: Vec<Queue> = (0..now.pools().len()).collect();
        let idle = self.local.is_empty() && queues.iter().all(|it| now.running(*it).is_empty());
        let until = now.at;
        let all = self.pending.len();
        loop {
            let before = self.pending.len();
            let shares = self.shares(now);
            for turn in
                turns.iter().filter(|turn| self.pending.contains(&turn.job)).collect::<Vec<_>>()
            {
                if self.suffices(now, turn.job, shares)
                    && let Some((queue, at)) = self.first(now, *turn, &queues)
                {
                    self.trade(now, *turn, (queue, at), &queues[..queue], until);
                }
            }
            if self.pending.len() == before {
                break;
            }
        }
        let shares = self.shares(now);
        if idle && self.pending.len() == all {
            let mut order = turns.to_vec();
            order.sort_by(|a, b| {
                let cross =
                    |x: &Turn, y: &Turn| self.value(now, x.job) * i128::from(now.wide(y.job));
                cross(b, a).cmp(&cross(a, b))
            });
            for turn in order {
                if let Some((queue, at)) = self.first(now, turn, &queues) {
                    self.trade(now, turn, (queue, at), &queues[..queue], until);
                    break;
                }
            }
        }
        for turn in turns {
            if self.pending.contains(&turn.job) && self.suffices(now, turn.job, shares) {
                self.pend(now, *turn);
            }
        }
    }

    fn refuse_hopeless(&mut self, now: &mut Now<'_>) {
        for job in self.pending.clone() {
            let queues = (0..now.pools().len())
                .filter(|it| now.suits(job, *it) && self.could_afford(now, job, *it));
            let earliest = now.at + queues.map(|it| now.length(job, it)).min().unwrap();
            if earliest > self.end(now, job) {
                let deadline = now.demand(job).terms().deadline.unwrap();
                let late = Reason::TooLate { earliest: Time(earliest), deadline };
                let reason = self.priced_out.get(&job).map_or(late, |(bid, ask)| {
                    Reason::PricedOut { bid: Money(*bid as i64), ask: Money(*ask as i64) }
                });
                now.commands.push(Command::Refuse { job, reason });
                self.pending.remove(&job);
            } else if now.changing() && self.next_paid(now, job, now.at).is_none() {
                let reason = self.too_dear(now, job);
                now.commands.push(Command::Refuse { job, reason });
                self.pending.remove(&job);
            }
        }
        self.priced_out.clear();
    }

    /// Where prices change, whether no job could do anything in this cycle: queues are empty, and none
    /// can pay any, or is late.
    fn may_skip(&self, now: &Now<'_>) -> bool {
        let idle = |queue| now.running(queue).is_empty();
        let helpless = |job: &JobId| {
            let last = |queue: Queue| self.end(now, *job) - now.length(*job, queue);
            let queues = (0..now.pools().len()).filter(|it| now.suits(*job, *it));
            let queues = queues.filter(|it| self.could_afford(now, *job, *it));
            let in_time = queues.map(last).max().unwrap() >= now.at;
            let next = self.next_paid(now, *job, now.at);
            in_time && next.is_some_and(|next| next > now.at)
        };
        now.changing()
            && self.local.is_empty()
            && (0..now.pools().len()).all(idle)
            && self.pending.iter().all(helpless)
    }

    fn cycle(&mut self, now: &mut Now<'_>) {
        self.refuse_hopeless(now);
        self.move_prices(now);
        let old = |every: Span| self.published.0.is_none_or(|at| now.at - at >= every.0);
        if self.knobs.publish.is_some_and(old) {
            let loads = (0..now.pools().len()).map(|queue| self.load(now, queue)).collect();
            self.published = (Some(now.at), loads);
        }
        let first = now.commands.len();
        let mut lots = vec![];
        let mut rng = random::stream(self.knobs.seed, "ties", now.at as u64);
        now.pools().iter().for_each(|_| lots.push(random::within(&mut rng, 0, i64::MAX)));
        let turns = self.turns(now);
        match self.knobs.rule {
            DispatchRule::FairShare => self.fair_shares(now, &turns),
            _ => turns.into_iter().for_each(|turn| self.take_turn(now, turn, &lots)),
        }
        self.settle(now, first);
    }

    /// The first beginning of a cycle from `at` on.
    pub(crate) fn boundary(&self, at: i64) -> i64 {
        let first = self.first.unwrap();
        (at..).find(|it| (it - first) % self.knobs.cycle.0 == 0).unwrap()
    }

    fn hear(&mut self, now: &mut Now<'_>, event: &Event) {
        match event {
            Event::Submitted { job, demand } => {
                self.first.get_or_insert(now.at);
                let since = demand.terms().earliest_start.map_or(now.at, |it| it.0.max(now.at));
                self.since.insert(*job, since);
                self.later.insert((since, *job));
            }
            Event::Interrupted { job } => self.join(now, *job),
            _ => {}
        }
    }
}

impl Policy for Naive {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let mut now = Now { market, at: market.now().0, started: vec![], commands };
        events.iter().for_each(|event| self.hear(&mut now, event));
        while let Some((_, job)) = self.later.first().copied().filter(|it| it.0 <= now.at) {
            self.later.pop_first();
            self.join(&mut now, job);
        }
        let queues = 0..market.pools().as_slice().len();
        let mut heads: Vec<Option<i64>> =
            queues.clone().map(|queue| self.easy(&mut now, queue)).collect();
        if self.pending.is_empty() {
            self.due = None;
        } else if self.due.is_none() {
            let from = if self.last == Some(now.at) { now.at + 1 } else { now.at };
            self.due = Some(self.boundary(from));
        }
        if self.due.is_some_and(|due| due <= now.at) {
            if !self.may_skip(&now) {
                self.cycle(&mut now);
                self.last = Some(now.at);
            }
            self.due = (!self.pending.is_empty()).then(|| self.boundary(now.at + 1));
            heads = queues.map(|queue| self.easy(&mut now, queue)).collect();
        }
        let later = self.later.first().map(|it| it.0);
        let wake = heads.into_iter().chain([self.due, later]).flatten().min();
        commands.extend(wake.map(|at| Command::Wake { at: Time(at) }));
    }
}
