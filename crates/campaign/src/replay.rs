//! One run: prepared jobs under one policy.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tradewind_io::campaign::{Campaign, Output};
use tradewind_model::{Event, Market, MarketError};
use tradewind_sched::policy::Policy;
use tradewind_sim::check::{self, Checker, Violation};
use tradewind_sim::feedback;
use tradewind_sim::metrics::{self, Counted, Metrics};
use tradewind_sim::placement::{self, Places};
use tradewind_sim::workload::Workload;
use tradewind_sim::{ReplaySettings, SimError};

use crate::failure::{Exit, Failure};
use crate::plan::{Decider, Run};
use crate::policy::PolicySpec;
use crate::rules;
use crate::summary::Summary;
use crate::workload::{Prepared, WorkloadFiles};

/// Everything about a run that is over.
pub struct Finished<'a> {
    /// What was replayed.
    pub prepared: Prepared<'a>,
    /// What the replay gave.
    pub run: tradewind_sim::Run,
    /// In numbers.
    pub summary: Summary,
    places: OnceLock<Places>,
}

impl Finished<'_> {
    /// Which processors each job had.
    pub fn places(&self) -> &Places {
        self.places.get_or_init(|| placement::place(&self.prepared.workload, &self.run))
    }
}

/// Messages between the threads of a campaign.
#[derive(Debug, Default)]
pub struct Signals {
    /// Jobs that ended so far, in all runs.
    pub ended: AtomicU64,
    /// Stop, and keep what is finished.
    pub stop: Arc<AtomicBool>,
}

/// Whether every step is checked, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Nothing.
    Nothing,
    /// Every step, by all checkers.
    EveryStep,
}

/// How every run is done.
#[derive(Clone, Copy)]
pub struct Manner<'a> {
    /// What is checked on the way.
    pub watch: Watch,
    /// Decides where the policy is the user's own.
    pub own: &'a dyn OwnPolicy,
}

/// A policy that is not ours: of a command, or of a program that calls this library.
pub trait OwnPolicy: Sync {
    /// Replays `workload` under the policy that `text` names, with all checkers on, and `listener`.
    ///
    /// # Errors
    /// When the policy fails, or asks for what cannot be.
    fn replay(
        &self,
        text: &str,
        workload: &Workload,
        settings: ReplaySettings,
        listener: Box<dyn Checker>,
    ) -> Result<tradewind_sim::Run, Failure>;
}

/// Replays the run.
pub fn replay<'a>(
    campaign: &Campaign,
    run: &Run,
    source: &'a WorkloadFiles<'_>,
    manner: Manner<'_>,
    signals: &Arc<Signals>,
) -> Result<Finished<'a>, Failure> {
    let prepared = source.prepare(run)?;
    something_counts(&prepared.workload, campaign, run)?;
    let settings = ReplaySettings {
        semantics: rules::semantics(run.semantics),
        estimate: rules::estimate(run.estimate),
    };
    let listener: Box<dyn Checker> = Box::new(Listener { signals: Arc::clone(signals) });
    let ran = match &run.decider {
        Decider::Command(text) => manner.own.replay(text, &prepared.workload, settings, listener),
        Decider::Ours(policy) => {
            let made = policy.for_replay(&prepared.workload, prepared.layout, run.seed);
            let ran = replay_ours(&prepared.workload, settings, made, manner.watch, listener);
            ran.map_err(|error| misbehaved(policy, &error))
        }
    };
    let ran = ran.map_err(|failure| match signals.stopped() {
        true => Failure { exit: Exit::Interrupted, ..Failure::quiet() },
        false => failure,
    })?;
    let (prepared, ran) = as_submitted(prepared, ran);
    let (measured, places) = measure(campaign, &prepared.workload, &ran);
    let summary = Summary::new(campaign, run, &prepared.workload, prepared.linked, &measured);
    Ok(Finished { prepared, run: ran, summary, places })
}

/// Where submissions depended on the run, the jobs as they were submitted.
fn as_submitted<'a>(
    mut prepared: Prepared<'a>,
    mut ran: tradewind_sim::Run,
) -> (Prepared<'a>, tradewind_sim::Run) {
    if !ran.submitted.is_empty() {
        feedback::submitted_at(&mut prepared.jobs, &ran.submitted);
        prepared.workload.jobs = std::mem::take(&mut ran.submitted);
    }
    (prepared, ran)
}

