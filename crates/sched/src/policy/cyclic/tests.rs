mod licences;
mod long_lists;
mod shared;

use proptest::prelude::*;
use tradewind_model::{
    Attribute, Component, Criteria, Energy, Goal, Grid, Job, JobPlan, Limit, Measure, Money,
    Objective, Outcome, Plan, Power, Quantity, Reason, Request, Series, SitePower, Slot, SlotList,
    Snapshot, Span, Time, VoPolicy, Window,
};

use super::*;
use crate::testing::{any_market, any_request_of_shapes, grid, job, performance, slots, snapshot};
use crate::window::{self, Scratch, Search};

fn plan_of(snapshot: &Snapshot, cyclic: &Cyclic) -> Plan {
    plan(snapshot, cyclic, &mut |_| {})
}

fn all_alternatives() -> Cyclic {
    Cyclic { max_alternatives: None, ..Cyclic::default() }
}

fn sliced(count: u32) -> Cyclic {
    Cyclic { sub_batches: SubBatches::Count(count), ..all_alternatives() }
}

pub(super) fn any_batch(max: usize) -> impl Strategy<Value = Snapshot> {
    let jobs = prop::collection::vec((any_request_of_shapes(), 0i64..3), 1..=max);
    (any_market(), jobs, any_policy()).prop_map(|((grid, slots), jobs, policy)| {
        let named = |(i, (request, priority)): (usize, (Request, i64))| Job {
            name: format!("j{i}"),
            priority,
            request,
        };
        let jobs = jobs.into_iter().enumerate().map(named).collect();
        Snapshot { policy, ..snapshot(grid, 60, slots, jobs) }
    })
}

fn any_policy() -> impl Strategy<Value = VoPolicy> {
    let objective = prop::sample::select(vec![
        Objective::MaxIncome,
        Objective::MinTime,
        Objective::MinCost,
        Objective::MinIdle,
    ]);
    let measure = prop::sample::select(vec![Measure::Runtime, Measure::ProcessorTime]);
    (objective, measure, prop::option::of(0i64..150), prop::option::of(0i64..300)).prop_map(
        |(objective, measure, time, budget)| VoPolicy {
            objective,
            measure,
            time_limit: time.map_or(Limit::Auto, |limit| Limit::At(Span(limit))),
            budget_limit: budget.map_or(Limit::Auto, |limit| Limit::At(Money::credits(limit))),
            ..VoPolicy::default()
        },
    )
}

fn overlap(a: &Slot, b: &Slot) -> bool {
    a.node == b.node && a.start < b.end && b.start < a.end
}

pub(super) fn disjoint<'a>(windows: impl Iterator<Item = &'a Window>) -> bool {
    let spans: Vec<Slot> = windows.flat_map(Window::taken).collect();
    spans.iter().enumerate().all(|(i, a)| spans[i + 1..].iter().all(|b| !overlap(a, b)))
}

pub(super) fn is_free(slots: &SlotList, window: &Window) -> bool {
    window.taken().all(|taken| {
        slots
            .as_slice()
            .iter()
            .any(|s| s.node == taken.node && s.start <= taken.start && s.end >= taken.end)
    })
}

fn check_plan(snapshot: &Snapshot, plan: &Plan) -> Result<(), TestCaseError> {
    prop_assert_eq!(plan.jobs.len(), snapshot.jobs.len());
    prop_assert!(disjoint(plan.jobs.iter().filter_map(JobPlan::window)));
    for (job, planned) in snapshot.jobs.iter().zip(&plan.jobs) {
        prop_assert!(disjoint(planned.alternatives.iter()));
        for window in &planned.alternatives {
            prop_assert!(is_free(&snapshot.slots, window));
            prop_assert_eq!(window.check(&job.request, &snapshot.grid), Ok(()));
            prop_assert!(job.request.budget.is_none_or(|budget| window.cost() <= budget));
        }
        match &planned.outcome {
            Outcome::Placed(index) => prop_assert!(*index < planned.alternatives.len()),
            Outcome::Postponed(reason) => {
                let of_vo = reason.code().starts_with("vo-");
                prop_assert_eq!(planned.alternatives.is_empty(), !of_vo);
            }
        }
    }
    let totals = plan.totals(snapshot.policy.measure);
    if let Limit::At(limit) = snapshot.policy.time_limit {
        prop_assert!(totals.time <= limit);
    }
    if let Limit::At(limit) = snapshot.policy.budget_limit {
        prop_assert!(totals.cost <= limit);
    }
    Ok(())
}

