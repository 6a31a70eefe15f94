//! What the caller says of worlds, as a scene.

use std::sync::Arc;

use pyo3::prelude::*;
use tradewind_campaign::failure::Failure;
use tradewind_campaign::links::Linked;
use tradewind_campaign::plan::{Plan, Run as PlannedRun};
use tradewind_campaign::summary::Summary;
use tradewind_campaign::workload::WorkloadFiles;
use tradewind_campaign::{checks, rules};
use tradewind_io::campaign::Campaign;
use tradewind_model::{Money, Pools};
use tradewind_sim::Run;
use tradewind_sim::metrics;
use tradewind_sim::workload::Workload;
use tradewind_sim::worlds::{Kind, MakePolicy, Scene};

use crate::options::Options;

/// The most jobs that are offered at once, and levels of a bid.
const MOST_OFFERED: usize = 4_096;

/// The name of a choice and its parameters.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct KindOptions {
    name: String,
    candidates: usize,
    /// In thousandths.
    levels: Vec<u32>,
    /// In thousandths.
    share: u32,
}

/// A scene, and the run of a campaign that it belongs to.
pub(super) struct Setting {
    pub(super) scene: Scene,
    campaign: Campaign,
    run: PlannedRun,
    linked: Option<Linked>,
}

impl Setting {
    pub(super) fn read(
        options: Options,
        kind: &KindOptions,
        jobs: Option<usize>,
    ) -> Result<Setting, Failure> {
        let campaign = options.into_campaign(None)?;
        let plan = Plan::of(&campaign)?;
        let [run] = plan.runs.as_slice() else {
            return Err(Failure::usage("one log, one policy and one seed make a world"));
        };
        let run = run.clone();
        let files: Vec<_> = campaign.workloads.iter().map(WorkloadFiles::open).collect();
        checks::plan(&plan, &files)?;
        let prepared = files[0].prepare(&run)?;
        let (layout, linked) = (prepared.layout, prepared.linked);
        let workload = prepared.workload;
        suits(kind, &workload)?;
        let all = workload.jobs.len();
        let jobs = jobs.unwrap_or(all).min(all);
        if jobs == 0 {
            return Err(Failure::data("there is no job that can run"));
        }
        let spec = run.decider.policy().cloned();
        let spec = spec.ok_or_else(|| Failure::usage("worlds need a policy of ours"))?;
        let seed = run.seed;
        let policy: MakePolicy = Arc::new(move |workload| spec.for_replay(workload, layout, seed));
        let estimate = rules::estimate(run.estimate);
        let kind = kind_of(kind, policy)?;
        drop(files);
        let scene = Scene { workload: Arc::new(workload), estimate, kind, jobs };
        Ok(Setting { scene, campaign, run, linked })
    }

    /// As messages name the worlds.
    pub(super) fn name(&self) -> &str {
        &self.campaign.workloads[0].name
    }

    /// All measures of an episode.
    pub(super) fn summary(&self, workload: &Workload, run: &Run) -> Summary {
        let options =
            metrics::MetricOptions { trim: rules::trim(self.campaign.trim), ..Default::default() };
        let measured = metrics::measure(workload, run, options);
        Summary::new(&self.campaign, &self.run, workload, self.linked, &measured)
    }
}

fn kind_of(kind: &KindOptions, policy: MakePolicy) -> Result<Kind, Failure> {
    let candidates = kind.candidates;
    if !(1..=MOST_OFFERED).contains(&candidates) {
        return Err(Failure::usage(format!("`candidates` is a number from 1 to {MOST_OFFERED}")));
    }
    let known = ["backfill", "order", "pool", "bid"];
    match kind.name.as_str() {
        "backfill" => Ok(Kind::Backfill { candidates }),
        "order" => Ok(Kind::Order { candidates }),
        "pool" => Ok(Kind::Pool { policy }),
        "bid" if !(1..=MOST_OFFERED).contains(&kind.levels.len()) || kind.share > 1_000 => {
            Err(Failure::usage("`levels` are some numbers, and `share` is one from 0 to 1"))
        }
        "bid" => Ok(Kind::Bid { policy, levels: kind.levels.as_slice().into(), share: kind.share }),
        name => Err(Failure::usage(format!("there are no worlds `{name}`: {}", known.join(", ")))),
    }
}

fn has_data(workload: &Workload) -> bool {
    let has = |terms: &std::sync::Arc<tradewind_model::Terms>| terms.data.is_some();
    workload.jobs.iter().any(|job| job.terms.as_ref().is_some_and(has))
}

/// Whether the choice makes sense for these jobs on these pools.
fn suits(kind: &KindOptions, workload: &Workload) -> Result<(), Failure> {
    let pools: &Pools = &workload.pools;
    let plain = pools.as_slice().len() == 1
        && workload.outages.is_empty()
        && workload.owners.is_empty()
        && workload.jobs.iter().all(|job| job.terms.is_none());
    let sites = pools.as_slice().iter().map(|pool| pool.site).max();
    let valued = |terms: &tradewind_model::Terms| terms.value.or(terms.budget) > Some(Money::ZERO);
    let any_value = workload.jobs.iter().any(|job| job.terms.as_ref().is_some_and(|it| valued(it)));
    match kind.name.as_str() {
        "backfill" | "order" if !plain => {
            Err(Failure::usage("these worlds are of one cluster without outages"))
        }
        "backfill" | "order" if pools.follow_demand() => {
            let failure = Failure::usage("prices by demand are not part of these worlds");
            Err(failure.hint("use a price, or prices by load"))
        }
        "pool" | "bid" if !pools.licences().is_empty() => {
            let failure = Failure::usage("licences are not part of worlds");
            Err(failure.hint("use a grid without licences"))
        }
        "pool" | "bid" if has_data(workload) => {
            let failure = Failure::usage("data of jobs is not part of worlds");
            Err(failure.hint("use a grid without `[data]`"))
        }
        "pool" | "bid" if !workload.owners.is_empty() => {
            let failure = Failure::usage("owners' queues are not part of worlds");
            Err(failure.hint("use a grid without logs of owners"))
        }
        "pool" if sites.is_none_or(|last| last.0 == 0) => {
            let failure = Failure::usage("there is one site, so there is nothing to choose");
            Err(failure.hint("name a `grid` of several sites"))
        }
        "bid" if !any_value => {
            let failure = Failure::usage("no job says what it is worth");
            Err(failure.hint("name a `side` model with values"))
        }
        _ => Ok(()),
    }
}
