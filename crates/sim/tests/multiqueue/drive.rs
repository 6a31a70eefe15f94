//! One site, driven second by second: jobs that come, end, leave or lose their nodes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tradewind_model::{Cause, JobId, Outage, OutageId, PoolId, Span, Time};
use tradewind_sched::policy::local::{Load, LocalScheduler, Origin, SiteJob};

pub(crate) const PROCESSORS: u32 = 7;

/// A job and what happens to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) joins: i64,
    pub(crate) run: i64,
    pub(crate) processors: u32,
    pub(crate) asked: i64,
    pub(crate) origin: Origin,
    /// It leaves then, if it waits still.
    pub(crate) leaves: Option<i64>,
}

/// Nodes that go missing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    announced: i64,
    from: i64,
    /// The end as announced.
    until: i64,
    /// When they are really back: then or sooner.
    back: i64,
    nodes: u32,
}

/// All that happens to a site.
#[derive(Debug, Clone)]
pub(crate) struct World {
    /// In the order of joining.
    pub(crate) jobs: Vec<Job>,
    pub(crate) gaps: Vec<Gap>,
}

/// What one pass led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) now: i64,
    pub(crate) starts: Vec<u32>,
    pub(crate) surplus: Vec<u32>,
    /// Jobs that wait, with their reservations.
    pub(crate) waiting: Vec<(u32, Option<i64>)>,
    pub(crate) load: Load,
    /// When remote jobs of some sizes could start.
    pub(crate) probes: Vec<Option<i64>>,
    /// Whether expectations failed.
    pub(crate) upset: bool,
}

#[derive(Debug, Clone, Copy)]
struct Runs {
    job: usize,
    start: i64,
}

struct Drive<'a> {
    world: &'a World,
    now: i64,
    waiting: Vec<usize>,
    running: Vec<Runs>,
    closed: u32,
    joined: usize,
    /// When running jobs were expected to end at the last pass.
    believed: BTreeMap<usize, i64>,
    upset: bool,
}

fn id(job: usize) -> JobId {
    JobId(u32::try_from(job).unwrap())
}

pub(crate) fn wanted(index: usize, job: &Job) -> SiteJob {
    let (processors, length, submitted) = (job.processors, Span(job.asked), Time(job.joins));
    SiteJob { job: id(index), processors, length, submitted }
}

impl Drive<'_> {
    fn join(&mut self, job: usize, site: &mut dyn LocalScheduler) {
        let of = &self.world.jobs[job];
        self.waiting.push(job);
        site.join(wanted(job, of), of.origin, Time(self.now));
    }

    fn ends(&mut self, site: &mut dyn LocalScheduler) -> bool {
        let now = self.now;
        let over = |runs: &Runs| runs.start + self.world.jobs[runs.job].run <= now;
        let (ended, running) = self.running.iter().partition(|runs| over(runs));
        self.running = running;
        for &Runs { job, start } in &ended {
            site.ended(id(job), Span(now - start), Time(now));
            self.believed.remove(&job);
        }
        !ended.is_empty()
    }

    fn gaps(&mut self, site: &mut dyn LocalScheduler) -> bool {
        let (now, mut any, mut back) = (self.now, false, Vec::new());
        for (index, gap) in self.world.gaps.iter().enumerate() {
            let closure = OutageId(u32::try_from(index).unwrap());
            if gap.back == now {
                self.closed -= gap.nodes;
                site.reopened(closure, Time(now));
                any = true;
            }
            if gap.announced == now {
                let (from, until) = (Time(gap.from), Time(gap.until));
                let what = Outage {
                    pool: PoolId(0),
                    nodes: gap.nodes,
                    from,
                    until,
                    cause: Cause::Maintenance,
                };
                site.announced(closure, what, Time(now));
                (any, self.upset) = (true, true);
            }
        }
        for gap in self.world.gaps.iter().filter(|gap| gap.from == now) {
            while self.busy() + gap.nodes > PROCESSORS {
                let Runs { job, .. } = self.running.pop().unwrap();
                self.believed.remove(&job);
                site.interrupted(id(job), Time(now));
                back.push(job);
                (any, self.upset) = (true, true);
            }
            self.closed += gap.nodes;
        }
        back.into_iter().for_each(|job| self.join(job, site));
        any
    }

    fn busy(&self) -> u32 {
        let runs = |runs: &Runs| self.world.jobs[runs.job].processors;
        self.closed + self.running.iter().map(runs).sum::<u32>()
    }

    fn leave(&mut self, site: &mut dyn LocalScheduler) -> bool {
        let before = self.waiting.len();
        let jobs = &self.world.jobs;
        let (gone, waiting) =
            self.waiting.iter().partition(|job| jobs[**job].leaves == Some(self.now));
        self.waiting = waiting;
        let gone: Vec<usize> = gone;
        gone.into_iter().for_each(|job| site.leave(id(job), Time(self.now)));
        self.waiting.len() < before
    }

    fn pass(&mut self, site: &mut dyn LocalScheduler) -> Pass {
        let (now, mut starts, mut surplus) = (self.now, Vec::new(), Vec::new());
        self.upset |= self.believed.values().any(|end| *end <= now);
        for (&job, end) in &mut self.believed {
            let start = self.running.iter().find(|runs| runs.job == job).unwrap().start;
            while *end <= now {
                *end = start + 2 * (*end - start);
            }
        }
        site.decide(Time(now), &mut starts, &mut surplus);
        for job in starts.iter().map(|job| job.index()) {
            let place = self.waiting.iter().position(|it| *it == job).unwrap();
            self.waiting.remove(place);
            self.running.push(Runs { job, start: now });
            self.believed.insert(job, now + self.world.jobs[job].asked);
        }
        assert!(self.busy() <= PROCESSORS, "more processors are taken than there are");
        let reserved = |job: &usize| (id(*job).0, site.reservation(id(*job)).map(|at| at.0));
        let mut waiting: Vec<_> = self.waiting.iter().map(reserved).collect();
        waiting.sort_unstable();
        Pass {
            now,
            starts: starts.iter().map(|job| job.0).collect(),
            surplus: surplus.iter().map(|job| job.0).collect(),
            waiting,
            load: site.load(),
            probes: self.probes(site),
            upset: std::mem::take(&mut self.upset),
        }
    }

    fn probes(&self, site: &dyn LocalScheduler) -> Vec<Option<i64>> {
        let now = Time(self.now);
        let sizes = [(1, 1, 0), (3, 8, 0), (PROCESSORS, 2, 0), (2, 19, 5), (5, 3, 9)];
        let ask = |(processors, length, later): (u32, i64, i64)| {
            let (job, length) = (JobId(u32::MAX), Span(length));
            let wanted = SiteJob { job, processors, length, submitted: now };
            site.promise(&wanted, Origin::Remote, now, now + Span(later)).map(|at| at.0)
        };
        sizes.into_iter().map(ask).collect()
    }

    fn over(&self) -> bool {
        let gaps = self.world.gaps.iter().all(|gap| gap.back < self.now);
        gaps && self.joined == self.world.jobs.len()
            && self.waiting.is_empty()
            && self.running.is_empty()
    }
}

