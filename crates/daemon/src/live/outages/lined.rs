//! A site's queue with the market's tasks in it, for sites whose queue the market's jobs wait in
//! (`in-line`).
//!
//! The look-ahead is at the whole queue: the owners' jobs, and the market's tasks at the places that
//! the site's manager gives them. What is announced as load to come is only what stands before one
//! more job of the market, and the market's jobs that were sent ahead: owners' jobs of lower priority
//! take nothing away. So the earliest place that any search finds beside the announced load is the
//! turn of a new job in that queue. Under conservative backfilling this is exact; under EASY its turn
//! may come earlier.

use tradewind_model::{SiteId, Span, Time};
use tradewind_sched::policy::owners::{self, Eligible, OwnersJob};

use super::owners::Groups;
use crate::live::Live;
use crate::live::jobs::line::SiteLine;
use crate::live::state::Job;
use crate::site::Survey;
use crate::site::queued::QueuedJob;

/// The owners' jobs of a survey, as the look-ahead has them.
pub(super) struct Owners<'a> {
    pub(super) groups: &'a Groups,
    pub(super) waiting: Vec<OwnersJob>,
}

/// The same with the market's tasks between them.
pub(super) struct JoinedLine {
    pub(super) waiting: Vec<OwnersJob>,
    /// By job of `waiting`: whether its load is announced.
    pub(super) counts: Vec<bool>,
    /// By job of the survey: its first one in `waiting`.
    pub(super) first: Vec<usize>,
    /// The market's tasks among them: where, and of which job.
    pub(super) own: Vec<(usize, u64)>,
}

/// A task of the market in the site's queue.
struct LinedTask {
    /// How many jobs of the survey are before it.
    rank: usize,
    job: u64,
    /// Whether it was sent ahead: the nodes of others are counted already.
    is_lined: bool,
    what: OwnersJob,
}

impl Live {
    /// The site's queue for the look-ahead; without the market's tasks where those stand behind it.
    pub(super) fn line_at(
        &mut self,
        at: Time,
        site: SiteId,
        survey: &Survey,
        owners: Owners<'_>,
    ) -> JoinedLine {
        let Some(settings) = self.in_line(site) else { return JoinedLine::behind(owners) };
        self.learn_line(site, survey);
        let place = self.place_of_new(site, survey, settings.priority);
        let own = self.state.waiting_at(site, survey);
        let mut own: Vec<LinedTask> = own
            .filter_map(|(tag, job)| {
                let seen = survey.own.get(&tag).map(|own| own.rank as usize);
                let rank = seen.unwrap_or(place).min(survey.queue.len());
                let is_lined = self.state.is_lined(job);
                Some(LinedTask { rank, job: job.number, is_lined, what: own_job(at, job)? })
            })
            .collect();
        own.sort_by_key(|own| (own.rank, own.job));
        JoinedLine::with(owners, own, place)
    }

    /// What is seen of the queue, for new jobs.
    fn learn_line(&mut self, site: SiteId, survey: &Survey) {
        let is_busy = !survey.queue.is_empty() || survey.queue_beyond > 0;
        let is_busy = is_busy || survey.pools.iter().any(|pool| !pool.local.is_empty());
        let lowest = survey.own.values().filter_map(|own| own.priority).min();
        let before = self.lines.sites.get(&site).and_then(|line| line.priority);
        let line = SiteLine { is_busy, priority: lowest.or(before) };
        self.lines.sites.insert(site, line);
    }

    /// How many jobs of the survey a new job of the market would have before it: those of its
    /// priority or a higher one, and those whose priority is not known. Where the manager orders by
    /// submission, or nothing is known of its priority, all of them.
    fn place_of_new(&self, site: SiteId, survey: &Survey, configured: Option<u64>) -> usize {
        let rule = survey.limits.as_ref().and_then(|limits| limits.queue);
        let is_ranked = rule.is_some_and(|rule| rule.changes_order);
        let seen = self.lines.sites.get(&site).and_then(|line| line.priority);
        let Some(own) = configured.or(seen.filter(|_| is_ranked)) else {
            return survey.queue.len();
        };
        let is_before = |job: &QueuedJob| job.priority.is_none_or(|priority| priority >= own);
        survey.queue.iter().rposition(is_before).map_or(0, |last| last + 1)
    }
}

