//! What a record means to policies.

use tradewind_model::{Event, JobId, OutageId, Place};

use tradewind_sched::negotiation::Entry;

use super::state::{Phase, State};
use crate::live::record::{JobRecord, OutageRecord, PeerRecord, Record, SiteRecord};

impl State {
    /// The market's event that the record stands for, before it is applied. Decisions tell
    /// nothing: the policy that decided knows.
    pub fn market_event(&self, record: &Record) -> Option<Event> {
        match record {
            Record::Job(record) => self.event_of_job(record),
            Record::Outage(record) => self.event_of_outage(record),
            Record::Site(SiteRecord::Priced { pool, price }) => {
                Some(Event::Priced { pool: *pool, price: *price })
            }
            Record::Site(SiteRecord::Rated { pool, rate }) => {
                Some(Event::Rated { pool: *pool, rate: rate.clone() })
            }
            Record::Peer(PeerRecord::Negotiated {
                entry: Entry::Handing { handing, .. }, ..
            }) => {
                let job = self.id_of(u64::from(handing.parcel.ticket.job.0))?;
                Some(Event::Cancelled { job })
            }
            _ => None,
        }
    }

    fn id_of(&self, number: u64) -> Option<JobId> {
        self.jobs.get(&number)?.id()
    }

    fn event_of_job(&self, record: &JobRecord) -> Option<Event> {
        match record {
            JobRecord::Joined { demand, .. } => {
                let job = JobId(self.market.submitted());
                Some(Event::Submitted { job, demand: demand.clone() })
            }
            JobRecord::Started { job } => {
                let place = self.jobs.get(job)?.booking.as_ref()?.place.clone();
                Some(Event::Started { job: self.id_of(*job)?, place })
            }
            JobRecord::Lined { job, .. } => Some(Event::Lined { job: self.id_of(*job)? }),
            JobRecord::TurnCame { job } => {
                let part = self.jobs.get(job)?.parts().first()?;
                Some(Event::Started { job: self.id_of(*job)?, place: Place::Pool(part.pool) })
            }
            JobRecord::Left { job, .. } => Some(Event::Cancelled { job: self.id_of(*job)? }),
            JobRecord::Released { job, pool } => {
                Some(Event::Released { job: self.id_of(*job)?, pool: *pool })
            }
            JobRecord::Interrupted { job, .. } | JobRecord::TurnLost { job } => {
                Some(Event::Interrupted { job: self.id_of(*job)? })
            }
            JobRecord::Ended { job: number, .. } => {
                let job = self.id_of(*number)?;
                match self.jobs.get(number)?.phase() {
                    Phase::Running if self.market.is_lined(job) => Some(Event::Cancelled { job }),
                    Phase::Running => Some(Event::Ended { job }),
                    Phase::Waiting => Some(Event::Cancelled { job }),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn event_of_outage(&self, record: &OutageRecord) -> Option<Event> {
        let known = |why| self.outages.open.get(why).copied();
        match record {
            OutageRecord::Announced { what, .. } => {
                let closure = OutageId(self.market.announced());
                Some(Event::Announced { closure, what: *what })
            }
            OutageRecord::Closed { why } => known(why).map(|closure| Event::Closed { closure }),
            OutageRecord::Reopened { why } => known(why).map(|closure| Event::Reopened { closure }),
        }
    }
}