/// Drives the site to the end; `None` if jobs wait after so many seconds.
pub(crate) fn drive_for(
    world: &World,
    site: &mut dyn LocalScheduler,
    seconds: i64,
) -> Option<Vec<Pass>> {
    let mut drive = Drive {
        world,
        now: 0,
        waiting: vec![],
        running: vec![],
        closed: 0,
        joined: 0,
        believed: BTreeMap::new(),
        upset: false,
    };
    let mut passes = Vec::new();
    while !drive.over() {
        if drive.now > seconds {
            return None;
        }
        let mut news = drive.ends(site) | drive.gaps(site) | drive.leave(site);
        while world.jobs.get(drive.joined).is_some_and(|job| job.joins == drive.now) {
            drive.join(drive.joined, site);
            drive.joined += 1;
            news = true;
        }
        let mut rounds = 0;
        while news || site.wake().is_some_and(|at| at.0 <= drive.now) {
            passes.push(drive.pass(site));
            news = drive.ends(site);
            rounds += 1;
            assert!(rounds < 1_000, "the site is woken again and again");
        }
        drive.now += 1;
    }
    Some(passes)
}

/// Drives the site to the end.
pub(crate) fn drive(world: &World, site: &mut dyn LocalScheduler) -> Vec<Pass> {
    drive_for(world, site, 20_000).unwrap()
}

/// When each job started last.
pub(crate) fn starts(passes: &[Pass]) -> BTreeMap<u32, i64> {
    passes.iter().flat_map(|pass| pass.starts.iter().map(|job| (*job, pass.now))).collect()
}

fn job(longest: i64, remote: f64) -> impl Strategy<Value = Job> {
    let origin = prop::bool::weighted(remote);
    let leaves = prop::option::weighted(0.15, 0i64..90);
    (0i64..60, 0i64..longest, 1..=PROCESSORS, 1i64..20, origin, leaves).prop_map(
        |(joins, run, processors, asked, remote, leaves)| {
            let origin = if remote { Origin::Remote } else { Origin::Local };
            Job { joins, run, processors, asked, origin, leaves }
        },
    )
}

fn gap() -> impl Strategy<Value = Gap> {
    let sooner = prop_oneof![Just(0i64), 0i64..10];
    (0i64..60, 0i64..20, 1i64..20, 1..=2u32, sooner).prop_map(
        |(announced, notice, length, nodes, sooner)| {
            let (from, until) = (announced + notice, announced + notice + length);
            Gap { announced, from, until, back: (until - sooner).max(from + 1), nodes }
        },
    )
}

/// Sites with early and late ends, jobs that leave, and at most three gaps.
pub(crate) fn any_world(jobs: usize) -> impl Strategy<Value = World> {
    let gaps = prop_oneof![Just(0..1usize), Just(0..4usize)]
        .prop_flat_map(|count| prop::collection::vec(gap(), count));
    (prop::collection::vec(job(25, 0.3), 1..jobs), gaps).prop_map(|(mut jobs, gaps)| {
        jobs.sort_by_key(|job| job.joins);
        World { jobs, gaps }
    })
}

/// Local jobs that stay, and all nodes.
pub(crate) fn local_world(jobs: usize) -> impl Strategy<Value = World> {
    prop::collection::vec(job(25, 0.0), 1..jobs).prop_map(|mut jobs| {
        jobs.sort_by_key(|job| job.joins);
        let jobs = jobs.into_iter().map(|job| Job { leaves: None, ..job }).collect();
        World { jobs, gaps: vec![] }
    })
}
