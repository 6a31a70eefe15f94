//! Who is asked, and who gets the job.

use std::collections::{BTreeMap, BTreeSet};

use rand_pcg::Pcg64Mcg;
use tradewind_model::random;

use super::message::{Offer, Peer, SiteStatus, StartQuote};
use super::settings::Choose;

/// Smaller is better.
fn rank(choose: Choose, quote: &StartQuote) -> [i64; 3] {
    let saturate = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
    let (start, cost, load) = (quote.start.0, quote.cost.0, i64::from(quote.load));
    let SiteStatus { free, network_mb, slowdown, memory } = quote.status.unwrap_or_default();
    match choose {
        Choose::Load => [load, start, cost],
        Choose::Start => [start, cost, load],
        Choose::Cost => [cost, start, load],
        Choose::Slowdown => [i64::from(slowdown), start, cost],
        Choose::Network => [saturate(network_mb), start, cost],
        Choose::Free => [-i64::from(free), start, cost],
        Choose::Memory => [-saturate(memory.free_kib), start, cost],
    }
}

/// The best offer by the rule; among equals the lowest peer's. Linear.
pub(super) fn best(choose: Choose, offers: &BTreeMap<Peer, Offer>) -> Option<(Peer, Offer)> {
    let all = offers.iter().map(|(peer, offer)| (*peer, *offer));
    all.min_by_key(|(_, offer)| rank(choose, &offer.quote))
}

/// Whether a job gains by leaving home: it starts earlier, or (where cost decides) it costs less,
/// or the same and starts earlier.
pub(super) fn gains(choose: Choose, quote: &StartQuote, home: &StartQuote) -> bool {
    match choose {
        Choose::Cost => (quote.cost, quote.start) < (home.cost, home.start),
        Choose::Load
        | Choose::Start
        | Choose::Slowdown
        | Choose::Network
        | Choose::Free
        | Choose::Memory => quote.start < home.start,
    }
}

/// Up to `choices` of the peers that are neither `me` nor asked already, each as likely, in the
/// order of drawing. Linear in the peers.
pub(super) fn sample(
    rng: &mut Pcg64Mcg,
    choices: u32,
    peers: &[Peer],
    asked: &BTreeSet<Peer>,
    me: Peer,
) -> Vec<Peer> {
    let fresh = |peer: &Peer| *peer != me && (asked.is_empty() || !asked.contains(peer));
    let mut left: Vec<Peer> = peers.iter().copied().filter(fresh).collect();
    let wanted = left.len().min(choices as usize);
    for place in 0..wanted {
        let from = random::within(rng, place as i64, left.len() as i64 - 1);
        left.swap(place, from as usize);
    }
    left.truncate(wanted);
    left
}
