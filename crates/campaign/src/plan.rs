//! A campaign becomes a list of runs, in an order that is always the same.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use tradewind_io::campaign::{
    Campaign, EstimateKind, Keyword, OfferedLoad, Overrun, Semantics, Trim, Workload,
};
use tradewind_io::{digest, wire};

use crate::failure::Failure;
use crate::policy::{COMMAND, PolicySpec};

/// The most runs of one campaign.
const RUNS_MOST: u64 = 100_000;

/// The policy of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Decider {
    /// This command of the user's.
    Command(Arc<str>),
    /// A policy of ours.
    Ours(Arc<PolicySpec>),
}

impl Decider {
    fn read(name: &str, campaign: &Campaign) -> Result<Decider, Failure> {
        match &campaign.command {
            Some(command) if name == COMMAND => Ok(Decider::Command(command.as_str().into())),
            _ => Ok(Decider::Ours(Arc::new(PolicySpec::parse(name)?))),
        }
    }

    /// As the campaign names it.
    pub fn text(&self) -> &str {
        match self {
            Decider::Command(_) => COMMAND,
            Decider::Ours(policy) => policy.text(),
        }
    }

    /// The policy, if it is one of ours.
    pub fn ours(&self) -> Option<&PolicySpec> {
        self.policy().map(AsRef::as_ref)
    }

    /// The same, to be shared.
    pub fn policy(&self) -> Option<&Arc<PolicySpec>> {
        match self {
            Decider::Command(_) => None,
            Decider::Ours(policy) => Some(policy),
        }
    }

    fn command(&self) -> Option<&str> {
        match self {
            Decider::Command(command) => Some(command),
            Decider::Ours(_) => None,
        }
    }
}

/// One run: a workload under one policy by one set of rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Index in the campaign's workloads.
    pub workload: usize,
    /// The policy.
    pub decider: Decider,
    /// The order within a second.
    pub semantics: Semantics,
    /// What happens to overruns.
    pub overrun: Overrun,
    /// What policies expect.
    pub estimate: EstimateKind,
    /// The offered load to scale to; `None`: as logged.
    pub load: Option<OfferedLoad>,
    /// Of what is drawn.
    pub seed: Option<u64>,
    /// Its folder within that of the campaign; empty for a single run.
    pub folder: PathBuf,
}

/// All runs of a campaign.
#[derive(Debug)]
pub struct Plan {
    /// In the order of the campaign.
    pub runs: Vec<Run>,
    /// The policies, in the campaign's order.
    pub deciders: Vec<Decider>,
    /// Combinations of rules that do not exist.
    pub left_out: usize,
}

impl Plan {
    /// The cross product, the seeds innermost.
    pub fn of(campaign: &Campaign) -> Result<Plan, Failure> {
        let deciders = campaign.policies.iter().map(|name| Decider::read(name, campaign));
        let deciders = deciders.collect::<Result<_, _>>()?;
        let mut plan = Plan { runs: Vec::new(), deciders, left_out: 0 };
        let count = size(campaign);
        if count > RUNS_MOST {
            let message = format!("{count} runs are more than {RUNS_MOST}");
            return Err(Failure::usage(message).hint("make two campaigns of it"));
        }
        for rules in rules(campaign) {
            match rules.exist() {
                true => plan.add(campaign, &rules),
                false => plan.left_out += 1,
            }
        }
        if plan.runs.iter().all(|run| run.semantics != Semantics::Pyss)
            && campaign.semantics.contains(&Semantics::Pyss)
        {
            let failure = Failure::usage("the semantics `pyss` fix what happens to overruns");
            return Err(failure.hint("every job is killed at its request; leave `--overrun` out"));
        }
        if let [only] = plan.runs.as_mut_slice() {
            only.folder = PathBuf::new();
        }
        Ok(plan)
    }

    /// Our own policies.
    pub fn policies(&self) -> impl Iterator<Item = &PolicySpec> {
        self.deciders.iter().filter_map(Decider::ours)
    }

