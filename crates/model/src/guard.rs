//! How much the market leaves to the waiting jobs of a site's owners.

use crate::Standing;

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
