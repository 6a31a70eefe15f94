//! A policy's text becomes a [`PolicySpec`].

use tradewind_io::diagnostics::did_you_mean;
use tradewind_sched::policy::Order;
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::bsf;
use tradewind_sched::policy::cyclic::{Offers, SearchBy, market};
use tradewind_sched::policy::dispatch::{self, DispatchRule};
use tradewind_sched::policy::gridfill;
use tradewind_sched::window::Variant;

use super::federal::{self, Federal, Site};
use super::parameters::{self, Family};
use super::spec::{Kind, PolicySpec};
use crate::brackets::Named;
use crate::failure::Failure;

/// Every name of a policy.
pub(super) const NAMES: [&str; 21] = [
    "fcfs",
    "sjf",
    "easy",
    "conservative",
    "learned",
    "css",
    "batch-slicer",
    "whole-batch",
    "on-the-fly",
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

/// Reads a name with its parameters.
///
/// # Errors
/// What is wrong with the first part that cannot be read.
pub(super) fn read(text: &str) -> Result<PolicySpec, Failure> {
    if text.starts_with("python:") {
        let failure =
            Failure::usage("a policy in Python decides only for a cluster that is observed");
        return Err(failure.hint(
            "it is the `policy` of a site with `mode = \"observe\"`; `simulate` has `--policy-cmd 'python3 -m tradewind.serve module:Class'`",
        ));
    }
    let Named { name, parameters } = Named::of("policy", text)?;
    let mut kind = default_of(name)?;
    check_keys(name, families(name, &kind), &parameters)?;
    // A half-life belongs to an order, wherever it stands.
    let (orders, rest): (Vec<_>, Vec<_>) = parameters.iter().partition(|(key, _)| *key == "order");
    for (key, value) in orders.into_iter().chain(rest) {
        let set = match &mut kind {
            Kind::Fill(settings) => parameters::fill(settings, key, value),
            Kind::Cycles(settings) => parameters::cycles(settings, key, value),
            Kind::Bsf(settings) => parameters::bsf(settings, key, value),
            Kind::Dispatch(settings) => parameters::dispatch(settings, key, value),
            Kind::Federal(settings) => federal::set(settings, key, value),
            Kind::Learned => continue, // it has no keys
        };
        set.map_err(|wrong| wrong.into_failure(name, key, value))?;
    }
    check_candidates(name, &kind)?;
    if let Kind::Cycles(settings) = &kind
        && settings.cyclic.offers != Offers::Disjoint
        && !settings.vo.criteria.is_empty()
    {
        let failure = Failure::usage(format!(
            "policy `{name}` has no `criteria` and no limits on energy and carbon"
        ));
        return Err(failure.hint("use `css` or `batch-slicer`"));
    }
    if let Kind::Cycles(settings) = &kind
        && settings.cyclic.offers == Offers::OnTheFly
        && (!Offers::fly(&settings.vo)
            || settings.cyclic.search != SearchBy::Job
            || settings.cyclic.variant == Variant::Paper)
    {
        let failure = Failure::usage(format!(
            "policy `{name}` has one exact search, by `objective=min-time` or `min-cost`"
        ));
        return Err(failure.hint("leave `search` and `variant` out, or use `whole-batch`"));
    }
    if let Kind::Dispatch(dispatch::DispatchSettings { dynamics, .. }) = &kind
        && dynamics.floor > dynamics.ceiling
    {
        let failure = Failure::usage(format!("policy `{name}`: `floor` is above `ceiling`"));
        return Err(failure.hint("both are thousandths of the list price"));
    }
    Ok(PolicySpec::new(text, name, &parameters, kind))
}

/// The policy of this name without parameters.
fn default_of(name: &str) -> Result<Kind, Failure> {
    let fill = |depth, order| {
        Kind::Fill(gridfill::GridFillSettings {
            depth,
            order,
            ..gridfill::GridFillSettings::default()
        })
    };
    let sites = |depth| Kind::Federal(Box::new(Federal::plain(depth)));
    Ok(match name {
        "multi-queue" => Kind::Federal(Box::new(Federal::hybrid())),
        "fcfs-sites" => sites(Depth::First(0)),
        "easy-sites" => sites(Depth::First(1)),
        "conservative-sites" => sites(Depth::All),
        "fcfs" => fill(Depth::First(0), Order::Arrival),
        "sjf" => fill(Depth::First(0), Order::Shortest),
        "easy" => fill(Depth::First(1), Order::Arrival),
        "conservative" => fill(Depth::All, Order::Arrival),
        "learned" => Kind::Learned,
        "css" => Kind::Cycles(market::CycleSettings::css()),
        "batch-slicer" => Kind::Cycles(market::CycleSettings::batch_slicer()),
        "whole-batch" => Kind::Cycles(market::CycleSettings::whole_batch()),
        "on-the-fly" => Kind::Cycles(market::CycleSettings::on_the_fly()),
        "bsf" => Kind::Bsf(bsf::BsfSettings::default()),
        _ => match DispatchRule::ALL.iter().find(|(_, known)| *known == name) {
            Some((rule, _)) => Kind::Dispatch(dispatch::DispatchSettings::of(*rule)),
            None => {
                let failure = Failure::usage(format!("there is no policy `{name}`"));
                return Err(failure.hint(did_you_mean(name, &NAMES)));
            }
        },
    })
}

/// Every key belongs to the policy and is given once.
fn check_keys(name: &str, families: &[Family], parameters: &[(&str, &str)]) -> Result<(), Failure> {
    let known: Vec<&str> = families.iter().flat_map(|family| family.keys()).copied().collect();
    for (at, (key, _)) in parameters.iter().enumerate() {
        if parameters.iter().take(at).any(|(other, _)| other == key) {
            return Err(Failure::usage(format!("policy `{name}` is given `{key}` twice")));
        }
        if !known.contains(key) {
            let failure = Failure::usage(format!("policy `{name}` has no parameter `{key}`"));
            return Err(failure.hint(did_you_mean(key, &known)));
        }
    }
    Ok(())
}

/// Without reservations, or with one for every job, no job is a candidate to overtake others.
fn check_candidates(name: &str, kind: &Kind) -> Result<(), Failure> {
    let fill = match kind {
        Kind::Fill(settings) => settings,
        Kind::Bsf(settings) => &settings.fill,
        _ => return Ok(()),
    };
    match (fill.candidates, fill.depth) {
        (None, _) | (Some(_), Depth::First(1..)) => Ok(()),
        (Some(_), Depth::First(0)) => {
            let failure =
                Failure::usage(format!("policy `{name}`: `backfill` without backfilling"));
            Err(failure.hint("give `depth=1` or more, as `easy` does"))
        }
        (Some(_), Depth::All) => {
            let why = "every job has a reservation of its own, in the order of the queue";
            let failure =
                Failure::usage(format!("policy `{name}`: `backfill` has no effect: {why}"));
            Err(failure.hint("give `depth` a number, or choose `order`"))
        }
    }
}

/// What may stand in the brackets of a policy.
fn families(name: &str, kind: &Kind) -> &'static [Family] {
    match kind {
        Kind::Fill(_) => &[Family::Fill],
        Kind::Learned => &[],
        Kind::Cycles(_) if name == "css" => &[Family::Cycles, Family::Fallback],
        Kind::Cycles(_) if name == "whole-batch" || name == "on-the-fly" => {
            &[Family::Cycles, Family::Fallback, Family::Whole]
        }
        Kind::Cycles(_) => &[Family::Cycles, Family::Fallback, Family::Slices],
        Kind::Bsf(_) => &[Family::Cycles, Family::Slices, Family::Bsf, Family::Fill],
        Kind::Federal(federal) => match federal.site {
            Site::Hybrid(_) => &[Family::Hybrid, Family::Sites],
            Site::Plain(_) => &[Family::Plain, Family::Sites],
        },
        Kind::Dispatch(settings) => match settings.rule {
            DispatchRule::Auction => &[Family::Dispatch, Family::Slots, Family::Ties],
            DispatchRule::FairShare => &[Family::Dispatch, Family::Share],
            _ => &[Family::Dispatch, Family::Slots],
        },
    }
}
