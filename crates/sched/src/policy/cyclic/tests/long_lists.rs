//! Long lists, on which searches use an index.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::Criterion;

use super::*;
use crate::window::SlotIndex;

/// 1,500 nodes with three slots each, and eight jobs by all criteria.
fn long_batch(seed: u64) -> Snapshot {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let nodes: Vec<(u32, i64)> = (0..1_500)
        .map(|_| (random.random_range(1..=6) * 500, random.random_range(1..=12)))
        .collect();
    let mut free = Vec::new();
    for node in 0..1_500 {
        let mut at = random.random_range(0..60);
        for _ in 0..3 {
            let end = at + random.random_range(10..120);
            free.push((node, at, end));
            at = end + random.random_range(1..60);
        }
    }
    let criteria =
        [Criterion::Start, Criterion::Cost, Criterion::Finish, Criterion::Runtime].into_iter();
    let jobs = criteria.cycle().take(8).enumerate().map(|(at, criterion)| {
        let mut request = Request::new(random.random_range(1..7), Span(random.random_range(5..60)));
        let budget = i64::from(request.tasks) * random.random_range(30..400);
        request.budget = random.random_bool(0.5).then(|| Money::credits(budget));
        request.criterion = criterion;
        Job { name: format!("j{at}"), priority: 0, request }
    });
    let jobs = jobs.collect();
    snapshot(grid(&nodes), 600, slots(&free), jobs)
}

#[test]
fn alternatives_on_an_index_are_those_in_the_list() {
    for seed in 0..3 {
        let snapshot = long_batch(seed);
        assert!(SlotIndex::is_for(&snapshot.slots));
        let cyclic = Cyclic { max_alternatives: Some(12), ..Cyclic::default() };
        for job in 0..snapshot.jobs.len() {
            let windows = |index: Option<SlotIndex<'_>>| {
                let free = (&snapshot.slots, index);
                let mut progress = |_| {};
                let mut meter = Meter::new(1, &mut progress);
                let found =
                    alternatives::search_alone(&snapshot, &cyclic, job, free, &mut meter).unwrap();
                (found.windows, found.cut, found.unproven, found.reason)
            };
            let index = SlotIndex::new(&snapshot.grid, &snapshot.slots);
            assert_eq!(windows(Some(index)), windows(None), "seed {seed}, job {job}");
        }
    }
}

#[test]
fn plans_of_long_lists_keep_windows_apart() {
    for seed in 0..3 {
        let snapshot = long_batch(seed);
        let limited = Cyclic { max_alternatives: Some(6), ..Cyclic::default() };
        for cyclic in [
            Cyclic { sub_batches: SubBatches::Auto, ..limited.clone() },
            Cyclic { sub_batches: SubBatches::Count(3), ..limited.clone() },
            Cyclic { offers: Offers::Overlapping, choice_limit: 20_000, ..limited },
        ] {
            let plan = plan_of(&snapshot, &cyclic);
            let chosen: Vec<&Window> = plan.jobs.iter().filter_map(JobPlan::window).collect();
            assert!(chosen.len() > 4, "seed {seed}: {} placed", chosen.len());
            assert!(disjoint(chosen.iter().copied()), "seed {seed}");
            assert!(chosen.iter().all(|window| is_free(&snapshot.slots, window)), "seed {seed}");
        }
    }
}
