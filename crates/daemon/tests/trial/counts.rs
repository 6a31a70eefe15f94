//! How much happened in generated worlds.

use tradewind_daemon::live::Record;
use tradewind_daemon::live::record::{JobRecord, OfferRecord, TaskRecord};

use crate::world::World;

/// What happened, to know that enough does.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) steps: u64,
    /// Jobs whose parts came together, and those that did not.
    pub(crate) gathered: u64,
    pub(crate) slipped: u64,
    /// Of the first, those whose tasks differ.
    pub(crate) grouped: u64,
    /// Of the first, those of which every site reported the start.
    pub(crate) launched: u64,
    /// The same of jobs whose parts begin each by themselves.
    pub(crate) apart: u64,
    /// Windows that a site would not keep free.
    pub(crate) unkept: u64,
    /// Jobs that were to be taken back, and tasks that had begun by then.
    pub(crate) recalled: u64,
    pub(crate) resumed: u64,
    /// Tasks that were seen held at their sites.
    pub(crate) held: u64,
    /// Jobs that were planned again after they had paid.
    pub(crate) settled: u64,
    /// Accepted offers that were kept, and those that were stated as broken.
    pub(crate) offers_kept: u64,
    pub(crate) breached: u64,
    /// Jobs of which the market paid a part.
    pub(crate) covered: u64,
    /// Jobs that were sent to the queue of a site, and those that it started.
    pub(crate) lined: u64,
    pub(crate) turns: u64,
    /// Forecasts of starts.
    pub(crate) forecasts: u64,
    /// Jobs that ran and were requeued.
    pub(crate) requeued: u64,
    /// Tasks that were notified.
    pub(crate) told: u64,
    /// Preemptible jobs that were given notice.
    pub(crate) noticed: u64,
    /// Changes of jobs that wait.
    pub(crate) updated: u64,
    /// Times that an owner's job was put off for longer than any before.
    pub(crate) put_off: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.steps += more.steps;
        self.gathered += more.gathered;
        self.slipped += more.slipped;
        self.grouped += more.grouped;
        self.launched += more.launched;
        self.apart += more.apart;
        self.unkept += more.unkept;
        self.recalled += more.recalled;
        self.resumed += more.resumed;
        self.held += more.held;
        self.settled += more.settled;
        self.offers_kept += more.offers_kept;
        self.breached += more.breached;
        self.covered += more.covered;
        self.lined += more.lined;
        self.turns += more.turns;
        self.forecasts += more.forecasts;
        self.requeued += more.requeued;
        self.updated += more.updated;
        self.put_off += more.put_off;
        self.noticed += more.noticed;
        self.told += more.told;
    }
}

impl World {
    /// A record was written down.
    pub(crate) fn count(&mut self, record: &Record) {
        match record {
            Record::Offer(OfferRecord::Kept { .. }) => self.counts.offers_kept += 1,
            Record::Offer(OfferRecord::Breached { .. }) => self.counts.breached += 1,
            Record::Job(JobRecord::BarrierReached { job: number, at }) => {
                self.counts.gathered += 1;
                let live = self.daemon.as_ref().map(|(live, _)| live.state());
                let job = live.and_then(|state| state.jobs.get(number));
                let groups = job.and_then(|job| job.submission.terms.groups.as_ref());
                self.counts.grouped += u64::from(groups.is_some());
                self.promises.gathered.entry(*number).or_default().insert(*at);
            }
            Record::Job(JobRecord::BarrierTimedOut { .. }) => self.counts.slipped += 1,
            Record::Job(JobRecord::Launched { job, .. }) => {
                let live = self.daemon.as_ref().map(|(live, _)| live.state());
                let job = live.and_then(|state| state.jobs.get(job));
                match job.is_some_and(|job| job.barrier().is_some()) {
                    true => self.counts.launched += 1,
                    false => self.counts.apart += 1,
                }
            }
            Record::Job(JobRecord::NoticeGiven { .. }) => self.counts.noticed += 1,
            Record::Job(JobRecord::Lined { .. }) => self.counts.lined += 1,
            Record::Job(JobRecord::Forecast { .. }) => self.counts.forecasts += 1,
            Record::Job(JobRecord::TurnCame { .. }) => self.counts.turns += 1,
            Record::Job(JobRecord::Unkept { .. }) => self.counts.unkept += 1,
            Record::Job(JobRecord::Recalling { .. }) => self.counts.recalled += 1,
            Record::Job(JobRecord::Settled { .. }) => self.counts.settled += 1,
            Record::Task(TaskRecord::HeldThere { why: Some(_), .. }) => self.counts.held += 1,
            Record::Task(TaskRecord::Resumed { .. }) => self.counts.resumed += 1,
            Record::Job(JobRecord::Stopping { job } | JobRecord::Cancelling { job, .. }) => {
                self.promises.stopped.insert(*job);
            }
            Record::Job(JobRecord::Updated { .. }) => self.counts.updated += 1,
            Record::Job(JobRecord::Requeueing { job, .. }) => {
                self.promises.stopped.insert(*job);
                self.promises.requeued.insert(*job);
                self.counts.requeued += 1;
            }
            _ => {}
        }
    }
}
