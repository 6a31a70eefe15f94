//! Agents that choose as our policies do give the starts of these.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Pools, Span, Time};
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};

use super::{Episode, Episodes, Kind, Scene, Turn};
use crate::workload::{self, LogJob, Overrun, Workload};
use crate::{Estimate, ReplaySettings, Run, Semantics, check, run};

/// Jobs: seconds after the one before, run, request, width, user.
fn log(jobs: Vec<(i64, i64, i64, u32, i64)>) -> Arc<Workload> {
    let mut submit = 0;
    let jobs: Vec<LogJob> = jobs
        .into_iter()
        .enumerate()
        .map(|(at, job)| {
            submit += job.0;
            LogJob {
                number: at as i64 + 1,
                submit: Some(Time(submit)),
                run: Some(Span(job.1)),
                processors: Some(job.3),
                requested: Some(Span(job.2)),
                user: job.4,
                terms: None,
            }
        })
        .collect();
    let pools = Arc::new(Pools::cluster(8));
    Arc::new(workload::prepare(&jobs, pools, Semantics::Textbook, Overrun::Kill))
}

fn jobs() -> impl Strategy<Value = Arc<Workload>> {
    let job = (0_i64..40, 0_i64..120, 1_i64..150, 1_u32..=8, 0_i64..3);
    prop::collection::vec(job, 1..60).prop_map(log)
}

fn ours(workload: &Workload, estimate: Estimate, depth: Depth) -> Run {
    let settings = ReplaySettings { semantics: Semantics::Textbook, estimate };
    let mut policy = Backfill::new(BackfillSettings { depth, ..Default::default() });
    run(workload, settings, &mut policy, &mut check::all(check_promise(depth))).unwrap()
}

fn check_promise(depth: Depth) -> tradewind_sched::policy::Promise {
    match depth {
        Depth::First(0) => tradewind_sched::policy::Promise::Order,
        _ => tradewind_sched::policy::Promise::Head,
    }
}

/// Plays a whole workload by a rule from the mask; the run and the sum of rewards.
fn played(
    workload: &Arc<Workload>,
    estimate: Estimate,
    kind: Kind,
    choose: impl Fn(&[bool]) -> usize,
) -> Option<(Run, f64)> {
    let scene = Scene { workload: Arc::clone(workload), estimate, kind, jobs: workload.jobs.len() };
    let shape = scene.shape();
    let mut world = Episodes::new(scene, 1);
    if world.reset().unwrap() == Turn::Over {
        return None;
    }
    let (mut seen, mut mask) = (vec![0.0; shape.rows * shape.features], vec![false; shape.actions]);
    let mut rewards = 0.0;
    loop {
        let episode: &mut Box<dyn Episode> = world.episode().unwrap();
        episode.observe(&mut seen);
        episode.mask(&mut mask);
        assert!(seen.iter().all(|it| (0.0..=1.0).contains(it)), "{seen:?}");
        let action = choose(&mask);
        let turn = episode.act(action).unwrap();
        rewards += episode.reward();
        if turn == Turn::Over {
            return Some((world.finish().unwrap().unwrap(), rewards));
        }
    }
}

fn starts(run: &Run) -> Vec<(Time, Time)> {
    run.jobs.iter().map(|job| (job.start, job.end)).collect()
}

proptest! {
    #[test]
    fn the_first_each_time_is_easy(workload in jobs(), exact in any::<bool>()) {
        let estimate = if exact { Estimate::Exact } else { Estimate::Requested };
        let easy = ours(&workload, estimate, Depth::First(1));
        let kind = Kind::Backfill { candidates: 5 };
        if let Some((run, rewards)) = played(&workload, estimate, kind, |_| 0) {
            prop_assert_eq!(starts(&run), starts(&easy));
            prop_assert!(rewards <= 0.0);
        }
        let kind = Kind::Order { candidates: 3 };
        if let Some((run, _)) = played(&workload, estimate, kind, |_| 0) {
            prop_assert_eq!(starts(&run), starts(&easy));
        }
    }

    #[test]
    fn none_each_time_is_fcfs(workload in jobs()) {
        let fcfs = ours(&workload, Estimate::Requested, Depth::First(0));
        let kind = Kind::Backfill { candidates: 5 };
        let none = |mask: &[bool]| mask.len() - 1;
        if let Some((run, _)) = played(&workload, Estimate::Requested, kind, none) {
            prop_assert_eq!(starts(&run), starts(&fcfs));
        }
    }

    #[test]
    fn any_choice_keeps_the_market_sound(workload in jobs(), picks in prop::collection::vec(0_usize..6, 8)) {
        for kind in [Kind::Backfill { candidates: 4 }, Kind::Order { candidates: 4 }] {
            let turn = std::cell::Cell::new(0);
            let choose = |_: &[bool]| {
                turn.set(turn.get() + 1);
                picks[turn.get() % picks.len()]
            };
            if let Some((run, _)) = played(&workload, Estimate::Requested, kind, choose) {
                let began = |at: usize| run.jobs[at].start >= workload.jobs[at].submit;
                prop_assert!((0..run.jobs.len()).all(began));
            }
        }
    }
}

/// By hand: job 2 waits from 0 to 100, job 3 overtakes it or does not.
#[test]
fn rewards_are_the_slowdown_that_waiting_adds() {
    let workload = log(vec![(0, 100, 100, 6, 1), (0, 50, 50, 8, 1), (0, 20, 20, 2, 1)]);
    let kind = Kind::Backfill { candidates: 2 };
    let (_, first) = played(&workload, Estimate::Requested, kind.clone(), |_| 0).unwrap();
    assert!((first + (100.0 / 50.0) / 3.0).abs() < 1e-6, "{first}");
    let (_, none) = played(&workload, Estimate::Requested, kind, |mask| mask.len() - 1).unwrap();
    assert!((none + (100.0 / 50.0 + 150.0 / 20.0) / 3.0).abs() < 1e-6, "{none}");
}

#[test]
fn the_same_seed_draws_the_same_stretches() {
    let jobs = (0..200).map(|at| (7, 60 + at % 50, 120, 1 + (at % 8) as u32, at % 3)).collect();
    let workload = log(jobs);
    let scene = Scene {
        workload,
        estimate: Estimate::Requested,
        kind: Kind::Order { candidates: 4 },
        jobs: 50,
    };
    let firsts = |seed| {
        let mut world = Episodes::new(scene.clone(), seed);
        let mut first = || {
            assert_eq!(world.reset().unwrap(), Turn::Choice);
            world.workload().jobs[0].number
        };
        [first(), first(), first()]
    };
    assert_eq!(firsts(5), firsts(5));
    assert_ne!(firsts(5), firsts(6));
}
