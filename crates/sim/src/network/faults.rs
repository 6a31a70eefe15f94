//! What goes wrong between sites, and when.

use std::collections::BTreeSet;

use tradewind_model::{Span, Time, random};
use tradewind_sched::negotiation::Peer;

/// Chances of a single message, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storm {
    /// That it is lost.
    pub loss: u32,
    /// That it arrives twice.
    pub twice: u32,
    /// That it is late, and so comes out of order.
    pub late: u32,
    /// By how much at the most.
    pub lateness: Span,
}

impl Storm {
    /// Nothing goes wrong.
    pub const CALM: Storm = Storm { loss: 0, twice: 0, late: 0, lateness: Span::ZERO };
}

/// During `[from, until)` the sites inside and those outside cannot reach each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPartition {
    /// First second.
    pub from: Time,
    /// First second after it.
    pub until: Time,
    /// The sites on one side of the partition.
    pub inside: BTreeSet<Peer>,
}

/// During `[from, until)` a site's negotiator is down: it neither receives nor sends, and forgets
/// what it has not written down. The site's nodes and its own scheduler go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The site that stops.
    pub peer: Peer,
    /// First second.
    pub from: Time,
    /// First second after it.
    pub until: Time,
}

/// Everything that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    /// What may happen to each message sent before `until`.
    pub storm: Storm,
    /// The end of the storm.
    pub until: Time,
    /// When the network is cut.
    pub partitions: Vec<NetworkPartition>,
    /// When sites are down.
    pub stops: Vec<Stop>,
}

impl Faults {
    /// A network that works.
    pub fn none() -> Faults {
        Faults { storm: Storm::CALM, until: Time::MIN, partitions: vec![], stops: vec![] }
    }

    /// Faults of all kinds, drawn for `sites` sites within `[from, until)`: chances up to a half,
    /// up to three partitions and up to two stops per site. Each kind has a stream of its own, and
    /// may be absent.
    pub fn draw(seed: u64, sites: u32, from: Time, until: Time) -> Faults {
        let mut rng = random::stream(seed, "storm", 0);
        let mut chance = |max: i64| random::within(&mut rng, -max, max).max(0) as u32;
        let (loss, twice, late) = (chance(500), chance(500), chance(500));
        let lateness = Span(i64::from(chance(300)).max(1));
        Faults {
            storm: Storm { loss, twice, late, lateness },
            until,
            partitions: partitions(seed, sites, from, until),
            stops: stops(seed, sites, from, until),
        }
    }

    pub(super) fn storm_at(&self, now: Time) -> Option<&Storm> {
        (now < self.until).then_some(&self.storm)
    }

    /// Whether the two cannot reach each other at that moment. Linear in the partitions.
    pub fn cut(&self, one: Peer, other: Peer, at: Time) -> bool {
        self.partitions.iter().any(|NetworkPartition { from, until, inside }| {
            (*from..*until).contains(&at) && inside.contains(&one) != inside.contains(&other)
        })
    }
}

fn partitions(seed: u64, sites: u32, from: Time, until: Time) -> Vec<NetworkPartition> {
    let mut rng = random::stream(seed, "partition", 0);
    let mut within = |low, high| random::within(&mut rng, low, high);
    let one = |_| {
        let begin = within(from.0, until.0 - 1);
        let end = within(begin + 1, until.0);
        let inside = (0..sites).map(Peer).filter(|_| within(0, 1) == 1).collect();
        NetworkPartition { from: Time(begin), until: Time(end), inside }
    };
    let count = random::within(&mut random::stream(seed, "partitions", 0), 0, 3);
    (0..count).map(one).collect()
}

fn stops(seed: u64, sites: u32, from: Time, until: Time) -> Vec<Stop> {
    let mut stops = Vec::new();
    for peer in (0..sites).map(Peer) {
        let mut rng = random::stream(seed, "stop", u64::from(peer.0));
        let mut begin = from;
        for _ in 0..random::within(&mut rng, 0, 2) {
            if begin >= until {
                break;
            }
            begin = Time(random::within(&mut rng, begin.0, until.0 - 1));
            let end = Time(random::within(&mut rng, begin.0 + 1, until.0));
            stops.push(Stop { peer, from: begin, until: end });
            begin = end;
        }
    }
    stops.sort_by_key(|stop| (stop.from, stop.peer));
    stops
}
