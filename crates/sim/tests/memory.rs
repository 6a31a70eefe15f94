//! Shared nodes with memory, beside a twin that books every second of every node.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Pools, Span, Terms, Time};
use tradewind_sched::policy::Policy as _;
use tradewind_sched::policy::gridfill::{Depth, GridFill, GridFillSettings};
use tradewind_sim::metrics::{self, MetricOptions};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Run, Semantics, check, run};

/// Seconds that the twin books: longer than all jobs one after the other.
const END: usize = 400;

/// Time to the next submission, run, processors, memory of each.
type Job = (i64, i64, u32, u32);

/// Nodes, and processors and memory of each.
type Machine = (u32, u32, u32);

fn workload(jobs: &[Job], pools: Pools) -> Workload {
    let mut now = 0;
    let log: Vec<LogJob> = (1..)
        .zip(jobs)
        .map(|(number, &(gap, run, processors, memory))| {
            now += gap;
            let memory = (memory > 0).then_some(memory);
            LogJob {
                number,
                submit: Some(Time(now)),
                run: Some(Span(run)),
                processors: Some(processors),
                requested: Some(Span(run)),
                user: 1,
                terms: Some(Arc::new(Terms { memory, ..Terms::NONE })),
            }
        })
        .collect();
    prepare(&log, Arc::new(pools), Semantics::Textbook, Overrun::Kill)
}

fn replay(workload: &Workload, depth: Depth) -> Run {
    let mut policy = GridFill::new(GridFillSettings { depth, ..GridFillSettings::default() });
    let mut checkers = check::all(policy.promise());
    run(workload, ReplaySettings::default(), &mut policy, &mut checkers).unwrap()
}

/// Starts; `None`: refused.
fn starts(run: &Run) -> Vec<Option<i64>> {
    run.jobs.iter().map(|ran| ran.refused.is_none().then_some(ran.start.0)).collect()
}

/// What is free of each node in each second: processors and memory.
#[derive(Clone)]
struct Books(Vec<Vec<(u32, u32)>>);

/// A job's tasks on each node.
type Tasks = Vec<u32>;

impl Books {
    fn new((nodes, processors, memory): Machine) -> Books {
        Books(vec![vec![(processors, memory); END]; nodes as usize])
    }

    /// Where the job fits from `at` on: as many tasks as possible on each node, in their order.
    fn place(&self, &(_, run, tasks, each): &Job, at: usize) -> Option<Tasks> {
        let mut left = tasks;
        let mut placed = Vec::new();
        for node in &self.0 {
            let fits = |&(processors, memory): &(u32, u32)| {
                memory.checked_div(each).map_or(processors, |tasks| processors.min(tasks))
            };
            let room = node[at..at + run as usize].iter().map(fits).min().unwrap();
            placed.push(left.min(room));
            left -= left.min(room);
        }
        (left == 0).then_some(placed)
    }

    fn take(&mut self, &(_, run, _, each): &Job, at: usize, placed: &Tasks) {
        for (node, tasks) in self.0.iter_mut().zip(placed) {
            for free in &mut node[at..at + run as usize] {
                *free = (free.0 - tasks, free.1 - tasks * each);
            }
        }
    }

    fn earliest(&self, job: &Job, from: usize) -> (usize, Tasks) {
        let at = |at| Some((at, self.place(job, at)?));
        (from..).find_map(at).unwrap()
    }
}

