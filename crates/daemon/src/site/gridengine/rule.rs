//! How Grid Engine goes through its queue, and which waiting jobs ask for a reservation.
//!
//! In each round it looks at the waiting jobs by priority and starts those that fit. Nodes are kept
//! free only for jobs that ask for that (`qsub -R y`): for the first `max_reservation` of them, and if
//! it is known how long they run. Any other wide job waits as long as narrow jobs come by.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_model::{Span, Time};

use super::cluster::GridEngineCluster;
use super::replies::GridEngineJob;
use super::settings::Pool;
use crate::site::limits::{Limits, PoolLimits};
use crate::site::managed::driver::Base;
use crate::site::queued::{MAX_LIMIT, QueueRule};

/// The scheduler's settings, and whether a job asks, are read again after this time.
const READ: Duration = Duration::from_secs(600);
/// So many jobs are asked for at a time; the others are, at the next surveys.
const AT_ONCE: usize = 100;

/// What the scheduler's settings say (`qconf -ssconf`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scheduler {
    /// Jobs that get reservations, at most.
    reservations: u32,
    /// From an end to the round that follows it, at most.
    interval: Span,
    /// Whether a job without a time limit can have a reservation.
    has_default: bool,
}

impl Scheduler {
    /// Reads names and values; `None`: that is none of its answers.
    fn read(about: &BTreeMap<String, String>) -> Option<Scheduler> {
        let value = |name: &str| about.get(name).map(String::as_str);
        let interval = seconds(value("schedule_interval")?)?;
        // With this, an end starts a round so much later.
        let flush = value("flush_finish_sec").and_then(seconds).filter(|it| *it > 0);
        Some(Scheduler {
            reservations: value("max_reservation")?.parse().ok()?,
            interval: Span(flush.map_or(interval, |it| it.min(interval))),
            has_default: value("default_duration").and_then(seconds).is_some(),
        })
    }

    fn rule(self) -> QueueRule {
        QueueRule {
            depth: self.reservations,
            on_request: true,
            // It looks ahead as far as it has to.
            window: MAX_LIMIT,
            interval: self.interval,
            changes_order: true,
        }
    }
}

/// The rule that these settings are: for the fuzz targets.
#[cfg(feature = "fuzzing")]
pub(super) fn read(about: &BTreeMap<String, String>) -> Option<QueueRule> {
    Scheduler::read(about).map(Scheduler::rule)
}

/// What is known, and since when.
#[derive(Debug, Default)]
pub(super) struct KnownRule {
    limits: Option<(Instant, Arc<Limits>)>,
    scheduler: Option<Scheduler>,
    /// By number and time of submission of waiting jobs: whether they ask for a reservation.
    asks: BTreeMap<(String, Time), (Instant, bool)>,
}

/// The same job whatever tasks of it wait, and another one if numbers begin again.
fn key(job: &GridEngineJob) -> (String, Time) {
    (number(job).to_owned(), job.submitted.unwrap_or(Time(0)))
}

fn number(job: &GridEngineJob) -> &str {
    job.id.split('.').next().unwrap_or_default()
}

impl KnownRule {
    /// What the site allows: who runs its jobs, and how its scheduler works. Asked for rarely.
    pub(super) fn limits(&mut self, base: &Base, pools: &[Pool]) -> Arc<Limits> {
        if let Some((at, known)) = &self.limits
            && at.elapsed() < READ
        {
            return Arc::clone(known);
        }
        let about = GridEngineCluster(&base.tool).settings(&["qconf", "-ssconf"]);
        self.scheduler = about.ok().and_then(|about| Scheduler::read(&about));
        let limits = Arc::new(Limits {
            queue: self.scheduler.map(Scheduler::rule),
            pools: pools.iter().map(|pool| widest(base, pool)).collect(),
            ..base.own_limits()
        });
        self.limits = Some((Instant::now(), Arc::clone(&limits)));
        limits
    }

