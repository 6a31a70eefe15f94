//! Names of policies: `easy`, `easy[depth=4,order=shortest]`, `css[period=10m,search=cost]`.

mod federal;
mod parameters;
#[cfg(test)]
mod tests;

use tradewind_io::diagnostics::did_you_mean;
use tradewind_model::{Admission, Performance, Pool, Pools, Span, Terms};
use tradewind_sched::policy::backfill::{self, Backfill};
use tradewind_sched::policy::bsf::{self, Bsf};
use tradewind_sched::policy::cyclic::market::{self, Cycles};
use tradewind_sched::policy::dispatch::{self, Dispatch, Rule, Ties};
use tradewind_sched::policy::gridfill::{self, GridFill};
use tradewind_sched::policy::{Order, Policy};
use tradewind_sched::window::Variant;
use tradewind_sim::workload::Workload;

use crate::brackets::{self, Named};
use crate::exit::Failure;
use federal::{Federal, Migrate, Site};
use parameters::Family;

/// The name of the user's own policy, which a command decides.
pub(crate) const COMMAND: &str = "command";

/// Every name, what it stands for, and the family of its parameters.
const NAMES: [&str; 19] = [
    "fcfs",
    "sjf",
    "easy",
    "conservative",
    "css",
    "batch-slicer",
    "whole-batch",
    "bsf",
    "auction",
    "admission",
    "meta-fcfs",
    "meta-sjf",
    "edf-fq",
    "hvfq",
    "fair-share",
    "multi-queue",
    "fcfs-sites",
    "easy-sites",
    "conservative-sites",
];

/// What a policy without further words means where pools are cut into queues.
const ON_QUEUES: [(&str, &str); 2] = [("fcfs", "meta-fcfs"), ("sjf", "meta-sjf")];

/// A policy with its parameters.
#[derive(Debug, Clone, PartialEq)]
enum Choice {
    /// On any pools.
    Fill(gridfill::Settings),
    /// CSS, batch-slicer and whole-batch.
    Cycles(market::Settings),
    /// Some by batch-slicer, the rest by backfilling.
    Bsf(bsf::Settings),
    /// From a meta-scheduler to the queues of sites.
    Dispatch(dispatch::Settings),
    /// Sites that schedule for themselves.
    Federal(Box<Federal>),
}

/// What a run's nodes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Pools as they are.
    Pools,
    /// Some pool is cut into queues.
    Queues,
}

/// Where the lots come from that a policy draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lots {
    /// A seed of its own.
    Own(u64),
    /// That of the run.
    Run,
}

/// The seed of lots in a run that has none.
pub(crate) const SEED: u64 = 1;

/// The names of all policies of `P[,P…]`, each sound; commas in brackets belong to a policy.
pub(crate) fn names(text: &str) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for name in brackets::list(text) {
        let name = name.to_owned();
        choice(&name)?;
        if names.contains(&name) {
            return Err(Failure::usage(format!("policy `{name}` is named twice")));
        }
        names.push(name);
    }
    Ok(names)
}

/// The same name with `replan=WORD` among its parameters, if it is a cyclic scheme that does not
/// say itself when it plans anew.
pub(crate) fn with_replan(name: &str, word: &str) -> String {
    let cyclic = matches!(choice(name), Ok(Choice::Cycles(_) | Choice::Bsf(_)));
    if !cyclic || says(name, "replan") {
        return name.to_owned();
    }
    match name.strip_suffix(']') {
        Some(open) => format!("{open},replan={word}]"),
        None => format!("{name}[replan={word}]"),
    }
}

/// Whether the policy draws lots, as the papers' variants of cyclic schemes may, random ties, and
/// networks that are not always alike.
pub(crate) fn lots(name: &str) -> Option<Lots> {
    let cyclic = match choice(name).ok()? {
        Choice::Cycles(settings) => settings.cyclic,
        Choice::Bsf(settings) => settings.cycles.cyclic,
        Choice::Fill(_) => return None,
        Choice::Federal(federal) => return federal.draws().then_some(Lots::Run),
        Choice::Dispatch(settings) => {
            let own = says(name, "seed").then_some(Lots::Own(settings.seed));
            return (settings.ties == Ties::Random).then_some(own.unwrap_or(Lots::Run));
        }
    };
    (cyclic.variant == Variant::Paper).then_some(Lots::Own(cyclic.seed))
}

/// Whether the policy may send a job to a pool that does not take it.
pub(crate) fn ignores_limits(name: &str) -> bool {
    matches!(choice(name), Ok(Choice::Cycles(_) | Choice::Bsf(_)))
}

/// Whether sites look for others that take their jobs.
pub(crate) fn migrates(name: &str) -> bool {
    matches!(choice(name), Ok(Choice::Federal(it)) if it.migrate == Migrate::On)
}

/// Whether jobs may be left on one side of a cut that never heals.
pub(crate) fn may_strand(name: &str) -> bool {
    matches!(choice(name), Ok(Choice::Federal(it)) if it.never_heals())
}

