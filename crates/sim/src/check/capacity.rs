//! No more nodes of a pool are held than there are.

use tradewind_model::{Event, Market};

use super::held::HeldNodes;
use super::{Checker, Violation};

/// Adds up what jobs and outages hold by itself.
#[derive(Debug)]
pub(super) struct Capacity(HeldNodes);

impl Default for Capacity {
    fn default() -> Capacity {
        Capacity(HeldNodes::new(|_| true))
    }
}

impl Checker for Capacity {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        self.0.note(event);
        for (id, held) in self.0.iter() {
            let pool = market.pools().pool(id);
            let there_are = u64::from(pool.nodes);
            if held > there_are || held + u64::from(market.free_in(id)) != there_are {
                let what = format!("{held} of {there_are} nodes held in `{}`", pool.name);
                return Err(Violation { checker: "capacity", what });
            }
        }
        Ok(())
    }
}