    /// Asks which of the `waiting` jobs ask for reservations, if this is not known of all.
    pub(super) fn ask(&mut self, base: &Base, pools: &[Pool], waiting: &[&GridEngineJob]) {
        self.limits(base, pools);
        let known: BTreeMap<_, _> =
            waiting.iter().map(|job| key(job)).map(|key| (key, ())).collect();
        self.asks.retain(|job, (at, _)| known.contains_key(job) && at.elapsed() < READ);
        if self.scheduler.is_some_and(|it| it.reservations == 0) {
            return;
        }
        let mut new: Vec<&GridEngineJob> = waiting.to_vec();
        new.retain(|job| !self.asks.contains_key(&key(job)));
        new.sort_by_key(|job| std::cmp::Reverse(job.priority));
        new.dedup_by_key(|job| key(job));
        new.truncate(AT_ONCE);
        let found = match GridEngineCluster(&base.tool).details(new.iter().map(|job| number(job))) {
            Ok(details) => details.asks,
            Err(wrong) => return tracing::debug!(%wrong, "who asks for reservations is not known"),
        };
        let asks = new.iter().filter_map(|job| Some((key(job), *found.get(number(job))?)));
        self.asks.extend(asks.map(|(key, asks)| (key, (Instant::now(), asks))));
    }

    /// Whether nodes are kept free for the job when its turn comes. Of whom nothing is known, not:
    /// that is what Grid Engine does if it is not asked.
    pub(super) fn reserves(&self, job: &GridEngineJob) -> bool {
        let asks = self.asks.get(&key(job)).is_some_and(|(_, asks)| *asks);
        let may = |it: Scheduler| it.reservations > 0 && (job.limit.is_some() || it.has_default);
        asks && self.scheduler.is_none_or(may)
    }
}

/// How many units of the pool a job may have: one without a parallel environment, and with one as many as
/// it has slots for. Of whole hosts it is not known how many slots they have.
fn widest(base: &Base, pool: &Pool) -> PoolLimits {
    let Some(unit) = pool.unit.slots() else { return PoolLimits::default() };
    let nodes = match &pool.environment {
        None if unit == 1 => Some((1, "no parallel environment (`pe` of `options`)".to_owned())),
        None => None,
        Some(name) => {
            let about = GridEngineCluster(&base.tool).settings(&["qconf", "-sp", name]).ok();
            let slots = about.and_then(|about| about.get("slots")?.parse::<u32>().ok());
            // One unit of one slot needs none.
            let least = u32::from(unit == 1);
            let word = format!("the parallel environment {name}");
            slots.map(|slots| ((slots / unit).max(least), word))
        }
    };
    PoolLimits { nodes, ..PoolLimits::default() }
}

/// `0:0:15` or `15`, in seconds; `None`: `INFINITY`, or no time at all.
pub(super) fn seconds(text: &str) -> Option<i64> {
    text.split(':').try_fold(0_i64, |sum, part| {
        let part = part.parse::<u32>().ok()?;
        sum.checked_mul(60)?.checked_add(i64::from(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_settings_of_the_scheduler_are_a_rule() {
        let usual = [("schedule_interval", "0:2:0"), ("max_reservation", "0")];
        let read = |more: &[(&str, &str)]| Scheduler::read(&about(&[&usual, more].concat()));
        let slow = Scheduler { reservations: 0, interval: Span(120), has_default: false };
        assert_eq!(read(&[("default_duration", "INFINITY")]), Some(slow));
        let more = [("flush_finish_sec", "4"), ("max_reservation", "20")];
        let quick = read(&[&more[..], &[("default_duration", "8:00:00")]].concat()).unwrap();
        assert_eq!(quick, Scheduler { reservations: 20, interval: Span(4), has_default: true });
        let rule = quick.rule();
        assert!(rule.on_request && rule.depth == 20 && rule.interval == Span(4));
        assert_eq!(Scheduler::read(&about(&[("max_reservation", "5")])), None);
        for odd in ["", "x", "1:-2", "99999999999", "1:2:3:4:5:6:7:8:9:10:11:12:13"] {
            assert!(seconds(odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn only_jobs_that_ask_and_say_how_long_they_run_have_reservations() {
        let job = |id: &str, limit| GridEngineJob {
            id: id.to_owned(),
            limit,
            ..GridEngineJob::default()
        };
        let (wide, endless, other) =
            (job("1.4-9:1", Some(Span(60))), job("2", None), job("3", Some(Span(60))));
        let asks = [&wide, &endless].map(|job| (key(job), (Instant::now(), true)));
        let mut known = KnownRule { asks: asks.into(), ..KnownRule::default() };
        let told = |known: &KnownRule| [&wide, &endless, &other].map(|job| known.reserves(job));
        assert_eq!(told(&known), [true, true, false], "the scheduler said nothing");
        let scheduler = Scheduler { reservations: 9, interval: Span(1), has_default: false };
        known.scheduler = Some(scheduler);
        assert_eq!(told(&known), [true, false, false]);
        known.scheduler = Some(Scheduler { reservations: 0, ..scheduler });
        assert_eq!(told(&known), [false; 3]);
    }
}
