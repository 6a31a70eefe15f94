//! Cutting a batch into sub-batches and planning them one after the other.

use std::cmp::Reverse;

use tradewind_model::{
    Criterion, Gap, Horizon, JobPlan, Limit, Limits, Money, NodeId, Objective, Outcome, Plan,
    Request, SlotList, Snapshot, Span, VoPolicy,
};

use super::alternatives::{self, JobAlternatives};
use super::{Cyclic, Meter, Progress, SliceBy, choose, criteria};
use crate::window::{self, Search};

/// The numbers of sub-batches that [`super::SubBatches::Auto`] tries for `jobs` jobs: the Fibonacci
/// numbers 1, 2, 3, 5, 8, … below it, and one job each.
pub fn candidates(jobs: usize) -> Vec<u32> {
    let max = jobs.max(1) as u32;
    let fibonacci = std::iter::successors(Some((1, 2)), |&(now, next)| Some((next, now + next)));
    fibonacci.map(|(now, _)| now).take_while(|&count| count < max).chain([max]).collect()
}

/// Plans with every count of [`candidates`] and keeps the best result.
pub(super) fn plan_best_count(
    snapshot: &Snapshot,
    cyclic: &Cyclic,
    progress: &mut dyn FnMut(Progress),
) -> Plan {
    let counts = candidates(snapshot.jobs.len());
    let mut meter = Meter::new((snapshot.jobs.len() * counts.len()) as u64, progress);
    let mut best = plan_sliced(snapshot, cyclic, counts[0], &mut meter);
    for &count in &counts[1..] {
        let plan = plan_sliced(snapshot, cyclic, count, &mut meter);
        if merit(&plan, snapshot) > merit(&best, snapshot) {
            best = plan;
        }
    }
    best
}

/// Greater is better: jobs placed, then the objective.
fn merit(plan: &Plan, snapshot: &Snapshot) -> (u32, Vec<i64>) {
    let policy = &snapshot.policy;
    let totals = plan.totals(policy.measure);
    if !policy.criteria.order.is_empty() {
        return (totals.placed, criteria::merit(plan, snapshot));
    }
    let objective = match policy.objective {
        Objective::MaxIncome => totals.cost.0,
        Objective::MinTime => -totals.time.0,
        Objective::MinCost => -totals.cost.0,
        Objective::MinIdle => totals.time.0,
    };
    (totals.placed, vec![objective])
}

/// Plans `count` sub-batches in turn, each on what the earlier ones left.
pub(super) fn plan_sliced(
    snapshot: &Snapshot,
    cyclic: &Cyclic,
    count: u32,
    meter: &mut Meter<'_>,
) -> Plan {
    let mut sub_batches = cut(&slicing_order(snapshot, cyclic.slice_by), count);
    let by_priority = ranks(&snapshot.by_priority());
    sub_batches.iter_mut().for_each(|batch| batch.sort_by_key(|&job| by_priority[job]));
    let mut purse = LimitShares::new(snapshot, &sub_batches);
    let mut free = snapshot.slots.clone();
    let mut jobs: Vec<Option<JobPlan>> = snapshot.jobs.iter().map(|_| None).collect();
    let (mut limits, mut gap) = (Limits::default(), None);
    for (index, batch) in sub_batches.iter().enumerate() {
        let found = alternatives::search(snapshot, cyclic, batch, &free, meter);
        let policy = purse.share(index);
        let planned = combine(snapshot, cyclic, found, &policy, &mut limits, &mut gap);
        for (&job, plan) in batch.iter().zip(planned) {
            if let Some(window) = plan.window() {
                book(&mut free, window);
                purse.spend(snapshot, window);
            }
            jobs[job] = Some(plan);
        }
    }
    Plan {
        jobs: jobs.into_iter().flatten().collect(),
        limits,
        sub_batches: sub_batches.len() as u32,
        gap,
    }
}

/// Chosen windows come out of the list that the next sub-batch searches.
fn book(free: &mut SlotList, window: &tradewind_model::Window) {
    let booked = free.subtract_window(window);
    debug_assert!(booked.is_ok(), "a chosen window was found in this very list");
}

