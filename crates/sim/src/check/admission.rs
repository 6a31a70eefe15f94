//! No job runs in a queue that does not admit it.

use std::collections::BTreeSet;

use tradewind_model::{Event, Market, Spread};

use super::{Checker, Violation};

/// Looks at every start.
#[derive(Debug, Default)]
pub(super) struct Doors;

impl Checker for Doors {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        let Event::Started { job, place } = event else { return Ok(()) };
        let Some(demand) = market.demand(*job) else { return Ok(()) };
        let sites = place.shares(demand.processors).map(|it| market.pools().pool(it.pool).site);
        if demand.terms().spread == Spread::Site && sites.collect::<BTreeSet<_>>().len() > 1 {
            let what = format!("job {} lies at several sites, and asks for one", job.0);
            return Err(Violation { checker: "doors", what });
        }
        let shut = place.shares(demand.processors).find(|share| {
            let pool = market.pools().pool(share.pool);
            !pool.admission.admits(demand.processors, pool.length_of(demand))
        });
        shut.map_or(Ok(()), |share| {
            let name = &market.pools().pool(share.pool).name;
            Err(Violation {
                checker: "doors",
                what: format!("`{name}` does not admit job {}", job.0),
            })
        })
    }
}
