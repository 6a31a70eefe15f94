//! What jobs can pay, what queues want, and what trades settle at.

use super::*;

impl Naive {
    pub(super) fn needs_value(&self) -> bool {
        self.knobs.gate == Gate::On
            || self.divides_the_gain()
            || [
                DispatchRule::Auction,
                DispatchRule::Admission,
                DispatchRule::Hvfq,
                DispatchRule::FairShare,
            ]
            .contains(&self.knobs.rule)
    }

    fn divides_the_gain(&self) -> bool {
        [Clearing::Bid, Clearing::K, Clearing::Uniform].contains(&self.knobs.clearing)
    }

    pub(super) fn trades_by_value(&self) -> bool {
        self.knobs.gate == Gate::On || self.knobs.rule == DispatchRule::Auction
    }

    pub(super) fn value(&self, now: &Now<'_>, job: JobId) -> i128 {
        let terms = now.demand(job).terms();
        i128::from(terms.value.or(terms.budget).unwrap_or(Money(0)).0)
    }

    /// H of all jobs and of this one, in millionths.
    pub(super) fn bid_factor(&self, now: &Now<'_>, job: JobId) -> i128 {
        let own =
            now.demand(job).terms().bid_factor.map_or(1_000, tradewind_model::Ratio::thousandths);
        i128::from(self.knobs.ratio.thousandths()) * i128::from(own)
    }

    /// What the queue wants at this level of prices for a job that starts there at `start`: second by
    /// second, rounded up, then down.
    fn at_level(
        &self,
        now: &Now<'_>,
        (job, queue): (JobId, Queue),
        start: i64,
        level: i128,
    ) -> i128 {
        let (pools, id) = (now.market.pools(), PoolId(queue as u32));
        let length = now.length(job, queue);
        let seconds = start..start + length;
        let sum: i64 = seconds.map(|at| pools.price_at(id, Time(at)).0).sum();
        let mean = sum / length + i64::from(sum % length > 0);
        i128::from(mean) * level / 1_000_000
    }

    fn level(&self, queue: Queue) -> i128 {
        self.levels.get(queue).copied().unwrap_or(1_000_000)
    }

    /// When the job would start in the queue by its plan; now, if never, or if only that is traded.
    fn offered_from(&self, now: &Now<'_>, job: JobId, queue: Queue) -> i64 {
        let ahead =
            self.until(now) > now.at && now.pools()[queue].nodes >= now.demand(job).processors;
        let plan = || earliest(&self.plan(now, queue), now.length(job, queue), now.wide(job));
        now.at + if ahead && now.changing() { plan() } else { 0 }
    }

    pub(super) fn price(&self, now: &Now<'_>, job: JobId, queue: Queue) -> i128 {
        let start = self.offered_from(now, job, queue);
        self.at_level(now, (job, queue), start, self.level(queue))
    }

    /// What the queue wants, at the lowest, in a cycle that begins then.
    fn lowest_price(&self, now: &Now<'_>, job: JobId, queue: Queue, at: i64) -> i128 {
        let floor = i128::from(self.knobs.dynamics.floor) * 1_000;
        let level = if self.knobs.prices == Prices::List { 1_000_000 } else { floor };
        self.at_level(now, (job, queue), at, level)
    }

    /// Cycles that may begin at `from` or later, until prices have come once. Worlds have periods
    /// of a hundred seconds or less.
    fn to_come(&self, now: &Now<'_>, from: i64) -> impl Iterator<Item = i64> {
        let every = self.knobs.cycle.0;
        let until = if now.changing() { 400 + 100 * every } else { 1 };
        let first = self.boundary(from);
        (first..first + until).step_by(every as usize)
    }

