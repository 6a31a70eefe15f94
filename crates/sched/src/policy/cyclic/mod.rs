//! The cyclic schemes: alternatives for each job, then the best combination of them.
//!
//! *CSS* plans the whole batch at once (paper 001, section 2; paper 000, section 2.3).
//! *Batch-slicer* cuts the batch into k sub-batches and plans each on what the earlier ones left
//! (paper 000, section 3); k = 1 is CSS. *Whole-batch* lets windows of different jobs overlap and
//! chooses such as do not get in each other's way. *On the fly* searches and chooses at once, at
//! prices of the slots that several jobs want. [`market`] repeats any, cycle after cycle.

mod alternatives;
mod choose;
mod criteria;
mod fly;
#[cfg(test)]
mod golden;
pub mod market;
mod slicer;
#[cfg(test)]
mod tests;
mod whole;

use tradewind_model::{Criterion, Objective, Plan, Request, Snapshot, VoPolicy};

use crate::window::{Algorithm, Search, Searcher, Variant};

pub use criteria::{BatchFront, FrontPoint, front};
pub use slicer::candidates as slice_counts;
pub(super) use slicer::slicing_order;

/// How a cyclic scheme plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cyclic {
    /// Whether windows that are considered for different jobs may overlap.
    pub offers: Offers,
    /// How many sub-batches; of no account where offers overlap.
    pub sub_batches: SubBatches,
    /// In which order jobs are cut into sub-batches.
    pub slice_by: SliceBy,
    /// What searches each job's windows.
    pub search: SearchBy,
    /// Exact, or the papers' own heuristics.
    pub variant: Variant,
    /// Alternatives per job; `None` searches until nothing is left.
    pub max_alternatives: Option<u32>,
    /// Node visits that a bounded search may make per window.
    pub work_limit: u64,
    /// Looks at a window that one choice among overlapping offers may take, and partial
    /// combinations that a choice by a vector of criteria with several limits may examine.
    pub choice_limit: u64,
    /// For the papers' random choices.
    pub seed: u64,
}

impl Cyclic {
    /// Alternatives per job unless stated otherwise: one small job on thousands of nodes has
    /// millions.
    pub const DEFAULT_MAX_ALTERNATIVES: u32 = 50;
    /// Steps of a bounded search per window unless stated otherwise: less than for a single
    /// search, because a plan asks for hundreds of windows.
    pub const DEFAULT_WORK_LIMIT: u64 = Search::DEFAULT_WORK_LIMIT / 10;
    /// Looks per choice unless stated otherwise: a tenth of a second or so.
    pub const DEFAULT_CHOICE_LIMIT: u64 = 2_000_000;
}

impl Default for Cyclic {
    /// CSS with each job's own criterion, exact.
    fn default() -> Cyclic {
        Cyclic {
            offers: Offers::Disjoint,
            sub_batches: SubBatches::Count(1),
            slice_by: SliceBy::Priority,
            search: SearchBy::Job,
            variant: Variant::Exact,
            max_alternatives: Some(Self::DEFAULT_MAX_ALTERNATIVES),
            work_limit: Self::DEFAULT_WORK_LIMIT,
            choice_limit: Self::DEFAULT_CHOICE_LIMIT,
            seed: 0,
        }
    }
}

/// Whether windows that are considered for different jobs may overlap. Chosen ones never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Offers {
    /// Each is taken out of the list that the next job searches, as in the papers.
    #[default]
    Disjoint,
    /// Each job searches all that is free, and the choice keeps windows apart: whole-batch
    /// planning. Most jobs placed, whatever their priorities, then the best objective; never worse
    /// in that sense than CSS under the same limits, whose windows are considered, too.
    Overlapping,
    /// Windows are searched at prices of slots, which rise where several jobs want the same, and
    /// chosen in the same rounds (paper 001, section 7, future work). For objectives of least time
    /// or cost; with others, and with a vector of criteria, offers are disjoint.
    OnTheFly,
}

impl Offers {
    /// Whether [`Offers::OnTheFly`] knows this objective.
    pub fn fly(policy: &VoPolicy) -> bool {
        matches!(policy.objective, Objective::MinTime | Objective::MinCost)
    }
}

/// The number of sub-batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubBatches {
    /// This many; more than jobs count as one job each.
    Count(u32),
    /// The one of [`slice_counts`] that gives the best result: most jobs placed, then the best
    /// objective, then the fewest sub-batches.
    Auto,
}

