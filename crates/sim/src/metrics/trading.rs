//! What trades brought to users and owners.

use tradewind_model::{Price, Span, TimeMode};

use super::entry::{Better, Entry, Unit, Value};
use super::promises::Promise;
use super::stays::Stay;
use super::{Counted, entry, quotient, stays};
use crate::result::{Run, Struck};
use crate::workload::Workload;

/// What the owner's list says, per node and second, of a job that agreed on the trade:
/// the pool's price, of one that follows load that of the trade's moment, or the mean of one that
/// changes with time over the time that the job requested, from its expected start on.
///
/// # Panics
/// If the workload lacks the job or the pool.
pub fn list_price(workload: &Workload, struck: &Struck) -> Price {
    if let Some(price) = struck.by_load {
        return price;
    }
    let (job, trade) = (&workload.jobs[struck.job], &struck.trade);
    let mode = job.terms.as_ref().map_or(TimeMode::WORK, |terms| terms.times);
    let pool = workload.pools.pool(trade.pool);
    let staging = job.terms.as_ref().map_or(Span::ZERO, |terms| terms.staging(pool.site));
    let length = pool.length_in(mode, job.requested) + staging;
    workload.pools.mean_price(trade.pool, trade.expected, length)
}

/// What the stay after the trade costs by the owner's list, in micro-credits.
fn at_list_prices(workload: &Workload, stay: Stay, struck: &Struck) -> i128 {
    match workload.pools.rate(stay.pool) {
        None => {
            let price = struck.by_load.unwrap_or(workload.pools.pool(stay.pool).price);
            i128::from(price.0) * stay.work()
        }
        Some(rate) => rate.integral(stay.start, stay.end) * i128::from(stay.nodes),
    }
}

/// Sums over trades and jobs that count, in micro-credits.
#[derive(Debug, Default)]
pub(super) struct Trading {
    /// Whether anything is worth something, or was traded.
    exists: bool,
    trades: i128,
    /// Σ over trades of the price per node and second, and of the queue's list price.
    prices: i128,
    list_prices: i128,
    /// What jobs with a trade paid, and would have paid at list prices.
    paid: i128,
    paid_at_list: i128,
    /// Of jobs with a value.
    users: i128,
    owners: i128,
}

impl Trading {
    /// O(jobs + trades).
    pub(super) fn of(
        workload: &Workload,
        run: &Run,
        promises: &[Promise<'_>],
        counted: Counted,
    ) -> Trading {
        let mut sums = Trading::default();
        let worth = promises.iter().any(|promise| promise.terms.value.is_some());
        sums.exists = worth || !run.trades.is_empty();
        let counts = |struck: &&Struck| counted.has(workload.jobs[struck.job].submit);
        for struck in run.trades.iter().filter(counts) {
            sums.trades += 1;
            sums.prices += i128::from(struck.trade.price.0);
            sums.list_prices += i128::from(list_price(workload, struck).0);
        }
        let premiums = sums.settled(workload, run, counted);
        for promise in promises.iter().filter(|promise| counted.has(promise.at)) {
            sums.surplus(run, promise, &premiums);
        }
        sums
    }

    /// By job: what it paid above list prices in its last run. Empty without trades.
    fn settled(&mut self, workload: &Workload, run: &Run, counted: Counted) -> Vec<i128> {
        let mut last: Vec<Option<&Struck>> = vec![None; run.jobs.len()];
        let mut premiums = Vec::new();
        if self.trades > 0 {
            premiums.resize(run.jobs.len(), 0);
            run.trades.iter().for_each(|struck| last[struck.job] = Some(struck));
        }
        for (job, premium) in premiums.iter_mut().enumerate() {
            let Some(struck) = last[job].filter(|_| counted.has(workload.jobs[job].submit)) else {
                continue;
            };
            for stay in
                stays::of_job(workload, run, job).filter(|stay| stay.pool == struck.trade.pool)
            {
                let paid = i128::from(struck.trade.price.0) * stay.work();
                let at_list = at_list_prices(workload, stay, struck);
                self.paid += paid;
                self.paid_at_list += at_list;
                *premium += paid - at_list;
            }
        }
        premiums
    }

    fn surplus(&mut self, run: &Run, promise: &Promise<'_>, premiums: &[i128]) {
        let Some(value) = promise.terms.value else { return };
        if promise.kept {
            self.users += i128::from(value.0);
        }
        if let Some(index) = promise.index {
            self.users -= i128::from(run.jobs[index].cost.0);
            self.owners += premiums.get(index).copied().unwrap_or(0);
        }
    }

    /// Nothing if no job has a value and none traded.
    pub(super) fn entries(&self) -> Vec<Entry> {
        use Better::{Higher, Lower, Neither};
        use Unit::{Count, Credits, Ratio};
        if !self.exists {
            return Vec::new();
        }
        let credits = Value::Credits;
        let mean = |sum| quotient(sum, self.trades * 1_000_000);
        vec![
            entry("users_surplus", Credits, Higher, credits(self.users)),
            entry("owners_surplus", Credits, Higher, credits(self.owners)),
            entry("welfare", Credits, Higher, credits(self.users + self.owners)),
            entry("trades", Count, Neither, Value::Whole(self.trades)),
            entry("mean_price", Credits, Lower, mean(self.prices)),
            entry("mean_list_price", Credits, Neither, mean(self.list_prices)),
            entry("price_ratio", Ratio, Neither, quotient(self.paid, self.paid_at_list)),
        ]
    }
}
