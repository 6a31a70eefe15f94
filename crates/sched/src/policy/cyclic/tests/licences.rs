//! Batches of jobs of which some take licences along.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Job, LicenceShare, Outcome, Reason, Request, Snapshot, Span, Window};

use super::{
    Cyclic, Offers, SubBatches, all_alternatives, any_policy, check_plan, plan_of, sliced,
};
use crate::testing::{
    DrawnLicences, any_licences, any_market, any_request_of_shapes, grid, job, share, slots,
    snapshot,
};

/// Two licences or one; about two of three jobs take some along.
fn any_batch() -> impl Strategy<Value = (Snapshot, DrawnLicences)> {
    let shares = prop::collection::vec(0u32..3, 2);
    let jobs = prop::collection::vec((any_request_of_shapes(), shares, 0i64..3), 1..5);
    (any_market(), jobs, any_policy(), any_licences(1_000_000)).prop_map(
        |((grid, slots), jobs, policy, drawn)| {
            let known = drawn.all.len() as u32;
            let named = |(i, (request, counts, priority)): (usize, (Request, Vec<u32>, i64))| {
                let all = (0..known).zip(counts).map(|(id, count)| share(id, count));
                let all: Vec<LicenceShare> = all.filter(|it| it.count > 0).collect();
                let licences = (!all.is_empty()).then(|| all.into());
                Job { name: format!("j{i}"), priority, request: Request { licences, ..request } }
            };
            let jobs = jobs.into_iter().enumerate().map(named).collect();
            let snapshot = snapshot(drawn.grid(grid), 60, drawn.slots(slots), jobs);
            (Snapshot { policy, ..snapshot }, drawn)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_licence_is_given_twice((snapshot, drawn) in any_batch(), count in 1u32..4) {
        for cyclic in [sliced(count), Cyclic { sub_batches: SubBatches::Auto, ..sliced(1) }] {
            let plan = plan_of(&snapshot, &cyclic);
            check_plan(&snapshot, &plan)?;
            let chosen: Vec<&Window> = plan.jobs.iter().filter_map(|it| it.window()).collect();
            prop_assert!(drawn.suffice(&chosen));
        }
        let plan = plan_of(&snapshot, &all_alternatives());
        check_plan(&snapshot, &plan)?;
        let all: Vec<&Window> = plan.jobs.iter().flat_map(|it| &it.alternatives).collect();
        prop_assert!(drawn.suffice(&all));
        // What they leave has no window for a job any more.
        let mut left = snapshot.slots.clone();
        for window in all {
            prop_assert_eq!(left.subtract_window(window), Ok(()));
        }
        for job in &snapshot.jobs {
            let search = crate::window::Search::best(job.request.criterion.clone());
            let found = crate::window::find(&snapshot.grid, &left, &job.request, &search);
            prop_assert!(found.is_none());
        }
    }

    #[test]
    fn schemes_that_keep_windows_apart_plan_as_css((snapshot, _) in any_batch()) {
        prop_assume!(snapshot.jobs.iter().any(|job| job.request.licences.is_some()));
        let css = plan_of(&snapshot, &Cyclic::default());
        for offers in [Offers::Overlapping, Offers::OnTheFly] {
            let plan = plan_of(&snapshot, &Cyclic { offers, ..Cyclic::default() });
            prop_assert_eq!(&plan, &css);
        }
    }

    /// Licences of which there is enough for all, and for nothing, change no window.
    #[test]
    fn licences_for_all_change_nothing((snapshot, drawn) in any_batch(), count in 1u32..4) {
        let mut plenty = drawn.clone();
        for licence in &mut plenty.all {
            (licence.count, licence.price) = (1_000_000, tradewind_model::Price(0));
        }
        plenty.busy.clear();
        let bare = |request: &Request| Request { licences: None, ..request.clone() };
        let jobs = snapshot.jobs.iter();
        let jobs = jobs.map(|job| Job { request: bare(&job.request), ..job.clone() }).collect();
        let without = Snapshot { jobs, ..snapshot.clone() };
        let grid = plenty.grid(snapshot.grid.clone());
        let slots = plenty.slots(without.slots.clone());
        let with = Snapshot { grid, slots, ..snapshot.clone() };
        for cyclic in [sliced(count), all_alternatives()] {
            let (one, other) = (plan_of(&without, &cyclic), plan_of(&with, &cyclic));
            for (one, other) in one.jobs.iter().zip(&other.jobs) {
                let tasks = |it: &Window| (it.start(), it.tasks().to_vec());
                let all = |windows: &[Window]| windows.iter().map(tasks).collect::<Vec<_>>();
                prop_assert_eq!(all(&one.alternatives), all(&other.alternatives));
                prop_assert_eq!(&one.outcome, &other.outcome);
            }
        }
    }
}

#[test]
fn the_last_licence_makes_the_second_job_wait() {
    let drawn = DrawnLicences {
        all: vec![tradewind_model::Licence {
            name: "abaqus".into(),
            count: 3,
            price: tradewind_model::Price(0),
        }],
        busy: Vec::new(),
        shares: Some(Arc::from([share(0, 2)])),
    };
    let request = Request { licences: drawn.shares.clone(), ..Request::new(1, Span(20)) };
    let jobs = ["first", "second", "third"].map(|name| job(name, request.clone()));
    let slots = slots(&[(0, 0, 50), (1, 0, 50), (2, 0, 50)]);
    let grid = drawn.grid(grid(&[(1_000, 1); 3]));
    let snapshot = snapshot(grid, 50, drawn.slots(slots), jobs.to_vec());
    let plan = plan_of(&snapshot, &Cyclic { max_alternatives: Some(1), ..Cyclic::default() });
    let starts: Vec<Option<i64>> =
        plan.jobs.iter().map(|it| it.window().map(|window| window.start().0)).collect();
    assert_eq!(starts, [Some(0), Some(20), None]);
    assert_eq!(plan.jobs[2].outcome, Outcome::Postponed(Reason::Outbid));
}
