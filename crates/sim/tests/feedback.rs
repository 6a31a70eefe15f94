//! Jobs that are submitted when others are over, beside a twin that steps second by second.
#![expect(clippy::unwrap_used, reason = "a replay that fails is a test that fails")]

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Pools, Span, Time};
use tradewind_sched::policy::Policy as _;
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};
use tradewind_sim::feedback::{Link, Trail, kept, sessions};
use tradewind_sim::workload::{LogJob, Overrun, Workload, prepare};
use tradewind_sim::{ReplaySettings, Run, Semantics, check, run};

const NODES: u32 = 4;

/// Time to the next submission, run, processors, request; which of the jobs before (if it is one)
/// is the preceding job, and the think time.
type Job = (i64, i64, u32, i64, usize, Option<i64>);

fn workload(jobs: &[Job], semantics: Semantics) -> Workload {
    let mut now = 0;
    let (mut log, mut links) = (Vec::new(), Vec::new());
    for (job, &(gap, run, processors, requested, back, think)) in jobs.iter().enumerate() {
        now += gap;
        log.push(LogJob {
            number: job as i64 + 1,
            submit: Some(Time(now)),
            run: Some(Span(run)),
            processors: Some(processors),
            requested: Some(Span(requested)),
            user: 1,
            terms: None,
        });
        if let Some(after) = job.checked_sub(back).filter(|after| *after < job) {
            links.push(Link { job, after, think: think.map(Span) });
        }
    }
    let pools = Arc::new(Pools::cluster(NODES));
    let mut workload = prepare(&log, pools, semantics, Overrun::Kill);
    workload.links = kept(links, &workload.jobs, log.len()).0;
    workload
}

fn replay(workload: &Workload, depth: Depth, semantics: Semantics) -> Run {
    let mut policy = Backfill::new(BackfillSettings { depth, ..BackfillSettings::default() });
    let mut checkers = check::all(policy.promise());
    let settings = ReplaySettings { semantics, ..ReplaySettings::default() };
    run(workload, settings, &mut policy, &mut checkers).unwrap()
}

/// First come first served, a second at a time: submission and start of each job of the workload.
fn twin(workload: &Workload) -> Vec<(i64, i64)> {
    let jobs = &workload.jobs;
    let mut submits: Vec<Option<i64>> = vec![None; jobs.len()];
    let mut starts: Vec<Option<i64>> = vec![None; jobs.len()];
    let mut line: Vec<usize> = Vec::new();
    let ended = |starts: &[Option<i64>], at: usize, now: i64| {
        starts[at].map(|start| start + jobs[at].run.0).filter(|end| *end <= now)
    };
    for now in 0.. {
        // Until nothing more happens in this second: jobs of 0 s end at once.
        loop {
            let mut happened = false;
            for at in 0..jobs.len() {
                let link = workload.links.iter().find(|link| link.job == jobs[at].source);
                let moment = match link {
                    None => Some(jobs[at].submit.0),
                    Some(link) => {
                        let after = jobs.iter().position(|job| job.source == link.after).unwrap();
                        ended(&starts, after, now).map(|end| match link.think {
                            Some(think) => end + think.0,
                            None => end.max(jobs[at].submit.0),
                        })
                    }
                };
                if submits[at].is_none() && moment.is_some_and(|moment| moment <= now) {
                    submits[at] = Some(now);
                    line.push(at);
                    happened = true;
                }
            }
            let held = |starts: &[Option<i64>]| {
                let runs = |at: &usize| starts[*at].is_some() && ended(starts, *at, now).is_none();
                (0..jobs.len()).filter(runs).map(|at| jobs[at].processors).sum::<u32>()
            };
            while let Some(&head) = line.first()
                && held(&starts) + jobs[head].processors <= NODES
            {
                starts[head] = Some(now);
                line.remove(0);
                happened = true;
            }
            if !happened {
                break;
            }
        }
        if starts.iter().all(Option::is_some) {
            break;
        }
    }
    submits.into_iter().zip(starts).map(|(a, b)| (a.unwrap(), b.unwrap())).collect()
}

/// Submission and start by index in the log.
fn moments(workload: &Workload, run: &Run) -> Vec<(i64, i64)> {
    let jobs = if run.submitted.is_empty() { &workload.jobs } else { &run.submitted };
    let mut all = vec![(0, 0); jobs.len()];
    for (job, ran) in jobs.iter().zip(&run.jobs) {
        all[job.source] = (job.submit.0, ran.start.0);
    }
    all
}

