//! Backfilling of moldable jobs against a plain version that walks through time second by second with
//! flat arrays, and what every policy does with shapes.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Criterion, JobShape, Place, Pool, Pools, Price, Shapes, Site, Span, Terms, Time,
};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};
use tradewind_sched::policy::bsf::{Bsf, BsfSettings};
use tradewind_sched::policy::cyclic::market::{CycleSettings, Cycles};
use tradewind_sched::policy::dispatch::{Dispatch, DispatchRule, DispatchSettings};
use tradewind_sched::policy::gridfill::{GridFill, GridFillSettings, ShapeRule};
use tradewind_sim::workload::{Job, LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Run, Semantics, check, run};

const AHEAD: i64 = 1_500;
const NODES: u32 = 6;

/// A shape of a job from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    start: i64,
    nodes: i64,
    length: i64,
}

impl Spot {
    fn end(self) -> i64 {
        self.start + self.length
    }
}

#[derive(Clone, Copy)]
struct Waits {
    job: usize,
    reserved: Option<Spot>,
}

struct Naive<'a> {
    workload: &'a Workload,
    depth: Depth,
    rule: ShapeRule,
    queue: Vec<Waits>,
    /// What runs, until it is believed to end.
    running: Vec<(usize, Spot)>,
    starts: Vec<Option<Spot>>,
}

fn shapes(job: &Job) -> Vec<JobShape> {
    let one = vec![JobShape { nodes: job.processors, time: job.requested }];
    let terms = job.terms.as_ref().and_then(|terms| terms.shapes.as_ref());
    terms.map_or(one, |shapes| shapes.as_slice().to_vec())
}

impl Naive<'_> {
    /// Free nodes in each second from `now` on, beside running jobs and the reservations of all jobs
    /// but `but`.
    fn free(&self, now: i64, but: usize) -> Vec<i64> {
        let mut free = vec![i64::from(NODES); AHEAD as usize];
        let reserved = self.queue.iter().filter(|w| w.job != but).filter_map(|w| w.reserved);
        for spot in self.running.iter().map(|(_, spot)| *spot).chain(reserved) {
            for at in spot.start.max(now)..spot.end().min(now + AHEAD) {
                free[(at - now) as usize] -= spot.nodes;
            }
        }
        free
    }

    /// The best of the earliest places of all shapes.
    fn best(&self, now: i64, job: usize) -> Spot {
        let free = self.free(now, job);
        let price = self.workload.pools.as_slice()[0].price.0;
        let spot = |shape: &JobShape| {
            let (nodes, length) = (i64::from(shape.nodes), shape.time.0);
            let fits =
                |from: usize| free[from..from + length as usize].iter().all(|free| *free >= nodes);
            let from = (0..AHEAD as usize - length as usize).find(|from| fits(*from)).unwrap();
            Spot { start: now + from as i64, nodes, length }
        };
        let listed = shapes(&self.workload.jobs[job]);
        let all = listed.iter().take(match self.rule {
            ShapeRule::First => 1,
            _ => listed.len(),
        });
        let key = |spot: &Spot| {
            let used = spot.nodes * spot.length;
            let cost = price * used;
            match self.rule {
                ShapeRule::SoonestEnd => (spot.end(), cost, used, spot.start),
                ShapeRule::SoonestStart | ShapeRule::First => (spot.start, spot.end(), cost, used),
                ShapeRule::Cheapest => (cost, spot.end(), used, spot.start),
            }
        };
        all.map(spot).min_by_key(key).unwrap()
    }

    fn walk(&mut self, now: i64, new: Option<usize>) {
        let mut place = 0;
        while place < self.queue.len() {
            let job = self.queue[place].job;
            if new.is_some_and(|new| new != job) {
                place += 1;
                continue;
            }
            if self.depth == Depth::First(0) && place > 0 {
                return;
            }
            let best = self.best(now, job);
            if best.start == now {
                self.queue.remove(place);
                self.starts[job] = Some(best);
                self.running.push((job, best));
                continue;
            }
            let covered = match self.depth {
                Depth::First(depth) => place < depth as usize,
                Depth::All => true,
            };
            self.queue[place].reserved = covered.then_some(best);
            place += 1;
        }
    }

    fn run_of(&self, job: usize, spot: Spot) -> i64 {
        self.workload.jobs[job].in_shape(spot.nodes as u32).run.0
    }

    fn round(&mut self, now: i64, next: &mut usize) -> bool {
        let before = self.running.len();
        let running = std::mem::take(&mut self.running);
        let runs = |(job, spot): &(usize, Spot)| spot.start + self.run_of(*job, *spot) > now;
        self.running = running.iter().copied().filter(runs).collect();
        let ended = before != self.running.len();
        let first = *next;
        while self.workload.jobs.get(*next).is_some_and(|job| job.submit.0 <= now) {
            *next += 1;
        }
        let due = self.queue.iter().any(|w| w.reserved.is_some_and(|spot| spot.start <= now));
        if !ended && first == *next && !due {
            return false;
        }
        let only_new = self.depth == Depth::All && !ended && !due;
        if self.depth != Depth::All {
            self.queue.iter_mut().for_each(|w| w.reserved = None);
        }
        self.queue.extend((first..*next).map(|job| Waits { job, reserved: None }));
        match only_new {
            true => (first..*next).for_each(|job| self.walk(now, Some(job))),
            false => self.walk(now, None),
        }
        true
    }
}

