//! One log under one policy, for commands that replay it in their own way.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tradewind_campaign::plan::{Plan, Run};
use tradewind_campaign::replay::{self, Listener, Signals};
use tradewind_campaign::rules;
use tradewind_campaign::workload::WorkloadFiles;
use tradewind_io::campaign::{self, Campaign, EstimateKind, Overrun, Semantics};
use tradewind_sim::check::Checker;
use tradewind_sim::workload::Workload;
use tradewind_sim::{ReplaySettings, SimError};

use crate::exit::{Exit, Failure};
use crate::policy::PolicySpec;
use crate::progress::Progress;
use crate::report::Report;
use crate::worker_pool;

/// What is replayed, and how.
#[derive(Debug)]
pub(in crate::commands) struct Single {
    pub(in crate::commands) log: String,
    pub(in crate::commands) policy: String,
    pub(in crate::commands) procs: Option<u32>,
    pub(in crate::commands) semantics: Semantics,
    pub(in crate::commands) overrun: Overrun,
    pub(in crate::commands) estimate: EstimateKind,
}

/// All that a replay needs.
pub(in crate::commands) struct Replayed<'a> {
    pub(in crate::commands) workload: &'a Workload,
    pub(in crate::commands) settings: ReplaySettings,
    pub(in crate::commands) policy: Arc<PolicySpec>,
    /// Counts jobs for the progress bar, and stops the replay.
    pub(in crate::commands) listener: Box<dyn Checker>,
    /// Jobs of the log that do not say how long they ask to run.
    pub(in crate::commands) without_request: usize,
}

impl Single {
    fn campaign(&self) -> Result<Campaign, Failure> {
        let logs = vec![self.log.clone()];
        let policy = PolicySpec::parse(&self.policy)?;
        Ok(Campaign {
            title: None,
            workloads: vec![campaign::Workload {
                name: campaign::Workload::name_of(&logs),
                logs,
                procs: self.procs,
                ..campaign::Workload::default()
            }],
            policies: vec![policy.text().to_owned()],
            command: None,
            semantics: vec![self.semantics],
            overruns: vec![self.overrun],
            estimates: vec![self.estimate],
            loads: Vec::new(),
            seeds: None,
            trim: campaign::Trim::default(),
            outputs: Vec::new(),
        })
    }

    /// Lets `work` replay the log, with a progress bar, on a thread of its own. `None`: stopped from
    /// outside.
    pub(in crate::commands) fn replay<T: Send>(
        &self,
        report: &Report,
        work: impl Fn(Replayed<'_>) -> Result<T, SimError> + Sync,
    ) -> Result<Option<T>, Failure> {
        let campaign = self.campaign()?;
        let plan = Plan::of(&campaign)?;
        let Some((run, spec)) = plan.runs.first().zip(campaign.workloads.first()) else {
            return Err(Failure::usage("nothing to replay"));
        };
        let source = WorkloadFiles::open(spec);
        let signals = Arc::new(Signals::default());
        worker_pool::listen(&signals.stop);
        let mut progress = Progress::new(report, "jobs");
        let tick = |_: usize| {
            let (ended, all) = (signals.ended.load(Ordering::Relaxed), source.known_jobs());
            let all = all.map_or(0, |all| all as u64).max(ended);
            progress.set(ended, all, String::new);
        };
        let one = |_: usize| replay_one(&source, run, &signals, &work);
        let mut results = worker_pool::work(1, 1, &signals.stop, tick, one);
        progress.finish();
        let policies: Vec<&PolicySpec> = plan.policies().collect();
        source.assumptions(&policies).iter().for_each(|note| report.note(note));
        match results.pop().flatten() {
            Some(Err(failure)) if failure.exit == Exit::Interrupted => Ok(None),
            Some(result) => result.map(Some),
            None => Ok(None),
        }
    }
}

fn replay_one<T>(
    source: &WorkloadFiles<'_>,
    run: &Run,
    signals: &Arc<Signals>,
    work: impl Fn(Replayed<'_>) -> Result<T, SimError>,
) -> Result<T, Failure> {
    let prepared = source.prepare(run)?;
    let Some(policy) = run.decider.policy() else {
        return Err(Failure::usage("a command cannot be the policy here"));
    };
    let settings = ReplaySettings {
        semantics: rules::semantics(run.semantics),
        estimate: rules::estimate(run.estimate),
    };
    let listener = Box::new(Listener { signals: Arc::clone(signals) });
    let workload = &prepared.workload;
    let without_request = prepared.jobs.iter().filter(|job| job.requested.is_none()).count();
    let policy_spec = Arc::clone(policy);
    let replayed = Replayed { workload, settings, policy: policy_spec, listener, without_request };
    work(replayed).map_err(|error| match signals.stopped() {
        true => Failure { exit: Exit::Interrupted, ..Failure::quiet() },
        false => replay::misbehaved(policy, &error),
    })
}