/// The order in which jobs are cut into sub-batches; ties by priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SliceBy {
    /// Highest priority first.
    #[default]
    Priority,
    /// Most expensive first: by budget, or else by the cheapest window's cost.
    Cost,
    /// Highest minimum performance first.
    Performance,
    /// Jobs of one criterion together, criteria in the order of their first job.
    Criterion,
}

/// What searches each job's windows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SearchBy {
    /// The criterion that each job asks for.
    #[default]
    Job,
    /// One algorithm for all jobs.
    All(Algorithm),
    /// All AMP alternatives, then the best by each job's own criterion (paper 000, CSA).
    Csa,
}

impl SearchBy {
    fn algorithm(&self, criterion: &Criterion) -> Algorithm {
        match self {
            SearchBy::Job => Algorithm::Best(criterion.clone()),
            SearchBy::All(algorithm) => algorithm.clone(),
            SearchBy::Csa => Algorithm::Csa(criterion.clone()),
        }
    }
}

/// How far a cycle has come, for a progress bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Jobs whose search is done, over all sub-batch counts tried.
    pub jobs_done: u64,
    /// Jobs to search in all.
    pub jobs: u64,
    /// Windows found so far.
    pub windows: u64,
    /// Looks at a window that choices among overlapping offers took so far.
    pub looks: u64,
}

/// Plans the batch of `snapshot`. Deterministic: the same snapshot and options give the same plan.
///
/// Alternatives never intersect within a sub-batch, unless offers overlap or are found on the fly; chosen
/// windows never intersect at all, but that they may share nodes by [`Request::needs`].
/// [`Offers::Overlapping`] has no vector of criteria: with one, where tasks may share nodes, and where
/// jobs take licences along, offers are disjoint. Alternatives of a sub-batch together never take more
/// licences than are free. A job that is not placed carries a [`tradewind_model::Reason`].
pub fn plan(snapshot: &Snapshot, cyclic: &Cyclic, progress: &mut dyn FnMut(Progress)) -> Plan {
    let only_nodes = |request: &Request| request.needs.is_none() && request.licences.is_none();
    let apart = snapshot.jobs.iter().all(|job| only_nodes(&job.request));
    match cyclic.sub_batches {
        _ if cyclic.offers == Offers::Overlapping
            && apart
            && snapshot.policy.criteria.is_empty() =>
        {
            whole::plan_whole(snapshot, cyclic, progress)
        }
        _ if cyclic.offers == Offers::OnTheFly
            && apart
            && snapshot.policy.criteria.is_empty()
            && Offers::fly(&snapshot.policy) =>
        {
            fly::plan_on_the_fly(snapshot, cyclic, progress)
        }
        SubBatches::Count(count) => {
            let mut meter = Meter::new(snapshot.jobs.len() as u64, progress);
            slicer::plan_sliced(snapshot, cyclic, count, &mut meter)
        }
        SubBatches::Auto => slicer::plan_best_count(snapshot, cyclic, progress),
    }
}

/// A searcher for `request` as `cyclic` wants it; `stream` keeps the random choices of different
/// jobs apart.
fn searcher(snapshot: &Snapshot, cyclic: &Cyclic, request: &Request, stream: usize) -> Searcher {
    Searcher::new(&snapshot.grid, request, &search_of(snapshot, cyclic, request, stream))
}

/// The search that such a searcher makes.
fn search_of(snapshot: &Snapshot, cyclic: &Cyclic, request: &Request, stream: usize) -> Search {
    Search {
        algorithm: cyclic.search.algorithm(&request.criterion),
        variant: cyclic.variant,
        rho: snapshot.policy.rho,
        work_limit: cyclic.work_limit,
        seed: cyclic.seed.wrapping_add(stream as u64),
    }
}

/// Counts progress over the parts of a plan.
struct Meter<'a> {
    state: Progress,
    report: &'a mut dyn FnMut(Progress),
}

impl<'a> Meter<'a> {
    fn new(jobs: u64, report: &'a mut dyn FnMut(Progress)) -> Meter<'a> {
        Meter { state: Progress { jobs_done: 0, jobs, windows: 0, looks: 0 }, report }
    }

    fn job_done(&mut self) {
        self.state.jobs_done += 1;
        (self.report)(self.state);
    }

    fn chosen(&mut self, looks: u64) {
        self.state.looks += looks;
        (self.report)(self.state);
    }

    fn window_found(&mut self) {
        self.state.windows += 1;
        (self.report)(self.state);
    }
}