/// Whether the policy wants to know whose jobs are whose.
pub(crate) fn wants_users(name: &str) -> bool {
    half_life(name).is_some()
}

/// After how long use counts half, if the policy puts jobs in the order of fair shares.
pub(crate) fn half_life(name: &str) -> Option<Span> {
    let of = |order| match order {
        Order::FairShare(half_life) => Some(half_life),
        _ => None,
    };
    match choice(name).ok()? {
        Choice::Fill(settings) => of(settings.order),
        Choice::Bsf(settings) => of(settings.fill.order),
        Choice::Cycles(settings) => match settings.turn {
            market::Turn::FairShare(half_life) => Some(half_life),
            market::Turn::Priority => None,
        },
        _ => None,
    }
}

/// Who comes first in the policy's queue, as far as it has one: by arrival otherwise.
pub(crate) fn order(name: &str) -> Order {
    match choice(name) {
        Ok(Choice::Fill(settings)) => settings.order,
        Ok(Choice::Bsf(settings)) => settings.fill.order,
        Ok(Choice::Cycles(settings)) => match settings.turn {
            market::Turn::FairShare(half_life) => Order::FairShare(half_life),
            market::Turn::Priority => Order::Priority,
        },
        _ => Order::Arrival,
    }
}

/// Whether one more job at the end of the queue changes nothing for those before it, and starts at
/// the earliest place that they leave.
pub(crate) fn is_conservative(name: &str) -> bool {
    let usual = gridfill::Settings::default();
    let conservative = gridfill::Settings { depth: backfill::Depth::All, ..usual };
    matches!(choice(name), Ok(Choice::Fill(settings)) if settings == conservative)
}

/// What the name means on these nodes.
pub(crate) fn meant(name: &str, layout: Layout) -> &str {
    let other = ON_QUEUES.iter().find(|(plain, _)| layout == Layout::Queues && *plain == name);
    other.map_or(name, |(_, meta)| *meta)
}

/// The policy of this name for a workload, with the run's seed, if it has one.
///
/// On one plain cluster, for jobs that ask for nothing but processors and time, backfilling keeps
/// one profile and is much quicker; it decides the same.
pub(crate) fn build(
    name: &str,
    workload: &Workload,
    layout: Layout,
    seed: Option<u64>,
) -> Result<Box<dyn Policy>, Failure> {
    let name = meant(name, layout);
    let seed = seed.unwrap_or(SEED);
    Ok(match choice(name)? {
        Choice::Fill(gridfill::Settings { depth, order, .. }) if is_plain(workload) => {
            Box::new(Backfill::new(backfill::Settings { depth, order }))
        }
        Choice::Fill(settings) => Box::new(GridFill::new(settings)),
        Choice::Cycles(settings) => Box::new(Cycles::new(settings)),
        Choice::Bsf(settings) => Box::new(Bsf::new(settings)),
        Choice::Dispatch(settings) => dispatched(name, settings, seed),
        Choice::Federal(federal) => federal.build(workload, seed),
    })
}

/// The policy of this name for a live market of these pools. Nobody knows what jobs will ask for:
/// `GridFill` itself sees how long the quick backfilling of [`build`] does.
///
/// # Errors
/// If there is no such policy, or it cannot be live.
pub(crate) fn live(name: &str, pools: &Pools, seed: u64) -> Result<Box<dyn Policy>, Failure> {
    let limited = pools.as_slice().iter().find(|pool| pool.admission != Admission::NONE);
    if let Some(pool) = limited.filter(|_| ignores_limits(name)) {
        let message =
            format!("policy `{name}` knows no limits of queues, and `{}` has some", pool.name);
        let hint = "use `auction`, `meta-fcfs`, `easy` or their like, or queues without limits";
        return Err(Failure::usage(message).hint(hint));
    }
    match choice(name)? {
        Choice::Fill(settings) => Ok(Box::new(GridFill::new(settings))),
        Choice::Cycles(settings) => Ok(Box::new(Cycles::new(settings))),
        Choice::Bsf(settings) => Ok(Box::new(Bsf::new(settings))),
        Choice::Dispatch(settings) => Ok(dispatched(name, settings, seed)),
        Choice::Federal(federal) => federal.live(name, pools),
    }
}

fn dispatched(name: &str, settings: dispatch::Settings, seed: u64) -> Box<dyn Policy> {
    let seed = if says(name, "seed") { settings.seed } else { seed };
    Box::new(Dispatch::new(dispatch::Settings { seed, ..settings }))
}

/// Whether there is one pool of reference nodes that cost nothing and take everybody, and no job
/// asks for more than processors and time.
fn is_plain(workload: &Workload) -> bool {
    let plain = |pool: &Pool| {
        pool.performance == Performance::REFERENCE
            && pool.price.0 == 0
            && pool.admission == Admission::NONE
    };
    let [pool] = workload.pools.as_slice() else { return false };
    let plainly = |terms: &Terms| Terms { user: 0, ..terms.clone() } == Terms::NONE;
    plain(pool) && workload.jobs.iter().all(|job| job.terms.as_deref().is_none_or(plainly))
}

