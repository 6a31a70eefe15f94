//! Prices that follow load are those of the load.

use tradewind_model::{Cause, Event, Market};
use tradewind_sched::policy::Policy;

use super::held::HeldNodes;
use super::lines::Lines;
use super::{Checker, Violation};

/// At the first start or trade of a pass looks up the price of what is in use by books of its own, which
/// know what jobs and owners hold. Not in a pass before which a site started a job itself: prices are
/// made before that.
#[derive(Debug)]
pub(super) struct ByLoad {
    used: HeldNodes,
    lines: Lines,
    /// Whether nothing was decided and nothing started since the last pass.
    fresh: bool,
}

impl Default for ByLoad {
    fn default() -> ByLoad {
        let used = HeldNodes::new(|cause| cause == Cause::Local);
        ByLoad { used, lines: Lines::default(), fresh: true }
    }
}

impl ByLoad {
    fn look(&self, market: &Market) -> Result<(), Violation> {
        let all = market.pools().load_prices();
        for (id, pool, price) in all.filter(|(_, _, price)| price.every().is_none()) {
            let load = self.used.of(id) * 1_000 / u64::from(pool.nodes);
            let reached = price.steps().iter().take_while(|(from, _)| u64::from(*from) <= load);
            let due = reached.last().map_or(price.idle(), |(_, price)| *price);
            if due != pool.price {
                let (name, asked) = (&pool.name, pool.price);
                let what =
                    format!("`{name}` asks {asked} at a load of {load} ‰, and its price is {due}");
                return Err(Violation { checker: "load-price", what });
            }
        }
        Ok(())
    }
}

impl Checker for ByLoad {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        if !market.pools().follow_load() {
            return Ok(());
        }
        let by_site = self.lines.starts(event);
        let is_owners = matches!(event, Event::Closed { closure }
            if market.closure_state(*closure).is_some_and(|(what, _)| what.cause == Cause::Local));
        self.fresh &= !by_site && !is_owners;
        let decides = matches!(event, Event::Started { .. } | Event::Traded { .. });
        let looked = if self.fresh && decides { self.look(market) } else { Ok(()) };
        self.fresh &= !decides;
        self.used.note(event);
        looked
    }

    fn pass(&mut self, _market: &Market, _policy: &dyn Policy) -> Result<(), Violation> {
        self.fresh = true;
        Ok(())
    }
}
