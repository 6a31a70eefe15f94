//! Budgets of energy and carbon, beside those of credits: of a user, for all own jobs, and of a
//! project.
//!
//! What a job may consume is held from its allocation on as credits are: all its nodes for the
//! whole of its time limit, at the site's carbon intensity then. What it did consume is counted
//! when it pays.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Consumption, Demand, Pool, PoolId, Share, Time};

use crate::live::answer::{Refusal, RefusalKind, Reply};
use crate::live::record::LedgerRecord;
use crate::live::state::ledger::budgets::{BudgetHolder, Budgets, PowerLimits, holders_of};
use crate::live::state::ledger::money::Account;
use crate::live::state::{Booking, Job, JobHold, Part, Phase, State, Why};
use crate::live::{ApplyError, Live};

/// What is held of each budget: of those of which something is.
pub type HeldPower = BTreeMap<BudgetHolder, Consumption>;

impl State {
    /// Budgets of energy and carbon.
    pub fn budgets(&self) -> &Budgets {
        &self.ledger.budgets
    }

    /// What the nodes of one of the job's parts have consumed by `now`, in the time that is charged.
    pub fn consumed_in_part(&self, job: &Job, part: &Part, now: Time) -> Consumption {
        match job.works_since(part) {
            Some(_) => self.consumption_of(job, part, self.charged(job, part, now)),
            None => Consumption::default(),
        }
    }

    /// What the job's nodes have consumed by `now`: in the time that it has paid, and since then.
    pub fn consumed_by(&self, job: &Job, now: Time) -> Consumption {
        let open = matches!(job.phase(), Phase::Running);
        let parts = job.parts().iter().filter(|_| open);
        job.consumed + parts.map(|part| self.consumed_in_part(job, part, now)).sum::<Consumption>()
    }

    /// What the nodes of a window consume if the job lasts to its end.
    pub fn consumption_in(&self, booking: &Booking, tasks: u32) -> Consumption {
        let parts = booking.parts(tasks);
        parts.iter().map(|it| self.consumption(it.share, (booking.start, it.end))).sum()
    }

    /// What the job may consume from now on, beside what it has paid for: with all its nodes to
    /// their limits, or in its booked window.
    fn held_power(&self, job: &Job) -> Consumption {
        match (job.phase(), &job.booking) {
            (Phase::Running, _) => {
                let parts = job.parts().iter();
                parts.map(|part| self.consumption_of(job, part, part.limit)).sum()
            }
            (Phase::Held(JobHold::Booked), Some(booking)) => {
                self.consumption_in(booking, job.nodes())
            }
            _ => Consumption::default(),
        }
    }

    /// What is held of each budget. Linear in the jobs that have nodes or windows; nothing to do
    /// where there are no budgets.
    pub fn power_held(&self) -> HeldPower {
        self.power_held_but(&BTreeSet::new())
    }

    /// The same without these jobs.
    fn power_held_but(&self, without: &BTreeSet<u64>) -> HeldPower {
        let mut held = HeldPower::new();
        if self.ledger.budgets.0.is_empty() {
            return held;
        }
        let lined = self.market.lined().map(|(job, _)| job);
        let ids = self.market.running().map(|it| it.job).chain(lined);
        let all = Why::Booked(PoolId(0), 0)..=Why::Booked(PoolId(u32::MAX), u64::MAX);
        let booked = self.outages.open.range(all).filter_map(|(why, _)| match why {
            Why::Booked(_, job) => Some(*job),
            _ => None,
        });
        let numbers = ids.filter_map(|id| self.jobs.numbers.get(&id).copied()).chain(booked);
        let numbers: BTreeSet<u64> = numbers.filter(|it| !without.contains(it)).collect();
        for job in numbers.iter().filter_map(|number| self.jobs.get(number)) {
            let most = self.held_power(job);
            for holder in
                job.budget_holders().into_iter().filter(|it| self.ledger.budgets.0.contains_key(it))
            {
                *held.entry(holder).or_default() += most;
            }
        }
        held
    }

    /// Which budget of these holders leaves less than `need`, in words.
    fn over_budget(
        &self,
        holders: &[BudgetHolder],
        held: &HeldPower,
        need: Consumption,
    ) -> Option<String> {
        holders.iter().find_map(|holder| {
            let budget = self.ledger.budgets.0.get(holder)?;
            let held = held.get(holder).copied().unwrap_or_default();
            let why = budget.exceeded(self.now(), held, need)?;
            Some(format!("{holder} has {why}"))
        })
    }

    /// The same for a window that is about to be booked for a user, or a project.
    pub(in crate::live) fn window_over_budget(
        &self,
        (user, project): (&str, Option<&str>),
        booking: &Booking,
        tasks: u32,
    ) -> Option<String> {
        let need = self.consumption_in(booking, tasks);
        self.over_budget(&holders_of(user, project), &self.power_held(), need)
    }
}

impl Live {
    /// Other limits count. Jobs that have nodes keep them.
    pub(in crate::live) fn limit_power(
        &mut self,
        at: Time,
        holder: BudgetHolder,
        limits: PowerLimits,
    ) -> Result<Result<Reply, Refusal>, ApplyError> {
        let account = match &holder {
            BudgetHolder::User(name) => Account::User(name.clone()),
            BudgetHolder::Project(name) => Account::Project(name.clone()),
        };
        if let Err(stranger) = self.state.may_receive(&account) {
            let hint = "`tradewind ledger --accounts` lists those that are known";
            return Ok(Err(Refusal::new(RefusalKind::Invalid, stranger.refusal.message, hint)));
        }
        if !limits.make_sense() {
            let hint = "leave a limit out to lift it";
            return Ok(Err(Refusal::new(RefusalKind::Invalid, "a limit is below 0", hint)));
        }
        let before = self.state.ledger.budgets.0.get(&holder).map(|it| it.limits);
        if before.unwrap_or_default() != limits {
            self.put(at, LedgerRecord::PowerLimited { holder, limits })?;
            self.mind_caps(at)?;
        }
        Ok(Ok(Reply::Done))
    }

    /// Pools on which the job would consume more now than is left of a budget, and why. Where all
    /// its nodes may be in each of the others, so may any part of them.
    pub(in crate::live) fn too_hungry(
        &self,
        job: &Job,
        demand: &Demand,
    ) -> BTreeMap<PoolId, String> {
        let holders = job.budget_holders();
        let (state, at) = (&self.state, self.present());
        if !holders.iter().any(|it| state.ledger.budgets.0.contains_key(it)) {
            return BTreeMap::new();
        }
        let held = self.power_held();
        let suits = |(_, pool): &(PoolId, &Pool)| pool.suits(demand);
        let why = |(id, pool): (PoolId, &Pool)| {
            let share = Share { pool: id, nodes: demand.processors };
            let need = state.consumption(share, (at, at + pool.length_of(demand)));
            let why = state.over_budget(&holders, held, need)?;
            Some((id, format!("{why} at {}", pool.name)))
        };
        state.market.pools().iter().filter(suits).filter_map(why).collect()
    }

    /// Why a job that has just been given its nodes may not keep them, if its budgets leave less.
    pub(in crate::live) fn exceeds_budgets(&self, job: &Job) -> Option<String> {
        // It is part of what is held; those that were decided with it come later.
        let held = self.state.power_held_but(self.undecided());
        self.state.over_budget(&job.budget_holders(), &held, Consumption::default())
    }
}