/// Combines what was found; jobs without alternatives are postponed before limits are computed.
fn combine(
    snapshot: &Snapshot,
    cyclic: &Cyclic,
    found: Vec<JobAlternatives>,
    policy: &VoPolicy,
    limits: &mut Limits,
    gap: &mut Option<Gap>,
) -> Vec<JobPlan> {
    let with_some: Vec<&[_]> =
        found.iter().map(|f| f.windows.as_slice()).filter(|w| !w.is_empty()).collect();
    let chosen = choose::choose(snapshot, &with_some, policy, cyclic.choice_limit);
    if !with_some.is_empty() {
        add(limits, chosen.limits);
    }
    // Of several sub-batches, the first that is not proven best is reported.
    *gap = gap.take().or(chosen.gap);
    let mut outcomes = chosen.jobs.into_iter();
    let plan_of = |found: JobAlternatives| {
        let outcome = match found.reason {
            Some(reason) => Outcome::Postponed(reason),
            None => match outcomes.next() {
                Some(Ok(index)) => Outcome::Placed(index),
                Some(Err(reason)) => Outcome::Postponed(reason),
                None => Outcome::Postponed(tradewind_model::Reason::Outbid),
            },
        };
        JobPlan { outcome, alternatives: found.windows, cut: found.cut, unproven: found.unproven }
    };
    found.into_iter().map(plan_of).collect()
}

fn add(sum: &mut Limits, more: Limits) {
    sum.time = more.time.map(|time| sum.time.unwrap_or_default() + time).or(sum.time);
    sum.budget = more.budget.map(|budget| sum.budget.unwrap_or_default() + budget).or(sum.budget);
}

/// `count` parts whose sizes differ by at most one, earlier ones larger.
pub(super) fn cut(order: &[usize], count: u32) -> Vec<Vec<usize>> {
    let count = (count as usize).clamp(1, order.len().max(1));
    let (size, larger) = (order.len() / count, order.len() % count);
    let mut rest = order;
    (0..count)
        .map(|index| {
            let (part, tail) = rest.split_at(size + usize::from(index < larger));
            rest = tail;
            part.to_vec()
        })
        .collect()
}

/// By job, its place in `order`.
fn ranks(order: &[usize]) -> Vec<usize> {
    let mut ranks = vec![0; order.len()];
    for (rank, &job) in order.iter().enumerate() {
        ranks[job] = rank;
    }
    ranks
}

/// The order in which jobs are cut; within a sub-batch priority rules again.
pub(in crate::policy) fn slicing_order(snapshot: &Snapshot, by: SliceBy) -> Vec<usize> {
    let mut order = snapshot.by_priority();
    let request = |job: usize| &snapshot.jobs[job].request;
    match by {
        SliceBy::Priority => {}
        SliceBy::Cost => order.sort_by_cached_key(|&job| Reverse(worth(snapshot, request(job)))),
        SliceBy::Performance => {
            order.sort_by_key(|&job| Reverse(request(job).highest_min_performance()));
        }
        SliceBy::Criterion => {
            let mut seen: Vec<&Criterion> = Vec::new();
            for &job in &order {
                if !seen.contains(&&request(job).criterion) {
                    seen.push(&request(job).criterion);
                }
            }
            order.sort_by_key(|&job| seen.iter().position(|c| **c == request(job).criterion));
        }
    }
    order
}

/// The job's budget, or else the cheapest window's cost on the untouched list.
fn worth(snapshot: &Snapshot, request: &Request) -> Money {
    let cheapest = || {
        let search = Search::best(Criterion::Cost);
        window::find(&snapshot.grid, &snapshot.slots, request, &search).map(|f| f.window.cost())
    };
    request.budget.or_else(cheapest).unwrap_or_default()
}

/// The VO's explicit limits, shared over the sub-batches in proportion to their mean demand;
/// what a sub-batch does not use goes to the later ones, so the whole limit is never exceeded.
struct LimitShares {
    policy: VoPolicy,
    /// Mean demand of each sub-batch: time, money.
    demand: Vec<(i128, i128)>,
}

impl LimitShares {
    fn new(snapshot: &Snapshot, sub_batches: &[Vec<usize>]) -> LimitShares {
        let alone = sub_batches.len() == 1;
        let of = |batch: &Vec<usize>| match alone {
            true => (1, 1),
            false => batch.iter().fold((0, 0), |sum, &job| {
                let one = mean_demand(snapshot, &snapshot.jobs[job].request);
                (sum.0 + one.0, sum.1 + one.1)
            }),
        };
        LimitShares {
            policy: snapshot.policy.clone(),
            demand: sub_batches.iter().map(of).collect(),
        }
    }

