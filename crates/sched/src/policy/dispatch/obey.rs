//! External decisions: of owners about prices, of users about their jobs, and starts that this
//! policy did not decide.

use tradewind_model::{Command, Demand, Event, JobId, Market, PoolId, Reason, Share, Span, Time};

use super::queue::Task;
use super::settings::Deadline;
use super::waiting::UnassignedJob;
use super::{Dispatch, price};
use crate::policy::inbox;

impl Dispatch {
    /// Writes down what was decided elsewhere.
    pub(super) fn obey(&mut self, market: &Market, event: &Event) {
        match event {
            Event::Traded { job, .. } => self.line_up(market, (*job, market.now())),
            Event::Started { job, .. } => self.adopt(market, *job),
            Event::Lined { job } | Event::Cancelled { job } | Event::Refused { job } => {
                _ = self.leave(*job);
            }
            Event::Priced { pool, .. } | Event::Rated { pool, .. } => self.reprice(market, *pool),
            _ => {}
        }
    }

    /// The job waits nowhere any more; since when it did, if it was at the meta-scheduler.
    fn leave(&mut self, job: JobId) -> Option<Time> {
        self.later.retain(|(_, other)| *other != job);
        for (at, queue) in self.queues.iter_mut().enumerate() {
            if queue.leave(job) {
                self.news.push(at);
            }
        }
        let place = self.waiting.binary_search_by_key(&job, |waiting| waiting.job).ok();
        self.changed |= place.is_some();
        let waited = place.map(|place| self.waiting.remove(place).since);
        waited.or(self.dear.remove(&job))
    }

    /// The job waits in the queue that it agreed on, from its earliest start on.
    pub(super) fn line_up(&mut self, market: &Market, (job, since): (JobId, Time)) {
        let Some(trade) = market.trade(job).filter(|_| market.waits(job)) else { return };
        let at = trade.pool.index();
        let later = self.later.iter().any(|(_, other)| *other == job);
        if later || self.queues[at].has(job) {
            return;
        }
        let since = self.leave(job).unwrap_or(since);
        let Some(task) = task(market, (job, since), trade.pool) else { return };
        self.queues[at].line_up(task);
        self.news.push(at);
    }

    /// A job runs that this policy did not start.
    fn adopt(&mut self, market: &Market, job: JobId) {
        if self.queues.iter().any(|queue| queue.runs(job)) {
            return;
        }
        self.leave(job);
        let Some(run) = market.run_of(job) else { return };
        for Share { pool, nodes } in run.shares() {
            let Some(task) = task(market, (job, run.start), pool) else { continue };
            let queue = &mut self.queues[pool.index()];
            queue.adopt(Task { processors: nodes, ..task }, run.start, market.now());
            self.news.push(pool.index());
        }
        self.foreign.insert(job);
    }

    /// All jobs at the meta-scheduler look at prices again.
    fn reprice(&mut self, market: &Market, pool: PoolId) {
        let Some(board) = &mut self.board else { return };
        board.list_anew(pool.index(), market.pools());
        let waiting = std::mem::take(&mut self.waiting);
        let all = waiting.into_iter().map(|it| (it.job, it.since));
        let all: Vec<_> = all.chain(std::mem::take(&mut self.dear)).collect();
        for (job, since) in all {
            let Some(demand) = market.demand(job) else { continue };
            match UnassignedJob::new(&self.to_come(market), (job, demand), since) {
                Ok(waiting) => self.take_in(waiting),
                Err(_) if self.may_hope(market, demand) => drop(self.dear.insert(job, since)),
                Err(reason) => self.unpaid.push((job, reason)),
            }
        }
        self.changed = true;
    }

    /// Whether some queue would take the job at another price. Prices that change with time are known
    /// for all times to come, unless their owners may set others; so are those that follow load.
    pub(super) fn may_hope(&self, market: &Market, demand: &Demand) -> bool {
        if market.pools().has_final_rates() || self.idle.is_some() {
            return false;
        }
        let (any, needed) = (inbox::without_limits(demand), demand.processors);
        let worth = !self.settings.by_value() || price::value(demand.terms()).is_some();
        worth && market.pools().iter().any(|(_, pool)| pool.nodes >= needed && pool.suits(&any))
    }

    /// Until when a job that can pay no queue may hope.
    fn end_of_hope(&self, market: &Market, job: JobId) -> Option<Time> {
        let deadline = market.demand(job)?.terms().deadline;
        deadline.filter(|_| self.settings.deadline == Deadline::Check)
    }

    /// When to look again at jobs that can pay no queue.
    pub(super) fn hope(&self, market: &Market) -> Option<Time> {
        self.dear.keys().filter_map(|job| self.end_of_hope(market, *job)).min()
    }

    /// Refuses jobs that can pay no queue, or none before their deadline.
    pub(super) fn give_up(&mut self, market: &Market, commands: &mut Vec<Command>) {
        let now = market.now();
        let unpaid = self.unpaid.drain(..);
        commands.extend(unpaid.map(|(job, reason)| Command::Refuse { job, reason }));
        let over = |job: &JobId| self.end_of_hope(market, *job).filter(|end| *end <= now);
        let over: Vec<(JobId, Time)> =
            self.dear.keys().filter_map(|job| Some((*job, over(job)?))).collect();
        for (job, deadline) in over {
            self.dear.remove(&job);
            let min = market.demand(job).map_or(Span(1), |demand| demand.estimate);
            let reason = Reason::TooLate { earliest: now + min, deadline };
            commands.push(Command::Refuse { job, reason });
        }
    }
}

/// The job as the queue of this pool sees it.
fn task(market: &Market, (job, since): (JobId, Time), pool: PoolId) -> Option<Task> {
    let demand = market.demand(job)?;
    let length = market.pools().pool(pool).length_of(demand).max(Span(1));
    Some(Task { job, since, processors: demand.processors, length })
}
