//! Batches planned on the fly, against every plan of every window.

use proptest::prelude::*;
use tradewind_model::{
    Attributes, Grid, Horizon, Job, JobPlan, Limit, Measure, Money, Node, NodeId, Objective,
    Outcome, Performance, Plan, Price, Reason, Request, Site, SiteId, Slot, SlotList, Snapshot,
    Span, Sum, TaskGroup, Time, Times, VoPolicy,
};

use tradewind_sched::policy::cyclic::{Cyclic, Offers, plan};
use tradewind_sim::models::Environment;

fn fly() -> Cyclic {
    Cyclic { offers: Offers::OnTheFly, choice_limit: 20_000, ..Cyclic::default() }
}

fn plan_of(snapshot: &Snapshot) -> Plan {
    plan(snapshot, &fly(), &mut |_| {})
}

/// Nodes of these performances and prices, with these free slots, and a batch.
fn snapshot(
    nodes: &[(u32, i64)],
    free: &[(u32, i64, i64)],
    requests: Vec<Request>,
    end: i64,
) -> Snapshot {
    let node = |(at, &(speed, price)): (usize, &(u32, i64))| Node {
        name: format!("n{at}"),
        site: SiteId(0),
        host: None,
        performance: Performance::from_thousandths(speed).unwrap(),
        price: Price::credits(price),
        attributes: Attributes::new(),
        times: Times::Work,
    };
    let nodes = nodes.iter().enumerate().map(node).collect();
    let slot = |&(node, start, end): &(u32, i64, i64)| Slot {
        start: Time(start),
        end: Time(end),
        node: NodeId(node),
    };
    let mut slots: Vec<Slot> = free.iter().map(slot).collect();
    slots.sort_by_key(|slot| (slot.start, slot.node));
    let job = |(at, request)| Job { name: format!("j{at}"), priority: 0, request };
    Snapshot {
        horizon: Horizon { start: Time(0), end: Time(end) },
        grid: Grid::new(vec![Site { name: "s".to_owned() }], nodes).unwrap(),
        slots: SlotList::new(slots).unwrap(),
        jobs: requests.into_iter().enumerate().map(job).collect(),
        policy: VoPolicy::default(),
    }
}

/// A window without names: its start, its nodes with the ends of their tasks, and its worth.
#[derive(Debug, Clone)]
struct Plain {
    tasks: Vec<(NodeId, i64, i64)>,
    worth: i64,
}

/// All windows of a request, at all seconds and on all sets of nodes.
fn all_windows(snapshot: &Snapshot, request: &Request) -> Vec<Plain> {
    let mut all = Vec::new();
    let groups: Vec<Request> = request.groups().collect();
    for start in 0..snapshot.horizon.end.0 {
        let task = |(group, (id, node)): (usize, (NodeId, &tradewind_model::Node))| {
            let request = &groups[group];
            let end = start + request.length_on(node).0;
            let free = snapshot.slots.as_slice().iter();
            let free = free.filter(|slot| slot.node == id);
            let fits = free.into_iter().any(|slot| slot.start.0 <= start && end <= slot.end.0);
            let capped = request.max_price.is_none_or(|max| node.price <= max);
            let late = request.deadline.is_some_and(|deadline| end > deadline.0);
            let fits = fits && capped && !late && request.suits(node);
            fits.then_some((group, (id, start, end)))
        };
        let of_group = |group| snapshot.grid.iter().map(move |it| (group, it));
        let tasks: Vec<_> = (0..groups.len()).flat_map(of_group).filter_map(task).collect();
        for set in 0u32..1 << tasks.len() {
            let chosen = || (0..tasks.len()).filter(|at| set >> at & 1 == 1).map(|at| tasks[at]);
            let of = |group| chosen().filter(|task| task.0 == group).count();
            let counts = |(at, group): (usize, &Request)| of(at) == group.tasks as usize;
            let mut nodes: Vec<NodeId> = chosen().map(|(_, task)| task.0).collect();
            nodes.sort_unstable();
            let apart = nodes.windows(2).all(|pair| pair[0] != pair[1]);
            if !apart || !groups.iter().enumerate().all(counts) {
                continue;
            }
            let chosen: Vec<_> = chosen().map(|(_, task)| task).collect();
            let worth = worth(&snapshot.grid, &snapshot.policy, &chosen, request);
            if let Some(worth) = worth {
                all.push(Plain { tasks: chosen, worth });
            }
        }
    }
    all
}