    /// The policy for sub-batch `index`, given what is left.
    fn share(&self, index: usize) -> VoPolicy {
        let rest = self.demand[index..].iter().fold((0, 0), |s, d| (s.0 + d.0, s.1 + d.1));
        let mine = self.demand[index];
        let part = |left: i64, mine: i128, rest: i128| match rest {
            0 => left,
            rest => (i128::from(left) * mine / rest) as i64,
        };
        let mut policy = self.policy.clone();
        if let Limit::At(left) = policy.time_limit {
            policy.time_limit = Limit::At(Span(part(left.0, mine.0, rest.0)));
        }
        if let Limit::At(left) = policy.budget_limit {
            policy.budget_limit = Limit::At(Money(part(left.0, mine.1, rest.1)));
        }
        for (_, left) in &mut policy.criteria.limits {
            *left = part(*left, mine.0, rest.0);
        }
        policy
    }

    fn spend(&mut self, snapshot: &Snapshot, window: &tradewind_model::Window) {
        let policy = &snapshot.policy;
        if let Limit::At(left) = &mut self.policy.time_limit {
            *left = Span(left.0 - policy.measure.of(window).0);
        }
        if let Limit::At(left) = &mut self.policy.budget_limit {
            *left = *left - window.cost();
        }
        for (quantity, left) in &mut self.policy.criteria.limits {
            *left -= quantity.of(window, &snapshot.grid, (policy.measure, snapshot.horizon.start));
        }
    }
}

/// What a task costs on the node, where prices change at the mean price of the horizon.
fn mean_cost(snapshot: &Snapshot, node: NodeId, request: &Request, length: Span) -> i128 {
    let Horizon { start, end } = snapshot.horizon;
    match snapshot.grid.rate(node) {
        Some(rate) => {
            let whole = rate.integral(start, end).saturating_mul(i128::from(length.0));
            whole / i128::from((end - start).0.max(1))
        }
        None => i128::from((snapshot.grid.price_for(node, request) * length).0),
    }
}

/// The mean over all suitable nodes of what the request takes there: time by the VO's measure
/// and money, both in thousandths of the unit. Where tasks differ, of all groups together; of several
/// shapes, in the first one. Licences cost as much as for the greatest of the groups' mean lengths.
fn mean_demand(snapshot: &Snapshot, request: &Request) -> (i128, i128) {
    let (time, cost) = mean_of_tasks(snapshot, request);
    let Some(licences) = &request.licences else { return (time, cost) };
    let longest = request.groups().map(|group| mean_length(snapshot, &group)).max();
    let per_second = snapshot.grid.licences_per_second(licences);
    (time, cost + per_second * longest.unwrap_or_default())
}

/// The mean length of a task, in thousandths of a second.
fn mean_length(snapshot: &Snapshot, request: &Request) -> i128 {
    let suitable = snapshot.grid.nodes().iter().filter(|node| request.suits(node));
    let (nodes, sum) = suitable.fold((0, 0), |(nodes, sum), node| {
        (nodes + 1, sum + i128::from(request.length_on(node).0))
    });
    sum * 1_000 / i128::max(nodes, 1)
}

fn mean_of_tasks(snapshot: &Snapshot, request: &Request) -> (i128, i128) {
    if request.others.is_empty() {
        return mean_of_group(snapshot, request);
    }
    let all = request.groups().map(|group| mean_of_group(snapshot, &group));
    all.fold((0, 0), |sum, it| match snapshot.policy.measure {
        tradewind_model::Measure::Runtime => (it.0.max(sum.0), sum.1 + it.1),
        tradewind_model::Measure::ProcessorTime => (sum.0 + it.0, sum.1 + it.1),
    })
}

fn mean_of_group(snapshot: &Snapshot, request: &Request) -> (i128, i128) {
    let (mut nodes, mut time, mut cost) = (0i128, 0i128, 0i128);
    for (id, node) in snapshot.grid.iter().filter(|(_, node)| request.suits(node)) {
        let length = request.length_on(node);
        nodes += 1;
        time += i128::from(length.0);
        cost += mean_cost(snapshot, id, request, length);
    }
    let tasks = i128::from(request.tasks);
    let time_tasks = match snapshot.policy.measure {
        tradewind_model::Measure::Runtime => 1,
        tradewind_model::Measure::ProcessorTime => tasks,
    };
    match nodes {
        0 => (0, 0),
        nodes => (time * time_tasks * 1_000 / nodes, cost * tasks * 1_000 / nodes),
    }
}
