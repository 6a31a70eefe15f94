//! How long jobs will run, learned from those that have ended, for a market that plans by it
//! ([`Estimates::Learned`]).
//!
//! When a job joins the queue, the record says how long it is expected to run, so that a journal
//! needs no learner. What came of it is kept in the state: the last runs, a bounded number. The
//! learner is that of replays ([`Learned`]) and follows from these runs alone; after a restart it
//! predicts the same.
//!
//! Limits are used instead of a prediction
//!
//! - for users of whom too few runs are known, or of whom the learner says that requests were closer;
//! - for jobs with a budget or a deadline, which are checked against the limit;
//! - as long as the first job of the queue has waited for so long that the policy `learned` would
//!   protect it: jobs that run for longer than predicted may have delayed it.

use std::collections::BTreeMap;

use tradewind_io::settings::Estimates;
use tradewind_model::{Demand, Span, Time};
use tradewind_sched::policy::learned;
use tradewind_sched::predict::{Learned, Prediction, Submission};

use super::state::{Happening, Job, State};
use super::{ApplyError, Live};

/// A job that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PastRun {
    /// The user's place among all.
    pub(crate) user: i64,
    pub(crate) processors: u32,
    /// Its limit.
    pub(crate) requested: Span,
    /// The median that was predicted, used or not.
    pub(crate) median: Span,
    /// What it used of the limit.
    pub(crate) run: Span,
}

/// The last runs, by number in the order of their ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) runs: BTreeMap<u64, PastRun>,
}

impl Lengths {
    /// Runs that are kept at least; there are never twice as many.
    const KEPT: u64 = 2_048;

    pub(super) fn add(&mut self, run: PastRun) {
        let next = self.runs.last_key_value().map_or(0, |(number, _)| number + 1);
        self.runs.insert(next, run);
        if self.runs.len() as u64 >= 2 * Lengths::KEPT {
            self.runs = self.runs.split_off(&(next + 1 - Lengths::KEPT));
        }
    }
}

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
            let PastRun { user, processors, requested, median, run } = *past;
            let what = Submission { user, processors, requested, at: Time(0) };
            self.learner.learn(&what, median, run);
            *self.known.entry(user).or_insert(0) += 1;
            self.next = number + 1;
        }
    }

    /// Whether the user is known well enough, and what is predicted of a job.
    #[cfg(test)]
    pub(super) fn says(&self, user: i64) -> (bool, Prediction) {
        let what = Submission { user, processors: 1, requested: Span(36_000), at: Time(0) };
        (self.knows(user), self.learner.predict(&what))
    }

    fn knows(&self, user: i64) -> bool {
        self.known.get(&user).is_some_and(|runs| *runs >= LengthLearner::ENOUGH)
    }
}

impl Live {
    /// The demand of a job that joins the queue with what is expected of it, and the median that the
    /// learner says, whether or not it is used. `None`: the market does not learn.
    pub(super) fn foresee(&mut self, at: Time, demand: Demand) -> (Demand, Option<Span>) {
        if self.settings.estimates == Estimates::Requested {
            return (demand, None);
        }
        self.lengths.follow(&self.state.lengths);
        let terms = demand.terms();
        let (user, processors, requested) = (terms.user, demand.processors, demand.estimate);
        let is_checked = terms.budget.is_some() || terms.deadline.is_some();
        let Prediction { forecast, median } =
            self.lengths.learner.predict(&Submission { user, processors, requested, at });
        let is_used = self.lengths.knows(user) && !is_checked && !self.state.one_waits_long(at);
        let expected = Some(forecast.median).filter(|it| is_used && *it < requested);
        (Demand { expected, ..demand }, Some(median))
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

    /// A job that was predicted is over: what it used is kept.
    pub(super) fn keep_run(&mut self, number: u64) -> Result<(), ApplyError> {
        let job = self.jobs.get(&number).ok_or(ApplyError::Job(number))?;
        let run = job.foreseen.zip(job.ran()).and_then(|(median, (run, requested))| {
            let user = self.jobs.users.iter().position(|user| *user == job.user)? as i64;
            Some(PastRun { user, processors: job.nodes(), requested, median, run })
        });
        run.into_iter().for_each(|run| self.lengths.add(run));
        Ok(())
    }
}

/// When the job joined the queue last.
fn queued_at(job: &Job) -> Option<Time> {
    let joined = |(_, what): &&(Time, Happening)| matches!(what, Happening::Queued);
    job.history.iter().rev().find(joined).map(|(at, _)| *at)
}