fn worth(
    grid: &Grid,
    policy: &VoPolicy,
    tasks: &[(NodeId, i64, i64)],
    request: &Request,
) -> Option<i64> {
    let lengths = tasks.iter().map(|(_, start, end)| end - start);
    let cost: i64 = tasks.iter().map(|(id, a, b)| grid.node(*id).price.0 * (b - a)).sum();
    let fits = request.budget.is_none_or(|budget| cost <= budget.0);
    fits.then_some(match (policy.objective, policy.measure) {
        (Objective::MinCost, _) => cost,
        (_, Measure::Runtime) => lengths.max().unwrap_or(0),
        (_, Measure::ProcessorTime) => lengths.sum(),
    })
}

/// For each number of jobs placed, the lowest sum of any plan.
fn brute(
    windows: &[Vec<Plain>],
    taken: &mut Vec<(NodeId, i64, i64)>,
    out: &mut Vec<Option<i64>>,
    (placed, sum): (usize, i64),
) {
    let Some((first, rest)) = windows.split_first() else {
        out[placed] = Some(out[placed].map_or(sum, |least| least.min(sum)));
        return;
    };
    brute(rest, taken, out, (placed, sum));
    for window in first {
        let meets =
            |a: &(NodeId, i64, i64), b: &(NodeId, i64, i64)| a.0 == b.0 && a.1 < b.2 && b.1 < a.2;
        if window.tasks.iter().any(|task| taken.iter().any(|other| meets(task, other))) {
            continue;
        }
        let before = taken.len();
        taken.extend(window.tasks.iter().copied());
        brute(rest, taken, out, (placed + 1, sum + window.worth));
        taken.truncate(before);
    }
}

fn small() -> impl Strategy<Value = Snapshot> {
    let node = (prop::sample::select(vec![1_000u32, 1_500, 2_000]), 1i64..5);
    let slot = (0i64..6, 3i64..9);
    let request = (
        1u32..3,
        2i64..7,
        prop::option::weighted(0.3, 5i64..40),
        prop::option::weighted(0.2, 1i64..5),
        prop::option::weighted(0.3, 5i64..14),
        prop::option::weighted(0.3, 2i64..7),
    );
    let nodes = prop::collection::vec((node, slot), 1..4);
    let jobs = prop::collection::vec(request, 1..4);
    let measure = prop::sample::select(vec![Measure::Runtime, Measure::ProcessorTime]);
    (nodes, jobs, any::<bool>(), measure).prop_map(|(nodes, jobs, by_cost, measure)| {
        let free: Vec<(u32, i64, i64)> = (0..)
            .zip(&nodes)
            .map(|(at, (_, (start, length)))| (at, *start, start + length))
            .collect();
        let nodes: Vec<(u32, i64)> = nodes.iter().map(|it| it.0).collect();
        let other = |work| TaskGroup {
            tasks: 1,
            work: Span(work),
            min_performance: None,
            attributes: Attributes::new(),
        };
        let request = |(tasks, work, budget, cap, deadline, more)| Request {
            others: Option::map(more, other).into_iter().collect(),
            budget: Option::map(budget, Money::credits),
            max_price: Option::map(cap, Price::credits),
            deadline: Option::map(deadline, Time),
            ..Request::new(tasks, Span(work))
        };
        let requests = jobs.into_iter().map(request).collect();
        let mut snapshot = snapshot(&nodes, &free, requests, 15);
        let objective = if by_cost { Objective::MinCost } else { Objective::MinTime };
        snapshot.policy = VoPolicy { objective, measure, ..VoPolicy::default() };
        snapshot
    })
}