    fn add(&mut self, campaign: &Campaign, rules: &Rules) {
        let loads = some_or_none(&campaign.loads);
        let seeds: Vec<u64> = campaign.seeds().iter().flat_map(|seeds| seeds.all()).collect();
        for load in loads {
            for decider in &self.deciders {
                for seed in some_or_none(&seeds) {
                    let mut run = Run {
                        workload: rules.workload,
                        decider: decider.clone(),
                        semantics: rules.semantics,
                        overrun: rules.overrun,
                        estimate: rules.estimate,
                        load,
                        seed,
                        folder: PathBuf::new(),
                    };
                    run.folder = run.folder(campaign);
                    self.runs.push(run);
                }
            }
        }
    }
}

/// What is fixed before load, policy and seed.
struct Rules {
    workload: usize,
    semantics: Semantics,
    overrun: Overrun,
    estimate: EstimateKind,
}

impl Rules {
    fn exist(&self) -> bool {
        self.semantics == Semantics::Textbook || self.overrun == Overrun::Kill
    }
}

fn rules(campaign: &Campaign) -> Vec<Rules> {
    let mut all = Vec::new();
    for workload in 0..campaign.workloads.len() {
        for &semantics in &campaign.semantics {
            for &overrun in &campaign.overruns {
                for &estimate in &campaign.estimates {
                    all.push(Rules { workload, semantics, overrun, estimate });
                }
            }
        }
    }
    all
}

fn some_or_none<T: Copy>(all: &[T]) -> Vec<Option<T>> {
    match all {
        [] => vec![None],
        all => all.iter().copied().map(Some).collect(),
    }
}

fn size(campaign: &Campaign) -> u64 {
    let seeds = campaign.seeds().map_or(1, |seeds| seeds.all().count());
    let axes = [
        campaign.workloads.len(),
        campaign.semantics.len(),
        campaign.overruns.len(),
        campaign.estimates.len(),
        campaign.loads.len().max(1),
        campaign.policies.len(),
        seeds,
    ];
    axes.iter().fold(1, |product: u64, &axis| product.saturating_mul(axis as u64))
}

impl Run {
    /// `POLICY/axis=value/…`, with the axes that have more than one value.
    fn folder(&self, campaign: &Campaign) -> PathBuf {
        let mut folder = PathBuf::from(self.decider.text());
        let mut push = |axis: &str, values: usize, value: String| {
            if values > 1 {
                folder.push(format!("{axis}={value}"));
            }
        };
        let workloads = &campaign.workloads;
        push("log", workloads.len(), workloads[self.workload].name.clone());
        push("semantics", campaign.semantics.len(), self.semantics.name().to_owned());
        push("overrun", campaign.overruns.len(), self.overrun.name().to_owned());
        push("estimate", campaign.estimates.len(), self.estimate.name().to_owned());
        let load = self.load.map_or_else(String::new, |load| load.to_string());
        push("load", campaign.loads.len(), load);
        let seeds = campaign.seeds().map_or(0, |seeds| 1 + usize::from(seeds.are_many()));
        push("seed", seeds, self.seed.unwrap_or_default().to_string());
        folder
    }

    /// The identity of the run: all that its results depend on. `inputs` are the
    /// hashes of the workload's files.
    pub fn id(&self, campaign: &Campaign, inputs: &[Option<String>]) -> String {
        #[derive(Serialize)]
        struct Identity<'a> {
            version: &'static str,
            workload: &'a Workload,
            inputs: &'a [Option<String>],
            policy: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            command: Option<&'a str>,
            semantics: Semantics,
            overrun: Overrun,
            estimate: EstimateKind,
            load: Option<OfferedLoad>,
            seed: Option<u64>,
            trim: Trim,
            outputs: &'a [tradewind_io::campaign::Output],
        }
        let identity = Identity {
            version: env!("CARGO_PKG_VERSION"),
            workload: &campaign.workloads[self.workload],
            inputs,
            policy: self.decider.text(),
            command: self.decider.command(),
            semantics: self.semantics,
            overrun: self.overrun,
            estimate: self.estimate,
            load: self.load,
            seed: self.seed,
            trim: campaign.trim,
            outputs: &campaign.outputs,
        };
        digest::sha256(wire::to_json(&identity).as_bytes())
    }

    /// In a few words, for messages.
    pub fn name(&self) -> String {
        match self.folder.as_os_str().is_empty() {
            true => self.decider.text().to_owned(),
            false => self.folder.display().to_string(),
        }
    }
}