/// The measures of a run and at the same time, if a file will contain them, the processors of jobs.
fn measure(
    campaign: &Campaign,
    workload: &Workload,
    ran: &tradewind_sim::Run,
) -> (Metrics, OnceLock<Places>) {
    let options = metrics::MetricOptions { trim: rules::trim(campaign.trim), ..Default::default() };
    let places = OnceLock::new();
    let told = |output: &Output| matches!(output, Output::Jobs | Output::Report);
    let measured = std::thread::scope(|scope| {
        if campaign.outputs.iter().any(told) {
            scope.spawn(|| {
                places.get_or_init(|| placement::place(workload, ran));
            });
        }
        metrics::measure(workload, ran, options)
    });
    (measured, places)
}

fn replay_ours(
    workload: &Workload,
    settings: ReplaySettings,
    mut policy: Box<dyn Policy>,
    watch: Watch,
    listener: Box<dyn Checker>,
) -> Result<tradewind_sim::Run, SimError> {
    let mut checkers = match watch {
        Watch::EveryStep => check::all(policy.promise()),
        Watch::Nothing => Vec::new(),
    };
    checkers.push(listener);
    tradewind_sim::run(workload, settings, policy.as_mut(), &mut checkers)
}

/// Warm-up and cool-down must leave something to measure.
fn something_counts(workload: &Workload, campaign: &Campaign, run: &Run) -> Result<(), Failure> {
    let counted = Counted::of(workload, rules::trim(campaign.trim));
    let jobs = &workload.jobs;
    match jobs.is_empty() || jobs.iter().any(|job| counted.has(job.submit)) {
        true => Ok(()),
        false => {
            let message = format!("{}: warm-up and cool-down leave no job to count", run.name());
            Err(Failure::data(message).hint("shorten them"))
        }
    }
}

/// A policy of ours that breaks its word is our fault; a network that never heals is not.
pub fn misbehaved(policy: &PolicySpec, error: &SimError) -> Failure {
    let text = policy.text();
    if let SimError::Stuck { at, waiting } = error
        && policy.may_strand()
    {
        let message = format!(
            "policy `{text}`: at {at}: {waiting} of the jobs wait for ever, as the network is cut for \
             ever: they were on their way when it was cut, or fit no site on their side"
        );
        return Failure::data(message).hint("let the cut end: `cut=1d..2d`");
    }
    Failure { exit: Exit::Bug, ..Failure::data(format!("policy `{text}`: {error}")) }
}

/// What a policy of the user's asked for and cannot have; with the log's number of the job. `who`
/// names the policy.
#[must_use]
pub fn own_misbehaved(who: &str, workload: &Workload, error: &SimError) -> Failure {
    let failure = Failure::data(format!("{who}: {error}"));
    let SimError::Market { error, .. } = error else { return failure };
    let (job, hint) = match error {
        MarketError::Full { job, .. } => (job, "`free` says how many nodes of each pool are free"),
        MarketError::State { job } => (job, "start or refuse a job once, while it waits"),
        MarketError::Place { job } => {
            (job, "name pools that there are, each once; shares add up to the job's processors")
        }
        _ => return failure,
    };
    match workload.jobs.get(job.index()) {
        _ if !workload.links.is_empty() => failure.hint(hint),
        Some(of) => {
            failure.hint(format!("{hint}; job {} is number {} in the log", job.0, of.number))
        }
        None => failure.hint(format!("there are {} jobs, from 0", workload.jobs.len())),
    }
}

impl Signals {
    /// Whether the runs are to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Gets each event: counts jobs for the progress bar, and objects once the run is to stop.
pub struct Listener {
    /// What it counts and looks at.
    pub signals: Arc<Signals>,
}

impl Checker for Listener {
    fn event(&mut self, _market: &Market, event: &Event) -> Result<(), Violation> {
        if matches!(event, Event::Ended { .. }) {
            self.signals.ended.fetch_add(1, Ordering::Relaxed);
        }
        match self.signals.stopped() {
            true => Err(Violation { checker: "signals", what: "stopped".to_owned() }),
            false => Ok(()),
        }
    }
}
