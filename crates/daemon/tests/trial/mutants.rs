//! Mistakes that the checkers must see.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_daemon::live::money::Accounts;
use tradewind_daemon::live::record::SiteRecord;
use tradewind_daemon::live::sites::PutOffChange;
use tradewind_daemon::live::state::{Happening, Phase, Setback};
use tradewind_daemon::live::{Record, State};
use tradewind_model::{Money, SiteId};

/// A mistake that is made on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// Submissions are acknowledged though they could not be written down.
    AnswersTooSoon,
    /// A task whose submission was not answered is submitted under another name.
    HandsInAgain,
    /// A record is not written down.
    LosesARow,
    /// Money appears when the daemon starts.
    MakesMoney,
    /// A job's budget is forgotten.
    ForgetsABudget,
    /// A job of the market is forgotten.
    ForgetsANumber,
    /// A site gets no orders after some time.
    FallsSilent,
    /// Parts that are to begin together begin at once.
    NeverWaits,
    /// What waited for others without success is paid for.
    PaysForWaiting,
    /// An accepted offer is forgotten.
    ForgetsAnOffer,
    /// What the market is to pay for an offer that was not kept, the user pays.
    PaysForABreach,
    /// A task that is to be taken back is stopped, though its work may have begun.
    KillsForAPlan,
    /// How long the market's jobs have put off owners' jobs is forgotten.
    ForgetsDelays,
}

impl Mutant {
    /// All, with the checker that must catch it.
    pub(crate) const ALL: [(Mutant, &'static str); 13] = [
        (Mutant::AnswersTooSoon, "kept"),
        (Mutant::HandsInAgain, "once"),
        (Mutant::LosesARow, "replayed"),
        (Mutant::MakesMoney, "money"),
        (Mutant::ForgetsABudget, "budgets"),
        (Mutant::ForgetsANumber, "books"),
        (Mutant::FallsSilent, "finished"),
        (Mutant::NeverWaits, "together"),
        (Mutant::PaysForWaiting, "slips"),
        (Mutant::KillsForAPlan, "mercy"),
        (Mutant::ForgetsAnOffer, "offers"),
        (Mutant::PaysForABreach, "offers"),
        (Mutant::ForgetsDelays, "put-off"),
    ];

    /// What it does to the state when the daemon starts.
    pub(crate) fn spoil(self, state: &mut State) {
        match self {
            Mutant::MakesMoney if state.last_job() > 0 => {
                let mut balances: BTreeMap<_, _> =
                    state.accounts().balances().map(|(it, n)| (it.clone(), n)).collect();
                if let Some(first) = balances.values_mut().next() {
                    *first += 1;
                }
                state.ledger.accounts = Accounts::of(balances, vec![], 0);
            }
            Mutant::ForgetsABudget => {
                if let Some(job) = state.jobs.values_mut().find(|job| job.paid > Money(0)) {
                    let mut cheap = (*job.submission).clone();
                    cheap.terms.budget = Some(Money(0));
                    job.submission = Arc::new(cheap);
                }
            }
            Mutant::PaysForWaiting => {
                let slipped = |what: &Happening| {
                    matches!(what, Happening::Setback(Setback::BarrierTimedOut(..)))
                };
                let mut jobs = state.jobs.values_mut().filter(|job| job.phase() == Phase::Waiting);
                let job = jobs.find(|job| job.history.iter().any(|(_, what)| slipped(what)));
                if let Some(job) = job {
                    job.paid = Money(1);
                }
            }
            Mutant::ForgetsANumber => {
                state.jobs.numbers.pop_first();
            }
            Mutant::ForgetsAnOffer => {
                let mut jobs = state.jobs.values_mut();
                if let Some(job) = jobs.find(|job| job.promise().is_some()) {
                    job.promises.clear();
                }
            }
            Mutant::ForgetsDelays => {
                for site in 0..2 {
                    let known = state.put_off_at(SiteId(site));
                    let left = known.map_or(Vec::new(), |it| it.jobs.keys().cloned().collect());
                    let change = PutOffChange { began: vec![], paused: vec![], left };
                    let record = Record::Site(SiteRecord::PutOff { site, change });
                    state.apply(state.now(), &record).unwrap();
                }
            }
            Mutant::PaysForABreach => {
                let mut jobs = state.jobs.values_mut();
                if let Some(job) = jobs.find(|job| job.covered > Money(0)) {
                    job.paid += std::mem::take(&mut job.covered);
                }
            }
            _ => {}
        }
    }
}
