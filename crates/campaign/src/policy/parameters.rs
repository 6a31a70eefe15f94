//! The parameters of policies, from text.

use tradewind_io::diagnostics::did_you_mean;
use tradewind_io::{decimal, duration, scenario};
use tradewind_model::{Measure, Objective, Ratio, Span};
use tradewind_sched::policy::Order;
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::bsf::{self, By, First};
use tradewind_sched::policy::cyclic::market::{CycleSettings, PlanOrder, Replan, Stretch};
use tradewind_sched::policy::cyclic::{SearchBy, SliceBy, SubBatches};
use tradewind_sched::policy::dispatch::{
    self, Clearing, Deadline, Fraction, Gate, Prices, QueueDiscipline, ShareOf, Slots, Ties,
    Valuation, Wait,
};
use tradewind_sched::policy::gridfill::{self, ShapeRule, Spread};
use tradewind_sched::window::{Algorithm, Variant};

use super::federal;
use crate::failure::Failure;
use crate::values::{self, Count};

/// Parameters that go together.
#[derive(Debug, Clone, Copy)]
pub(super) enum Family {
    /// Policies with backfilling.
    Fill,
    /// Of every scheme that plans in cycles.
    Cycles,
    /// Of those that hold fall-back windows.
    Fallback,
    /// Of those that cut the batch.
    Slices,
    /// Of those whose choice keeps windows apart.
    Whole,
    /// Of those that backfill the rest.
    Bsf,
    /// Of all that hand jobs to queues.
    Dispatch,
    /// Of those that take slots in the queues' plans.
    Slots,
    /// Of the auction.
    Ties,
    /// Of fair shares.
    Share,
    /// Of sites with three queues.
    Hybrid,
    /// Of sites with one queue.
    Plain,
    /// Of all grids without a centre.
    Sites,
}

impl Family {
    pub(super) fn keys(self) -> &'static [&'static str] {
        match self {
            Family::Fill => &["depth", "order", "half-life", "backfill", "spread", "shape"],
            Family::Cycles => &[
                "period",
                "order",
                "half-life",
                "horizon",
                "stretch",
                "replan",
                "batch",
                "search",
                "variant",
                "objective",
                "measure",
                "time-limit",
                "budget-limit",
                "rho",
                "criteria",
                "max-energy",
                "max-carbon",
                "max-alternatives",
                "seed",
            ],
            Family::Fallback => &["fallback"],
            Family::Slices => &["sub-batches", "slice-by"],
            Family::Whole => &["choice-limit"],
            Family::Bsf => &["first", "by"],
            Family::Dispatch => &[
                "cycle",
                "gate",
                "deadline",
                "queues",
                "publish",
                "wait",
                "ratio",
                "patience",
                "valuation",
                "tau",
                "clearing",
                "k",
                "prices",
                "step",
                "floor",
                "ceiling",
                "outlook",
            ],
            Family::Slots => &["slots", "horizon"],
            Family::Ties => &["ties", "seed"],
            Family::Share => &["share"],
            Family::Hybrid => &federal::HYBRID,
            Family::Plain => &federal::PLAIN,
            Family::Sites => &federal::SITES,
        }
    }
}

/// What is wrong with a value.
pub(super) struct Wrong {
    message: String,
    hint: Option<String>,
}

impl From<String> for Wrong {
    fn from(message: String) -> Wrong {
        Wrong { message, hint: None }
    }
}

