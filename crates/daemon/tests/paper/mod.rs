//! The comparison of markets under the paper's mechanism (004) with the simulator: the same submissions go
//! to one simulated grid, and every message that arrives and every start is written down. For live
//! cores in virtual time, and for daemons in real time.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_model::{
    Admission, Attributes, Performance, Pool, PoolId, Pools, Price, Site, SiteId, Span, Terms,
    Time, Times,
};
use tradewind_sched::negotiation::{self, Body, Envelope, Offer, Parcel, Peer, Serial, Ticket};
use tradewind_sched::policy::autonomous::{
    AutonomousSites, HomeRule, Links, Migration, Signal, Transport,
};
use tradewind_sched::policy::multiqueue::{self, MultiQueue};
use tradewind_sim::workload::{LogJob, Overrun, prepare};
use tradewind_sim::{Semantics, run};

use super::MessageBody;

/// Before all submissions.
pub(crate) const DAWN: Time = Time(1_800_000_000);

/// A job: its home, when it is submitted, how long it runs, its width, its limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) home: usize,
    pub(crate) submit: Time,
    pub(crate) run: Span,
    pub(crate) tasks: u32,
    pub(crate) limit: Span,
}

/// A grid and what it is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Nodes, performance in thousandths and price of each site.
    pub(crate) sites: Vec<(u32, u32, i64)>,
    pub(crate) jobs: Vec<Asked>,
    pub(crate) queues: multiqueue::MultiQueueSettings,
    pub(crate) negotiation: negotiation::NegotiationSettings,
    pub(crate) links: Links,
}

impl Plan {
    pub(crate) fn pool(&self, place: usize, site: SiteId) -> Pool {
        let (nodes, thousandths, price) = self.sites[place];
        Pool {
            name: format!("s{place}/x"),
            site,
            nodes,
            performance: Performance::from_thousandths(thousandths).unwrap(),
            price: Price(price),
            attributes: Attributes::new(),
            admission: Admission::NONE,
            times: Times::Work,
        }
    }
}

/// What happened: messages as they arrive, and by job when it started and at which site.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) heard: Vec<String>,
    pub(crate) starts: BTreeMap<usize, (Time, usize)>,
}

/// Messages in the order of arrival; those of one second by what they are.
pub(crate) type Order = (Time, usize, usize, u8, Serial);

pub(crate) fn serial_of(body: &Body) -> Serial {
    match body {
        Body::Discover { inquiry, .. }
        | Body::Volunteer { inquiry, .. }
        | Body::Commit { inquiry, .. }
        | Body::Accepted { inquiry, .. }
        | Body::Refused { inquiry, .. }
        | Body::Cancel { inquiry } => *inquiry,
        Body::Migrate { transfer, .. } | Body::Done { transfer } | Body::Returned { transfer } => {
            *transfer
        }
    }
}

/// One line of the comparison: the moment, what is said, and the moments in it. Jobs by their places in
/// the list of submissions.
pub(crate) fn line(
    at: Time,
    (from, to): (usize, usize),
    body: &Body,
    job: Option<usize>,
) -> String {
    let offer = offer_of(body);
    let moments = offer.map(|Offer { quote, expires }| (quote.start - DAWN, *expires - DAWN));
    let lead = match body {
        Body::Discover { lead, .. } | Body::Commit { lead, .. } => Some(lead.0),
        _ => None,
    };
    format!("{} {}{APART}{moments:?} {lead:?}", (at - DAWN).0, deal((from, to), body, job))
}

/// Between what is said and the moments in it.
pub(crate) const APART: &str = " | ";

/// What is said, without moments: from which site to which, the kind of the message, the number of the
/// inquiry or the hand-over, and the price, the cost and the load of an offer.
pub(crate) fn deal((from, to): (usize, usize), body: &Body, job: Option<usize>) -> String {
    let terms = offer_of(body)
        .map(|Offer { quote, .. }| format!("{:?} {:?} {}", quote.price, quote.cost, quote.load));
    let (kind, number) = (body.kind(), serial_of(body).number);
    format!("{from}>{to} {kind:?} #{number} job {job:?} {terms:?}")
}

fn offer_of(body: &Body) -> Option<&Offer> {
    match body {
        Body::Volunteer { offer, .. }
        | Body::Commit { offer, .. }
        | Body::Accepted { offer, .. }
        | Body::Refused { offer, .. }
        | Body::Migrate { offer, .. } => Some(offer),
        _ => None,
    }
}

/// The simulated network: what arrives is written down.
#[derive(Debug)]
struct Wire {
    links: Links,
    under_way: BTreeMap<(Order, u64), Envelope>,
    sequence: u64,
    heard: Shared,
}

#[derive(Debug, Clone, Default)]
struct Shared(std::sync::Arc<std::sync::Mutex<Vec<String>>>);

