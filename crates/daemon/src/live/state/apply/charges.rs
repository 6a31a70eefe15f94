//! What jobs pay, and what is counted when they do.

use tradewind_model::{Consumption, Money, PoolId, Price, Share, Span, Time};

use crate::live::state::ApplyError;
use crate::live::state::ledger::income::PoolMonth;
use crate::live::state::ledger::money::{Account, Motive};
use crate::live::state::ledger::projects::month_of;
use crate::live::state::ledger::used::{UsageKey, Used, Uses};
use crate::live::state::{Job, Part, State};

impl State {
    /// What the job may cost is held: by its payer as far as an accepted offer does not limit that,
    /// and by the market beyond. A payer has no debts: a job that cannot be paid for is about to give
    /// its nodes back.
    pub(super) fn hold_for(
        &mut self,
        number: u64,
        payer: Account,
        cost: Money,
    ) -> Result<(), ApplyError> {
        let (at, held) = (self.now(), Account::Held(number));
        let own = self.job(number)?.own_share(cost);
        if own > Money::ZERO && self.ledger.accounts.balance(&payer) < i128::from(own.0) {
            return Ok(());
        }
        self.ledger.accounts.post(at, payer, held.clone(), own, Motive::Hold(number));
        let cover = cost - own;
        if cover > Money::ZERO {
            self.ledger.accounts.post(at, Account::Bank, held, cover, Motive::Cover(number));
            self.job(number)?.covering = cover;
        }
        Ok(())
    }

    /// Owners get what was used: from the moment at which a part's work ran until it ended, at
    /// most for its limit.
    pub(super) fn settle(&mut self, number: u64) -> Result<(), ApplyError> {
        let (at, rules) = (self.now(), self.ledger.rules);
        let job = self.jobs.get(&number).ok_or(ApplyError::Job(number))?;
        let seconds = |part: &Part| job.charged(part, at, rules);
        let used = |part: &Part| {
            let (nodes, time) = (part.nodes, seconds(part));
            // A replay of what older releases wrote counts none, either.
            let consumed = match self.has_rules(3) && time > Span(0) {
                true => self.consumption_of(job, part, time),
                false => Consumption::default(),
            };
            (part.pool, part.price, Used { nodes, time, consumed })
        };
        let used: Vec<(PoolId, Price, Used)> = job.parts().iter().map(used).collect();
        for (pool, price, used) in used {
            let amount = price.of(used.nodes, used.time);
            let site = self.site_of(pool);
            let owner = Account::Owner(self.market.pools().sites()[site.0 as usize].name.clone());
            self.charge(number, owner, used, amount)?;
            self.count_income(pool, used, amount);
            self.consume(number, used.consumed)?;
        }
        self.settle_licences(number)
    }

    /// Owners of licences get what was used: as long as the longest of the job's parts pays.
    fn settle_licences(&mut self, number: u64) -> Result<(), ApplyError> {
        let (at, rules) = (self.now(), self.ledger.rules);
        let job = self.jobs.get(&number).ok_or(ApplyError::Job(number))?;
        let time = job.charged_longest(at, rules);
        let costs = job.licences().iter().map(|it| (it.share.licence, it.cost(time)));
        for (licence, amount) in costs.collect::<Vec<_>>() {
            let pools = self.market.pools();
            let site = pools.licence_owner(licence).0 as usize;
            let owner = Account::Owner(pools.sites()[site].name.clone());
            self.charge(number, owner, Used::NOTHING_HERE, amount)?;
        }
        Ok(())
    }

    /// Pays micro-credits of what is held for the job to `payee`, for so many nodes and so long. What
    /// is beyond the cost that was promised is the market's.
    pub(super) fn charge(
        &mut self,
        number: u64,
        payee: Account,
        used: Used,
        amount: Money,
    ) -> Result<(), ApplyError> {
        let (at, from) = (self.now(), Account::Held(number));
        let own = self.job(number)?.own_share(amount);
        self.count_used(number, &payee, used, own)?;
        self.ledger.accounts.post(at, from, payee, amount, Motive::Settle(number));
        let (job, cover) = (self.job(number)?, amount - own);
        job.paid += own;
        job.covered += cover;
        job.covering = job.covering - cover;
        self.count_spent(number, own)
    }