fn sum_of(sum: &Sum) -> i64 {
    match sum {
        Sum::Time(time) => time.0,
        Sum::Cost(cost) => cost.0,
        Sum::Of(..) => unreachable!("not of a vector"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Against every plan of every window at every second.
    #[test]
    fn no_plan_is_better_than_the_bound(snapshot in small()) {
        let planned = plan_of(&snapshot);
        let totals = planned.totals(snapshot.policy.measure);
        let placed = totals.placed as usize;
        let attained = match snapshot.policy.objective {
            Objective::MinCost => totals.cost.0,
            _ => totals.time.0,
        };
        let windows: Vec<Vec<Plain>> =
            snapshot.jobs.iter().map(|job| all_windows(&snapshot, &job.request)).collect();
        let mut best = vec![None; snapshot.jobs.len() + 1];
        brute(&windows, &mut Vec::new(), &mut best, (0, 0));
        let most = best.iter().rposition(Option::is_some).unwrap();
        prop_assert!(placed <= most);
        prop_assert!(best[placed].is_some_and(|least| attained >= least), "it is a plan");
        match &planned.gap {
            None => prop_assert_eq!((placed, Some(attained)), (most, best[most])),
            Some(gap) => {
                prop_assert!(gap.placed as usize >= most, "{:?} {}", gap, most);
                let least = best[placed..].iter().flatten().min().copied();
                prop_assert!(least.is_none_or(|least| sum_of(&gap.sum) <= least), "{:?}", gap);
            }
        }
    }

    /// Batches of the papers' environment, some with limits of the VO.
    #[test]
    fn plans_keep_every_promise(
        seed in any::<u64>(), by_cost in any::<bool>(), nodes in 3u32..10,
        time in prop::option::of(100i64..600), budget in prop::option::of(500i64..3_000),
    ) {
        let environment = Environment { nodes, jobs: 4, tasks: (1, 3), ..Environment::default() };
        let mut snapshot = environment.draw(seed).unwrap().snapshot;
        let limit = |it: Option<i64>| it.map_or(Limit::Auto, |it| Limit::At(Span(it)));
        snapshot.policy = VoPolicy {
            objective: if by_cost { Objective::MinCost } else { Objective::MinTime },
            time_limit: limit(time),
            budget_limit: budget.map_or(Limit::Auto, |it| Limit::At(Money::credits(it))),
            ..VoPolicy::default()
        };
        let planned = plan_of(&snapshot);
        prop_assert_eq!(&planned, &plan_of(&snapshot));
        let mut left = snapshot.slots.clone();
        for window in planned.jobs.iter().filter_map(JobPlan::window) {
            prop_assert!(left.subtract_window(window).is_ok(), "free, and apart from all others");
        }
        for (job, planned) in snapshot.jobs.iter().zip(&planned.jobs) {
            for window in &planned.alternatives {
                prop_assert!(snapshot.slots.clone().subtract_window(window).is_ok());
                prop_assert_eq!(window.check(&job.request, &snapshot.grid), Ok(()));
                prop_assert!(job.request.budget.is_none_or(|budget| window.cost() <= budget));
            }
            if let Outcome::Postponed(reason) = &planned.outcome {
                let of_choice = reason.code().starts_with("vo-") || *reason == Reason::Outbid;
                prop_assert_eq!(planned.alternatives.is_empty(), !of_choice);
            }
        }
        let totals = planned.totals(snapshot.policy.measure);
        prop_assert!(time.is_none_or(|limit| totals.time.0 <= limit));
        prop_assert!(budget.is_none_or(|limit| totals.cost <= Money::credits(limit)));
    }
}

/// Both want the cheap node at the same time; one of them waits for it, which is proven best.
#[test]
fn prices_of_slots_prove_a_plan() {
    let requests = vec![Request::new(1, Span(20)), Request::new(1, Span(20))];
    let free = [(0, 0, 40), (1, 0, 40)];
    let mut snapshot = snapshot(&[(1_000, 1), (1_000, 3)], &free, requests, 40);
    snapshot.policy = VoPolicy { objective: Objective::MinCost, ..VoPolicy::default() };
    let planned = plan_of(&snapshot);
    let totals = planned.totals(snapshot.policy.measure);
    assert_eq!((totals.placed, totals.cost, planned.gap), (2, Money::credits(40), None));
}