/// The window that starts first, in the shapes of which there are fewest windows so far; if these have
/// none, in those of which there are next fewest. Among equal starts the cheapest, then the one that is over
/// first, then the one with the first tasks by cost, length and node.
fn next_by_start(
    grid: &Grid,
    list: &SlotList,
    request: &Request,
    so_far: &[Window],
) -> Option<Window> {
    let search = Search::best(Criterion::Start);
    let count = |shape: &Request| {
        so_far.iter().filter(|it| it.tasks().len() == shape.tasks as usize).count()
    };
    let mut shapes = request.in_shapes();
    shapes.sort_by_key(count);
    let key = |window: &Window| {
        let mut tasks: Vec<_> =
            window.tasks().iter().map(|it| (it.cost, it.length, it.node)).collect();
        tasks.sort_unstable();
        (window.start(), window.cost(), window.finish(), tasks)
    };
    shapes.chunk_by(|one, two| count(one) == count(two)).find_map(|equal| {
        let found = equal.iter().filter_map(|it| window::find(grid, list, it, &search));
        found.map(|it| it.window).min_by_key(key)
    })
}

proptest! {
    #[test]
    fn plans_keep_every_promise(snapshot in any_batch(5), count in 1u32..6) {
        for cyclic in [all_alternatives(), sliced(count), Cyclic { sub_batches: SubBatches::Auto, ..sliced(1) }] {
            let first = plan_of(&snapshot, &cyclic);
            check_plan(&snapshot, &first)?;
            prop_assert_eq!(&first, &plan_of(&snapshot, &cyclic));
        }
    }

    #[test]
    fn alternatives_leave_nothing_that_any_job_could_use(snapshot in any_batch(4)) {
        let plan = plan_of(&snapshot, &all_alternatives());
        prop_assert!(disjoint(plan.jobs.iter().flat_map(|job| &job.alternatives)));
        let mut left = snapshot.slots.clone();
        for window in plan.jobs.iter().flat_map(|job| &job.alternatives) {
            left.subtract_window(window).unwrap();
        }
        for job in &snapshot.jobs {
            let search = Search::best(job.request.criterion.clone());
            prop_assert_eq!(window::find(&snapshot.grid, &left, &job.request, &search), None);
        }
    }

    /// The search for the earliest start resumes where it last found something: the plain scheme,
    /// which starts over each time, must find the very same windows in the same order.
    #[test]
    fn resuming_the_scan_changes_nothing(mut snapshot in any_batch(4)) {
        for job in &mut snapshot.jobs {
            job.request.criterion = Criterion::Start;
        }
        let plan = plan_of(&snapshot, &all_alternatives());
        let mut list = snapshot.slots.clone();
        let mut expected: Vec<Vec<Window>> = vec![Vec::new(); snapshot.jobs.len()];
        loop {
            let mut any = false;
            for job in snapshot.by_priority() {
                let request = &snapshot.jobs[job].request;
                if let Some(window) = next_by_start(&snapshot.grid, &list, request, &expected[job]) {
                    list.subtract_window(&window).unwrap();
                    expected[job].push(window);
                    any = true;
                }
            }
            if !any {
                break;
            }
        }
        let found: Vec<_> = plan.jobs.into_iter().map(|job| job.alternatives).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn the_best_number_of_sub_batches_is_no_worse_than_one(snapshot in any_batch(5)) {
        let placed = |cyclic: &Cyclic| plan_of(&snapshot, cyclic).totals(Measure::Runtime).placed;
        let auto = Cyclic { sub_batches: SubBatches::Auto, ..all_alternatives() };
        prop_assert!(placed(&auto) >= placed(&sliced(1)));
    }

    #[test]
    fn searchers_may_share_their_scratch(snapshot in any_batch(3)) {
        let mut scratch = Scratch::default();
        for (i, job) in snapshot.jobs.iter().enumerate() {
            let searcher = searcher(&snapshot, &all_alternatives(), &job.request, i);
            let shared = searcher.find(&snapshot.slots, Time::MIN, &mut scratch);
            let fresh = searcher.find(&snapshot.slots, Time::MIN, &mut Scratch::default());
            prop_assert_eq!(shared, fresh);
        }
    }
}

fn two_jobs(policy: VoPolicy) -> Snapshot {
    let grid = grid(&[(1_000, 1), (2_000, 4)]);
    let free = slots(&[(0, 0, 40), (1, 0, 40)]);
    let request = || Request::new(1, Span(20));
    Snapshot { policy, ..snapshot(grid, 40, free, vec![job("a", request()), job("b", request())]) }
}

#[test]
fn objectives_pull_in_their_own_direction() {
    // Windows: node 0 gives 20 s at 20 credits twice, node 1 gives 10 s at 40 credits four times.
    let totals = |objective| {
        let time_limit = Limit::At(Span(40));
        let snapshot = two_jobs(VoPolicy { objective, time_limit, ..VoPolicy::default() });
        plan_of(&snapshot, &all_alternatives()).totals(Measure::Runtime)
    };
    let (fast, cheap) = (totals(Objective::MinTime), totals(Objective::MinCost));
    assert_eq!((fast.time, fast.cost), (Span(20), Money::credits(80)));
    assert_eq!((cheap.time, cheap.cost), (Span(40), Money::credits(40)));
    assert_eq!(totals(Objective::MaxIncome).cost, Money::credits(80));
    assert_eq!(totals(Objective::MinIdle).time, Span(40));
}

#[test]
fn a_tight_explicit_limit_postpones_the_lowest_priority_first() {
    let policy = VoPolicy { budget_limit: Limit::At(Money::credits(30)), ..VoPolicy::default() };
    let mut snapshot = two_jobs(policy);
    snapshot.jobs[1].priority = 7;
    let plan = plan_of(&snapshot, &all_alternatives());
    assert!(plan.jobs[1].window().is_some());
    let expected = Reason::BudgetLimit { limit: Money::credits(30), min: Money::credits(40) };
    assert_eq!(plan.jobs[0].outcome, Outcome::Postponed(expected));
    assert!(!plan.jobs[0].alternatives.is_empty());
}

#[test]
fn an_explicit_limit_is_shared_and_never_exceeded() {
    // Each half of 39 is too little for 20, but what the first does not use goes to the second.
    for (limit, placed) in [(0, 0), (19, 0), (39, 1), (40, 2), (81, 2)] {
        let budget_limit = Limit::At(Money::credits(limit));
        let snapshot = two_jobs(VoPolicy { budget_limit, ..VoPolicy::default() });
        let totals = plan_of(&snapshot, &sliced(2)).totals(Measure::Runtime);
        assert!(totals.cost <= Money::credits(limit));
        assert_eq!(totals.placed, placed, "{limit}");
    }
}

#[test]
fn a_job_that_others_crowd_out_learns_so() {
    let grid = grid(&[(1_000, 1)]);
    let free = slots(&[(0, 0, 30)]);
    let jobs = vec![job("a", Request::new(1, Span(20))), job("b", Request::new(1, Span(20)))];
    let plan = plan_of(&snapshot(grid, 30, free, jobs), &all_alternatives());
    assert_eq!(plan.jobs[1].outcome, Outcome::Postponed(Reason::Outbid));
}

#[test]
fn the_number_of_alternatives_is_bounded_and_the_cut_is_reported() {
    let snapshot = two_jobs(VoPolicy::default());
    let cyclic = Cyclic { max_alternatives: Some(2), ..all_alternatives() };
    let plan = plan_of(&snapshot, &cyclic);
    assert!(plan.jobs.iter().all(|job| job.alternatives.len() == 2 && job.cut));
    let plan = plan_of(&snapshot, &all_alternatives());
    assert!(plan.jobs.iter().all(|job| !job.cut));
}

#[test]
fn sub_batches_differ_by_at_most_one_and_the_order_is_as_asked() {
    let sizes = |jobs: usize, count| -> Vec<usize> {
        let order: Vec<usize> = (0..jobs).collect();
        slicer::cut(&order, count).iter().map(Vec::len).collect()
    };
    assert_eq!(sizes(11, 3), [4, 4, 3]);
    assert_eq!(sizes(2, 5), [1, 1]);
    assert_eq!(slice_counts(20), [1, 2, 3, 5, 8, 13, 20]);
    assert_eq!(slice_counts(1), [1]);

    let mut snapshot = two_jobs(VoPolicy::default());
    snapshot.jobs[1].request.budget = Some(Money::credits(100));
    snapshot.jobs[0].request.min_performance = Some(performance(1_000));
    let whole = |slice_by| plan_of(&snapshot, &Cyclic { slice_by, ..sliced(1) });
    assert_eq!(whole(SliceBy::Cost), whole(SliceBy::Priority), "priority rules within a part");
    let order = |slice_by| {
        let cyclic = Cyclic { slice_by, ..sliced(2) };
        slicer::slicing_order(&snapshot, cyclic.slice_by)
    };
    assert_eq!(order(SliceBy::Priority), [0, 1]);
    assert_eq!(order(SliceBy::Cost), [1, 0]);
    assert_eq!(order(SliceBy::Performance), [0, 1]);
}

/// Components and limits over the quantities that the drawn grids have.
fn any_criteria() -> impl Strategy<Value = Criteria> {
    let quantity = prop::sample::select(vec![
        Quantity::Cost,
        Quantity::Time,
        Quantity::Finish,
        Quantity::ProcessorTime,
        Quantity::Energy,
        Quantity::Carbon,
    ]);
    let goal = prop::sample::select(vec![Goal::Least, Goal::Most]);
    let component =
        (quantity.clone(), goal).prop_map(|(quantity, goal)| Component { quantity, goal });
    let limit = (quantity, 0i64..400).prop_map(|(quantity, limit)| {
        let unit = match quantity {
            Quantity::Cost => 1_000_000,
            Quantity::Energy => 100_000,
            Quantity::Carbon => 10,
            _ => 1,
        };
        (quantity, limit * unit)
    });
    (prop::collection::vec(component, 0..3), prop::collection::vec(limit, 0..3))
        .prop_map(|(order, limits)| Criteria { order, limits })
}

/// The same batch on nodes of 100 W, 150 W, 200 W and so on, at a site that becomes cleaner.
fn with_power(snapshot: Snapshot) -> Snapshot {
    let watts = |(i, node): (usize, &tradewind_model::Node)| {
        let mut node = node.clone();
        let watts = Attribute::Number(100_000 + 50_000 * i as i64);
        node.attributes.insert(Energy::BUSY.to_owned(), watts);
        node
    };
    let nodes = snapshot.grid.nodes().iter().enumerate().map(watts).collect();
    let sites = snapshot.grid.sites().to_vec();
    let series = Series::new(&[(Time(0), 900_000), (Time(20), 400_000), (Time(45), 10_000)]);
    let power = sites.iter().map(|_| SitePower { carbon: series.clone().ok(), price: None });
    let power = Power { sites: power.collect() };
    let grid = tradewind_model::Grid::new(sites, nodes).unwrap().with_power(power);
    Snapshot { grid, ..snapshot }
}

proptest! {
    /// The choice by criteria is the best of all combinations of the same jobs, within all limits.
    #[test]
    fn criteria_choose_the_best_of_all_combinations(
        snapshot in any_batch(4),
        criteria in any_criteria(),
    ) {
        let mut snapshot = with_power(snapshot);
        snapshot.policy.criteria = criteria.clone();
        let plan = plan_of(&snapshot, &Cyclic { max_alternatives: Some(5), ..Cyclic::default() });
        let at = (snapshot.policy.measure, snapshot.horizon.start);
        let sum = |quantity: &Quantity, windows: &[&Window]| -> i64 {
            windows.iter().map(|it| quantity.of(it, &snapshot.grid, at)).sum()
        };
        let keeps = |windows: &[&Window]| {
            let given = choose::given(&snapshot.policy);
            criteria.limits.iter().all(|(quantity, limit)| sum(quantity, windows) <= *limit)
                && given.time.is_none_or(|limit| sum(&Quantity::Time, windows) <= limit)
                && given.budget.is_none_or(|limit| sum(&Quantity::Cost, windows) <= limit)
        };
        let vector = |windows: &[&Window]| -> Vec<i64> {
            let component = |it: &Component| {
                sum(&it.quantity, windows) * if it.goal == Goal::Least { 1 } else { -1 }
            };
            criteria.order.iter().map(component).collect()
        };
        let chosen: Vec<&Window> = plan.jobs.iter().filter_map(JobPlan::window).collect();
        prop_assert!(keeps(&chosen));
        prop_assert_eq!(&plan.gap, &None);
        let placed: Vec<&JobPlan> = plan.jobs.iter().filter(|it| it.window().is_some()).collect();
        for choice in combinations(&placed) {
            if !criteria.order.is_empty() && keeps(&choice) {
                prop_assert!(vector(&chosen) <= vector(&choice));
            }
        }
    }
}

/// All choices of one alternative for each job.
fn combinations<'a>(jobs: &[&'a JobPlan]) -> Vec<Vec<&'a Window>> {
    jobs.iter().fold(vec![Vec::new()], |all, job| {
        let with = |choice: &Vec<&'a Window>, window: &'a Window| {
            choice.iter().copied().chain([window]).collect()
        };
        all.iter()
            .flat_map(|choice| job.alternatives.iter().map(move |window| with(choice, window)))
            .collect()
    })
}

