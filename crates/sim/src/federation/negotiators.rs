//! The negotiators of all sites, up or down, and the messages between them.

use std::collections::BTreeSet;
use std::sync::Arc;

use tradewind_model::{PoolId, Time};
use tradewind_sched::negotiation::{
    Durable, Entry, Envelope, Input, Member, Negotiator, Output, Peer, Preference, Settings,
};
use tradewind_sched::policy::local::Timers;

use super::card::{Whereabouts, peer};
use super::desk::Desk;
use super::{Federation, Moment};
use crate::network::{Network, Stop, Traffic};

#[derive(Debug)]
enum SiteState {
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
pub(super) struct Negotiators {
    all: Vec<SiteState>,
    peers: Arc<[Peer]>,
    settings: Settings,
    seed: u64,
    network: Network,
    stops: BTreeSet<(Time, Turn, Peer)>,
    /// When each negotiator wants to be called.
    timers: Timers,
}

impl Negotiators {
    pub(super) fn new(
        sites: usize,
        settings: Settings,
        network: Network,
        stops: Vec<Stop>,
        seed: u64,
    ) -> Negotiators {
        let peers: Arc<[Peer]> = (0..sites as u32).map(Peer).collect();
        let member = |me: &Peer| Member { me: *me, peers: Arc::clone(&peers), settings, seed };
        let turns = stops.into_iter().flat_map(|Stop { peer, from, until }| {
            [(from, Turn::Goes, peer), (until, Turn::Comes, peer)]
        });
        Negotiators {
            all: peers
                .iter()
                .map(|me| SiteState::Up(Box::new(Negotiator::new(member(me)))))
                .collect(),
            settings,
            seed,
            network,
            stops: turns.filter(|(.., peer)| peer.index() < sites).collect(),
            timers: Timers::new(sites),
            peers,
        }
    }

    pub(super) fn traffic(&self) -> Traffic {
        self.network.traffic()
    }

    pub(super) fn durables(&self) -> impl Iterator<Item = (Peer, &Durable)> {
        self.peers.iter().zip(&self.all).map(|(peer, state)| match state {
            SiteState::Up(negotiator) => (*peer, negotiator.durable()),
            SiteState::Down(durable) => (*peer, durable),
        })
    }

    /// The next message, alarm or turn.
    pub(super) fn next(&self) -> Option<Time> {
        let turn = self.stops.first().map(|(at, ..)| *at);
        [turn, self.network.next(), self.timers.next()].into_iter().flatten().min()
    }

    /// One input for one site; while it is down, only what its own jobs do is written down.
    fn step(&mut self, site: PoolId, input: Input, desk: &Desk<'_>, out: &mut Vec<Output>) {
        match (&mut self.all[site.index()], input) {
            (SiteState::Up(negotiator), input) => {
                negotiator.step(desk.now, input, desk, out);
                self.timers.set(site.index(), negotiator.due());
            }
            (SiteState::Down(durable), Input::Joined(ticket)) => {
                durable.apply(&Entry::Joined(ticket));
            }
            (SiteState::Down(durable), Input::Over(ticket)) => durable.apply(&Entry::Over(ticket)),
            (SiteState::Down(_), _) => {}
        }
    }

    /// The next message that has arrived at a site that is up.
    fn arrival(&mut self, now: Time) -> Option<(PoolId, Envelope)> {
        loop {
            let envelope = self.network.arrival(now)?;
            match self.all[envelope.to.index()] {
                SiteState::Up(_) => return Some((PoolId(envelope.to.0), envelope)),
                SiteState::Down(_) => self.network.missed(),
            }
        }
    }

    /// A site whose alarm rings.
    fn due(&self, now: Time) -> Option<PoolId> {
        self.timers.until(now).next().map(|site| PoolId(site as u32))
    }

    fn turn(&mut self, now: Time) -> Option<(Turn, PoolId)> {
        let (_, turn, peer) = *self.stops.first().filter(|(at, ..)| *at <= now)?;
        self.stops.pop_first();
        Some((turn, PoolId(peer.0)))
    }

    fn stop(&mut self, site: PoolId) {
        let state = &mut self.all[site.index()];
        if let SiteState::Up(negotiator) = state {
            *state = SiteState::Down(negotiator.durable().clone());
        }
        self.timers.set(site.index(), None);
    }

    fn restart(&mut self, site: PoolId, desk: &Desk<'_>, out: &mut Vec<Output>) {
        let SiteState::Down(durable) = &mut self.all[site.index()] else { return };
        let durable = std::mem::take(durable);
        let Negotiators { settings, seed, .. } = *self;
        let member = Member { me: peer(site), peers: Arc::clone(&self.peers), settings, seed };
        let negotiator = Negotiator::restart(durable, member, desk.now, desk, out);
        self.timers.set(site.index(), negotiator.due());
        self.all[site.index()] = SiteState::Up(Box::new(negotiator));
    }
}

impl Federation {
    /// Passes on what was said and wished, until nothing more happens at this moment.
    pub(super) fn negotiate(&mut self, moment: &mut Moment<'_>) {
        if self.negotiators.is_none() {
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
            let Some(negotiators) = &mut self.negotiators else { return };
            if let Some((turn, site)) = negotiators.turn(moment.now) {
                self.turn(moment, turn, site);
            } else if let Some((site, envelope)) = negotiators.arrival(moment.now) {
                self.step(moment, site, Input::Heard(envelope));
            } else if let Some(site) = negotiators.due(moment.now) {
                self.step(moment, site, Input::Tick);
            } else {
                return;
            }
        }
    }

    fn step(&mut self, moment: &mut Moment<'_>, site: PoolId, input: Input) {
        let Some(negotiators) = &mut self.negotiators else { return };
        let local = &*self.sites[site.index()];
        let pool = moment.market.pools().pool(site);
        let desk = Desk { now: moment.now, local, pool, links: self.links };
        let mut out = Vec::new();
        negotiators.step(site, input, &desk, &mut out);
        self.carry_out(moment, site, out);
    }

    fn turn(&mut self, moment: &mut Moment<'_>, turn: Turn, site: PoolId) {
        let Some(negotiators) = &mut self.negotiators else { return };
        match turn {
            Turn::Goes => negotiators.stop(site),
            Turn::Comes => {
                let local = &*self.sites[site.index()];
                let pool = moment.market.pools().pool(site);
                let desk = Desk { now: moment.now, local, pool, links: self.links };
                let mut out = Vec::new();
                negotiators.restart(site, &desk, &mut out);
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
                    if let Some(negotiators) = &mut self.negotiators {
                        negotiators.network.send(moment.now, envelope);
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
