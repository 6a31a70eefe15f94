//! Batches of jobs with whole nodes and jobs whose tasks share nodes.

use proptest::prelude::*;
use tradewind_model::{
    Charge, Horizon, NodeResources, Packing, Request, Resources, SharedFree, Sharing, Slot,
    SlotList, Snapshot, Span, TaskNeeds, Time, VoPolicy,
};

use super::{Cyclic, Offers, Plan, all_alternatives, plan_of, sliced};
use crate::testing::{any_request, grid, job};

fn amounts(cores: u32, memory: u64) -> Resources {
    Resources { cores, memory, ..Resources::default() }
}

fn any_batch() -> impl Strategy<Value = Snapshot> {
    let needs = prop::option::weighted(0.7, (1_u32..3, 0_u64..4));
    let jobs = prop::collection::vec((any_request(), needs, 1_u32..5), 1..5);
    let busy = prop::collection::vec((0_u32..3, 0_i64..60, 1_i64..25, 0_u32..4, 0_u64..6), 0..5);
    (jobs, busy).prop_map(|(jobs, busy)| {
        let shared = Sharing::Shared(Charge::Share);
        let has = |sharing| Some(NodeResources { all: amounts(4, 6), sharing });
        let grid = grid(&[(1_000, 2), (2_000, 3), (1_000, 1)]).with_resources(vec![
            has(shared.clone()),
            has(shared),
            has(Sharing::Whole),
        ]);
        let horizon = Horizon { start: Time(0), end: Time(60) };
        let span = |&(node, start, length, cores, memory): &(u32, i64, i64, u32, u64)| {
            let node = tradewind_model::NodeId(node);
            let part = grid.is_shared(node).then(|| amounts(cores, memory));
            (Slot { start: Time(start), end: Time(start + length), node }, part)
        };
        let busy: Vec<(Slot, Option<Resources>)> = busy.iter().map(span).collect();
        let spans: Vec<Slot> = busy.iter().map(|(span, _)| *span).collect();
        let slots = SlotList::from_busy(&grid, horizon, &spans)
            .with_shared(SharedFree::from_busy(&grid, horizon, &busy));
        let batch = jobs.into_iter().enumerate().map(|(number, (request, needs, tasks))| {
            let needs = needs.map(|(cores, memory)| {
                Box::new(TaskNeeds { each: amounts(cores, memory), packing: Packing::BestFit })
            });
            let tasks = if needs.is_some() { tasks } else { request.tasks };
            job(&format!("j{number}"), Request { tasks, needs, ..request })
        });
        let jobs = batch.collect();
        Snapshot { horizon, grid, slots, jobs, policy: VoPolicy::default() }
    })
}

/// Chosen windows are beside each other, and each is what its job asked for.
fn check(snapshot: &Snapshot, plan: &Plan) -> Result<(), TestCaseError> {
    let mut left = snapshot.slots.clone();
    for (job, planned) in snapshot.jobs.iter().zip(&plan.jobs) {
        for window in &planned.alternatives {
            prop_assert_eq!(window.check(&job.request, &snapshot.grid), Ok(()));
        }
        if let Some(window) = planned.window() {
            prop_assert_eq!(left.subtract_window(window), Ok(()));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_resource_is_given_twice(snapshot in any_batch(), count in 1u32..4) {
        snapshot.check().unwrap();
        check(&snapshot, &plan_of(&snapshot, &sliced(count)))?;
        let plan = plan_of(&snapshot, &all_alternatives());
        check(&snapshot, &plan)?;
        let mut left = snapshot.slots.clone();
        for window in plan.jobs.iter().flat_map(|job| &job.alternatives) {
            prop_assert_eq!(left.subtract_window(window), Ok(()));
        }
        let empty = snapshot.jobs.iter().zip(&plan.jobs).filter(|(_, it)| it.alternatives.is_empty());
        for (job, _) in empty {
            let search = crate::window::Search::best(job.request.criterion.clone());
            let found = crate::window::find(&snapshot.grid, &left, &job.request, &search);
            prop_assert!(found.is_none());
        }
    }

    #[test]
    fn schemes_that_keep_windows_apart_plan_as_css(snapshot in any_batch()) {
        prop_assume!(snapshot.jobs.iter().any(|job| job.request.needs.is_some()));
        let css = plan_of(&snapshot, &Cyclic::default());
        for offers in [Offers::Overlapping, Offers::OnTheFly] {
            let plan = plan_of(&snapshot, &Cyclic { offers, ..Cyclic::default() });
            prop_assert_eq!(&plan, &css);
        }
    }
}

#[test]
fn eight_tasks_of_a_node_are_one_node() {
    let all = amounts(128, 512 * Resources::GIB);
    let has = NodeResources { all, sharing: Sharing::Shared(Charge::Share) };
    let grid = grid(&[(1_000, 8), (1_000, 8)]).with_resources(vec![Some(has); 2]);
    let horizon = Horizon { start: Time(0), end: Time(100) };
    let slots = SlotList::default().with_shared(SharedFree::from_busy(&grid, horizon, &[]));
    let each = amounts(8, 64 * Resources::GIB);
    let needs = Some(Box::new(TaskNeeds { each, packing: Packing::BestFit }));
    let jobs = vec![
        job("eight", Request { needs, ..Request::new(8, Span(100)) }),
        job("whole", Request::new(1, Span(100))),
    ];
    let snapshot = Snapshot { horizon, grid, slots, jobs, policy: VoPolicy::default() };
    let plan = plan_of(&snapshot, &Cyclic::default());
    let windows: Vec<_> = plan.jobs.iter().filter_map(|job| job.window()).collect();
    let nodes: Vec<Vec<u32>> =
        windows.iter().map(|it| it.tasks().iter().map(|task| task.node.0).collect()).collect();
    assert_eq!(nodes, [vec![0; 8], vec![1]]);
    // Each of eight tasks pays an eighth of a node: its share of the memory.
    assert_eq!(windows[0].cost(), windows[1].cost());
}