/// Whether `key` is among the parameters of a name.
fn says(name: &str, key: &str) -> bool {
    let named = Named::of("policy", name);
    named.is_ok_and(|named| named.parameters.iter().any(|(given, _)| *given == key))
}

/// What is wrong with a name in a campaign file, if anything.
pub(crate) fn objection(name: &str) -> Option<(String, String)> {
    let hint = "write a name, such as `easy`, or one with parameters: `easy[depth=4]`";
    brackets::objection(choice(name), hint)
}

fn choice(text: &str) -> Result<Choice, Failure> {
    let Named { name, parameters } = Named::of("policy", text)?;
    let fill = |depth, order| {
        Choice::Fill(gridfill::Settings { depth, order, ..gridfill::Settings::default() })
    };
    let sites = |depth| Choice::Federal(Box::new(Federal::plain(depth)));
    let mut choice = match name {
        "multi-queue" => Choice::Federal(Box::new(Federal::hybrid())),
        "fcfs-sites" => sites(backfill::Depth::First(0)),
        "easy-sites" => sites(backfill::Depth::First(1)),
        "conservative-sites" => sites(backfill::Depth::All),
        "fcfs" => fill(backfill::Depth::First(0), Order::Arrival),
        "sjf" => fill(backfill::Depth::First(0), Order::Shortest),
        "easy" => fill(backfill::Depth::First(1), Order::Arrival),
        "conservative" => fill(backfill::Depth::All, Order::Arrival),
        "css" => Choice::Cycles(market::Settings::css()),
        "batch-slicer" => Choice::Cycles(market::Settings::batch_slicer()),
        "whole-batch" => Choice::Cycles(market::Settings::whole_batch()),
        "bsf" => Choice::Bsf(bsf::Settings::default()),
        _ => match Rule::ALL.iter().find(|(_, known)| *known == name) {
            Some((rule, _)) => Choice::Dispatch(dispatch::Settings::of(*rule)),
            None => {
                let failure = Failure::usage(format!("there is no policy `{name}`"));
                return Err(failure.hint(did_you_mean(name, &NAMES)));
            }
        },
    };
    let families = families(name, &choice);
    for (at, (key, _)) in parameters.iter().copied().enumerate() {
        if parameters.iter().take(at).any(|(other, _)| *other == key) {
            return Err(Failure::usage(format!("policy `{name}` is given `{key}` twice")));
        }
        let known: Vec<&str> = families.iter().flat_map(|family| family.keys()).copied().collect();
        if !known.contains(&key) {
            let failure = Failure::usage(format!("policy `{name}` has no parameter `{key}`"));
            return Err(failure.hint(did_you_mean(key, &known)));
        }
    }
    // A half-life belongs to an order, wherever it stands.
    let (orders, rest): (Vec<_>, Vec<_>) =
        parameters.into_iter().partition(|(key, _)| *key == "order");
    for (key, value) in orders.into_iter().chain(rest) {
        let set = match &mut choice {
            Choice::Fill(settings) => parameters::fill(settings, key, value),
            Choice::Cycles(settings) => parameters::cycles(settings, key, value),
            Choice::Bsf(settings) => parameters::bsf(settings, key, value),
            Choice::Dispatch(settings) => parameters::dispatch(settings, key, value),
            Choice::Federal(settings) => federal::set(settings, key, value),
        };
        set.map_err(|wrong| wrong.into_failure(name, key, value))?;
    }
    match choice {
        Choice::Dispatch(dispatch::Settings { dynamics, .. })
            if dynamics.floor > dynamics.ceiling =>
        {
            let failure = Failure::usage(format!("policy `{name}`: `floor` is above `ceiling`"));
            Err(failure.hint("both are thousandths of the list price"))
        }
        choice => Ok(choice),
    }
}

/// What may stand in the brackets of a policy.
fn families(name: &str, choice: &Choice) -> &'static [Family] {
    match choice {
        Choice::Fill(_) => &[Family::Fill],
        Choice::Cycles(_) if name == "css" => &[Family::Cycles],
        Choice::Cycles(_) if name == "whole-batch" => &[Family::Cycles, Family::Whole],
        Choice::Cycles(_) => &[Family::Cycles, Family::Slices],
        Choice::Bsf(_) => &[Family::Cycles, Family::Slices, Family::Bsf, Family::Fill],
        Choice::Federal(federal) => match federal.site {
            Site::Hybrid(_) => &[Family::Hybrid, Family::Sites],
            Site::Plain(_) => &[Family::Plain, Family::Sites],
        },
        Choice::Dispatch(settings) => match settings.rule {
            Rule::Auction => &[Family::Dispatch, Family::Slots, Family::Ties],
            Rule::FairShare => &[Family::Dispatch, Family::Share],
            _ => &[Family::Dispatch, Family::Slots],
        },
    }
}
