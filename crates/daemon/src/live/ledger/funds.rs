//! A job that cannot be paid for waits for money, and does not delay others meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Demand, JobId, Money, PoolId, Pools, Time, licences_cost};

use crate::live::money::Account;
use crate::live::record::JobRecord;
use crate::live::state::{Job, JobHold, Phase, Setback, State, Why};
use crate::live::{ApplyError, Live};

impl State {
    /// What the account's booked windows that have not come will cost at most: it is promised, and
    /// no other job can have it. Linear in the bookings.
    pub fn promised(&self, payer: &Account) -> i128 {
        self.promised_of(payer, |_| true)
    }

    /// The same of those jobs that are meant.
    pub(in crate::live) fn promised_of(
        &self,
        payer: &Account,
        is_meant: impl Fn(&Job) -> bool,
    ) -> i128 {
        let all = Why::Booked(PoolId(0), 0)..=Why::Booked(PoolId(u32::MAX), u64::MAX);
        let booked = self.outages.open.range(all).filter_map(|(why, _)| match why {
            Why::Booked(_, job) => Some(*job),
            _ => None,
        });
        let booked: BTreeSet<u64> = booked.collect();
        let booked = booked.iter().filter_map(|number| self.jobs.get(number));
        let own = booked.filter(|job| job.is_booked() && job.payer() == *payer && is_meant(job));
        own.filter_map(Job::promised).map(|cost| i128::from(cost.0)).sum()
    }

    /// What the account has for jobs that are not booked, micro-credits; below 0 if not even those
    /// that are can be paid.
    pub fn to_spend(&self, payer: &Account) -> i128 {
        self.ledger.accounts.balance(payer) - self.promised(payer)
    }

    /// The same, where new accounts begin with this grant; projects begin with nothing.
    pub fn funds(&self, payer: &Account, grant: Money) -> i128 {
        match payer {
            Account::Project(_) => self.to_spend(payer),
            _ if self.ledger.accounts.knows(payer) => self.to_spend(payer),
            _ => i128::from(grant.0),
        }
    }
}

impl Job {
    fn is_booked(&self) -> bool {
        self.phase() == Phase::Held(&JobHold::Booked)
    }

    /// What its booked window costs.
    fn promised(&self) -> Option<Money> {
        self.booking.as_ref().map(|booking| self.own_share(booking.max(self.nodes())))
    }
}

/// What jobs have to spend, looked up once for each payer and, where a project pays, user.
#[derive(Default)]
struct Purses(BTreeMap<(Account, Option<String>), i128>);

impl Purses {
    fn of(&mut self, job: &Job, state: &State) -> i128 {
        let member = job.paying_project().map(|_| job.user.clone());
        *self.0.entry((job.payer(), member)).or_insert_with(|| state.purse_of(job))
    }
}

impl Live {
    /// What the job needs at least, if its payer has less.
    pub(in crate::live) fn lacks(&self, job: &Job, demand: &Demand) -> Option<Money> {
        self.lacks_in(&mut Purses::default(), job, demand)
    }

    fn lacks_in(&self, purses: &mut Purses, job: &Job, demand: &Demand) -> Option<Money> {
        let min = least_cost(demand, self.state.market.pools(), self.state.now());
        // Its window has the prices of the day when it was booked, and its money is its own.
        let booked = job.promised().filter(|_| job.is_booked());
        let min = booked.map_or(min, |cost| cost.min(min));
        let min = job.own_share(min);
        let there = match booked {
            Some(_) => self.state.ledger.accounts.balance(&job.payer()),
            None => purses.of(job, &self.state),
        };
        (min > Money::ZERO && there < i128::from(min.0)).then_some(min)
    }

    /// Waiting jobs of these payers that cannot be paid for anywhere leave the queue: policies hold
    /// nodes for the job that is first in it. What a job has agreed on with a pool stays.
    /// Linear in the queue.
    pub(in crate::live) fn recheck_funds(
        &mut self,
        at: Time,
        is_asked: impl Fn(&Account) -> bool,
    ) -> Result<(), ApplyError> {
        let market = &self.state.market;
        let mut purses = Purses::default();
        let lack = |id: JobId| {
            let number = self.state.jobs.numbers.get(&id)?;
            let job = self.state.jobs.get(number).filter(|job| job.phase() == Phase::Waiting)?;
            if !is_asked(&job.payer()) || market.trade(id).is_some() {
                return None;
            }
            Some((*number, self.lacks_in(&mut purses, job, market.demand(id)?)?))
        };
        let lacking: Vec<(u64, Money)> = market.queue().filter_map(lack).collect();
        for (number, needed) in lacking {
            self.wait_for_funds(at, number, needed)?;
        }
        Ok(())
    }

