//! Policies that say themselves which jobs are offered to peers and what is promised to jobs of peers
//! (paper 004: autonomous sites, here one for each pool, with the code of the simulator).

use std::sync::Arc;

use tradewind_model::{Event, JobId, Span, Time};
use tradewind_sched::negotiation::{Body, Envelope, Input, Negotiator, Parcel, Preference, Ticket};
use tradewind_sched::policy::Exchange;
use tradewind_sched::policy::autonomous::{Arrival, ArrivalFrom};

use super::message::ticket;
use super::{LOOK, SEARCHES};
use crate::live::record::{JobRecord, Record};
use crate::live::state::{Happening, Job, State};
use crate::live::{ApplyError, Live};

impl State {
    /// How a job has come that joins the queue.
    fn arrival(&self, number: u64) -> Option<Arrival> {
        let job = self.jobs.get(&number)?;
        let came_back =
            || job.history.iter().any(|(_, what)| matches!(what, Happening::CameBack(_)));
        let (submitted, from) = match &job.origin {
            Some(origin) => {
                let submitted = origin.submitted.unwrap_or(job.submitted);
                (submitted, ArrivalFrom::Elsewhere(origin.offer))
            }
            None if came_back() => (job.submitted, ArrivalFrom::Returned),
            None => (job.submitted, ArrivalFrom::User),
        };
        Some(Arrival { submitted, from })
    }

    /// How the job has come that joins the queue by this record, which is about to be applied: for
    /// policies with an [`tradewind_sched::policy::Exchange`].
    pub fn arrival_by(&self, record: &Record) -> Option<(JobId, Arrival)> {
        let Record::Job(JobRecord::Joined { job: number, .. }) = record else { return None };
        let Event::Submitted { job, .. } = self.market_event(record)? else { return None };
        Some((job, self.arrival(*number)?))
    }

    /// How all waiting jobs have come, for a policy that begins.
    pub fn arrivals(&self) -> impl Iterator<Item = (JobId, Arrival)> + '_ {
        self.market.queue().filter_map(|id| {
            let number = self.jobs.numbers.get(&id)?;
            Some((id, self.arrival(*number)?))
        })
    }
}

/// What may be searched for, and what there is no room for yet.
struct Candidates {
    go: Vec<(u64, Ticket, Preference)>,
    /// Wishes of the policy that come later.
    later: Vec<u64>,
}

impl Live {
    /// The policy learns how a job has come that joins the queue by this record.
    pub(in crate::live) fn tell_arrival(&mut self, record: &Record) {
        let Some(exchange) = self.policy.exchange_mut() else { return };
        if let Some((job, arrival)) = self.state.arrival_by(record) {
            exchange.arrives(job, arrival);
        }
    }

    /// The same of all that wait, to a policy that begins.
    pub(in crate::live) fn tell_all_arrivals(&mut self) {
        let Some(exchange) = self.policy.exchange_mut() else { return };
        self.state.arrivals().for_each(|(job, arrival)| exchange.arrives(job, arrival));
    }

    /// Keeps which jobs the policy wants offered.
    pub(in crate::live) fn take_wishes(&mut self) {
        let Some(exchange) = self.policy.exchange_mut() else { return };
        let numbers = &self.state.jobs.numbers;
        let new = exchange.take_wishes();
        self.wishes.extend(new.iter().filter_map(|id| numbers.get(id).copied()));
    }

    /// For which jobs a search begins now, as far as there is room for more searches. A policy that
    /// says which jobs are to be offered is asked no other; a wish that cannot be followed is dropped.
    fn candidates(&self, at: Time, negotiator: &Negotiator, room: usize) -> Candidates {
        let may = |number: u64, wish: Preference| {
            let job = self.state.jobs.get(&number).filter(|job| self.may_go(at, job, wish))?;
            let ticket = ticket(job).filter(|ticket| negotiator.would_search(*ticket, at))?;
            Some((number, ticket, wish))
        };
        let lost = self.index.nowhere.iter().filter_map(|it| may(*it, Preference::Must));
        let mut go: Vec<_> = lost.take(room).collect();
        let mut later = Vec::new();
        match self.policy.exchange() {
            Some(_) => {
                for wish in self.wishes.iter().filter_map(|it| may(*it, Preference::Better)) {
                    if go.len() < room { go.push(wish) } else { later.push(wish.0) }
                }
            }
            None => {
                let queue = self.state.market.queue().take(LOOK);
                let queue = queue.filter_map(|id| self.state.jobs.numbers.get(&id));
                go.extend(queue.filter_map(|it| may(*it, Preference::Better)));
                go.truncate(room);
            }
        }
        Candidates { go, later }
    }

    /// Searches for those that wait and could go, the first ones first; unless the policy has
    /// news, and may start them.
    pub(in crate::live) fn seek(&mut self, at: Time) -> Result<(), ApplyError> {
        if !self.has_peers() || self.is_due(at) {
            return Ok(());
        }
        let Some(negotiator) = &self.negotiator else { return Ok(()) };
        let room = SEARCHES.saturating_sub(negotiator.searches().len());
        if room == 0 {
            return Ok(());
        }
        let Candidates { go, later } = self.candidates(at, negotiator, room);
        self.wishes = later;
        for (number, ticket, wish) in go {
            if !self.state.peers.durable.here.contains(&ticket) {
                self.negotiate(at, Input::Joined(ticket), None)?;
            }
            if let Some(parcel) = self.parcel(number) {
                let wish = Input::PassOn(Arc::new(parcel), wish);
                self.negotiate(at, wish, None)?;
            }
        }
        Ok(())
    }

    /// A job of this market with its data, as others get it.
    fn parcel(&self, number: u64) -> Option<Parcel> {
        let parcel = self.state.jobs.get(&number).and_then(|job: &Job| self.state.parcel(job))?;
        let links = self.policy.exchange().map(Exchange::links);
        let data_mb = links.map_or(0, |links| links.data_mb(parcel.demand.processors));
        Some(Parcel { data_mb, ..parcel })
    }

    /// Sends a message; a job when its data are there.
    pub(super) fn dispatch(&mut self, at: Time, envelope: Envelope) {
        let links = self.policy.exchange().map(Exchange::links);
        match (&envelope.body, links) {
            (Body::Migrate { parcel, transfer, .. }, Some(links))
                if links.travel(parcel.data_mb) > Span::ZERO =>
            {
                let key = (at + links.travel(parcel.data_mb), *transfer);
                self.travelling.insert(key, envelope);
            }
            _ => self.letters.extend(self.state.letter(envelope)),
        }
    }

    /// Jobs whose data are at their peer by now follow, unless it was settled otherwise meanwhile.
    pub(super) fn depart(&mut self, at: Time) {
        while let Some(first) = self.travelling.first_entry().filter(|it| it.key().0 <= at) {
            let ((_, transfer), envelope) = first.remove_entry();
            if self.state.peers.durable.handing.contains_key(&transfer) {
                self.letters.extend(self.state.letter(envelope));
            }
        }
    }
}