fn naive(workload: &Workload, depth: Depth, rule: ShapeRule) -> Vec<Spot> {
    let starts = vec![None; workload.jobs.len()];
    let mut naive = Naive { workload, depth, rule, queue: vec![], running: vec![], starts };
    let (mut now, mut next) = (0, 0);
    while naive.starts.iter().any(Option::is_none) {
        while naive.round(now, &mut next) {}
        now += 1;
    }
    naive.starts.into_iter().flatten().collect()
}

fn replay(workload: &Workload, policy: &mut dyn Policy) -> Run {
    let mut checkers = check::all(policy.promise());
    run(workload, ReplaySettings::default(), policy, &mut checkers).unwrap()
}

/// Where and in which shape each job ran.
fn spots(workload: &Workload, run: &Run) -> Vec<Spot> {
    let all = if run.submitted.is_empty() { &workload.jobs } else { &run.submitted };
    let spot = |(ran, job): (&tradewind_sim::Ran, &Job)| {
        let nodes: u32 = ran.place.shares(job.processors).map(|share| share.nodes).sum();
        assert_eq!(nodes, job.processors, "the result says in which shape it ran");
        assert_eq!(ran.end - ran.start, job.run);
        Spot { start: ran.start.0, nodes: i64::from(nodes), length: job.requested.0 }
    };
    run.jobs.iter().zip(all).map(spot).collect()
}

/// Shapes of which the first is the one that is given.
fn shapes_of(first: JobShape, others: &[(u32, i64)]) -> Option<Shapes> {
    let mut all = vec![first];
    for (nodes, by) in others {
        // A speed-up of less than the nodes, so that wider is quicker and costs more.
        let work = first.time.0 * i64::from(first.nodes);
        let time = work / i64::from(*nodes) + by * (i64::from(*nodes) - i64::from(first.nodes)) / 3;
        let shape = JobShape { nodes: *nodes, time: Span(time.max(1)) };
        all.push(shape);
        if Shapes::new(&all).is_err() {
            all.pop();
        }
    }
    Shapes::new(&all).unwrap()
}

fn log_job() -> impl Strategy<Value = LogJob> {
    let others = prop::collection::vec((1..=NODES, 0i64..6), 0..4);
    let criterion = prop::sample::select(vec![
        Criterion::Start,
        Criterion::Finish,
        Criterion::Cost,
        Criterion::Runtime,
    ]);
    (0i64..50, 0i64..30, 1..=NODES, 1i64..30, others, criterion).prop_map(
        |(submit, run, nodes, asked, others, criterion)| {
            let shapes = shapes_of(JobShape { nodes, time: Span(asked) }, &others);
            let terms = Terms { shapes, criterion, ..Terms::default() };
            LogJob {
                number: 0,
                submit: Some(Time(submit)),
                run: Some(Span(run)),
                processors: Some(nodes),
                requested: Some(Span(asked)),
                user: 0,
                terms: Some(Arc::new(terms)),
            }
        },
    )
}

/// One pool, whose nodes may cost something.
fn pools(price: i64) -> Arc<Pools> {
    let pool = Pool { price: Price(price), ..Pools::cluster(NODES).as_slice()[0].clone() };
    Arc::new(Pools::new(vec![Site { name: "a".to_owned() }], vec![pool]).unwrap())
}

fn workload(jobs: &[LogJob], price: i64) -> Workload {
    prepare(jobs, pools(price), Semantics::Textbook, Overrun::Kill)
}

