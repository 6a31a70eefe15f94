//! The negotiators of all sites, up or down, and the messages between them.

use std::collections::BTreeSet;
use std::sync::Arc;

use tradewind_model::{PoolId, Time};
use tradewind_sched::negotiation::{
    Durable, Entry, Envelope, Input, Member, Negotiator, Output, Peer, Settings, Preference,
};

use super::bells::Bells;
use super::card::{Whereabouts, peer};
use super::desk::Desk;
use super::{Federation, Moment};
use crate::network::{Network, Stop, Traffic};

#[derive(Debug)]
enum Mind {
    Up(Box<Negotiator>),
    /// What it has written down.
    Down(Durable),
}

/// The turns of a stop, in the order within a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Comes,
    Goes,
}

#[derive(Debug)]
pub(super) struct Minds {
    all: Vec<Mind>,
    peers: Arc<[Peer]>,
    settings: Settings,
    seed: u64,
    network: Network,
    stops: BTreeSet<(Time, Turn, Peer)>,
    /// When each negotiator wants to be called.
    bells: Bells,
}

impl Minds {
    pub(super) fn new(
        sites: usize,
        settings: Settings,
        network: Network,
        stops: Vec<Stop>,
        seed: u64,
    ) -> Minds {
        let peers: Arc<[Peer]> = (0..sites as u32).map(Peer).collect();
        let member = |me: &Peer| Member { me: *me, peers: Arc::clone(&peers), settings, seed };
        let turns = stops.into_iter().flat_map(|Stop { peer, from, until }| {
            [(from, Turn::Goes, peer), (until, Turn::Comes, peer)]
        });
        Minds {
            all: peers.iter().map(|me| Mind::Up(Box::new(Negotiator::new(member(me))))).collect(),
            settings,
            seed,
            network,
            stops: turns.filter(|(.., peer)| peer.index() < sites).collect(),
            bells: Bells::new(sites),
            peers,
        }
    }

    pub(super) fn traffic(&self) -> Traffic {
        self.network.traffic()
    }

    pub(super) fn durables(&self) -> impl Iterator<Item = (Peer, &Durable)> {
        self.peers.iter().zip(&self.all).map(|(peer, mind)| match mind {
            Mind::Up(negotiator) => (*peer, negotiator.durable()),
            Mind::Down(durable) => (*peer, durable),
        })
    }

    /// The next message, alarm or turn.
    pub(super) fn next(&self) -> Option<Time> {
        let turn = self.stops.first().map(|(at, ..)| *at);
        [turn, self.network.next(), self.bells.next()].into_iter().flatten().min()
    }

    /// One input for one site; while it is down, only what its own jobs do is written down.
    fn step(&mut self, site: PoolId, input: Input, desk: &Desk<'_>, out: &mut Vec<Output>) {
        match (&mut self.all[site.index()], input) {
            (Mind::Up(negotiator), input) => {
                negotiator.step(desk.now, input, desk, out);
                self.bells.set(site.index(), negotiator.due());
            }
            (Mind::Down(durable), Input::Joined(ticket)) => durable.apply(&Entry::Joined(ticket)),
            (Mind::Down(durable), Input::Over(ticket)) => durable.apply(&Entry::Over(ticket)),
            (Mind::Down(_), _) => {}
        }
    }

    /// The next message that has arrived at a site that is up.
    fn arrival(&mut self, now: Time) -> Option<(PoolId, Envelope)> {
        loop {
            let envelope = self.network.arrival(now)?;
            match self.all[envelope.to.index()] {
                Mind::Up(_) => return Some((PoolId(envelope.to.0), envelope)),
                Mind::Down(_) => self.network.missed(),
            }
        }
    }

    /// A site whose alarm rings.
    fn due(&self, now: Time) -> Option<PoolId> {
        self.bells.until(now).next().map(|site| PoolId(site as u32))
    }

    fn turn(&mut self, now: Time) -> Option<(Turn, PoolId)> {
        let (_, turn, peer) = *self.stops.first().filter(|(at, ..)| *at <= now)?;
        self.stops.pop_first();
        Some((turn, PoolId(peer.0)))
    }

