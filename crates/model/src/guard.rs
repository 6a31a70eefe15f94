//! How much the market leaves to the waiting jobs of a site's owners.

use crate::{Span, Standing};

/// What a site's owners may rely on, beside the look-ahead at their queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnersFirst {
    /// How much the market leaves to waiting jobs.
    pub guard: Guard,
    /// For how long in sum jobs of the market may put off a waiting job, beside the rest of those that
    /// run by then.
    pub max_delay: Span,
}

impl OwnersFirst {
    /// The one of a site where nothing is said; jobs in line are not behind the owners, and have no
    /// bound.
    pub fn usual(market: Standing) -> OwnersFirst {
        let max_delay = match market {
            Standing::Behind => Span(300),
            Standing::InLine => OwnersFirst::NO_BOUND,
        };
        OwnersFirst { guard: Guard::usual(market), max_delay }
    }

    /// As long as any time limit.
    pub const NO_BOUND: Span = Span(366 * 86_400);
}

/// For how much the market leaves nodes to the waiting jobs of a site's owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum Guard {
    /// For starts that are expected if all jobs run to their limits.
    Limits,
    /// Also for starts that are expected if jobs end as they usually do.
    Early,
    /// The same, and for one more job of the usual width.
    #[default]
    Spare,
}

impl Guard {
    /// The one of a site where nothing is said: jobs that stand in line delay others by their turn
    /// anyway, so that nothing more is left.
    pub fn usual(market: Standing) -> Guard {
        match market {
            Standing::Behind => Guard::default(),
            Standing::InLine => Guard::Limits,
        }
    }

    /// Every value, with its name in files.
    pub const WORDS: [(&'static str, Guard); 3] =
        [("limits", Guard::Limits), ("early", Guard::Early), ("spare", Guard::Spare)];
}
