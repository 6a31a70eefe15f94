//! Windows of jobs whose tasks differ. No policy knows such jobs: each gets a window for all of its
//! groups, which is booked like an accepted offer, and starts in it.

use tradewind_model::{Attribute, Demand, Pools, Request, Time};

use crate::live::answer::{Refusal, RefusalKind};
use crate::live::jobs::within_budget;
use crate::live::record::JobRecord;
use crate::live::state::jobs::{BookedPart, Booking};
use crate::live::state::{Job, JobHold, Phase};
use crate::live::{ApplyError, Live};

impl Booking {
    /// Whether each group of tasks that is asked for has its nodes in it, which suit and are kept for
    /// as long as the group takes there; a job of equal tasks needs a window without groups.
    pub(in crate::live) fn serves(&self, demand: &Demand, pools: &Pools) -> bool {
        let Some(parts) = &self.groups else { return demand.terms().groups.is_none() };
        let request = demand.request();
        let is_known = |part: &BookedPart| (part.group as usize) < request.group_count();
        let served = |(number, group): (u32, Request)| {
            let own = || parts.iter().filter(move |part| part.group == number);
            let nodes: u64 = own().map(|part| u64::from(part.share.nodes)).sum();
            nodes == u64::from(group.tasks) && own().all(|part| self.suits(part, &group, pools))
        };
        let is_asked_for = demand.terms().groups.is_some();
        is_asked_for && parts.iter().all(is_known) && (0..).zip(request.groups()).all(served)
    }

    fn suits(&self, part: &BookedPart, group: &Request, pools: &Pools) -> bool {
        let pool = pools.pool(part.share.pool);
        let length = group.times.at(pool.times).length_of(group.work, pool.performance);
        let mut wanted = group.attributes.iter();
        part.end - self.start == length
            && group.min_performance.is_none_or(|min| pool.performance >= min)
            && wanted.all(|(name, it)| Attribute::meets(pool.attributes.get(name), it))
    }
}

impl Job {
    /// Whether its tasks differ, and no window is booked for it.
    pub(in crate::live) fn awaits_window(&self) -> bool {
        self.submission.terms.groups.is_some() && (self.booking.is_none() || self.lost_window())
    }

    /// For which group of tasks its part at this place is, if its tasks differ.
    pub fn group_of(&self, place: usize) -> Option<u32> {
        let groups = self.booking.as_ref()?.groups.as_ref()?;
        groups.get(place).map(|part| part.group)
    }
}

impl Live {
    /// The waiting jobs whose tasks differ leave the queue before a policy is asked: they go back to
    /// their windows, or wait for others. Linear in the jobs of this kind that are not over.
    pub(in crate::live) fn take_grouped_out(&mut self, at: Time) -> Result<(), ApplyError> {
        let waits = |number: &&u64| {
            self.state.jobs.get(number).is_some_and(|job| job.phase() == Phase::Waiting)
        };
        let waiting: Vec<u64> = self.index.grouped.iter().filter(waits).copied().collect();
        for number in waiting {
            let promise = self.state.jobs.get(&number).and_then(Job::open_promise);
            match promise.is_some_and(|promise| at <= promise.latest()) {
                true => self.back_to_window(at, number)?,
                false => self.put(at, JobRecord::Left { job: number, hold: JobHold::Window })?,
            }
        }
        Ok(())
    }

    /// Jobs that wait for a window to be booked, by their numbers, with their users.
    pub fn unplaced(&self) -> Vec<(u64, String)> {
        let job = |number: &u64| {
            let job = self.state.jobs.get(number)?;
            let waits = job.phase() == Phase::Held(&JobHold::Window);
            waits.then(|| (*number, job.user.clone()))
        };
        self.index.grouped.iter().filter_map(job).collect()
    }

    /// What a job that waits for a window asks for, with what is left of its budget.
    ///
    /// # Errors
    /// If it waits for none, or no nodes could ever meet it.
    pub fn unplaced_demand(&self, number: u64) -> Result<Demand, Refusal> {
        let waits = |job: &&Job| job.phase() == Phase::Held(&JobHold::Window);
        let job = self.state.jobs.get(&number).filter(waits);
        let none = || Refusal::new(RefusalKind::Unknown, "the job waits for no window", "");
        let job = job.ok_or_else(none)?;
        let chosen = self.chosen_of(Some(number), &job.user, &job.submission, None)?;
        Ok(within_budget(job, chosen)?.demand)
    }
}
