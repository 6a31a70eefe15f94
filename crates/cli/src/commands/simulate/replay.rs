//! One run: prepared jobs under one policy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tradewind_io::campaign::Campaign;
use tradewind_model::{Event, Market};
use tradewind_sim::check::{self, Checker, Violation};
use tradewind_sim::metrics::{self, Counted};
use tradewind_sim::workload::Workload;
use tradewind_sim::{Settings, SimError};

use super::plan::Run;
use super::summary::Summary;
use super::workload::{Logs, Prepared, Source};
use super::{policy, rules};
use crate::exit::{Exit, Failure};

/// Everything about a run that is over.
pub(super) struct Finished<'a> {
    pub(super) logs: &'a Logs,
    pub(super) prepared: Prepared<'a>,
    pub(super) run: tradewind_sim::Run,
    pub(super) summary: Summary,
}

/// What the threads of a campaign tell each other.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// Jobs that ended so far, in all runs.
    pub(super) ended: AtomicU64,
    /// Stop, and keep what is finished.
    pub(super) stop: Arc<AtomicBool>,
}

/// Whether somebody also checks every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    Nothing,
    EveryStep,
}

/// Replays the run.
pub(super) fn replay<'a>(
    campaign: &Campaign,
    run: &Run,
    source: &'a Source<'_>,
    watch: Watch,
    signals: &Arc<Signals>,
) -> Result<Finished<'a>, Failure> {
    let prepared = source.prepare(run)?;
    something_counts(&prepared.workload, campaign, run)?;
    let mut policy = policy::build(&run.policy)?;
    let settings = Settings {
        semantics: rules::semantics(run.semantics),
        estimate: rules::estimate(run.estimate),
    };
    let mut checkers = match watch {
        Watch::EveryStep => check::all(policy.promise()),
        Watch::Nothing => Vec::new(),
    };
    checkers.push(Box::new(Listener { signals: Arc::clone(signals) }));
    let ran = tradewind_sim::run(&prepared.workload, settings, policy.as_mut(), &mut checkers);
    let ran = ran.map_err(|error| match signals.stopped() {
        true => Failure { exit: Exit::Interrupted, ..Failure::quiet() },
        false => misbehaved(run, &error),
    })?;
    let measured = metrics::measure(&prepared.workload, &ran, rules::trim(campaign.trim));
    let summary = Summary::new(campaign, run, &prepared.workload, &measured);
    Ok(Finished { logs: source.logs()?, prepared, run: ran, summary })
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

/// A policy of ours that breaks its word is our fault.
fn misbehaved(run: &Run, error: &SimError) -> Failure {
    Failure { exit: Exit::Bug, ..Failure::data(format!("policy `{}`: {error}", run.policy)) }
}

impl Signals {
    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Hears each event: counts jobs for the progress bar, and objects once the run is to stop.
struct Listener {
    signals: Arc<Signals>,
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
