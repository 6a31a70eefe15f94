//! One walk over the jobs for the first page: its cards, alerts and list all come from it.

use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::state::{Job, JobHold, Phase};

use super::jobs::failed_lately;
use crate::views::failures;
use crate::views::status::{Moment, StatusGroup, group};
use crate::views::words::started;

/// What there is of jobs, for one reader.
#[derive(Debug, Default)]
pub(super) struct Census<'a> {
    /// Jobs that the reader may see, by list.
    pub(super) running: usize,
    pub(super) waiting: usize,
    pub(super) held: usize,
    pub(super) booked: usize,
    /// In the last day.
    pub(super) failed: usize,
    /// When the one that waits longest was submitted, and the one that runs longest began.
    pub(super) oldest: Option<i64>,
    pub(super) longest: Option<i64>,
    /// The reader's own that failed in the last day, and that do not go on by themselves.
    pub(super) own_failed: Vec<&'a Job>,
    pub(super) own_stuck: Vec<&'a Job>,
    /// The reader's own that are not over: whether no site keeps it waiting, when it starts or started
    /// (the largest number: not known), and itself.
    pub(super) own: Vec<(bool, i64, &'a Job)>,
    /// The reader's own that starts next: when, and its number.
    pub(super) next: Option<(i64, u64)>,
    /// Nodes, of all jobs, on which work runs.
    pub(super) at_work: u32,
}

impl<'a> Census<'a> {
    /// O(n) for n jobs, and O(m log p) for m of the reader's own and p that are planned.
    pub(super) fn new(moment: &Moment<'a>, actor: &Actor) -> Census<'a> {
        let mut census = Census::default();
        for job in moment.state.jobs.values() {
            census.at_work += at_work(moment, job);
            if actor.may_act_for(&job.user) {
                census.count(moment, job);
            }
            if job.user == actor.user {
                census.take_own(moment, job);
            }
        }
        census
    }

    fn count(&mut self, moment: &Moment<'_>, job: &Job) {
        let sooner = |before: &mut Option<i64>, at: Option<i64>| {
            *before = before.iter().copied().chain(at).min();
        };
        match group(moment.state, job) {
            StatusGroup::Running => {
                self.running += 1;
                sooner(&mut self.longest, started(job).map(|at| at.0));
            }
            StatusGroup::Waiting => {
                self.waiting += 1;
                sooner(&mut self.oldest, Some(job.submitted.0));
            }
            StatusGroup::Held => self.held += 1,
            StatusGroup::Booked => self.booked += 1,
            StatusGroup::Over if failed_lately(moment, job) => self.failed += 1,
            StatusGroup::Over | StatusGroup::Unknown => {}
        }
    }

    fn take_own(&mut self, moment: &Moment<'_>, job: &'a Job) {
        match job.phase() {
            Phase::Over(_) => {
                if failed_lately(moment, job) {
                    self.own_failed.push(job);
                }
                return;
            }
            Phase::Held(JobHold::User | JobHold::Dependency | JobHold::Array | JobHold::Booked) => {
            }
            Phase::Held(_) => self.own_stuck.push(job),
            _ => {}
        }
        let expected = moment.start_of(job).map(|at| at.0);
        if let Some(at) = expected {
            self.next = self.next.into_iter().chain([(at, job.number)]).min();
        }
        let start = expected.or(started(job).map(|at| at.0)).unwrap_or(i64::MAX);
        let is_well = failures::of_job(moment.state, job).is_empty();
        self.own.push((is_well, start, job));
    }
}

/// Nodes on which the job's work runs.
fn at_work(moment: &Moment<'_>, job: &Job) -> u32 {
    let parts = job.parts().iter().filter(|_| job.phase() == Phase::Running);
    let at_work = parts.filter(|part| {
        part.exit.is_none() && job.works_since(part).is_some_and(|since| since <= moment.now)
    });
    at_work.map(|part| part.nodes).sum()
}