/// Jobs in the order of arrival; the first `depth` of those that wait have reservations.
fn twin(jobs: &[Job], machine: Machine, depth: usize) -> Vec<Option<i64>> {
    let mut submits = Vec::new();
    let mut now = 0;
    for job in jobs {
        now += job.0 as usize;
        submits.push(now);
    }
    let empty = Books::new(machine);
    let possible = |job: &Job| empty.place(job, 0).is_some();
    let mut books = empty.clone();
    let mut starts = vec![None; jobs.len()];
    for now in 0..END / 2 {
        let mut reserved = books.clone();
        let mut kept = 0;
        for (at, job) in jobs.iter().enumerate() {
            if submits[at] > now || starts[at].is_some() || !possible(job) {
                continue;
            }
            if let Some(placed) = reserved.place(job, now) {
                books.take(job, now, &placed);
                reserved.take(job, now, &placed);
                starts[at] = Some(now as i64);
            } else if kept < depth {
                let (start, placed) = reserved.earliest(job, now);
                reserved.take(job, start, &placed);
                kept += 1;
            } else if depth == 0 {
                break;
            }
        }
    }
    starts
}

fn machines() -> impl Strategy<Value = Machine> {
    (1u32..5, 1u32..4, 4u32..13)
}

fn drawn() -> impl Strategy<Value = Vec<Job>> {
    prop::collection::vec((0i64..4, 1i64..9, 1u32..7, 0u32..8), 1..14)
}

proptest! {
    #[test]
    fn starts_are_the_twins(jobs in drawn(), machine in machines()) {
        let (nodes, processors, memory) = machine;
        let wide = |job: &Job| job.2 <= nodes * processors;
        let jobs: Vec<Job> = jobs.into_iter().filter(wide).collect();
        let workload = workload(&jobs, Pools::shared(nodes, processors, memory).unwrap());
        let depths = [(Depth::First(0), 0), (Depth::First(1), 1), (Depth::First(3), 3), (Depth::All, 99)];
        for (depth, kept) in depths {
            prop_assert_eq!(starts(&replay(&workload, depth)), twin(&jobs, machine, kept));
        }
    }

    /// Memory for which no job asks changes nothing, and neither does memory that is not counted.
    #[test]
    fn without_memory_nothing_changes(jobs in drawn(), machine in machines()) {
        let shared = Pools::shared(machine.0, machine.1, machine.2).unwrap();
        let plain = Pools::new(shared.sites().to_vec(), shared.as_slice().to_vec()).unwrap();
        let silent: Vec<Job> = jobs.iter().map(|job| Job::from((job.0, job.1, job.2, 0))).collect();
        for depth in [Depth::First(1), Depth::All] {
            let counted = replay(&workload(&silent, shared.clone()), depth);
            prop_assert_eq!(&counted, &replay(&workload(&silent, plain.clone()), depth));
            prop_assert_eq!(&counted, &replay(&workload(&jobs, plain.clone()), depth));
        }
    }
}

#[test]
fn what_is_free_in_sum_and_cannot_be_used_is_measured() {
    // Two nodes of 2 processors and 10 KiB. Jobs 1 and 2 take 6 KiB of a node each, so job 3, with
    // tasks of 5 KiB on 1 processor, finds 2 processors and 8 KiB free, and no place until 10.
    let jobs = [(0, 10, 1, 6), (0, 10, 1, 6), (0, 10, 1, 5)];
    let workload = workload(&jobs, Pools::shared(2, 2, 10).unwrap());
    let run = replay(&workload, Depth::First(1));
    assert_eq!(starts(&run), [Some(0), Some(0), Some(10)]);
    let found = metrics::measure(&workload, &run, MetricOptions::default());
    let value = |name| found.get(name).unwrap().as_f64();
    // The window ends with the last submission where nothing else is said: look at the whole run.
    assert!((value("blocked_processors") - 0.5 * value("fragmented_time")).abs() < 1e-9);
    assert!(value("fragmented_time") > 0.0);
    assert!(value("memory_utilisation") > 0.0);
}

#[test]
fn a_job_whose_task_no_node_can_hold_is_refused() {
    let workload = workload(&[(0, 5, 1, 11), (0, 5, 2, 6)], Pools::shared(2, 2, 10).unwrap());
    let run = replay(&workload, Depth::All);
    assert_eq!(starts(&run), [None, Some(0)]);
    assert_eq!(run.jobs[0].refused.as_ref().unwrap().code(), "too-few-nodes");
}