    /// What is still held goes back to those whose it is.
    pub(super) fn refund(&mut self, number: u64) -> Result<(), ApplyError> {
        let (at, account) = (self.now(), Account::Held(number));
        let payer = self.job(number)?.payer();
        let cover = std::mem::take(&mut self.job(number)?.covering);
        if cover > Money::ZERO {
            let (held, motive) = (account.clone(), Motive::Refund(number));
            self.ledger.accounts.post(at, held, Account::Bank, cover, motive);
        }
        let rest = i64::try_from(self.ledger.accounts.balance(&account)).unwrap_or(i64::MAX);
        if rest > 0 {
            self.ledger.accounts.post(at, account, payer, Money(rest), Motive::Refund(number));
        }
        self.ledger.accounts.close(number);
        Ok(())
    }

    /// A part of a job has paid.
    fn count_used(
        &mut self,
        number: u64,
        payee: &Account,
        Used { nodes, time, consumed }: Used,
        charged: Money,
    ) -> Result<(), ApplyError> {
        // Older releases kept none: a replay of theirs keeps none, either.
        if self.ledger.rules.is_none() || (time <= Span(0) && charged <= Money::ZERO) {
            return Ok(());
        }
        let month = month_of(self.now());
        let job = self.jobs.get(&number).ok_or(ApplyError::Job(number))?;
        let site = match payee {
            Account::Owner(site) => site.clone(),
            other => other.to_string(),
        };
        let (project, user) = (job.paying_project().map(str::to_owned), job.user.clone());
        let is_new_month =
            self.ledger.used.0.last_key_value().is_none_or(|(it, _)| it.month < month);
        let sum = self.ledger.used.0.entry(UsageKey { month, project, user, site }).or_default();
        sum.parts += 1;
        sum.node_seconds += i128::from(nodes) * i128::from(time.0);
        sum.charged += charged;
        sum.consumed += consumed;
        if is_new_month {
            self.ledger.used.0.retain(|it, _| it.month > month - Uses::MONTHS);
        }
        Ok(())
    }

    /// A part of a job has paid the owner of this pool.
    fn count_income(&mut self, pool: PoolId, Used { nodes, time, consumed }: Used, income: Money) {
        // A replay of what older releases wrote counts none, either.
        let is_counted = self.has_rules(2);
        if !is_counted || (time <= Span(0) && income <= Money::ZERO) {
            return;
        }
        let month = month_of(self.now());
        let pool = self.market.pools().pool(pool).name.clone();
        let all = &mut self.ledger.income.0;
        let is_new_month = all.last_key_value().is_none_or(|(it, _)| it.month < month);
        let sum = all.entry(PoolMonth { month, pool }).or_default();
        sum.node_seconds += i128::from(nodes) * i128::from(time.0);
        sum.income += income;
        sum.consumed += consumed;
        if is_new_month {
            all.retain(|it, _| it.month > month - Uses::MONTHS);
        }
    }

    /// A job has paid this.
    fn count_spent(&mut self, number: u64, amount: Money) -> Result<(), ApplyError> {
        let at = self.now();
        let job = self.jobs.get(&number).ok_or(ApplyError::Job(number))?;
        if let Some(name) = job.paying_project()
            && let Some(project) = self.ledger.projects.0.get_mut(name)
        {
            project.spend(at, &job.user, amount);
        }
        Ok(())
    }

    /// What nodes of a share consume during this interval of the market's time. Series are of the
    /// clock.
    pub fn consumption(&self, share: Share, (start, end): (Time, Time)) -> Consumption {
        let lead = self.lead();
        self.market.pools().consumption_of(share, (start - lead, end - lead))
    }

    /// What a part consumes that works for so long.
    pub(in crate::live) fn consumption_of(
        &self,
        job: &Job,
        part: &Part,
        time: Span,
    ) -> Consumption {
        let share = Share { pool: part.pool, nodes: part.nodes };
        let since = job.works_since(part).or(job.started()).unwrap_or(self.now());
        self.consumption(share, (since, since + time))
    }

    /// A part of a job has consumed this.
    fn consume(&mut self, number: u64, consumed: Consumption) -> Result<(), ApplyError> {
        let at = self.now();
        let job = self.jobs.job(number)?;
        job.consumed += consumed;
        for holder in job.budget_holders() {
            if let Some(budget) = self.ledger.budgets.0.get_mut(&holder) {
                budget.add(at, consumed);
            }
        }
        Ok(())
    }
}