    fn stop(&mut self, site: PoolId) {
        let mind = &mut self.all[site.index()];
        if let Mind::Up(negotiator) = mind {
            *mind = Mind::Down(negotiator.durable().clone());
        }
        self.bells.set(site.index(), None);
    }

    fn restart(&mut self, site: PoolId, desk: &Desk<'_>, out: &mut Vec<Output>) {
        let Mind::Down(durable) = &mut self.all[site.index()] else { return };
        let durable = std::mem::take(durable);
        let Minds { settings, seed, .. } = *self;
        let member = Member { me: peer(site), peers: Arc::clone(&self.peers), settings, seed };
        let negotiator = Negotiator::restart(durable, member, desk.now, desk, out);
        self.bells.set(site.index(), negotiator.due());
        self.all[site.index()] = Mind::Up(Box::new(negotiator));
    }
}

impl Federation {
    /// Passes on what was said and wished, until nothing more happens at this moment.
    pub(super) fn negotiate(&mut self, moment: &mut Moment<'_>) {
        if self.minds.is_none() {
            moment.inputs.clear();
            return;
        }
        loop {
            for (site, input) in std::mem::take(&mut moment.inputs) {
                self.step(moment, site, input);
            }
            if !moment.inputs.is_empty() {
                continue;
            }
            let Some(minds) = &mut self.minds else { return };
            if let Some((turn, site)) = minds.turn(moment.now) {
                self.turn(moment, turn, site);
            } else if let Some((site, envelope)) = minds.arrival(moment.now) {
                self.step(moment, site, Input::Heard(envelope));
            } else if let Some(site) = minds.due(moment.now) {
                self.step(moment, site, Input::Tick);
            } else {
                return;
            }
        }
    }

    fn step(&mut self, moment: &mut Moment<'_>, site: PoolId, input: Input) {
        let Some(minds) = &mut self.minds else { return };
        let local = &*self.sites[site.index()];
        let pool = moment.market.pools().pool(site);
        let desk = Desk { now: moment.now, local, pool, links: self.links };
        let mut out = Vec::new();
        minds.step(site, input, &desk, &mut out);
        self.carry_out(moment, site, out);
    }

    fn turn(&mut self, moment: &mut Moment<'_>, turn: Turn, site: PoolId) {
        let Some(minds) = &mut self.minds else { return };
        match turn {
            Turn::Goes => minds.stop(site),
            Turn::Comes => {
                let local = &*self.sites[site.index()];
                let pool = moment.market.pools().pool(site);
                let desk = Desk { now: moment.now, local, pool, links: self.links };
                let mut out = Vec::new();
                minds.restart(site, &desk, &mut out);
                self.carry_out(moment, site, out);
                self.wish_again(moment, site);
            }
        }
    }

    /// A site that came back has forgotten whom it searched for; jobs that must go must go still.
    fn wish_again(&mut self, moment: &mut Moment<'_>, site: PoolId) {
        let homeless = self
            .cards
            .values()
            .filter(|card| card.site == site && card.whereabouts == Whereabouts::Homeless);
        let wish = |parcel| (site, Input::PassOn(parcel, Preference::Must));
        moment.inputs.extend(homeless.map(|card| wish(Arc::clone(&card.parcel))));
    }

    fn carry_out(&mut self, moment: &mut Moment<'_>, site: PoolId, out: Vec<Output>) {
        for output in out {
            match output {
                Output::Record(_) | Output::HandedOver { .. } => {}
                Output::Send(envelope) => {
                    if let Some(minds) = &mut self.minds {
                        minds.network.send(moment.now, envelope);
                    }
                }
                Output::TakeIn { parcel, offer, .. } => {
                    self.take_in(moment, site, parcel, &offer);
                }
                Output::Hold(ticket) => self.hold(moment, ticket.job),
                Output::Release(ticket) => self.release(moment, ticket.job),
            }
        }
        // What a site answers holds after it has decided.
        self.ask_all(moment);
    }
}