    pub(in crate::live) fn wait_for_funds(
        &mut self,
        at: Time,
        number: u64,
        needed: Money,
    ) -> Result<(), ApplyError> {
        self.index.short.insert(number);
        self.shelve(at, number, JobHold::Funds(needed))
    }

    /// A job that was just given nodes which its payer cannot pay for gives them back; so does one
    /// that would spend what is promised to booked windows.
    pub(in crate::live) fn mind_price(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        if let Some(why) = self.state.barred(job) {
            self.put(at, JobRecord::Interrupted { job: number, setback: Setback::Funds })?;
            return self.shelve(at, number, JobHold::Rejected(why));
        }
        let (needed, held) =
            (job.max(), self.state.ledger.accounts.balance(&Account::Held(number)));
        let keeps_promises = || {
            let booked = !self.index.booked.is_empty() || !self.index.promises.is_empty();
            let none = job.in_window() || needed <= Money::ZERO || !booked;
            none || self.state.to_spend(&job.payer()) >= 0
        };
        let project = job.paying_project().filter(|_| !job.in_window());
        let keeps_limits = || self.state.within_limits(0, project, &job.user) >= 0;
        if held >= i128::from(needed.0) && keeps_promises() && keeps_limits() {
            return Ok(());
        }
        let own = job.own_share(needed);
        self.put(at, JobRecord::Interrupted { job: number, setback: Setback::Funds })?;
        self.wait_for_funds(at, number, own)
    }

    /// A job that was just given nodes which would consume more than is left of a budget gives them
    /// back. A window that was promised stands.
    pub(in crate::live) fn mind_power(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        self.decided(number);
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        let runs = job.phase() == Phase::Running && !job.in_window();
        let Some(why) = runs.then(|| self.exceeds_budgets(job)).flatten() else { return Ok(()) };
        self.put(at, JobRecord::Interrupted { job: number, setback: Setback::OverBudget })?;
        self.shelve(at, number, JobHold::OverBudget(why))
    }

    /// Jobs that their payers can pay for now join the queue.
    pub(in crate::live) fn afford(&mut self, at: Time) -> Result<(), ApplyError> {
        let mut purses = Purses::default();
        let can = |number: &u64| {
            let job = self.state.jobs.get(number)?;
            let Phase::Held(JobHold::Funds(needed)) = job.phase() else { return Some(*number) };
            let there = purses.of(job, &self.state);
            (there >= i128::from(needed.0.max(Money::ZERO.0))).then_some(*number)
        };
        let ready: Vec<u64> = self.index.short.iter().filter_map(can).collect();
        self.try_again(at, ready)
    }

    /// Prices have changed: jobs that wait for money may need less now, and jobs in the queue more.
    pub(in crate::live) fn recheck_all_funds(&mut self, at: Time) -> Result<(), ApplyError> {
        let all = self.index.short.iter().copied().collect();
        self.try_again(at, all)?;
        self.recheck_funds(at, |_| true)
    }

    fn try_again(&mut self, at: Time, jobs: Vec<u64>) -> Result<(), ApplyError> {
        for number in jobs {
            let phase = self.state.jobs.get(&number).map(|job| job.phase());
            let is_short = matches!(phase, Some(Phase::Held(JobHold::Funds(_))));
            self.index.short.remove(&number);
            if is_short {
                self.enqueue(at, number)?;
            }
        }
        Ok(())
    }

    /// The payers of these jobs.
    pub(in crate::live) fn payers(&self, jobs: &[u64]) -> BTreeSet<Account> {
        jobs.iter().filter_map(|number| self.state.jobs.get(number)).map(Job::payer).collect()
    }
}

/// The lowest cost of the job if it starts now: on the cheapest nodes that suit, if nothing else ran, with
/// what it takes along for as long as it takes on the fastest.
/// Nothing, if there are too few.
fn least_cost(demand: &Demand, pools: &Pools, now: Time) -> Money {
    let each = |nodes: u32, id: PoolId| {
        let length = pools.pool(id).length_of(demand);
        pools.asked(id, now, length).of(nodes, length)
    };
    let suits = || pools.iter().filter(|(_, pool)| pool.suits(demand));
    let shortest = suits().map(|(_, pool)| pool.length_of(demand)).min();
    let along = demand.terms().licences.as_deref().unwrap_or_default();
    let along = licences_cost(pools.licences(), along, shortest.unwrap_or_default());
    let mut offers: Vec<_> = suits().map(|(id, pool)| (each(1, id), id, pool.nodes)).collect();
    offers.sort_by_key(|(cost, ..)| *cost);
    let mut open = demand.processors;
    let mut min = Money::ZERO;
    for (_, id, nodes) in offers {
        let nodes = open.min(nodes);
        min += each(nodes, id);
        open -= nodes;
    }
    if open > 0 { Money::ZERO } else { min + along }
}
