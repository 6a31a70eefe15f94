//! How long jobs will run, learned from those that have ended, for a market that plans by it
//! ([`Estimates::Learned`]).
//!
//! When a job joins the queue, the record says how long it is expected to run, so that a journal
//! needs no learner. What came of it is kept in the state: the last runs, a bounded number. The
//! learner is that of replays ([`Learned`]) and follows from these runs alone; after a restart it
//! predicts the same. It also gets what logs do not say: a job's project, name and script
//! ([`JobTraits`](tradewind_sched::predict::JobTraits)). Runs are counted as work, in seconds of a node of performance 1, so that what
//! was learned at one site is true at others; of the pools where a job may run the slowest one
//! decides: there its limit is the smallest amount of work.
//!
//! Limits are used instead of a prediction
//!
//! - for users of whom too few runs are known, or of whom the learner says that requests were closer;
//! - for jobs with a budget or a deadline, which are checked against the limit;
//! - as long as the first job of the queue has waited for so long that the policy `learned` would
//!   protect it: jobs that run for longer than predicted may have delayed it.

use std::collections::BTreeMap;

use tradewind_io::settings::Estimates;
use tradewind_model::{Demand, Pool, Span, Time, TimeMode, Times};
use tradewind_sched::policy::learned;
use tradewind_sched::predict::{Learned, Prediction, Submission};

use super::Live;
use crate::live::state::lengths::{Lengths, PastRun, traits_of, work_of};
use crate::live::state::{Happening, Job, State};

/// What the kept runs teach, as far as it was asked for.
#[derive(Debug, Default)]
pub(super) struct LengthLearner {
    learner: Learned,
    /// The first run that it has learned from, and the next.
    first: u64,
    next: u64,
    /// Runs by user.
    known: BTreeMap<i64, u32>,
}

impl LengthLearner {
    /// With fewer runs of a user, limits are used.
    const ENOUGH: u32 = 8;

    /// Learns from runs that are new; from all that are kept, if old ones were dropped.
    pub(super) fn follow(&mut self, lengths: &Lengths) {
        let first = lengths.runs.first_key_value().map_or(0, |(number, _)| *number);
        if first != self.first {
            *self = LengthLearner { first, next: first, ..LengthLearner::default() };
        }
        for (number, past) in lengths.runs.range(self.next..) {
            let PastRun { user, processors, requested, longest, median, run, traits } = *past;
            let what = Submission { user, processors, requested, at: Time(0), traits };
            self.learner.learn_up_to(&what, longest, (median, run));
            *self.known.entry(user).or_insert(0) += 1;
            self.next = number + 1;
        }
    }

    /// Whether the user is known well enough, and what is predicted of a job.
    #[cfg(test)]
    pub(super) fn says(&self, user: i64) -> (bool, Prediction) {
        let (requested, at, traits) =
            (Span(36_000), Time(0), tradewind_sched::predict::JobTraits::default());
        let what = Submission { user, processors: 1, requested, at, traits };
        (self.knows(user), self.learner.predict(&what))
    }

    fn knows(&self, user: i64) -> bool {
        self.known.get(&user).is_some_and(|runs| *runs >= LengthLearner::ENOUGH)
    }
}

impl Live {
    /// The demand of a job that joins the queue with what is expected of it, and the work that the
    /// learner says, whether or not it is used. `None`: the market does not learn.
    pub(super) fn foresee(
        &mut self,
        at: Time,
        number: u64,
        demand: Demand,
    ) -> (Demand, Option<Span>) {
        let Some(job) = self.state.jobs.get(&number) else { return (demand, None) };
        if self.settings.estimates == Estimates::Requested {
            return (demand, None);
        }
        self.lengths.follow(&self.state.lengths);
        let (terms, traits) = (demand.terms(), traits_of(&job.submission));
        let (user, processors, requested) = (terms.user, demand.processors, demand.estimate);
        let is_checked = terms.budget.is_some() || terms.deadline.is_some();
        let pools = self.state.market.pools().as_slice().iter();
        let work = |pool: &Pool| work_of(pool, demand.mode(), requested);
        let least = pools.filter(|pool| pool.suits(&demand)).min_by_key(|pool| work(pool));
        let Prediction { forecast, median } = self.lengths.learner.predict_up_to(
            &Submission { user, processors, requested, at, traits },
            least.map_or(requested, work).max(Span(1)),
        );
        let is_used = self.lengths.knows(user) && !is_checked && !self.state.one_waits_long(at);
        let counted =
            least.map_or(forecast.median, |pool| counted_by(pool, demand.mode(), forecast.median));
        let expected = Some(counted).filter(|it| is_used && *it < requested);
        (Demand { expected, ..demand }, Some(median))
    }
}

/// The time, as it is counted by `mode`, that so much work takes in the pool.
fn counted_by(pool: &Pool, mode: TimeMode, work: Span) -> Span {
    match mode.at(pool.times) {
        Times::Work => work,
        Times::Wall => pool.performance.length_of(work),
    }
}

impl State {
    /// Whether the first job of the queue has waited for as long as the policy `learned` lets a job
    /// wait before it is protected.
    fn one_waits_long(&self, now: Time) -> bool {
        let market = &self.market;
        let head =
            market.head().and_then(|id| Some((market.demand(id)?, self.jobs.numbers.get(&id)?)));
        let Some((demand, number)) = head else { return false };
        let since = self.jobs.get(number).and_then(queued_at);
        let long =
            learned::LearnedSettings::default().unprotected(demand.processors, market.processors());
        since.is_some_and(|since| now - since >= long)
    }
}

/// When the job joined the queue last.
fn queued_at(job: &Job) -> Option<Time> {
    let joined = |(_, what): &&(Time, Happening)| matches!(what, Happening::Queued);
    job.history.iter().rev().find(joined).map(|(at, _)| *at)
}