/// Without an order the objective decides, as without criteria.
#[test]
fn a_limit_that_does_not_bind_changes_nothing() {
    for objective in [Objective::MinTime, Objective::MinCost, Objective::MaxIncome] {
        let mut snapshot = two_jobs(VoPolicy { objective, ..VoPolicy::default() });
        let plain = plan_of(&snapshot, &all_alternatives());
        snapshot.policy.criteria.limits = vec![(Quantity::Finish, 1_000_000)];
        let limited = plan_of(&snapshot, &all_alternatives());
        let measure = snapshot.policy.measure;
        assert_eq!(limited.totals(measure), plain.totals(measure), "{objective:?}");
        assert_eq!(limited.limits, plain.limits, "{objective:?}");
    }
}

#[test]
fn a_limit_that_no_combination_keeps_postpones_the_last_job_with_the_reason() {
    let mut snapshot = two_jobs(VoPolicy::default());
    snapshot.policy.criteria.limits = vec![(Quantity::ProcessorTime, 1)];
    let plan = plan_of(&snapshot, &all_alternatives());
    let reasons: Vec<&str> = plan
        .jobs
        .iter()
        .filter_map(|job| match &job.outcome {
            Outcome::Postponed(reason) => Some(reason.code()),
            Outcome::Placed(_) => None,
        })
        .collect();
    assert_eq!(reasons, ["vo-sum-limit"; 2]);
}
