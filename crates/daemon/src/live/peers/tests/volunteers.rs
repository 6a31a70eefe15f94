//! Which of several volunteers gets a job, by the rule of the configuration.

use std::collections::BTreeMap;

use tradewind_sched::negotiation::{self, Choose, Offer, Serial, StartQuote};

use super::*;

/// What peers offer: moment of the start, cost, and how many jobs wait there.
const OFFERS: [(&str, i64, i64, u32); 3] = [("b", 30, 9, 5), ("c", 60, 9, 2), ("d", 90, 3, 7)];

/// To which peer a job is passed on that no nodes at home suit.
fn chosen(choose: Choose) -> String {
    let names = OFFERS.map(|(name, ..)| name.to_owned());
    let settings = Settings {
        peers: names.to_vec(),
        negotiation: negotiation::NegotiationSettings { choose, ..Settings::NEGOTIATION },
        ..Settings::default()
    };
    let state = live(0, 1).state().clone();
    let mut home = Live::begin(state, settings, Arc::new(Easy), "easy", DAWN).unwrap().0;
    let actor = Actor { user: "ana".to_owned(), role: Role::User };
    let ask = Ask::Submit { submission: Arc::new(job(3)), key: None, quote: None };
    let mut letters = home.step(DAWN, Input::Asked { actor, ask }).unwrap().letters;
    while home.is_due(DAWN) {
        letters.extend(home.plan(DAWN).unwrap().letters);
    }
    let inquiry = letters.iter().find_map(|(_, letter)| match letter.word {
        MessageBody::Discover { inquiry, .. } => Some(inquiry),
        _ => None,
    });
    let inquiry = inquiry.unwrap();
    let mut chosen = Vec::new();
    for (name, start, cost, load) in OFFERS {
        let quote = StartQuote {
            start: DAWN + Span(start),
            price: Price(1_000),
            cost: Money(cost * 1_000_000),
            load,
            status: None,
        };
        let offer = Offer { quote, expires: DAWN + Span(60) };
        let word = MessageBody::Volunteer { inquiry, offer };
        let letters = vec![PeerMessage { settled: Serial::default(), word }];
        let actor = Actor { user: name.to_owned(), role: Role::Peer };
        let ask = Ask::Letters { market: format!("of{name}"), sent: DAWN, letters };
        chosen.extend(home.step(DAWN, Input::Asked { actor, ask }).unwrap().letters);
    }
    let names: BTreeMap<Peer, String> =
        home.state().peers.directory.iter().map(|(peer, it)| (*peer, it.name.clone())).collect();
    let commit = |(to, letter): &(Peer, PeerMessage)| {
        matches!(letter.word, MessageBody::Commit { .. }).then(|| names[to].clone())
    };
    chosen.iter().find_map(commit).unwrap()
}

#[test]
fn the_volunteer_is_chosen_by_the_configured_rule_under_easy() {
    assert_eq!(chosen(Choose::Start), "b");
    assert_eq!(chosen(Choose::Load), "c");
    assert_eq!(chosen(Choose::Cost), "d");
}