impl Transport for Wire {
    fn send(&mut self, now: Time, envelope: Envelope) {
        let mut at = now + self.links.latency.1;
        if let Body::Migrate { parcel, .. } = &envelope.body {
            at = at + self.links.travel(parcel.data_mb);
        }
        let (from, to) = (envelope.from.index(), envelope.to.index());
        let order = (at, to, from, envelope.body.kind() as u8, serial_of(&envelope.body));
        self.under_way.insert((order, self.sequence), envelope);
        self.sequence += 1;
    }

    fn receive(&mut self, now: Time) -> Option<Signal> {
        let first = self.under_way.first_entry().filter(|first| first.key().0.0 <= now)?;
        // The simulator may look at it later, if no job waits for anything.
        let (((at, ..), _), envelope) = first.remove_entry();
        let job = match &envelope.body {
            Body::Discover { parcel, .. }
            | Body::Commit { parcel, .. }
            | Body::Migrate { parcel, .. } => Some(parcel.ticket.job.0 as usize),
            _ => None,
        };
        let ends = (envelope.from.index(), envelope.to.index());
        self.heard.0.lock().unwrap().push(line(at, ends, &envelope.body, job));
        Some(Signal::Message(envelope))
    }

    fn next(&self) -> Option<Time> {
        self.under_way.keys().next().map(|(order, _)| order.0)
    }

    fn data_mb(&self, processors: u32) -> u64 {
        self.links.data_mb(processors)
    }

    fn transfer(&self, parcel: &Parcel, _: Peer, _: Peer) -> Span {
        self.links.transfer(parcel.data_mb)
    }
}

pub(crate) fn simulated(plan: &Plan) -> Told {
    let sites = (0..plan.sites.len()).map(|place| Site { name: format!("s{place}") }).collect();
    let pools = (0..plan.sites.len()).map(|place| plan.pool(place, SiteId(place as u32)));
    let pools = Arc::new(Pools::new(sites, pools.collect()).unwrap());
    let log: Vec<LogJob> = (1..)
        .zip(&plan.jobs)
        .map(|(number, job)| LogJob {
            number,
            submit: Some(job.submit),
            run: Some(job.run),
            processors: Some(job.tasks),
            requested: Some(job.limit),
            user: 1,
            terms: Some(Arc::new(Terms { home: Some(SiteId(job.home as u32)), ..Terms::NONE })),
        })
        .collect();
    let workload = prepare(&log, Arc::clone(&pools), Semantics::Textbook, Overrun::Kill);
    let heard = Shared::default();
    let (links, under_way) = (plan.links, BTreeMap::new());
    let network = Wire { links, under_way, sequence: 0, heard: heard.clone() };
    let migration = Migration { negotiation: plan.negotiation, seed: 1, network };
    let build = |pool: &Pool| Box::new(MultiQueue::new(pool.nodes, plan.queues)) as Box<_>;
    let mut grid = AutonomousSites::new(&pools, HomeRule::InTurn, Some(migration), build);
    let settings = tradewind_sim::ReplaySettings::default();
    let ran = run(&workload, settings, &mut grid, &mut []).unwrap();
    let place = |ran: &tradewind_sim::Ran| match &ran.place {
        tradewind_model::Place::Pool(PoolId(pool)) => *pool as usize,
        other => unreachable!("{other:?}"),
    };
    let starts = ran.jobs.iter().enumerate().map(|(job, ran)| (job, (ran.start, place(ran))));
    let heard = heard.0.lock().unwrap().clone();
    Told { heard, starts: starts.collect() }
}

/// The letter as a message, without its job.
pub(crate) fn body_of(word: &MessageBody) -> Body {
    let parcel = || {
        let ticket = Ticket { home: Peer(0), job: tradewind_model::JobId(0) };
        let demand = tradewind_model::Demand::new(1, Span(1));
        Arc::new(Parcel { ticket, demand, submitted: DAWN, data_mb: 0, hops: 0 })
    };
    match word.clone() {
        MessageBody::Discover { inquiry, lead, .. } => {
            Body::Discover { inquiry, parcel: parcel(), lead }
        }
        MessageBody::Volunteer { inquiry, offer } => Body::Volunteer { inquiry, offer },
        MessageBody::Commit { inquiry, offer, lead, .. } => {
            Body::Commit { inquiry, parcel: parcel(), offer, lead }
        }
        MessageBody::Accepted { inquiry, offer } => Body::Accepted { inquiry, offer },
        MessageBody::Refused { inquiry, offer } => Body::Refused { inquiry, offer },
        MessageBody::Cancel { inquiry } => Body::Cancel { inquiry },
        MessageBody::Migrate { transfer, inquiry, offer, .. } => {
            Body::Migrate { transfer, inquiry, parcel: parcel(), offer }
        }
        MessageBody::Done { transfer } => Body::Done { transfer },
        MessageBody::Returned { transfer } => Body::Returned { transfer },
    }
}
