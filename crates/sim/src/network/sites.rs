//! Autonomous sites over the simulated network (paper 004).

use std::collections::BTreeSet;

use tradewind_model::{Pool, Pools, Span, Time};
use tradewind_sched::negotiation::{self, Envelope, Parcel, Peer};
use tradewind_sched::policy::autonomous::{
    AutonomousSites, HomeRule, Migration, Signal, Transport,
};
use tradewind_sched::policy::local::LocalScheduler;

use super::{Faults, Links, Network, Stop, Traffic};

/// How the sites of a simulated grid work together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkSettings {
    /// How they negotiate; `None`: they do not, and every job stays at home. A single site has no
    /// other to negotiate with.
    pub negotiation: Option<negotiation::NegotiationSettings>,
    /// How long messages and jobs take.
    pub links: Links,
    /// What fails.
    pub faults: Faults,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for NetworkSettings {
    /// They negotiate as the paper says, and nothing fails.
    fn default() -> NetworkSettings {
        NetworkSettings {
            negotiation: Some(negotiation::NegotiationSettings::default()),
            links: Links::default(),
            faults: Faults::none(),
            seed: 1,
        }
    }
}

impl NetworkSettings {
    /// The sites that `build` makes of these pools. Jobs that name no home site are submitted to
    /// each pool in turn.
    pub fn sites(
        self,
        pools: &Pools,
        build: impl Fn(&Pool) -> Box<dyn LocalScheduler>,
    ) -> AutonomousSites<SimulatedNetwork> {
        let NetworkSettings { negotiation, links, faults, seed } = self;
        let count = pools.as_slice().len();
        let migration = negotiation.map(|negotiation| Migration {
            negotiation,
            seed,
            network: SimulatedNetwork::new(links, faults, seed, count),
        });
        AutonomousSites::new(pools, HomeRule::InTurn, migration, build)
    }
}

/// What happens to a negotiator, in the order within a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NegotiatorEvent {
    Restarts,
    Stops,
}

/// A [`Network`] whose sites may be down.
#[derive(Debug)]
pub struct SimulatedNetwork {
    network: Network,
    turns: BTreeSet<(Time, NegotiatorEvent, Peer)>,
    down: BTreeSet<Peer>,
}

impl SimulatedNetwork {
    /// An empty network between so many sites.
    fn new(links: Links, faults: Faults, seed: u64, sites: usize) -> SimulatedNetwork {
        let turns = faults.stops.iter().flat_map(|Stop { peer, from, until }| {
            [(*from, NegotiatorEvent::Stops, *peer), (*until, NegotiatorEvent::Restarts, *peer)]
        });
        SimulatedNetwork {
            turns: turns.filter(|(.., peer)| peer.index() < sites).collect(),
            network: Network::new(links, faults, seed),
            down: BTreeSet::new(),
        }
    }

    /// The messages so far.
    pub fn traffic(&self) -> Traffic {
        self.network.traffic()
    }

    fn turn(&mut self, now: Time) -> Option<Signal> {
        let (_, turn, peer) = *self.turns.first().filter(|(at, ..)| *at <= now)?;
        self.turns.pop_first();
        Some(match turn {
            NegotiatorEvent::Stops => {
                self.down.insert(peer);
                Signal::Stopped(peer)
            }
            NegotiatorEvent::Restarts => {
                self.down.remove(&peer);
                Signal::Restarted(peer)
            }
        })
    }
}

impl Transport for SimulatedNetwork {
    fn send(&mut self, now: Time, envelope: Envelope) {
        self.network.send(now, envelope);
    }

    /// Stops and restarts come before messages.
    fn receive(&mut self, now: Time) -> Option<Signal> {
        if let Some(signal) = self.turn(now) {
            return Some(signal);
        }
        loop {
            let envelope = self.network.arrival(now)?;
            if !self.down.contains(&envelope.to) {
                return Some(Signal::Message(envelope));
            }
            self.network.missed();
        }
    }

    fn next(&self) -> Option<Time> {
        let turn = self.turns.first().map(|(at, ..)| *at);
        turn.into_iter().chain(self.network.next()).min()
    }

    fn data_mb(&self, processors: u32) -> u64 {
        self.network.links().data_mb(processors)
    }

    fn transfer(&self, parcel: &Parcel, _: Peer, _: Peer) -> Span {
        self.network.links().transfer(parcel.data_mb)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let traffic = self.traffic();
        vec![("messages", traffic.sent()), ("messages_lost", traffic.lost)]
    }
}