impl Wrong {
    pub(super) fn into_failure(self, policy: &str, key: &str, value: &str) -> Failure {
        let failure =
            Failure::usage(format!("policy `{policy}`: `{key}={value}`: {}", self.message));
        match self.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// One of several words.
pub(super) fn word<T: Clone>(text: &str, all: &[(T, &'static str)]) -> Result<T, Wrong> {
    let found = all.iter().find(|(_, name)| *name == text);
    found.map(|(value, _)| value.clone()).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
        Wrong { message: "no such value".to_owned(), hint: Some(did_you_mean(text, &names)) }
    })
}

pub(super) fn number(text: &str, min: u32) -> Result<u32, Wrong> {
    let number = text.parse().ok().filter(|number| *number >= min);
    number.ok_or_else(|| format!("not a whole number from {min} to {}", u32::MAX).into())
}

/// A span of at least a second.
pub(super) fn span(text: &str) -> Result<Span, Wrong> {
    match duration::parse_span(text)? {
        Span(1..) => Ok(duration::parse_span(text)?),
        _ => Err("not a second or more".to_owned().into()),
    }
}

pub(super) fn fill(
    to: &mut gridfill::GridFillSettings,
    key: &str,
    value: &str,
) -> Result<(), Wrong> {
    match key {
        "depth" => to.depth = depth(value)?,
        "order" => to.order = order(value)?,
        "half-life" => match &mut to.order {
            Order::FairShare(half_life) => *half_life = span(value)?,
            _ => return Err(no_half_life()),
        },
        "backfill" => to.candidates = Some(candidates(value)?),
        "shape" => to.shape = word(value, &ShapeRule::ALL)?,
        _ => to.spread = word(value, &[(Spread::Grid, "grid"), (Spread::Site, "site")])?,
    }
    Ok(())
}

fn no_half_life() -> Wrong {
    "use is counted with `order=fair-share` only".to_owned().into()
}

const TURNS: [(PlanOrder, &str); 2] =
    [(PlanOrder::Priority, "priority"), (PlanOrder::FairShare(Order::HALF_LIFE), "fair-share")];

pub(super) fn depth(text: &str) -> Result<Depth, Wrong> {
    match text.parse() {
        Ok(count) => Ok(Depth::First(count)),
        Err(_) if text == "all" => Ok(Depth::All),
        Err(_) => Err("neither a number nor `all`".to_owned().into()),
    }
}

fn order(text: &str) -> Result<Order, Wrong> {
    match text {
        "fcfs" => Ok(Order::Arrival),
        "sjf" => Ok(Order::Shortest),
        "edf" => Ok(Order::Deadline),
        text => word(text, &Order::ALL),
    }
}

/// Which of the jobs that may overtake others comes first.
fn candidates(text: &str) -> Result<Order, Wrong> {
    match order(text)? {
        order if order.moves() => {
            Err("not for candidates: this order changes while jobs wait".to_owned().into())
        }
        order => Ok(order),
    }
}

pub(super) fn cycles(to: &mut CycleSettings, key: &str, value: &str) -> Result<(), Wrong> {
    match key {
        "period" => to.period = span(value)?,
        "order" => to.turn = word(value, &TURNS)?,
        "half-life" => match &mut to.turn {
            PlanOrder::FairShare(half_life) => *half_life = span(value)?,
            PlanOrder::Priority => return Err(no_half_life()),
        },
        "horizon" => to.horizon = Some(span(value)?),
        "stretch" => to.stretch = word(value, &Stretch::ALL)?,
        "replan" => to.replan = word(value, &Replan::ALL)?,
        "batch" => to.batch = number(value, 1)?,
        "fallback" => to.fallback = fallback(value)?,
        "objective" => to.vo.objective = word(value, &OBJECTIVES)?,
        "measure" => to.vo.measure = word(value, &MEASURES)?,
        "time-limit" => to.vo.time_limit = values::time_limit(value)?,
        "budget-limit" => to.vo.budget_limit = values::budget_limit(value)?,
        "rho" => (to.vo.rho, to.rho) = values::rho_rules(value)?,
        "criteria" => {
            to.vo.criteria.order =
                value.split('+').map(values::component).collect::<Result<_, _>>()?;
        }
        "max-energy" => to.vo.criteria.limits.push(values::sum_limit(&format!("energy={value}"))?),
        "max-carbon" => to.vo.criteria.limits.push(values::sum_limit(&format!("carbon={value}"))?),
        "search" => to.cyclic.search = search(value)?,
        "variant" => {
            to.cyclic.variant =
                word(value, &[(Variant::Exact, "exact"), (Variant::Paper, "paper")])?;
        }
        "max-alternatives" => {
            to.cyclic.max_alternatives = match values::count_or_all(value)? {
                Count::Number(max) => Some(max),
                Count::Word => None,
            };
        }
        "choice-limit" => to.cyclic.choice_limit = number(value, 0)?.into(),
        "seed" => to.cyclic.seed = number(value, 0)?.into(),
        "sub-batches" => {
            to.cyclic.sub_batches = match values::count_or_auto(value)? {
                Count::Number(count) => SubBatches::Count(count),
                Count::Word => SubBatches::Auto,
            };
        }
        _ => to.cyclic.slice_by = word(value, &SLICES)?,
    }
    Ok(())
}

/// The most fall-back windows per job.
const MAX_FALLBACK: u32 = 16;

fn fallback(text: &str) -> Result<u32, Wrong> {
    let count = text.parse().ok().filter(|count| *count <= MAX_FALLBACK);
    count.ok_or_else(|| format!("not a whole number from 0 to {MAX_FALLBACK}").into())
}

pub(super) fn bsf(to: &mut bsf::BsfSettings, key: &str, value: &str) -> Result<(), Wrong> {
    match key {
        "first" => to.first = first(value)?,
        "by" => to.by = word(value, &By::ALL)?,
        key if Family::Fill.keys().contains(&key) => {
            fill(&mut to.fill, key, value)?;
            if let Order::FairShare(half_life) = to.fill.order {
                to.cycles.turn = PlanOrder::FairShare(half_life);
            }
        }
        key => cycles(&mut to.cycles, key, value)?,
    }
    Ok(())
}

pub(super) fn dispatch(
    to: &mut dispatch::DispatchSettings,
    key: &str,
    value: &str,
) -> Result<(), Wrong> {
    match key {
        "cycle" => to.cycle = span(value)?,
        "gate" => to.gate = word(value, &Gate::ALL)?,
        "deadline" => to.deadline = word(value, &Deadline::ALL)?,
        "queues" => to.local = word(value, &QueueDiscipline::ALL)?,
        "publish" => to.publish = Some(span(value)?),
        "wait" => to.wait = word(value, &Wait::ALL)?,
        "ratio" => to.ratio = ratio(value)?,
        "patience" => to.patience = span(value)?,
        "slots" => to.slots = word(value, &Slots::ALL)?,
        "horizon" => to.horizon = span(value)?,
        "valuation" => to.valuation = word(value, &Valuation::ALL)?,
        "tau" => to.tau = span(value)?,
        "clearing" => to.clearing = word(value, &Clearing::ALL)?,
        "k" => to.k = part(value)?,
        "prices" => to.prices = word(value, &Prices::ALL)?,
        "step" => to.dynamics.step = thousandths(value, 1)?,
        "floor" => to.dynamics.floor = thousandths(value, 0)?,
        "ceiling" => to.dynamics.ceiling = thousandths(value, 0)?,
        "outlook" => to.dynamics.outlook = span(value)?,
        "ties" => to.ties = word(value, &Ties::ALL)?,
        "seed" => to.seed = number(value, 0)?.into(),
        _ => to.share = word(value, &ShareOf::ALL)?,
    }
    Ok(())
}

/// From 0 to 1.
fn part(text: &str) -> Result<Fraction, Wrong> {
    let thousandths = text.parse().ok().and_then(Fraction::from_thousandths);
    thousandths.ok_or_else(|| "not a whole number of thousandths up to 1,000".to_owned().into())
}

/// Of a list price.
fn thousandths(text: &str, min: u32) -> Result<u32, Wrong> {
    let number = number(text, min)?;
    match number <= MOST_THOUSANDTHS {
        true => Ok(number),
        false => Err(format!("more than {MOST_THOUSANDTHS} thousandths").into()),
    }
}

/// A thousand times the list price.
const MOST_THOUSANDTHS: u32 = 1_000_000;

fn ratio(text: &str) -> Result<Ratio, Wrong> {
    let thousandths = decimal::parse(text, 3).ok().and_then(|it| u32::try_from(it).ok());
    thousandths.and_then(Ratio::from_thousandths).ok_or_else(|| {
        "not a number above 0 and below 4,294,967 with at most three decimals".to_owned().into()
    })
}

/// `12`, or a part of the batch: `40%`.
fn first(text: &str) -> Result<First, Wrong> {
    match text.strip_suffix('%') {
        Some(percent) => match number(percent, 0)? {
            percent @ 0..=100 => Ok(First::Percent(percent)),
            _ => Err("more than the whole batch".to_owned().into()),
        },
        None => Ok(First::Count(number(text, 0)?)),
    }
}

const OBJECTIVES: [(Objective, &str); 4] = [
    (Objective::MaxIncome, "max-income"),
    (Objective::MinTime, "min-time"),
    (Objective::MinCost, "min-cost"),
    (Objective::MinIdle, "min-idle"),
];

const MEASURES: [(Measure, &str); 2] =
    [(Measure::Runtime, "runtime"), (Measure::ProcessorTime, "processor-time")];

const SLICES: [(SliceBy, &str); 4] = [
    (SliceBy::Priority, "priority"),
    (SliceBy::Cost, "cost"),
    (SliceBy::Performance, "performance"),
    (SliceBy::Criterion, "criterion"),
];

/// The searches that `plan` knows.
fn search(text: &str) -> Result<SearchBy, Wrong> {
    let all = [
        (SearchBy::Job, "job"),
        (SearchBy::Csa, "csa"),
        (SearchBy::All(Algorithm::Alp), "alp"),
        (SearchBy::All(Algorithm::Amp), "amp"),
    ];
    match scenario::criterion(text) {
        Some(criterion) => Ok(SearchBy::All(Algorithm::Best(criterion))),
        None => word(text, &all),
    }
}
