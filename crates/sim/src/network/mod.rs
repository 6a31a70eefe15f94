//! A simulated network between sites: it takes time, and where faults are wanted it loses, doubles,
//! delays and cuts.
//!
//! All chances are drawn from named streams of one seed, a stream per kind of chance. Times are
//! whole seconds.

mod faults;
mod sites;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rand_pcg::Pcg64Mcg;
use tradewind_model::{Span, Time, random};
use tradewind_sched::negotiation::{Body, Envelope, Kind};

pub use faults::{Faults, NetworkPartition, Stop, Storm};
pub use sites::{NetworkSettings, SimulatedNetwork};
pub use tradewind_sched::policy::autonomous::Links;

/// Messages by kind, and what happened to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    sent: [u64; Kind::ALL.len()],
    /// Lost, cut off, or sent to a site that was down.
    pub lost: u64,
    /// Delivered once more than sent.
    pub doubled: u64,
}

impl Traffic {
    /// Messages of one kind that sites have sent.
    pub fn of(&self, kind: Kind) -> u64 {
        self.sent[kind as usize]
    }

    /// All messages that sites have sent.
    pub fn sent(&self) -> u64 {
        self.sent.iter().sum()
    }
}

/// Messages under way.
#[derive(Debug)]
pub struct Network {
    links: Links,
    faults: Faults,
    /// In the order of arrival, then of sending.
    under_way: BTreeMap<(Time, u64), Envelope>,
    sequence: u64,
    traffic: Traffic,
    latency: Pcg64Mcg,
    loss: Pcg64Mcg,
    twice: Pcg64Mcg,
    late: Pcg64Mcg,
}

impl Network {
    /// An empty network.
    pub fn new(links: Links, faults: Faults, seed: u64) -> Network {
        let stream = |noun| random::stream(seed, noun, 0);
        Network {
            links,
            faults,
            under_way: BTreeMap::new(),
            sequence: 0,
            traffic: Traffic::default(),
            latency: stream("latency"),
            loss: stream("loss"),
            twice: stream("twice"),
            late: stream("late"),
        }
    }

    /// How long things take.
    pub fn links(&self) -> Links {
        self.links
    }

    /// What was sent so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Takes a message. It arrives later, or at once if messages take no time; perhaps twice;
    /// perhaps never. O(log n) for n messages under way.
    pub fn send(&mut self, now: Time, envelope: Envelope) {
        self.traffic.sent[envelope.body.kind() as usize] += 1;
        let storm = self.faults.storm_at(now).copied();
        let storm = storm.unwrap_or(Storm::CALM);
        if happens(&mut self.loss, storm.loss) {
            self.traffic.lost += 1;
            return;
        }
        if happens(&mut self.twice, storm.twice) {
            self.traffic.doubled += 1;
            self.post(now, envelope.clone(), storm);
        }
        self.post(now, envelope, storm);
    }

    fn post(&mut self, now: Time, envelope: Envelope, storm: Storm) {
        let (min, max) = self.links.latency;
        let mut takes = random::within(&mut self.latency, min.0, max.0);
        if let Body::Migrate { parcel, .. } = &envelope.body {
            takes += self.links.travel(parcel.data_mb).0;
        }
        if happens(&mut self.late, storm.late) {
            takes += random::within(&mut self.late, 1, storm.lateness.0);
        }
        let at = now + Span(takes);
        let cut = |when| self.faults.cut(envelope.from, envelope.to, when);
        if cut(now) || cut(at) {
            self.traffic.lost += 1;
            return;
        }
        self.under_way.insert((at, self.sequence), envelope);
        self.sequence += 1;
    }

    /// When the next message arrives.
    pub fn next(&self) -> Option<Time> {
        self.under_way.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next message that has arrived by `now`.
    pub fn arrival(&mut self, now: Time) -> Option<Envelope> {
        let first = self.under_way.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    /// Counts a message whose receiver was down.
    pub fn missed(&mut self) {
        self.traffic.lost += 1;
    }
}

/// Draws with a chance in thousandths; nothing is drawn where there is none.
fn happens(rng: &mut Pcg64Mcg, chance: u32) -> bool {
    chance > 0 && random::within(rng, 1, 1_000) <= i64::from(chance)
}