fn drawn(shortest: i64) -> impl Strategy<Value = Vec<Job>> {
    let job = (0i64..8, shortest..12, 1u32..=NODES, 1i64..14, 1usize..8, prop::option::of(0i64..9));
    prop::collection::vec(job, 1..14)
}

proptest! {
    #[test]
    fn first_come_first_served_is_the_twins(jobs in drawn(1)) {
        let workload = workload(&jobs, Semantics::Textbook);
        let run = replay(&workload, Depth::First(0), Semantics::Textbook);
        prop_assert_eq!(moments(&workload, &run), twin(&workload));
    }

    /// Under any policy: each job is submitted by its rule, and the jobs at these submissions, with
    /// no links, are replayed the same.
    #[test]
    fn a_closed_loop_is_an_open_one_at_its_submissions(
        jobs in drawn(0), conservative in any::<bool>(), pyss in any::<bool>(),
    ) {
        let semantics = if pyss { Semantics::Pyss } else { Semantics::Textbook };
        let depth = if conservative { Depth::All } else { Depth::First(1) };
        let closed = workload(&jobs, semantics);
        let run = replay(&closed, depth, semantics);
        let logged = moments(&closed, &Run { submitted: vec![], ..run.clone() });
        let found = moments(&closed, &run);
        let order = if run.submitted.is_empty() { &closed.jobs } else { &run.submitted };
        let end = |source| {
            let at = order.iter().position(|job| job.source == source).unwrap();
            run.jobs[at].end.0
        };
        for (source, &(submit, _)) in found.iter().enumerate() {
            let link = closed.links.iter().find(|link| link.job == source);
            let of_log = logged[source].0;
            let expected = link.map_or(of_log, |link| match link.think {
                Some(think) => end(link.after) + think.0,
                None => end(link.after).max(of_log),
            });
            prop_assert_eq!(submit, expected);
        }
        // A job of 0 s ends within the second in which another is submitted by it: then the rounds
        // of the second differ.
        if jobs.iter().all(|job| job.1 > 0) && !pyss {
            let open = Workload { jobs: order.clone(), links: vec![], ..closed };
            prop_assert_eq!(replay(&open, depth, semantics).jobs, run.jobs);
        }
    }

    #[test]
    fn a_session_goes_on_after_the_last_end_of_its_user(
        drawn in prop::collection::vec((0i64..6, 0i64..9, 0i64..3), 0..20), gap in 0i64..5,
    ) {
        let mut now = 0;
        let trails: Vec<Trail> = drawn.iter().enumerate().map(|(job, &(wait, run, user))| {
            now += wait;
            Trail { job, user, submit: Time(now), end: Time(now + run) }
        }).collect();
        let plain: Vec<Link> = trails.iter().enumerate().filter_map(|(at, trail)| {
            let before = trails[..at].iter().filter(|other| other.user == trail.user);
            let last = before.filter(|other| other.end <= trail.submit);
            let last = last.max_by_key(|other| (other.end, other.job))?;
            let think = trail.submit - last.end;
            (think.0 <= gap).then_some(Link { job: at, after: last.job, think: Some(think) })
        }).collect();
        prop_assert_eq!(sessions(&trails, Span(gap)), plain);
    }
}

#[test]
fn a_job_whose_preceding_job_never_runs_is_submitted_as_logged() {
    let job = |number, submit, processors| LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(10)),
        processors: Some(processors),
        requested: Some(Span(10)),
        user: 1,
        terms: None,
    };
    let log = [job(1, 0, NODES + 1), job(2, 5, 1), job(3, 6, 1)];
    let pools = Arc::new(Pools::cluster(NODES));
    let workload = prepare(&log, pools, Semantics::Textbook, Overrun::Kill);
    let link = |job, after| Link { job, after, think: Some(Span(3)) };
    let (links, unlinked) = kept(vec![link(1, 0), link(2, 1)], &workload.jobs, log.len());
    assert_eq!((links.as_slice(), unlinked.rejected), ([link(2, 1)].as_slice(), 1));
    let workload = Workload { links, ..workload };
    let run = replay(&workload, Depth::First(1), Semantics::Textbook);
    assert_eq!(run.submitted.iter().map(|job| job.submit.0).collect::<Vec<_>>(), [5, 18]);
    let later = kept(vec![link(1, 2)], &workload.jobs, log.len());
    assert_eq!((later.0.len(), later.1.unknown), (0, 1), "a preceding job comes before");
}