    /// The first cycle from `from` on in which it can pay a queue.
    pub(super) fn next_paid(&self, now: &Now<'_>, job: JobId, from: i64) -> Option<i64> {
        let queues = (0..now.pools().len()).filter(|it| now.suits(job, *it));
        let queues: Vec<Queue> = queues.filter(|it| self.could_afford(now, job, *it)).collect();
        let paid = |queue: &Queue, at| {
            self.pays(now, job, *queue, self.lowest_price(now, job, *queue, at))
        };
        self.to_come(now, from).find(|at| queues.iter().any(|queue| paid(queue, *at)))
    }

    pub(super) fn write_down_never(&mut self, now: &Now<'_>, job: JobId) {
        let from = if self.last == Some(now.at) { now.at + 1 } else { now.at };
        for queue in 0..now.pools().len() {
            let paid = |at| self.pays(now, job, queue, self.lowest_price(now, job, queue, at));
            let ever = self.to_come(now, from).any(paid);
            self.never.remove(&(job, queue));
            if !ever {
                self.never.insert((job, queue));
            }
        }
    }

    /// Why no queue will ever do.
    pub(super) fn too_dear(&self, now: &Now<'_>, job: JobId) -> Reason {
        let from = if self.last == Some(now.at) { now.at + 1 } else { now.at };
        let fitting = (0..now.pools().len()).filter(|queue| now.suits(job, *queue));
        let lowest = |queue| {
            let prices = self.to_come(now, from).map(|at| self.lowest_price(now, job, queue, at));
            prices.min().unwrap()
        };
        let costs = fitting.map(|it| (lowest(it) * now.size(job, it), self.max(now, job, it)));
        let (cheapest, max) = costs.min().unwrap();
        let (cheapest, max) = (Money(cheapest as i64), Money(max as i64));
        match now.demand(job).terms().budget {
            Some(budget) if budget < cheapest => Reason::BudgetShort { cheapest, budget },
            _ => Reason::PricedOut { bid: max, ask: cheapest },
        }
    }

    pub(super) fn gate_wants_worth(&self) -> bool {
        self.knobs.gate == Gate::On && self.knobs.valuation == Valuation::Unit
    }

    /// The most that the job can pay in the queue, in all.
    pub(super) fn max(&self, now: &Now<'_>, job: JobId, queue: Queue) -> i128 {
        let terms = now.demand(job).terms();
        let mut max = i128::from(i64::MAX);
        if let Some(budget) = terms.budget {
            max = max.min(i128::from(budget.0));
        }
        let value = self.value(now, job);
        if self.divides_the_gain() || self.knobs.clearing == Clearing::Posted && value > 0 {
            max = max.min(value);
        }
        if self.gate_wants_worth() {
            let bids = self.value(now, job) * self.bid_factor(now, job) / 1_000_000;
            max = max.min(bids * 1_000 / now.ask_factor(queue));
        }
        if let Some(cap) = terms.max_price {
            max = max.min(i128::from(cap.0) * now.size(job, queue));
        }
        max
    }

    pub(super) fn pays(&self, now: &Now<'_>, job: JobId, queue: Queue, price: i128) -> bool {
        price * now.size(job, queue) <= self.max(now, job, queue)
    }

    pub(super) fn affords(&self, now: &Now<'_>, job: JobId, queue: Queue) -> bool {
        self.could_afford(now, job, queue)
            && self.pays(now, job, queue, self.price(now, job, queue))
    }

    pub(super) fn could_afford(&self, _now: &Now<'_>, job: JobId, queue: Queue) -> bool {
        !self.never.contains(&(job, queue))
    }

    /// The same at the prices of this moment.
    fn affords_now(&self, now: &Now<'_>, job: JobId, queue: Queue) -> bool {
        let price = self.at_level(now, (job, queue), now.at, self.level(queue));
        self.could_afford(now, job, queue) && self.pays(now, job, queue, price)
    }

