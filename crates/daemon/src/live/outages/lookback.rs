//! Outages of the last days, for people.

use std::collections::BTreeMap;

use tradewind_model::Time;

use crate::live::state::outages::recent_history::PastOutage;
use crate::live::state::{State, Why};

impl State {
    /// Outages of the last days, as far as is known, by their ends; and behind them those
    /// that go on, until `now`. O(n log n) in what is kept.
    pub fn recent_outages(&self, now: Time) -> Vec<PastOutage> {
        let mut all: Vec<PastOutage> = self.outages.past.outages.iter().cloned().collect();
        // By their ends: the last of a name counts.
        let over: BTreeMap<&Why, Time> =
            self.outages.past.outages.iter().map(|it| (&it.why, it.until)).collect();
        for (why, id) in &self.outages.open {
            let Some((what, true)) = self.market.closure_state(*id) else { continue };
            let before = over.get(why).copied().filter(|until| *until > what.from);
            let from = before.unwrap_or(what.from);
            if from < now {
                all.push(PastOutage { why: why.clone(), nodes: what.nodes, from, until: now });
            }
        }
        all
    }
}
