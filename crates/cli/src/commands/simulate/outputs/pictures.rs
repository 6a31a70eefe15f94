//! Pictures of a run, and what the campaign's pictures and report need of it.

use tradewind_campaign::fates::{Fate, Fates};
use tradewind_campaign::replay::Finished;
use tradewind_io::chart::{
    GanttOfRun, GanttOptions, HAS_PNG, Hold, HoldCause, Picture, Processors, Replay, ReplayJob,
    ReplayPool, RunFate, Trace, Usage,
};
use tradewind_io::swf::Log;
use tradewind_io::wire;
use tradewind_model::{Cause, Pools};
use tradewind_sim::metrics::{self, stretches};
use tradewind_sim::placement::Range;
use tradewind_sim::workload::Job;
use tradewind_sim::{Lost, Ran};

use super::super::part::{self, Part};
use crate::exit::Failure;

/// Points of a curve of deadlines missed, at most.
const POINTS: usize = 500;

/// Means along a curve of deviations, at most.
const COLUMNS: usize = 300;

/// The names of the files; pictures are PNG, too, if the program can write that.
pub(super) const NAMES: [&str; 5] =
    ["gantt.svg", "gantt.png", "utilisation.svg", "utilisation.png", part::FILE];

/// Names and bytes of the files.
pub(super) fn files(
    finished: &Finished<'_>,
    fates: &Fates<'_>,
) -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
    let replay = replay(finished, fates);
    let gantt = Picture::Gantt(GanttOfRun::new(&replay, GanttOptions::default()));
    let usage = Picture::Usage(Usage::new(&replay));
    let notes = finished.prepared.logs.iter().flat_map(|log| remarks(log, finished)).collect();
    let part = Part {
        waits: replay.waits().collect(),
        jobs: replay.ran().count(),
        misses: misses(finished),
        load_deviation: load_deviation(finished),
        notes,
    };
    let mut files = vec![
        (NAMES[0], gantt.svg().into_bytes()),
        (NAMES[2], usage.svg().into_bytes()),
        (NAMES[4], wire::to_json(&part).into_bytes()),
    ];
    if HAS_PNG {
        files.extend([(NAMES[1], png(NAMES[1], &gantt)?), (NAMES[3], png(NAMES[3], &usage)?)]);
    }
    Ok(files)
}

/// Deadlines missed, over the jobs that have one.
fn misses(finished: &Finished<'_>) -> Trace {
    let points = metrics::misses(&finished.prepared.workload, &finished.run, POINTS);
    let point = |it: metrics::Missed| {
        (i64::try_from(it.applications).unwrap_or(i64::MAX), it.missed as f64)
    };
    Trace::new(points.into_iter().map(point).collect())
}

/// How far the sites' loads are apart over time.
fn load_deviation(finished: &Finished<'_>) -> Trace {
    let levels = metrics::load_deviation(&finished.prepared.workload, &finished.run);
    let levels: Vec<_> = levels.into_iter().map(|it| (it.at, it.load)).collect();
    Trace::of_steps(&levels, COLUMNS)
}

/// What is odd about a log, with its name if there are several.
fn remarks(log: &Log, finished: &Finished<'_>) -> Vec<String> {
    let several = finished.prepared.logs.len() > 1;
    let named = |remark| if several { format!("{}: {remark}", log.name) } else { remark };
    log.remarks().into_iter().map(named).collect()
}

/// The picture as a PNG.
fn png(name: &str, picture: &Picture) -> Result<Vec<u8>, Failure> {
    picture.png().map_err(|error| Failure::data(format!("{name}: {error}")))
}

/// The run in the words of pictures.
fn replay(finished: &Finished<'_>, fates: &Fates<'_>) -> Replay {
    let (prepared, run, summary) = (&finished.prepared, &finished.run, &finished.summary);
    let workload = &prepared.workload;
    let places = finished.places();
    let numbers = PoolNumbering::of(&workload.pools);
    let lives = prepared.records().zip(fates.iter()).filter_map(|((_, record), fate)| match fate {
        Fate::Ran(life) => Some((record.user, life)),
        Fate::Rejected(_) => None,
    });
    let mut jobs: Vec<ReplayJob> = lives
        .map(|(user, life)| ReplayJob {
            user: Some(user).filter(|user| *user >= 0),
            fate: if life.job.killed { RunFate::Killed } else { RunFate::Completed },
            processors: numbers.until(places.jobs.of(life.index), life.job, life.ran),
            ..job(life.job, life.ran)
        })
        .collect();
    jobs.extend(run.lost.iter().zip(places.lost.iter()).map(|(lost, ranges)| {
        let Lost { job: index, start, end, place, .. } = lost;
        let of = &workload.jobs[*index];
        let cut =
            Ran { start: *start, end: *end, place: place.clone(), ..run.jobs[*index].clone() };
        ReplayJob {
            fate: RunFate::Interrupted,
            processors: numbers.until(ranges, of, &cut),
            ..job(of, &cut)
        }
    }));
    let holds = workload.outages.iter().zip(places.outages.iter()).filter(|(_, it)| !it.is_empty());
    Replay {
        title: format!("{} on {}", summary.cell("policy"), summary.cell("log")),
        pools: workload.pools.iter().map(|(_, pool)| replay_pool(pool)).collect(),
        jobs,
        waiting: stretches(workload, run).map(|waiting| (waiting.from, waiting.until)).collect(),
        holds: holds
            .map(|(outage, ranges)| Hold {
                cause: match outage.what.cause {
                    Cause::Local | Cause::Withheld | Cause::Booked => HoldCause::Local,
                    Cause::Maintenance => HoldCause::Maintenance,
                    Cause::Failure(_) => HoldCause::Failure,
                },
                label: String::new(),
                from: outage.what.from,
                until: outage.what.until,
                processors: ranges.iter().map(|range| (range.first, range.last)).collect(),
            })
            .collect(),
    }
}

fn replay_pool(pool: &tradewind_model::Pool) -> ReplayPool {
    ReplayPool { name: pool.name.clone(), processors: pool.nodes }
}

/// What every stay of a job on the machine has.
fn job(job: &Job, ran: &Ran) -> ReplayJob {
    ReplayJob {
        name: job.number.to_string(),
        user: None,
        submit: job.submit,
        start: ran.start,
        end: ran.end,
        fate: RunFate::Completed,
        processors: Vec::new(),
        width: job.processors,
    }
}

/// The last number of each pool, counted through all of them.
struct PoolNumbering<'p> {
    pools: &'p Pools,
    last: Vec<u32>,
}

impl<'p> PoolNumbering<'p> {
    fn of(pools: &'p Pools) -> PoolNumbering<'p> {
        let mut sum = 0;
        let last = |pool: &tradewind_model::Pool| {
            sum += pool.nodes;
            sum - 1
        };
        PoolNumbering { pools, last: pools.as_slice().iter().map(last).collect() }
    }

    /// Until when a job had its processors: those of faster pools are free before it ends.
    fn until(&self, ranges: &[Range], job: &Job, ran: &Ran) -> Vec<Processors> {
        let processors = |range: &Range| {
            let pool = self.last.partition_point(|last| *last < range.first);
            let length = self.pools.as_slice().get(pool).map(|pool| job.length_in(pool));
            let until = length.map_or(ran.end, |length| (ran.start + length).min(ran.end));
            Processors { first: range.first, last: range.last, until }
        };
        ranges.iter().map(processors).collect()
    }
}