    /// A cycle's prices.
    pub(super) fn move_prices(&mut self, now: &Now<'_>) {
        if self.knobs.prices == Prices::List {
            return;
        }
        let Dynamics { step, floor, ceiling, outlook } = self.knobs.dynamics;
        let (step, floor) = (i128::from(step.max(1)) * 1_000, i128::from(floor) * 1_000);
        let ceiling = (i128::from(ceiling) * 1_000).max(floor);
        let queues = now.pools().len();
        if self.levels.is_empty() {
            self.levels = vec![1_000_000.clamp(floor, ceiling); queues];
        }
        let outlook = outlook.0.max(1);
        // Every cycle since the last in which a job waited is one in which none did.
        let mut before = self.last.map_or(now.at, |last| last + self.knobs.cycle.0);
        while before < now.at {
            self.levels.iter_mut().for_each(|level| *level = (*level - step).max(floor));
            before += self.knobs.cycle.0;
        }
        let mut wanted = vec![0; queues];
        for &job in &self.pending {
            let open: Vec<Queue> = (0..queues)
                .filter(|queue| now.suits(job, *queue) && self.affords_now(now, job, *queue))
                .filter(|queue| now.at + now.length(job, *queue) <= self.end(now, job))
                .collect();
            let nodes: i128 = open.iter().map(|it| i128::from(now.pools()[*it].nodes)).sum();
            for queue in open {
                let seconds = now.wide(job) * now.length(job, queue).min(outlook);
                wanted[queue] += i128::from(seconds) * i128::from(now.pools()[queue].nodes) / nodes;
            }
        }
        for queue in 0..queues {
            let plan = self.plan(now, queue);
            let free: i64 = plan[..outlook as usize].iter().map(|free| (*free).max(0)).sum();
            let (wanted, free) = (wanted[queue], i128::from(free));
            let up = |part: i128, of: i128| (part + of - 1) / of;
            let by = match wanted - free {
                _ if wanted == 0 => -step,
                excess if excess > 0 => up(excess * step, wanted + free),
                excess => -up(-excess * step, wanted + free),
            };
            self.levels[queue] = (self.levels[queue] + by).clamp(floor, ceiling);
        }
    }

    pub(super) fn limit(&self, now: &Now<'_>, job: JobId, queue: Queue) -> i128 {
        self.max(now, job, queue) / now.size(job, queue)
    }

    /// What each of a cycle's trades costs per node and second.
    pub(super) fn settle(&self, now: &mut Now<'_>, first: usize) {
        let k = i128::from(self.knobs.k.thousandths());
        let between = |low: i128, high: i128| low + ((high - low) * k).div_euclid(1_000);
        let mut trades = vec![];
        for command in &now.commands[first..] {
            if let Command::Trade { job, trade } = command {
                let queue = trade.pool.index();
                let speed = i128::from(now.pools()[queue].performance.thousandths());
                let reserve = i128::from(trade.reserve.0);
                trades.push((reserve, self.limit(now, *job, queue), speed));
            }
        }
        let whole = 1_000_000_000;
        let reserve = trades.iter().map(|(reserve, _, speed)| reserve * whole / speed).max();
        let limit = trades.iter().map(|(_, limit, speed)| limit * whole / speed).min();
        let mut trades = trades.into_iter();
        for command in &mut now.commands[first..] {
            if let Command::Trade { trade, .. } = command {
                let (low, high, speed) = trades.next().unwrap();
                let price = match self.knobs.clearing {
                    Clearing::Posted | Clearing::List => low,
                    Clearing::Bid => high,
                    Clearing::K => between(low, high),
                    Clearing::Uniform => {
                        let price = between(reserve.unwrap(), limit.unwrap()) * speed / whole;
                        price.max(low).min(high)
                    }
                };
                let limits = self.divides_the_gain() || self.gate_wants_worth();
                let limit = limits.then_some(Price(high as i64));
                let trade = Arc::make_mut(trade);
                (trade.price, trade.limit) = (Price(price as i64), limit);
            }
        }
    }
}
