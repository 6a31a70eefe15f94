//! Whole-batch planning: windows of different jobs may overlap, and the choice keeps them apart.
//!
//! CSS takes every alternative out of the list that the other jobs search, so an alternative that
//! is not chosen in the end was withheld from all other jobs without need; paper 001 names this as
//! its open question. Here a job's windows are
//!
//! 1. those that CSS gives it,
//! 2. those that it finds alone on all that is free, each taken out of the list that it goes on
//!    searching, and
//! 3. once a choice is made, the best window beside what all others got, and so on for a few
//!    rounds (`beside`).
//!
//! [`disjoint::select`] chooses: most jobs, then the objective, within the limits. CSS's plan is
//! among what it chooses from, so whole-batch is never worse under the same limits.

mod beside;
mod limits;
#[cfg(test)]
mod tests;

use tradewind_model::{
    JobPlan, Limits, Money, Objective, Outcome, Plan, Reason, Snapshot, Span, Sum, Window,
};

use super::{Cyclic, Meter, Offers, Progress, alternatives, choose, slicer};
use crate::combine::disjoint::{self, Busy, DisjointOffer, Selected};
use crate::combine::{Choice, SumLimits};
use crate::window::SlotIndex;

/// The most choices of one plan: the first, and those with windows found beside the last one.
const MOST_CHOICES: u32 = 5;

/// One job's windows so far.
#[derive(Default)]
pub(super) struct Candidate {
    pub(super) windows: Vec<Window>,
    offers: Vec<DisjointOffer>,
    /// How many of them, the first ones, are CSS's.
    of_css: usize,
    pub(super) cut: bool,
    unproven: u32,
    /// Why there is none, when there is none.
    pub(super) reason: Option<Reason>,
}

impl Candidate {
    /// Adds a window; whether it is a new one.
    pub(super) fn add(&mut self, snapshot: &Snapshot, window: Window) -> bool {
        let new = !self.windows.contains(&window);
        if new {
            self.offers.push(offer(&window, snapshot));
            self.windows.push(window);
        }
        new
    }
}

fn offer(window: &Window, snapshot: &Snapshot) -> DisjointOffer {
    let busy = window.taken().map(|slot| Busy {
        resource: slot.node.0,
        start: slot.start.0,
        end: slot.end.0,
    });
    DisjointOffer { choice: choose::choice(window, &snapshot.policy), busy: busy.collect() }
}

/// Plans the batch as a whole.
///
/// Twice the searches of CSS, some more beside chosen windows, and at most [`MOST_CHOICES`]
/// choices of `cyclic.choice_limit` looks each; the plan's gap is that of the last one.
pub(super) fn plan_whole(
    snapshot: &Snapshot,
    cyclic: &Cyclic,
    progress: &mut dyn FnMut(Progress),
) -> Plan {
    let order = snapshot.by_priority();
    let mut meter = Meter::new(2 * order.len() as u64, progress);
    let disjoint = Cyclic { offers: Offers::Disjoint, ..cyclic.clone() };
    let css = slicer::plan_sliced(snapshot, &disjoint, 1, &mut meter);
    let mut chosen: Vec<Option<usize>> = css.jobs.iter().map(placed_in).collect();
    let css_limits = css.limits;
    let slots = &snapshot.slots;
    let index = SlotIndex::is_for(slots).then(|| SlotIndex::new(&snapshot.grid, slots));
    let mut candidates = gather((snapshot, index.as_ref()), cyclic, css, &mut meter);
    let bounds = limits::bounds(snapshot, &order, &candidates, css_limits);
    let mut made = None;
    for number in 1..=MOST_CHOICES {
        let selected = choose_from(snapshot, cyclic, &mut candidates, bounds, &chosen);
        chosen.clone_from(&selected.selection.chosen);
        meter.chosen(selected.steps);
        made = Some(selected);
        let last = number == MOST_CHOICES;
        let batch = (snapshot, index.as_ref(), &order[..]);
        if last || !beside::add(batch, cyclic, &mut candidates, &chosen, &mut meter) {
            break;
        }
    }
    finish(snapshot, candidates, bounds, made.as_ref())
}

fn placed_in(job: &JobPlan) -> Option<usize> {
    match job.outcome {
        Outcome::Placed(index) => Some(index),
        Outcome::Postponed(_) => None,
    }
}

