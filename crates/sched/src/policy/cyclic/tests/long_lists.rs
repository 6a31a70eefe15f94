//! Long lists, on which searches use an index, against single searches of the whole list.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::Criterion;

use super::*;
use crate::window::SlotIndex;

/// Some 300 nodes with three slots each, and eight jobs by all criteria.
fn long_batch(seed: u64) -> Snapshot {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let nodes: Vec<(u32, i64)> =
        (0..300).map(|_| (random.random_range(1..=6) * 500, random.random_range(1..=12))).collect();
    let mut free = Vec::new();
    for node in 0..300 {
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

/// Pass after pass, one window per job by a search of the whole list.
fn by_single_searches(snapshot: &Snapshot, cyclic: &Cyclic) -> Vec<Vec<Window>> {
    let mut left = snapshot.slots.clone();
    let mut windows = vec![Vec::new(); snapshot.jobs.len()];
    let order = snapshot.by_priority();
    for _ in 0..cyclic.max_alternatives.unwrap() {
        for &job in &order {
            let searcher = searcher(snapshot, cyclic, &snapshot.jobs[job].request, job);
            let found = searcher.find(&left, Time::MIN, &mut Scratch::default());
            if let Some(found) = found {
                left.subtract_window(&found.window).unwrap();
                windows[job].push(found.window);
            }
        }
    }
    windows
}

#[test]
fn alternatives_in_long_lists_are_those_of_single_searches() {
    for seed in 0..4 {
        let snapshot = long_batch(seed);
        assert!(SlotIndex::is_for(&snapshot.slots));
        let cyclic = Cyclic { max_alternatives: Some(12), ..Cyclic::default() };
        let plan = plan_of(&snapshot, &cyclic);
        let found: Vec<Vec<Window>> =
            plan.jobs.iter().map(|job| job.alternatives.clone()).collect();
        assert_eq!(found, by_single_searches(&snapshot, &cyclic), "seed {seed}");
        assert!(found.iter().any(|windows| windows.len() == 12), "seed {seed}");
    }
}

/// What earlier sub-batches booked is not offered again.
#[test]
fn plans_of_long_lists_keep_windows_apart() {
    for seed in 0..4 {
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
