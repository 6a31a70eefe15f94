//! Who waits how long where small jobs never cease to come.

use tradewind_sched::policy::local::{LocalScheduler, Origin};
use tradewind_sched::policy::multiqueue::{Guard, MultiQueue, MultiQueueSettings, Overflow};

use super::drive::{Job, World, drive_for, starts};

const PROCESSORS: u32 = super::drive::PROCESSORS;

fn job(joins: i64, run: i64, processors: u32) -> Job {
    Job { joins, run, processors, asked: run, origin: Origin::Local, leaves: None }
}

/// One job among a stream of others: when it starts, if it does so before the stream ends.
fn start_of(
    victim: Job,
    stream: impl Iterator<Item = Job>,
    settings: MultiQueueSettings,
) -> Option<i64> {
    let at = victim.joins;
    let mut jobs: Vec<Job> = stream.collect();
    let place = jobs.partition_point(|job| job.joins < at);
    jobs.insert(place, victim);
    let end = jobs.last().unwrap().joins;
    let mut site: Box<dyn LocalScheduler> = Box::new(MultiQueue::new(PROCESSORS, settings));
    let passes = drive_for(&World { jobs, gaps: vec![] }, &mut *site, 50_000).unwrap();
    let start = starts(&passes)[&u32::try_from(place).unwrap()];
    (start < end).then_some(start)
}

const SECONDS: i64 = 3_000;

/// Every three seconds a job of two processors for eight: never five of seven are free at once.
fn small() -> impl Iterator<Item = Job> {
    (0..SECONDS / 3).map(|nth| job(3 * nth, 8, 2))
}

/// A job of the whole site for long, so that the mean is above ten, and then every eight seconds
/// one for ten: more than the site can do.
fn wide() -> impl Iterator<Item = Job> {
    let first = job(0, 100, PROCESSORS);
    std::iter::once(first).chain((1..SECONDS / 8).map(|nth| job(8 * nth, 10, PROCESSORS)))
}

fn settings() -> MultiQueueSettings {
    MultiQueueSettings::new(100, 64).unwrap().with_patience(Some(10)).unwrap()
}

fn impatient(patience: Option<u32>) -> MultiQueueSettings {
    settings().with_patience(patience).unwrap()
}

#[test]
fn as_printed_a_medium_job_starves_among_small_ones() {
    let medium = || job(20, 5, 3);
    let stream = || (0..SECONDS).map(|nth| job(nth, 6, 1));
    // Whenever one of six small jobs ends, the next one comes: three processors are never free.
    assert_eq!(start_of(medium(), stream(), impatient(None)), None);
    let start = start_of(medium(), stream(), impatient(Some(10))).unwrap();
    assert!(start <= 40, "{start}");
}

#[test]
fn as_printed_a_long_job_starves_among_short_ones_of_its_own_queue() {
    let long = || job(120, 50, PROCESSORS);
    let as_printed = MultiQueueSettings { guard: Guard::Nobody, ..settings() };
    assert_eq!(start_of(long(), wide(), as_printed), None);
    let start = start_of(long(), wide(), settings()).unwrap();
    assert!(start <= 400, "{start}");
}

#[test]
fn a_remote_job_is_not_starved_however_busy_the_site_is() {
    for overflow in [Overflow::Queue, Overflow::Migrate] {
        let settings = MultiQueueSettings { overflow, ..settings() };
        for processors in [1, 3, PROCESSORS] {
            let remote = || Job { origin: Origin::Remote, ..job(20, 50, processors) };
            assert!(start_of(remote(), small(), settings).is_some_and(|start| start < 120));
            assert!(start_of(remote(), wide(), settings).is_some_and(|start| start < 300));
        }
    }
}