/// CSS's windows, then those that each job finds alone; by job.
fn gather(
    (snapshot, index): (&Snapshot, Option<&SlotIndex<'_>>),
    cyclic: &Cyclic,
    css: Plan,
    meter: &mut Meter<'_>,
) -> Vec<Candidate> {
    let of_job = |(job, css): (usize, JobPlan)| {
        let free = (&snapshot.slots, index.cloned());
        let alone = alternatives::search_alone(snapshot, cyclic, job, free, meter);
        let mut candidate = Candidate {
            offers: css.alternatives.iter().map(|window| offer(window, snapshot)).collect(),
            of_css: css.alternatives.len(),
            windows: css.alternatives,
            cut: css.cut,
            unproven: css.unproven,
            reason: None,
        };
        if let Some(found) = alone {
            candidate.cut |= found.cut;
            candidate.unproven = candidate.unproven.max(found.unproven);
            candidate.reason = found.reason;
            for window in found.windows {
                candidate.add(snapshot, window);
            }
        }
        candidate
    };
    css.jobs.into_iter().enumerate().map(of_job).collect()
}

/// One choice; offers are lent to it.
pub(super) fn choose_from(
    snapshot: &Snapshot,
    cyclic: &Cyclic,
    candidates: &mut [Candidate],
    bounds: SumLimits,
    known: &[Option<usize>],
) -> Selected {
    let jobs: Vec<Vec<DisjointOffer>> =
        candidates.iter_mut().map(|it| std::mem::take(&mut it.offers)).collect();
    let objective = snapshot.policy.objective;
    let selected = disjoint::select(&jobs, objective, bounds, Some(known), cyclic.choice_limit);
    for (candidate, offers) in candidates.iter_mut().zip(jobs) {
        candidate.offers = offers;
    }
    selected
}

pub(super) fn finish(
    snapshot: &Snapshot,
    candidates: Vec<Candidate>,
    bounds: SumLimits,
    made: Option<&Selected>,
) -> Plan {
    let chosen = made.map_or(&[][..], |made| &made.selection.chosen);
    let reasons = reasons(&candidates, bounds, chosen);
    let of_job = |((candidate, chosen), reason): ((Candidate, &Option<usize>), Reason)| {
        let outcome = match (chosen, candidate.reason) {
            (Some(index), _) => Outcome::Placed(*index),
            (None, Some(of_search)) if candidate.windows.is_empty() => {
                Outcome::Postponed(of_search)
            }
            (None, _) => Outcome::Postponed(reason),
        };
        let Candidate { windows: alternatives, cut, unproven, .. } = candidate;
        JobPlan { outcome, alternatives, cut, unproven }
    };
    let jobs = candidates.into_iter().zip(chosen).zip(reasons).map(of_job).collect();
    let sum = |sum: i64| match snapshot.policy.objective {
        Objective::MinTime | Objective::MinIdle => Sum::Time(Span(sum)),
        Objective::MinCost | Objective::MaxIncome => Sum::Cost(Money(sum)),
    };
    let gap = made
        .as_ref()
        .and_then(|made| made.gap)
        .map(|gap| tradewind_model::Gap { placed: gap.placed as u32, sum: sum(gap.objective) });
    let limits = Limits { time: bounds.time.map(Span), budget: bounds.budget.map(Money) };
    Plan { jobs, limits, sub_batches: 1, gap }
}

/// By job, why it would be left out: a limit, if some window of it is free beside the chosen ones
/// and only a limit speaks against it; else the others.
fn reasons(candidates: &[Candidate], bounds: SumLimits, chosen: &[Option<usize>]) -> Vec<Reason> {
    let taken: Vec<&DisjointOffer> = candidates
        .iter()
        .zip(chosen)
        .filter_map(|(candidate, at)| at.map(|at| &candidate.offers[at]))
        .collect();
    let time: i64 = taken.iter().map(|offer| offer.choice.time).sum();
    let cost: i64 = taken.iter().map(|offer| offer.choice.cost).sum();
    let of_job = |candidate: &Candidate| {
        let is_free = |offer: &&DisjointOffer| taken.iter().all(|other| !collide(offer, other));
        let free: Vec<Choice> =
            candidate.offers.iter().filter(is_free).map(|offer| offer.choice).collect();
        let fits = |it: &Choice| {
            bounds.time.is_none_or(|max| time + it.time <= max)
                && bounds.budget.is_none_or(|max| cost + it.cost <= max)
        };
        let shortest = free.iter().map(|choice| time + choice.time).min();
        let cheapest = free.iter().map(|choice| cost + choice.cost).min();
        let (Some(shortest), Some(cheapest)) = (shortest, cheapest) else { return Reason::Outbid };
        match bounds {
            SumLimits { time: Some(limit), .. } if shortest > limit => {
                Reason::TimeLimit { limit: Span(limit), min: Span(shortest) }
            }
            SumLimits { budget: Some(limit), .. } if cheapest > limit => {
                Reason::BudgetLimit { limit: Money(limit), min: Money(cheapest) }
            }
            SumLimits { time: Some(time), budget: Some(budget) } if !free.iter().any(fits) => {
                Reason::BothLimits { time: Span(time), budget: Money(budget) }
            }
            // It fits: the choice hit its work limit.
            _ => Reason::Outbid,
        }
    };
    candidates.iter().map(of_job).collect()
}

fn collide(a: &DisjointOffer, b: &DisjointOffer) -> bool {
    let meet = |a: &Busy, b: &Busy| a.resource == b.resource && a.start < b.end && b.start < a.end;
    a.busy.iter().any(|a| b.busy.iter().any(|b| meet(a, b)))
}
