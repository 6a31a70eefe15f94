//! What a record means to policies.

use tradewind_model::{OutageId, Event, JobId, PoolId};

use tradewind_sched::negotiation::Entry;

use super::record::Record;
use super::state::{Phase, State};

impl State {
    /// The market's event that the record stands for, before it is applied. Decisions tell
    /// nothing: who decided knows.
    pub fn market_event(&self, record: &Record) -> Option<Event> {
        let id = |job: &u64| self.jobs.get(job).and_then(|job| job.id);
        match record {
            Record::Joined { demand, .. } => {
                let job = JobId(self.market.submitted());
                Some(Event::Submitted { job, demand: demand.clone() })
            }
            Record::Started { job } => {
                let place = self.jobs.get(job)?.booking.as_ref()?.place.clone();
                id(job).map(|job| Event::Started { job, place })
            }
            Record::Left { job, .. } => id(job).map(|job| Event::Cancelled { job }),
            Record::Released { job, pool } => released(id(job)?, *pool),
            Record::Interrupted { job, .. } => id(job).map(|job| Event::Interrupted { job }),
            Record::Ended { job, .. } => match self.jobs.get(job)?.phase {
                Phase::Running => id(job).map(|job| Event::Ended { job }),
                Phase::Waiting => id(job).map(|job| Event::Cancelled { job }),
                _ => None,
            },
            Record::Negotiated { entry: Entry::Handing { handing, .. }, .. } => {
                id(&u64::from(handing.parcel.ticket.job.0)).map(|job| Event::Cancelled { job })
            }
            Record::Announced { what, .. } => {
                let closure = OutageId(self.market.announced());
                Some(Event::Announced { closure, what: *what })
            }
            Record::Closed { why } => {
                self.closures.get(why).map(|closure| Event::Closed { closure: *closure })
            }
            Record::Reopened { why } => {
                self.closures.get(why).map(|closure| Event::Reopened { closure: *closure })
            }
            Record::Priced { pool, price } => Some(Event::Priced { pool: *pool, price: *price }),
            _ => None,
        }
    }
}

fn released(job: JobId, pool: PoolId) -> Option<Event> {
    Some(Event::Released { job, pool })
}
