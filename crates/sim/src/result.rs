//! What a replay gives.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_model::{Money, Place, PoolId, Price, Reason, RunCut, Span, Time, Trade};

use crate::owners::OwnersRun;
use crate::workload::Job;

/// What happened to one job of the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// When it started (for good, if it was interrupted before), or was refused.
    pub start: Time,
    /// When its last task ended, or it was refused.
    pub end: Time,
    /// Pools and numbers of nodes.
    pub place: Place,
    /// What it paid.
    pub cost: Money,
    /// Whether a job that was submitted earlier went on waiting when it started.
    pub backfilled: bool,
    /// Why it never ran, if the policy refused it.
    pub refused: Option<Box<Reason>>,
}

impl Ran {
    pub(crate) fn nothing(at: Time) -> Ran {
        let place = Place::Pool(PoolId(0));
        Ran { start: at, end: at, place, cost: Money::ZERO, backfilled: false, refused: None }
    }
}

/// A run that was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Index in the workload's jobs.
    pub job: usize,
    /// When the job had started.
    pub start: Time,
    /// When it was interrupted.
    pub end: Time,
    /// Pools and numbers of nodes.
    pub place: Place,
    /// Why it lost its nodes.
    pub cause: LossCause,
    /// The work that earlier runs had kept, counted as the job's run is.
    pub before: Span,
    /// What is kept of this run.
    pub cut: RunCut,
}

/// Why a job lost its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossCause {
    /// They were missing from then on.
    Outage,
    /// They were taken away after notice.
    Preemption,
}

/// A job agreed with a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Struck {
    /// Index in the workload's jobs.
    pub job: usize,
    /// The moment in simulated or market time.
    pub at: Time,
    /// The trade on which both sides agreed.
    pub trade: Arc<Trade>,
    /// Where the pool's price follows its load: its list price as they agreed.
    pub by_load: Option<Price>,
}

/// What a replay gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// By index in the workload's jobs.
    pub jobs: Vec<Ran>,
    /// The jobs with the moments and in the order of their submission and in the shapes that they ran
    /// in, if these depended on the run ([`Workload::links`](crate::workload::Workload::links),
    /// [`Terms::shapes`](tradewind_model::Terms::shapes)); they take the place of the workload's jobs.
    /// Empty: they were as the workload has them.
    pub submitted: Vec<Job>,
    /// In the order of time; a job that traded again is there again.
    pub trades: Vec<Struck>,
    /// In the order of time.
    pub lost: Vec<Lost>,
    /// By index in the workload's jobs: the work that the last run found done, if any was, counted as
    /// the job's run is.
    pub kept: BTreeMap<usize, Span>,
    /// By site: what its owner earned, in micro-credits.
    pub income: Vec<i128>,
    /// Calls of the policy.
    pub passes: u64,
    /// What happened to the owners' jobs: by index in the workload's owners.
    pub owners: Vec<OwnersRun>,
    /// What the policy counted itself, by name.
    pub counts: Vec<(&'static str, u64)>,
}