/// The task of a job with one part, as the look-ahead has it.
fn own_job(at: Time, job: &Job) -> Option<OwnersJob> {
    let part = job.parts().first()?;
    Some(OwnersJob {
        pools: [part.pool].into(),
        nodes: part.nodes,
        limit: part.limit.clamp(Span(1), owners::MAX_LIMIT),
        eligible: Eligible::From(at),
        after: Vec::new(),
        count: 1,
        reserves: true,
    })
}

impl JoinedLine {
    fn behind(owners: Owners<'_>) -> JoinedLine {
        let counts = vec![true; owners.waiting.len()];
        let first = owners.groups.first.clone();
        JoinedLine { waiting: owners.waiting, counts, first, own: Vec::new() }
    }

    /// With the market's tasks, which are in the order of their ranks; a new one would be at `place`.
    fn with(owners: Owners<'_>, own: Vec<LinedTask>, place: usize) -> JoinedLine {
        let Owners { groups, waiting } = owners;
        let mut line = JoinedLine {
            waiting: Vec::new(),
            counts: Vec::new(),
            first: Vec::new(),
            own: Vec::new(),
        };
        let ends = groups.first.iter().skip(1).copied().chain([waiting.len()]);
        let mut jobs = waiting.into_iter();
        let mut own = own.into_iter().peekable();
        // By place among the owners' jobs: the place in the whole queue.
        let mut moved = Vec::new();
        for (rank, (&first, end)) in groups.first.iter().zip(ends).enumerate() {
            while let Some(next) = own.next_if(|own| own.rank <= rank) {
                line.push_own(next);
            }
            line.first.push(line.waiting.len());
            for job in jobs.by_ref().take(end - first) {
                moved.push(line.waiting.len());
                line.waiting.push(job);
                line.counts.push(rank < place);
            }
        }
        own.for_each(|own| line.push_own(own));
        let after = line.waiting.iter_mut().flat_map(|job| &mut job.after);
        after.for_each(|index| *index = moved.get(*index).copied().unwrap_or(usize::MAX));
        line
    }

    fn push_own(&mut self, own: LinedTask) {
        self.own.push((self.waiting.len(), own.job));
        self.waiting.push(own.what);
        self.counts.push(own.is_lined);
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::PoolId;

    use super::*;

    fn job(nodes: u32) -> OwnersJob {
        OwnersJob {
            pools: [PoolId(0)].into(),
            nodes,
            limit: Span(60),
            eligible: Eligible::From(Time(0)),
            after: Vec::new(),
            count: 1,
            reserves: true,
        }
    }

    #[test]
    fn tasks_of_the_market_move_the_others() {
        // The second job of the survey is an array of two groups; the last waits for its last group.
        let mut waiting = vec![job(1), job(2), job(3), job(4)];
        waiting[2].after = vec![1];
        waiting[3].after = vec![2, 9];
        let groups = Groups { pools: vec![PoolId(0)], first: vec![0, 1, 3] };
        let own =
            [(1, 7, true), (1, 8, false), (3, 9, true)].map(|(rank, job_number, is_lined)| {
                LinedTask { rank, job: job_number, is_lined, what: job(10) }
            });
        let line = JoinedLine::with(Owners { groups: &groups, waiting }, own.into(), 2);
        let nodes: Vec<u32> = line.waiting.iter().map(|job| job.nodes).collect();
        assert_eq!(nodes, [1, 10, 10, 2, 3, 4, 10]);
        assert_eq!(line.first, [0, 3, 5]);
        assert_eq!(line.own, [(1, 7), (2, 8), (6, 9)]);
        assert_eq!(line.counts, [true, true, false, true, true, false, true]);
        assert_eq!(line.waiting[4].after, [3]);
        assert_eq!(line.waiting[5].after, [4, usize::MAX], "a job that is not there");
    }
}