fn any_rule() -> impl Strategy<Value = ShapeRule> {
    prop::sample::select(ShapeRule::ALL.map(|(rule, _)| rule).to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn backfilling_takes_the_best_shape_of_all(
        jobs in prop::collection::vec(log_job(), 1..14),
        depth in prop::sample::select(vec![
            Depth::First(0), Depth::First(1), Depth::First(3), Depth::All,
        ]),
        rule in any_rule(),
        price in 0i64..3,
    ) {
        let workload = workload(&jobs, price);
        let settings = GridFillSettings { depth, shape: rule, ..GridFillSettings::default() };
        let run = replay(&workload, &mut GridFill::new(settings));
        prop_assert_eq!(spots(&workload, &run), naive(&workload, depth, rule));
    }

    #[test]
    fn only_the_first_shape_is_a_rigid_job(
        jobs in prop::collection::vec(log_job(), 1..14),
        depth in prop::sample::select(vec![Depth::First(0), Depth::First(1), Depth::All]),
    ) {
        let moldable = workload(&jobs, 0);
        let rigid: Vec<LogJob> =
            jobs.iter().map(|job| LogJob { terms: None, ..job.clone() }).collect();
        let rigid = workload(&rigid, 0);
        let settings =
            GridFillSettings { depth, shape: ShapeRule::First, ..GridFillSettings::default() };
        let plain = BackfillSettings { depth, ..BackfillSettings::default() };
        let one = replay(&moldable, &mut GridFill::new(settings));
        let other = replay(&rigid, &mut Backfill::new(plain));
        prop_assert_eq!(spots(&moldable, &one), spots(&rigid, &other));
    }

    /// Every policy runs each job in one of its shapes; those that do not choose take the first.
    #[test]
    fn every_policy_runs_jobs_in_one_of_their_shapes(
        jobs in prop::collection::vec(log_job(), 1..10),
        which in 0usize..6,
        price in 0i64..3,
    ) {
        let workload = workload(&jobs, price);
        let mut policy: Box<dyn Policy> = match which {
            0 => Box::new(Cycles::new(CycleSettings::css())),
            1 => Box::new(Cycles::new(CycleSettings::batch_slicer())),
            2 => Box::new(Cycles::new(CycleSettings::whole_batch())),
            3 => Box::new(Bsf::new(BsfSettings::default())),
            4 => Box::new(Backfill::new(BackfillSettings::default())),
            _ => Box::new(Dispatch::new(DispatchSettings::of(DispatchRule::Fcfs))),
        };
        let run = replay(&workload, policy.as_mut());
        for ((spot, job), ran) in spots(&workload, &run).iter().zip(&workload.jobs).zip(&run.jobs) {
            let shape = JobShape { nodes: spot.nodes as u32, time: Span(spot.length) };
            prop_assert!(shapes(job).contains(&shape));
            prop_assert!(which < 4 || shape.nodes == job.processors);
            let used = spot.nodes * (ran.end - ran.start).0;
            prop_assert_eq!(ran.cost.0, price * used, "what the shape costs is paid");
        }
    }
}

/// 4 nodes are taken for 100 s. A job can have 2 nodes now for 150 s, or 6 in 100 s for 20 s.
#[test]
fn rules_take_different_shapes() {
    let job = |number, nodes, time, shapes: &[(u32, i64)]| {
        let shape = |it: &(u32, i64)| JobShape { nodes: it.0, time: Span(it.1) };
        let shapes: Vec<JobShape> = shapes.iter().map(shape).collect();
        let shapes = if shapes.is_empty() { None } else { Shapes::new(&shapes).unwrap() };
        LogJob {
            number,
            submit: Some(Time(number)),
            run: Some(Span(time)),
            processors: Some(nodes),
            requested: Some(Span(time)),
            user: 0,
            terms: Some(Arc::new(Terms { shapes, ..Terms::default() })),
        }
    };
    let jobs = [job(0, 4, 101, &[]), job(1, 1, 400, &[(1, 400), (2, 150), (6, 20)])];
    let workload = workload(&jobs, 1);
    let taken = |rule: ShapeRule| {
        let settings = GridFillSettings { shape: rule, ..GridFillSettings::default() };
        let run = replay(&workload, &mut GridFill::new(settings));
        let spot = spots(&workload, &run)[1];
        (spot.start, spot.nodes, run.jobs[1].place.clone())
    };
    let place = |nodes| {
        Place::counted(vec![tradewind_model::Share { pool: tradewind_model::PoolId(0), nodes }])
    };
    assert_eq!(taken(ShapeRule::SoonestEnd), (101, 6, place(6)));
    assert_eq!(taken(ShapeRule::SoonestStart), (1, 2, place(2)));
    assert_eq!(taken(ShapeRule::Cheapest), (101, 6, place(6)));
    assert_eq!(taken(ShapeRule::First).1, 1);
}
