//! Many nodes and wide jobs, against a scan that recomputes everything at every start.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::Window;

use super::*;

/// `nodes` nodes with idle and busy spans in turn over `horizon` seconds.
pub(in crate::window) fn random_world(seed: u64, nodes: u32, horizon: i64) -> (Grid, SlotList) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let specs: Vec<(u32, i64)> = (0..nodes)
        .map(|_| (random.random_range(1..=10) * 500, random.random_range(0..=20)))
        .collect();
    let mut spans = Vec::new();
    for node in 0..nodes {
        let mut at = random.random_range(0..40);
        while at < horizon {
            let end = (at + random.random_range(5..80)).min(horizon);
            if end > at {
                spans.push((node, at, end));
            }
            at = end + random.random_range(1..40);
        }
    }
    (grid(&specs), slots(&spans))
}

/// The best (value, start) by sorting all alive tasks at every start.
fn plain(
    grid: &Grid,
    slots: &SlotList,
    request: &Request,
    criterion: &Criterion,
) -> Option<(i64, i64)> {
    let budget = request.budget.map_or(i64::MAX, |money| money.0);
    let wanted = request.tasks as usize;
    let mut best: Option<(i64, i64)> = None;
    let mut starts: Vec<i64> = slots.as_slice().iter().map(|slot| slot.start.0).collect();
    starts.dedup();
    for now in starts {
        let task = |slot: &Slot| {
            let node = grid.node(slot.node);
            let length = request.length_on(node);
            let alive = slot.start.0 <= now && now + length.0 <= slot.end.0;
            alive.then(|| ((node.price * length).0, length.0))
        };
        let mut alive: Vec<(i64, i64)> = slots.as_slice().iter().filter_map(task).collect();
        alive.sort_unstable();
        let cheapest = |alive: &[(i64, i64)]| {
            (alive.len() >= wanted).then(|| alive[..wanted].iter().map(|t| t.0).sum::<i64>())
        };
        if cheapest(&alive).is_none_or(|cost| cost > budget) {
            continue;
        }
        let mut runtime = alive[..wanted].iter().map(|t| t.1).max().unwrap();
        let mut shorter = alive.clone();
        loop {
            shorter.retain(|t| t.1 < runtime);
            match cheapest(&shorter) {
                Some(cost) if cost <= budget => {
                    runtime = shorter[..wanted].iter().map(|t| t.1).max().unwrap();
                }
                _ => break,
            }
        }
        let value = match criterion {
            Criterion::Start => now,
            Criterion::Finish => now + runtime,
            Criterion::Runtime => runtime,
            _ => cheapest(&alive).unwrap(),
        };
        best = Some(best.map_or((value, now), |b| b.min((value, now))));
    }
    best
}

#[test]
fn wide_jobs_on_hundreds_of_nodes_match_a_plain_scan() {
    for (seed, nodes, tasks) in
        [(1, 70, 1), (2, 300, 7), (3, 300, 60), (4, 600, 300), (5, 128, 64), (6, 64, 5)]
    {
        let (grid, slots) = random_world(seed, nodes, 600);
        for budget in [None, Some(90), Some(60), Some(45), Some(30), Some(15)] {
            let mut request = Request::new(tasks, Span(30));
            request.budget = budget.map(|each: i64| Money(each * i64::from(tasks)));
            for criterion in &CRITERIA[..4] {
                let found = find(&grid, &slots, &request, &best(criterion));
                let key = |w: &Window| (value(criterion, w, &grid), w.start().0);
                let got = found.map(|it| key(&it.window));
                let wanted = plain(&grid, &slots, &request, criterion);
                assert_eq!(got, wanted, "seed {seed}, {tasks} tasks, {budget:?}, {criterion:?}");
            }
        }
    }
}

#[test]
fn processor_time_is_proven_on_hundreds_of_nodes() {
    let mut proven = 0;
    for (seed, nodes, tasks) in [(1, 70, 3), (2, 300, 7), (3, 300, 40), (4, 400, 150)] {
        let (grid, slots) = random_world(seed, nodes, 400);
        for each in [120, 60, 30] {
            let mut request = Request::new(tasks, Span(30));
            request.budget = Some(Money(each * i64::from(tasks)));
            let criterion = Criterion::ProcessorTime;
            let Some(found) = find(&grid, &slots, &request, &best(&criterion)) else { continue };
            found.window.check(&request, &grid).unwrap();
            assert!(found.window.cost() <= request.budget.unwrap());
            assert_eq!(found.proof, Proof::Exact, "seed {seed}, {tasks} tasks at {each}");
            proven += 1;
        }
    }
    assert!(proven >= 8, "too few worlds have a window to say anything: {proven}");
}
