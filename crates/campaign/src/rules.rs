//! The words of a campaign in the simulator's terms.

use tradewind_io::campaign;
use tradewind_sim::metrics::Trim;
use tradewind_sim::workload::Overrun;
use tradewind_sim::{Estimate, Semantics};

/// The order within a second.
pub fn semantics(word: campaign::Semantics) -> Semantics {
    match word {
        campaign::Semantics::Textbook => Semantics::Textbook,
        campaign::Semantics::Pyss => Semantics::Pyss,
    }
}

/// What happens to overruns.
pub fn overrun(word: campaign::Overrun) -> Overrun {
    match word {
        campaign::Overrun::Kill => Overrun::Kill,
        campaign::Overrun::Extend => Overrun::Extend,
    }
}

/// The run times that policies expect.
pub fn estimate(word: campaign::EstimateKind) -> Estimate {
    match word {
        campaign::EstimateKind::Requested => Estimate::Requested,
        campaign::EstimateKind::Exact => Estimate::Exact,
        campaign::EstimateKind::Predicted => Estimate::Predicted,
        campaign::EstimateKind::PublishedLinear => Estimate::PublishedLinear,
        campaign::EstimateKind::Learned => Estimate::Learned,
    }
}

/// Which jobs are not measured.
pub fn trim(trim: campaign::Trim) -> Trim {
    Trim { warm_up: trim.warm_up, cool_down: trim.cool_down }
}
