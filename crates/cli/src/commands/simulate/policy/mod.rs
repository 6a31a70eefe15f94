//! Names of policies: `easy`, `easy[depth=4,order=shortest]`, `css[period=10m,search=cost]`.

mod parameters;
#[cfg(test)]
mod tests;

use tradewind_io::diagnostics::did_you_mean;
use tradewind_model::{Performance, Pool};
use tradewind_sched::policy::backfill::{self, Backfill};
use tradewind_sched::policy::bsf::{self, Bsf};
use tradewind_sched::policy::cyclic::market::{self, Cycles};
use tradewind_sched::policy::gridfill::{self, GridFill};
use tradewind_sched::policy::{Order, Policy};
use tradewind_sched::window::Variant;
use tradewind_sim::workload::Workload;

use super::brackets::{self, Named};
use crate::exit::Failure;
use parameters::Family;

/// The name of the user's own policy, which a command decides.
pub(super) const COMMAND: &str = "command";

/// Every name, what it stands for, and the family of its parameters.
const NAMES: [&str; 7] = ["fcfs", "sjf", "easy", "conservative", "css", "batch-slicer", "bsf"];

/// A policy with its parameters.
#[derive(Debug, Clone, PartialEq)]
enum Choice {
    /// On any pools.
    Fill(gridfill::Settings),
    /// CSS and batch-slicer.
    Cycles(market::Settings),
    /// Some by batch-slicer, the rest by backfilling.
    Bsf(bsf::Settings),
}

/// The names of all policies of `P[,P…]`, each sound; commas in brackets belong to a policy.
pub(super) fn names(text: &str) -> Result<Vec<String>, Failure> {
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
pub(super) fn with_replan(name: &str, word: &str) -> String {
    let cyclic = matches!(choice(name), Ok(Choice::Cycles(_) | Choice::Bsf(_)));
    let says = |named: &Named<'_>| named.parameters.iter().any(|(key, _)| *key == "replan");
    if !cyclic || Named::of("policy", name).is_ok_and(|named| says(&named)) {
        return name.to_owned();
    }
    match name.strip_suffix(']') {
        Some(open) => format!("{open},replan={word}]"),
        None => format!("{name}[replan={word}]"),
    }
}

/// The seed of a policy that draws lots, as the papers' variants of cyclic schemes may.
pub(super) fn seed(name: &str) -> Option<u64> {
    let cyclic = match choice(name) {
        Ok(Choice::Cycles(settings)) => settings.cyclic,
        Ok(Choice::Bsf(settings)) => settings.cycles.cyclic,
        Ok(Choice::Fill(_)) | Err(_) => return None,
    };
    (cyclic.variant == Variant::Paper).then_some(cyclic.seed)
}

/// The policy of this name for a workload.
///
/// On one plain cluster, for jobs that ask for nothing but processors and time, backfilling keeps
/// one profile and is much quicker; it decides the same.
pub(super) fn build(name: &str, workload: &Workload) -> Result<Box<dyn Policy>, Failure> {
    Ok(match choice(name)? {
        Choice::Fill(gridfill::Settings { depth, order, .. }) if is_plain(workload) => {
            Box::new(Backfill::new(backfill::Settings { depth, order }))
        }
        Choice::Fill(settings) => Box::new(GridFill::new(settings)),
        Choice::Cycles(settings) => Box::new(Cycles::new(settings)),
        Choice::Bsf(settings) => Box::new(Bsf::new(settings)),
    })
}

/// Whether there is one pool of reference nodes that cost nothing, and no job has terms.
fn is_plain(workload: &Workload) -> bool {
    let plain = |pool: &Pool| pool.performance == Performance::REFERENCE && pool.price.0 == 0;
    let [pool] = workload.pools.as_slice() else { return false };
    plain(pool) && workload.jobs.iter().all(|job| job.terms.is_none())
}

/// What is wrong with a name in a campaign file, if anything.
pub(super) fn objection(name: &str) -> Option<(String, String)> {
    let hint = "write a name, such as `easy`, or one with parameters: `easy[depth=4]`";
    brackets::objection(choice(name), hint)
}

fn choice(text: &str) -> Result<Choice, Failure> {
    let Named { name, parameters } = Named::of("policy", text)?;
    let fill = |depth, order| {
        Choice::Fill(gridfill::Settings { depth, order, ..gridfill::Settings::default() })
    };
    let mut choice = match name {
        "fcfs" => fill(backfill::Depth::First(0), Order::Arrival),
        "sjf" => fill(backfill::Depth::First(0), Order::Shortest),
        "easy" => fill(backfill::Depth::First(1), Order::Arrival),
        "conservative" => fill(backfill::Depth::All, Order::Arrival),
        "css" => Choice::Cycles(market::Settings::css()),
        "batch-slicer" => Choice::Cycles(market::Settings::batch_slicer()),
        "bsf" => Choice::Bsf(bsf::Settings::default()),
        _ => {
            let failure = Failure::usage(format!("there is no policy `{name}`"));
            return Err(failure.hint(did_you_mean(name, &NAMES)));
        }
    };
    let families = match (name, &choice) {
        (_, Choice::Fill(_)) => &[Family::Fill][..],
        ("css", _) => &[Family::Cycles],
        (_, Choice::Cycles(_)) => &[Family::Cycles, Family::Slices],
        (_, Choice::Bsf(_)) => &[Family::Cycles, Family::Slices, Family::Bsf, Family::Fill],
    };
    for (key, value) in parameters {
        let known: Vec<&str> = families.iter().flat_map(|family| family.keys()).copied().collect();
        if !known.contains(&key) {
            let failure = Failure::usage(format!("policy `{name}` has no parameter `{key}`"));
            return Err(failure.hint(did_you_mean(key, &known)));
        }
        let set = match &mut choice {
            Choice::Fill(settings) => parameters::fill(settings, key, value),
            Choice::Cycles(settings) => parameters::cycles(settings, key, value),
            Choice::Bsf(settings) => parameters::bsf(settings, key, value),
        };
        set.map_err(|wrong| wrong.into_failure(name, key, value))?;
    }
    Ok(choice)
}
