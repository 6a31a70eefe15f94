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

    /// What the queue wants at this level of prices.
    pub(super) fn at_level(&self, now: &Now<'_>, queue: Queue, level: i128) -> i128 {
        i128::from(now.pools()[queue].price.0) * level / 1_000_000
    }

    pub(super) fn price(&self, now: &Now<'_>, queue: Queue) -> i128 {
        self.at_level(now, queue, self.levels.get(queue).copied().unwrap_or(1_000_000))
    }

    pub(super) fn lowest_price(&self, now: &Now<'_>, queue: Queue) -> i128 {
        match self.knobs.prices {
            Prices::List => self.at_level(now, queue, 1_000_000),
            Prices::Dynamic => {
                self.at_level(now, queue, i128::from(self.knobs.dynamics.floor) * 1_000)
            }
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
        self.pays(now, job, queue, self.price(now, queue))
    }

    pub(super) fn could_afford(&self, now: &Now<'_>, job: JobId, queue: Queue) -> bool {
        self.pays(now, job, queue, self.lowest_price(now, queue))
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
                .filter(|queue| now.suits(job, *queue) && self.affords(now, job, *queue))
                .filter(|queue| self.could_afford(now, job, *queue))
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
                trades.push((self.price(now, queue), self.limit(now, *job, queue), speed));
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
