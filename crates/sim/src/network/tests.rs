use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Demand, JobId, Span, Time};
use tradewind_sched::negotiation::{Body, Envelope, Kind, Parcel, Peer, Serial, Ticket};

use super::{Faults, Links, Network, NetworkPartition, Storm};

fn envelope(from: u32, to: u32, number: u32) -> Envelope {
    let (epoch, settled) = (0, Serial::default());
    let body = Body::Done { transfer: Serial { epoch, number } };
    Envelope { from: Peer(from), to: Peer(to), settled, body }
}

fn arrivals(network: &mut Network) -> Vec<(i64, Envelope)> {
    let mut all = vec![];
    while let Some(at) = network.next() {
        all.extend(network.arrival(at).map(|envelope| (at.0, envelope)));
    }
    all
}

#[test]
fn jobs_take_time_by_their_data_and_messages_by_the_latency() {
    let links = Links { latency: (Span(2), Span(2)), base_mb: 5, ..Links::default() };
    let mut network = Network::new(links, Faults::none(), 1);
    let ticket = Ticket { home: Peer(0), job: JobId(0) };
    let demand = Demand::new(8, Span(1));
    let data_mb = links.data_mb(8);
    let parcel = Arc::new(Parcel { ticket, demand, submitted: Time(0), data_mb, hops: 0 });
    let serial = Serial::default();
    let discover = Body::Discover { inquiry: serial, parcel: Arc::clone(&parcel), lead: Span(1) };
    network.send(Time(0), Envelope { body: discover, ..envelope(0, 1, 0) });
    let quote = tradewind_sched::negotiation::StartQuote {
        start: Time(0),
        price: tradewind_model::Price(0),
        cost: tradewind_model::Money::ZERO,
        load: 0,
        status: None,
    };
    let offer = tradewind_sched::negotiation::Offer { quote, expires: Time(0) };
    let migrate = Body::Migrate { transfer: serial, inquiry: serial, parcel, offer };
    network.send(Time(0), Envelope { body: migrate, ..envelope(0, 1, 0) });
    assert_eq!(network.traffic().of(Kind::Migrate), 1);
    let times: Vec<i64> = arrivals(&mut network).into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [2, 2 + 9]); // 85 MB at 10 MB/s
    assert_eq!(links.transfer(data_mb), Span(11));
}

#[test]
fn a_partition_cuts_what_is_sent_or_due_in_it() {
    let inside = [Peer(0)].into();
    let partition = NetworkPartition { from: Time(10), until: Time(20), inside };
    let faults = Faults { partitions: vec![partition], ..Faults::none() };
    let links = Links { latency: (Span(2), Span(2)), ..Links::default() };
    let mut network = Network::new(links, faults, 1);
    for (number, at) in (0..).zip([7, 8, 9, 10, 19, 20]) {
        network.send(Time(at), envelope(0, 1, number));
        network.send(Time(at), envelope(1, 2, number));
    }
    let all = arrivals(&mut network);
    let across = all.iter().filter(|(_, envelope)| envelope.from == Peer(0));
    assert_eq!(across.map(|(at, _)| *at).collect::<Vec<_>>(), [9, 22]);
    assert_eq!(all.len(), 2 + 6);
    assert_eq!(network.traffic().lost, 4);
}

#[test]
fn drawn_faults_are_within_their_time() {
    for seed in 0..50 {
        let faults = Faults::draw(seed, 5, Time(10), Time(500));
        let spans = faults.partitions.iter().map(|p| (p.from, p.until));
        let spans = spans.chain(faults.stops.iter().map(|s| (s.from, s.until)));
        for (from, until) in spans {
            assert!(Time(10) <= from && from < until && until <= Time(500));
        }
        assert_eq!(faults, Faults::draw(seed, 5, Time(10), Time(500)));
    }
}

proptest! {
    #[test]
    fn what_is_sent_is_lost_or_arrives_once_or_twice(
        seed in any::<u64>(),
        loss in 0..400u32,
        twice in 0..400u32,
        late in 0..400u32,
    ) {
        let storm = Storm { loss, twice, late, lateness: Span(50) };
        let faults = Faults { storm, until: Time(1_000), ..Faults::none() };
        let mut network = Network::new(Links::default(), faults, seed);
        for number in 0..200 {
            network.send(Time(i64::from(number)), envelope(0, 1, number));
        }
        let (all, traffic) = (arrivals(&mut network), network.traffic());
        prop_assert_eq!(traffic.sent(), 200);
        prop_assert_eq!(all.len() as u64, 200 - traffic.lost + traffic.doubled);
        for (at, envelope) in all {
            let Body::Done { transfer } = envelope.body else { unreachable!() };
            let takes = at - i64::from(transfer.number);
            prop_assert!((1..=51).contains(&takes));
        }
    }
}
