//! `plan --front`: what the batch can trade against each other.

use std::path::Path;

use tradewind_io::scenario;
use tradewind_io::wire::Amount;
use tradewind_model::{Component, Plan, Quantity, Snapshot};
use tradewind_sched::policy::cyclic::{self, FrontPoint};

use super::args::Picture;
use crate::commands::front::{FrontView, PointKind};
use crate::exit::{Failure, Outcome};
use crate::options::Format;

/// The unit of a sum, as it is shown.
pub(crate) fn unit(quantity: &Quantity) -> &'static str {
    match quantity {
        Quantity::Cost | Quantity::EnergyPrice => "credits",
        Quantity::Energy => "kWh",
        Quantity::Carbon => "gCO2e",
        Quantity::Sum(_) => "",
        _ => "s",
    }
}

/// Shows at most `max` points of the front.
pub(super) fn show(
    (snapshot, plan): (&Snapshot, &Plan),
    title: &str,
    (max, work_limit): (usize, u64),
    format: Format,
    file: Option<(&Path, Picture)>,
) -> Outcome {
    let front = cyclic::front(snapshot, plan, max, work_limit)
        .map_err(|reason| Failure::infeasible(reason.to_string()))?;
    let name = |it: &Component| (scenario::component_name(it), unit(&it.quantity));
    let amounts = |point: &FrontPoint| {
        let sums = front.components.iter().zip(&point.sums);
        sums.map(|(component, sum)| Amount::of(&component.quantity, *sum)).collect()
    };
    let limits = &snapshot.policy.criteria.limits;
    FrontView {
        title: title.to_owned(),
        components: front.components.iter().map(name).collect(),
        limits: limits.iter().map(|(it, limit)| (it.name(), Amount::of(it, *limit))).collect(),
        points: front.points.iter().map(|it| (it.chosen.clone(), amounts(it))).collect(),
        kind: PointKind::Front,
        complete: front.complete,
    }
    .show(format, file)
}
