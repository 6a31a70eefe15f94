//! The worked example of paper 001, section 4.
//!
//! The layout is only in the paper's missing figure. This one meets every statement of the text:
//! six nodes, seven local tasks, ten slots; cpu1 + cpu4 cost 10 a second, cpu1 + cpu2 + cpu4
//! cost 14, cpu6 costs 12; W1, W2 and W3 as printed; eight alternatives in all with AMP; earlier
//! windows for job 1 break only its budget; ALP never uses cpu6.

use tradewind_model::{Money, Outcome, Price, Request, Snapshot, Span, Time, Window};

use super::*;
use crate::testing::{grid, job, slots, snapshot};

const CPU6: u32 = 5;

/// Prices of cpu1..cpu6.
const PRICES: [i64; 6] = [8, 4, 9, 2, 10, 12];

fn worked_example() -> Snapshot {
    let nodes: Vec<(u32, i64)> = PRICES.iter().map(|&price| (1_000, price)).collect();
    let free = slots(&[
        (2, 0, 120),
        (4, 0, 140),
        (5, 0, 250),
        (0, 130, 510),
        (3, 150, 510),
        (1, 210, 260),
        (2, 300, 510),
        (5, 320, 510),
        (1, 450, 510),
        (4, 490, 510),
    ]);
    // The paper limits a window's cost per second; per task that is ALP's cap, in all AMP's budget.
    let limited = |tasks: u32, work: i64, per_second: i64| Request {
        max_price: Some(Price::credits(per_second / i64::from(tasks))),
        budget: Some(Money::credits(per_second * work)),
        ..Request::new(tasks, Span(work))
    };
    let jobs = vec![
        job("job1", limited(2, 80, 10)),
        job("job2", limited(3, 30, 30)),
        job("job3", limited(2, 50, 6)),
    ];
    snapshot(grid(&nodes), 510, free, jobs)
}

fn alternatives(algorithm: Algorithm, variant: Variant) -> Vec<Vec<Window>> {
    let cyclic = Cyclic {
        search: SearchBy::All(algorithm),
        variant,
        max_alternatives: None,
        ..Cyclic::default()
    };
    let plan = plan(&worked_example(), &cyclic, &mut |_| {});
    plan.jobs.into_iter().map(|job| job.alternatives).collect()
}

/// Start, finish and nodes (numbered from 1 as in the paper).
fn seen(window: &Window) -> (i64, i64, Vec<u32>) {
    let nodes = window.tasks().iter().map(|task| task.node.0 + 1).collect();
    (window.start().0, window.finish().0, nodes)
}

fn seen_of(variant: Variant) -> Vec<Vec<(i64, i64, Vec<u32>)>> {
    let found = alternatives(Algorithm::Amp, variant);
    found.iter().map(|of_job| of_job.iter().map(seen).collect()).collect()
}

#[test]
fn amp_finds_the_eight_alternatives() {
    let job1 = vec![(150, 230, vec![1, 4]), (260, 340, vec![1, 4]), (370, 450, vec![1, 4])];
    let job2 = vec![
        (230, 260, vec![1, 2, 4]),
        (340, 370, vec![1, 3, 4]),
        (450, 480, vec![1, 3, 6]),
        (480, 510, vec![1, 3, 6]),
    ];
    let job3 = vec![(450, 500, vec![2, 4])];
    assert_eq!(seen_of(Variant::Exact), [job1, job2, job3]);
}

#[test]
fn the_papers_own_steps_find_as_many_and_the_same_first_ones() {
    let (exact, paper) = (seen_of(Variant::Exact), seen_of(Variant::Paper));
    assert_eq!(paper.iter().map(Vec::len).sum::<usize>(), 8);
    for (exact, paper) in exact.iter().zip(&paper) {
        assert_eq!(exact[0], paper[0]);
    }
}

#[test]
fn the_first_windows_cost_what_the_paper_says() {
    let found = alternatives(Algorithm::Amp, Variant::Exact);
    assert_eq!(found[0][0].cost(), Money::credits(10 * 80));
    assert_eq!(found[1][0].cost(), Money::credits(14 * 30));
}

#[test]
fn windows_earlier_than_the_first_break_only_the_budget() {
    let mut example = worked_example();
    example.jobs[0].request.budget = None;
    example.jobs[0].request.max_price = None;
    let search =
        Search { variant: Variant::Exact, ..Search::best(tradewind_model::Criterion::Start) };
    let request = &example.jobs[0].request;
    let free = crate::window::find(&example.grid, &example.slots, request, &search).unwrap();
    assert!(free.window.start() < Time(150));
    assert!(free.window.cost() > Money::credits(800));
}

#[test]
fn alp_never_uses_the_dear_node() {
    for variant in [Variant::Exact, Variant::Paper] {
        let found = alternatives(Algorithm::Alp, variant);
        assert!(!found[1].is_empty());
        let tasks = found.iter().flatten().flat_map(Window::tasks);
        assert!(tasks.into_iter().all(|task| task.node.0 != CPU6));
    }
}

#[test]
fn every_job_of_the_example_is_placed() {
    let cyclic = Cyclic { search: SearchBy::All(Algorithm::Amp), ..Cyclic::default() };
    let plan = plan(&worked_example(), &cyclic, &mut |_| {});
    let placed = plan.jobs.iter().filter(|job| matches!(job.outcome, Outcome::Placed(_)));
    assert_eq!(placed.count(), 3);
}
