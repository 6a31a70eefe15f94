//! What can be searched for, and what is found.

use tradewind_model::{Criterion, Rho, Window};

use super::cheapest::Buffers;

/// How to choose a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Algorithm {
    /// The earliest window of slots that each keep to the price cap. Ignores the budget.
    Alp,
    /// The earliest window that as a whole keeps to the budget, given or derived from the price
    /// cap (see [`super::derived_budget`]). Ignores the price cap of the single slot.
    Amp,
    /// The best by the criterion of all disjoint AMP windows. A heuristic: the windows are those
    /// that AMP happens to cut.
    Csa(Criterion),
    /// The best by the criterion of all windows that keep to every limit given.
    Best(Criterion),
}

impl Algorithm {
    pub(super) fn criterion(&self) -> &Criterion {
        match self {
            Algorithm::Alp | Algorithm::Amp => &Criterion::Start,
            Algorithm::Csa(criterion) | Algorithm::Best(criterion) => criterion,
        }
    }
}

/// Whose steps to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// Ours: budgets are tested after all slots of one start, and every answer is best.
    #[default]
    Exact,
    /// The papers': budgets are tested after every slot in list order, with substitution for the
    /// runtime and random windows for processor time.
    Paper,
}

/// A search, apart from what is searched for and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// How to choose.
    pub algorithm: Algorithm,
    /// Whose steps to follow.
    pub variant: Variant,
    /// Scales a derived budget.
    pub rho: Rho,
    /// The most steps of a bounded search (processor time and sums under a budget); see
    /// [`Proof::Gap`]. One step looks at one node of one start.
    pub work_limit: u64,
    /// Seed of the random windows in [`Variant::Paper`]. Each call to find starts from it again.
    pub seed: u64,
}

impl Search {
    /// Far more than markets of 100,000 slots on 30,000 nodes have been seen to need (some ten
    /// milliseconds), and a few seconds at most.
    pub const DEFAULT_WORK_LIMIT: u64 = 20_000_000;

    /// The exact search for the best window by `criterion`.
    pub fn best(criterion: Criterion) -> Search {
        Search::new(Algorithm::Best(criterion))
    }

    /// The exact search by `algorithm`.
    pub fn new(algorithm: Algorithm) -> Search {
        Search {
            algorithm,
            variant: Variant::Exact,
            rho: Rho::ONE,
            work_limit: Search::DEFAULT_WORK_LIMIT,
            seed: 0,
        }
    }
}

/// A window, and how good it is known to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The window that was found.
    pub window: Window,
    /// What is known of its criterion's value.
    pub proof: Proof,
}

/// What is known of a window's value by the criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// No window is better.
    Exact,
    /// Found by a rule that does not promise the best.
    Heuristic,
    /// The work limit was hit: no window has a value below `bound`, in the criterion's unit
    /// (seconds, or thousandths × seconds for a [`Criterion::Sum`]).
    Gap {
        /// A proven lower bound.
        bound: i64,
    },
}

/// Buffers that searches share so as not to allocate again. Contents never influence results.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) buffers: Buffers,
    pub(super) ranks: Vec<u32>,
}
