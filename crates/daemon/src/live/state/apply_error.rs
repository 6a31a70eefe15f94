//! Why a record cannot follow from the state.

use tradewind_model::MarketError;

/// Why a record cannot follow from the state: a journal that is damaged, or a mistake of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The market says no.
    #[error(transparent)]
    Market(#[from] MarketError),
    /// A job that is not there, or cannot do this in its phase.
    #[error("job {0} cannot do this in its phase")]
    Job(u64),
    /// A task that is not there.
    #[error("there is no task {0}")]
    Task(String),
    /// The state follows by rules that are not known here.
    #[error(
        "from here on rules {found} count, and this release knows {known}: a later one has written \
         it, use that release"
    )]
    Rules {
        /// What the journal says.
        found: u32,
        /// The latest that are known.
        known: u32,
    },
    /// Something else that is not there, or there already.
    #[error("{0}")]
    Other(&'static str),
}
