//! One walk over the jobs for the first pages of all readers: their cards, alerts and lists come from
//! it. As long as nothing happens it is kept, so that a thousand open pages cost one walk.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tradewind_daemon::live::Live;
use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::state::{Job, JobHold, Phase};

use super::cache::PageContext;
use super::jobs::failed_lately;
use crate::blocking::blocking;
use crate::failure::Answer;
use crate::views::failures;
use crate::views::status::{Moment, StatusGroup, group};
use crate::views::words::started;

/// A census is of now for so long, if nothing happens: work begins at a moment of its own.
const FRESH: Duration = Duration::from_secs(2);

/// What there is of jobs.
#[derive(Debug, Default)]
pub(crate) struct Census {
    users: BTreeMap<String, OwnJobs>,
    /// Nodes, of all jobs, on which work runs.
    pub(super) at_work: u32,
}

/// What there is of some users' jobs.
#[derive(Debug, Default)]
pub(super) struct CardCounts {
    /// By list.
    pub(super) running: usize,
    pub(super) waiting: usize,
    pub(super) held: usize,
    pub(super) booked: usize,
    /// In the last day.
    pub(super) failed: usize,
    /// When the one that waits longest was submitted, and the one that runs longest began.
    pub(super) oldest: Option<i64>,
    pub(super) longest: Option<i64>,
}

/// What there is of one user's jobs, by their numbers.
#[derive(Debug, Default)]
pub(super) struct OwnJobs {
    counts: CardCounts,
    /// Those that failed in the last day, and that do not go on by themselves.
    pub(super) failed: Vec<u64>,
    pub(super) stuck: Vec<u64>,
    /// Those that are not over, in this order: whether neither a site nor a silent peer keeps it, when it starts or
    /// started (the largest number: not known), and its number.
    pub(super) open: Vec<(bool, i64, u64)>,
    /// The one that starts next: when, and its number.
    pub(super) next: Option<(i64, u64)>,
}

/// The last census, for all readers.
#[derive(Debug, Default)]
pub(crate) struct LastCensus(Mutex<Option<KeptCensus>>);

#[derive(Debug)]
struct KeptCensus {
    census: Arc<Census>,
    /// The journal's row that it shows, or one before.
    seq: u64,
    planned: Option<i64>,
    made: Instant,
}

impl LastCensus {
    /// What there is of jobs now: counted once per row of the journal and plan of the queue, for all
    /// readers; requests that come meanwhile wait for it.
    pub(super) async fn of(&self, context: &PageContext) -> Answer<Arc<Census>> {
        let mut last = self.0.lock().await;
        let seq = context.market.gauges().last_row();
        let advisor = Arc::clone(&context.advisor);
        let plan = blocking(move || advisor.plan()).await?;
        let planned = plan.as_ref().map(|plan| plan.queue.queue_as_of);
        let is_now =
            |it: &&KeptCensus| (it.seq, it.planned) == (seq, planned) && it.made.elapsed() < FRESH;
        if let Some(kept) = last.as_ref().filter(is_now) {
            return Ok(Arc::clone(&kept.census));
        }
        let made = Instant::now();
        let look = move |live: &Live| Census::new(&Moment::new(live.state(), plan.as_deref()));
        let census = Arc::new(context.look(look).await?);
        *last = Some(KeptCensus { census: Arc::clone(&census), seq, planned, made });
        Ok(census)
    }
}

impl Census {
    /// O(n log n) for n jobs.
    fn new(moment: &Moment<'_>) -> Census {
        let mut census = Census::default();
        for job in moment.state.jobs.values() {
            census.at_work += at_work(moment, job);
            if !census.users.contains_key(&job.user) {
                census.users.insert(job.user.clone(), OwnJobs::default());
            }
            if let Some(own) = census.users.get_mut(&job.user) {
                own.take(moment, job);
            }
        }
        census.users.values_mut().for_each(|own| own.open.sort_unstable());
        census
    }

    /// Of the jobs that the reader may see.
    pub(super) fn seen_by(&self, actor: &Actor) -> CardCounts {
        let seen = self.users.iter().filter(|(user, _)| actor.may_act_for(user));
        seen.fold(CardCounts::default(), |sum, (_, own)| sum.and(&own.counts))
    }

    /// The reader's own jobs, if there were some.
    pub(super) fn own(&self, actor: &Actor) -> Option<&OwnJobs> {
        self.users.get(&actor.user)
    }
}

fn sooner(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}

impl CardCounts {
    fn and(self, other: &CardCounts) -> CardCounts {
        CardCounts {
            running: self.running + other.running,
            waiting: self.waiting + other.waiting,
            held: self.held + other.held,
            booked: self.booked + other.booked,
            failed: self.failed + other.failed,
            oldest: sooner(self.oldest, other.oldest),
            longest: sooner(self.longest, other.longest),
        }
    }
}

impl OwnJobs {
    fn take(&mut self, moment: &Moment<'_>, job: &Job) {
        let counts = &mut self.counts;
        match group(moment.state, job) {
            StatusGroup::Running => {
                counts.running += 1;
                counts.longest = sooner(counts.longest, started(job).map(|at| at.0));
            }
            StatusGroup::Waiting => {
                counts.waiting += 1;
                counts.oldest = sooner(counts.oldest, Some(job.submitted.0));
            }
            StatusGroup::Held => counts.held += 1,
            StatusGroup::Booked => counts.booked += 1,
            StatusGroup::Over if failed_lately(moment, job) => {
                counts.failed += 1;
                self.failed.push(job.number);
            }
            StatusGroup::Over | StatusGroup::Unknown => {}
        }
        match job.phase() {
            Phase::Over(_) => return,
            Phase::Held(
                JobHold::User
                | JobHold::Dependency
                | JobHold::Array
                | JobHold::Booked
                | JobHold::Window,
            ) => {}
            Phase::Held(_) => self.stuck.push(job.number),
            _ => {}
        }
        let expected = moment.start_of(job).map(|at| at.0);
        if let Some(at) = expected {
            self.next = self.next.into_iter().chain([(at, job.number)]).min();
        }
        let start = expected.or(started(job).map(|at| at.0)).unwrap_or(i64::MAX);
        let is_well = failures::of_job(moment.state, job).is_empty()
            && moment.state.silence_of(job).is_none();
        self.open.push((is_well, start, job.number));
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
