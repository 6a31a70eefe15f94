//! Two and three sites, message by message.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{Demand, JobId, Money, Price, Span, Time};

use super::*;

/// A host that offers what the test sets.
#[derive(Debug, Clone, Copy)]
struct Toy {
    /// After arrival, and at what price and load; `None`: nothing.
    quote: Option<(i64, i64, u32)>,
    home: Option<i64>,
    /// Number of free processors.
    room: u32,
}

impl Toy {
    const IDLE: Toy = Toy { quote: Some((0, 1, 0)), home: None, room: 7 };
    const BUSY: Toy = Toy { quote: None, ..Toy::IDLE };
}

fn quote(start: i64, price: i64, load: u32) -> StartQuote {
    let (start, price, cost) = (Time(start), Price(price), Money(price * 10));
    StartQuote { start, price, cost, load, status: None }
}

impl Host for Toy {
    fn quote(&self, parcel: &Parcel, from: Time, pledged: Pledged) -> Option<StartQuote> {
        let room = parcel.demand.processors + pledged.processors <= self.room;
        self.quote.filter(|_| room).map(|(wait, price, load)| quote(from.0 + wait, price, load))
    }

    fn at_home(&self, _: &Parcel) -> Option<StartQuote> {
        self.home.map(|start| quote(start, 5, 0))
    }

    fn transfer(&self, _: &Parcel, _: Peer) -> Span {
        Span(10)
    }
}

/// Sites, their entries, and messages that a test carries by hand.
struct Sites {
    all: Vec<Negotiator>,
    hosts: Vec<Toy>,
    entries: Vec<Vec<Entry>>,
    post: Vec<Envelope>,
    /// Everything but entries and messages.
    seen: Vec<(u32, &'static str)>,
    now: i64,
}

const TICKET: Ticket = Ticket { home: Peer(0), job: JobId(7) };

fn parcel() -> Arc<Parcel> {
    let demand = Demand::new(4, Span(10));
    Arc::new(Parcel { ticket: TICKET, demand, submitted: Time(0), data_mb: 0, hops: 0 })
}

fn member(me: u32, count: u32, settings: NegotiationSettings) -> Member {
    Member { me: Peer(me), peers: (0..count).map(Peer).collect(), settings, seed: 1 }
}

impl Sites {
    fn new(hosts: &[Toy], settings: NegotiationSettings) -> Sites {
        let count = hosts.len() as u32;
        let one = |me| Negotiator::new(member(me, count, settings));
        let mut sites = Sites {
            all: (0..count).map(one).collect(),
            hosts: hosts.to_vec(),
            entries: vec![vec![]; hosts.len()],
            post: vec![],
            seen: vec![],
            now: 0,
        };
        sites.give(0, Input::Joined(TICKET));
        sites
    }

    fn give(&mut self, site: usize, input: Input) {
        let mut out = vec![];
        self.all[site].step(Time(self.now), input, &self.hosts[site], &mut out);
        self.carry(site, out);
    }

    fn carry(&mut self, site: usize, out: Vec<Output>) {
        for output in out {
            let name = match output {
                Output::Record(entry) => {
                    self.entries[site].push(entry);
                    continue;
                }
                Output::Send(envelope) => {
                    self.post.push(envelope);
                    continue;
                }
                Output::TakeIn { .. } => "take in",
                Output::Hold(_) => "hold",
                Output::Release(_) => "release",
                Output::HandedOver { .. } => "transferred",
            };
            self.seen.push((site as u32, name));
        }
    }

    /// Delivers what is under way; gives the kinds back, answers not included.
    fn deliver(&mut self) -> Vec<Kind> {
        let post = std::mem::take(&mut self.post);
        let kinds = post.iter().map(|envelope| envelope.body.kind()).collect();
        for envelope in post {
            self.give(envelope.to.index(), Input::Heard(envelope));
        }
        kinds
    }

    fn drop_post(&mut self) -> Vec<Envelope> {
        std::mem::take(&mut self.post)
    }

    fn pass_on(&mut self) {
        self.give(0, Input::PassOn(parcel(), Preference::Better));
    }

    /// Lets time pass, alarm by alarm, without delivering anything.
    fn tick_to(&mut self, now: i64) {
        loop {
            let next = self.all.iter().enumerate();
            let next = next.filter_map(|(i, n)| Some((n.due().filter(|at| at.0 <= now)?, i))).min();
            let Some((at, site)) = next else { break };
            self.now = at.0.max(self.now);
            self.give(site, Input::Tick);
        }
        self.now = now;
    }

    fn restart(&mut self, site: usize, settings: NegotiationSettings) {
        let mut out = vec![];
        let durable = self.all[site].durable().clone();
        let member = member(site as u32, self.all.len() as u32, settings);
        let (now, host) = (Time(self.now), self.hosts[site]);
        self.all[site] = Negotiator::restart(durable, member, now, &host, &mut out);
        self.carry(site, out);
    }

    fn owners(&self) -> Vec<usize> {
        let owns = |n: &Negotiator| n.durable().here.contains(&TICKET);
        (0..self.all.len()).filter(|site| owns(&self.all[*site])).collect()
    }

    /// What was written down makes the same state again.
    fn check_entries(&self) {
        for (site, entries) in self.entries.iter().enumerate() {
            let mut durable = Durable::default();
            entries.iter().for_each(|entry| durable.apply(entry));
            assert_eq!(&durable, self.all[site].durable());
        }
    }
}

#[test]
fn a_job_goes_over_in_six_messages() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sites.pass_on();
    let mut said = vec![];
    while !sites.post.is_empty() {
        assert!(sites.owners().len() <= 1);
        said.extend(sites.deliver());
    }
    use Kind::*;
    assert_eq!(said, [Discover, Volunteer, Commit, Accepted, Migrate, Done]);
    assert_eq!(sites.seen, [(0, "hold"), (1, "take in"), (0, "transferred")]);
    assert_eq!(sites.owners(), [1]);
    assert_eq!(sites.all[0].due(), None);
    sites.check_entries();
}

#[test]
fn no_site_volunteers_and_the_job_is_left_alone_for_a_while() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::BUSY], NegotiationSettings::default());
    sites.pass_on();
    assert_eq!(sites.deliver(), [Kind::Discover]);
    sites.tick_to(4);
    sites.pass_on();
    assert!(sites.post.is_empty() && sites.all[0].due().is_none());
    sites.tick_to(4 + NegotiationSettings::default().pause.0);
    sites.pass_on();
    assert_eq!(sites.deliver(), [Kind::Discover]);
}

#[test]
fn a_job_that_must_go_is_asked_for_until_a_site_takes_it() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::BUSY], NegotiationSettings::default());
    sites.give(0, Input::PassOn(parcel(), Preference::Must));
    for _ in 0..20 {
        assert_eq!(sites.deliver(), [Kind::Discover]);
        while sites.post.is_empty() {
            let next = sites.all[0].due().unwrap();
            sites.tick_to(next.0);
        }
    }
    sites.hosts[1] = Toy::IDLE;
    while !sites.post.is_empty() {
        sites.deliver();
    }
    assert_eq!(sites.owners(), [1]);
}

#[test]
fn a_start_at_home_ends_the_search_and_frees_the_volunteer() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sites.pass_on();
    sites.deliver();
    sites.deliver();
    assert_eq!(sites.deliver(), [Kind::Commit]);
    sites.give(0, Input::Started(TICKET));
    // The volunteer's yes and the cancellation cross; the yes is answered once more.
    assert_eq!(sites.deliver(), [Kind::Accepted, Kind::Cancel]);
    assert_eq!(sites.deliver(), [Kind::Cancel]);
    assert!(sites.post.is_empty() && sites.seen.is_empty());
    assert_eq!(sites.owners(), [0]);
}

#[test]
fn a_commit_is_refused_when_own_jobs_came_first_and_the_next_best_gets_the_job() {
    let settings = NegotiationSettings {
        horizon: Span(100),
        choose: Choose::Start,
        ..NegotiationSettings::default()
    };
    let second = Toy { quote: Some((5, 1, 0)), ..Toy::IDLE };
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE, second], settings);
    sites.pass_on();
    sites.deliver();
    sites.deliver();
    assert_eq!(sites.post[0].to, Peer(1));
    sites.hosts[1] = Toy::BUSY;
    assert_eq!(sites.deliver(), [Kind::Commit]);
    assert_eq!(sites.deliver(), [Kind::Refused]);
    while !sites.post.is_empty() {
        sites.deliver();
    }
    assert_eq!(sites.owners(), [2]);
}

#[test]
fn an_expired_offer_is_refused() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sites.pass_on();
    sites.deliver();
    sites.deliver();
    sites.now = 31;
    assert_eq!(sites.deliver(), [Kind::Commit]);
    assert_eq!(sites.deliver(), [Kind::Refused]);
    assert_eq!(sites.owners(), [0]);
}

#[test]
fn a_higher_price_at_the_commit_is_a_refusal() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sites.pass_on();
    sites.deliver();
    sites.deliver();
    sites.hosts[1].quote = Some((0, 2, 0));
    sites.deliver();
    assert_eq!(sites.deliver(), [Kind::Refused]);
}

#[test]
fn a_later_start_at_the_commit_is_a_refusal_whatever_the_horizon() {
    let settings = NegotiationSettings { horizon: Span(100), ..NegotiationSettings::default() };
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], settings);
    sites.pass_on();
    sites.deliver();
    sites.deliver();
    sites.hosts[1].quote = Some((50, 1, 0));
    sites.deliver();
    assert_eq!(sites.deliver(), [Kind::Refused]);
}

#[test]
fn an_answer_about_another_offer_moves_nothing() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sites.pass_on();
    for _ in 0..3 {
        sites.deliver();
    }
    let mut answer = sites.drop_post().remove(0);
    let Body::Accepted { offer, .. } = &mut answer.body else { panic!("{answer:?}") };
    offer.quote.price = Price(9);
    sites.give(0, Input::Heard(answer));
    assert!(sites.post.is_empty() && sites.owners() == [0]);
}

#[test]
fn a_doubled_yes_does_not_cancel_what_is_on_its_way() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sites.pass_on();
    for _ in 0..3 {
        sites.deliver();
    }
    let yes = sites.post[0].clone();
    sites.post.push(yes);
    sites.deliver();
    assert_eq!(sites.deliver(), [Kind::Migrate]);
}

/// Brings the job to the point where its `Migrate` is under way.
fn sent(sites: &mut Sites) {
    sites.pass_on();
    for _ in 0..4 {
        sites.deliver();
    }
    assert_eq!(sites.post[0].body.kind(), Kind::Migrate);
}

#[test]
fn a_lost_migrate_and_a_lost_done_are_made_good() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sent(&mut sites);
    sites.drop_post();
    sites.tick_to(13);
    assert!(sites.post.is_empty());
    sites.tick_to(14); // transfer and window
    assert_eq!(sites.deliver(), [Kind::Migrate]);
    sites.drop_post();
    assert_eq!(sites.owners(), [1]);
    sites.tick_to(14 + 10 + 8); // the wait has doubled
    assert_eq!(sites.deliver(), [Kind::Migrate]);
    assert_eq!(sites.deliver(), [Kind::Done]);
    assert_eq!(sites.seen, [(0, "hold"), (1, "take in"), (0, "transferred")]);
    sites.check_entries();
}

#[test]
fn a_job_that_comes_unwanted_goes_back() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sent(&mut sites);
    sites.hosts[1] = Toy::BUSY;
    sites.restart(1, NegotiationSettings::default()); // its agreement is forgotten
    let migrate = sites.post[0].clone();
    assert_eq!(sites.deliver(), [Kind::Migrate]);
    sites.hosts[1] = Toy::IDLE;
    sites.post.push(migrate); // a double, and now there would be room: the verdict stays
    assert_eq!(sites.deliver(), [Kind::Returned, Kind::Migrate]);
    assert_eq!(sites.deliver(), [Kind::Returned]);
    assert_eq!(sites.seen, [(0, "hold"), (0, "release")]);
    assert_eq!(sites.owners(), [0]);
    sites.check_entries();
}

#[test]
fn tombstones_survive_crashes_and_go_when_they_are_settled() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sent(&mut sites);
    let late = sites.post[0].clone();
    sites.deliver();
    sites.deliver();
    sites.give(1, Input::Over(TICKET)); // it ran
    sites.restart(1, NegotiationSettings::default());
    sites.post.push(late.clone());
    sites.deliver();
    assert_eq!(sites.deliver(), [Kind::Done]);
    // Any later message from there says that the transfer is settled.
    let other =
        Arc::new(Parcel { ticket: Ticket { job: JobId(8), ..TICKET }, ..Parcel::clone(&parcel()) });
    sites.give(0, Input::Joined(other.ticket));
    sites.give(0, Input::PassOn(other, Preference::Better));
    sites.deliver();
    assert!(sites.all[1].durable().tombstones[&Peer(0)].closed.is_empty());
    sites.drop_post();
    sites.post.push(late);
    sites.deliver();
    assert!(sites.post.is_empty() && sites.owners().is_empty());
    sites.check_entries();
}

#[test]
fn a_restarted_origin_asks_about_what_is_in_doubt_and_hears_stale_answers_with_calm() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sent(&mut sites);
    let before = sites.drop_post();
    sites.restart(0, NegotiationSettings::default());
    assert_eq!(sites.post[0].body, before[0].body);
    sites.post.extend(before);
    sites.deliver();
    assert_eq!(sites.deliver(), [Kind::Done, Kind::Done]);
    assert_eq!(sites.seen, [(0, "hold"), (1, "take in"), (0, "transferred")]);
}

#[test]
fn a_search_does_not_survive_its_site() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
    sites.pass_on();
    sites.deliver();
    sites.restart(0, NegotiationSettings::default());
    assert_eq!(sites.deliver(), [Kind::Volunteer]);
    assert!(sites.post.is_empty() && !sites.all[0].asks_for(TICKET));
    sites.pass_on();
    while !sites.post.is_empty() {
        sites.deliver();
    }
    assert_eq!(sites.owners(), [1]);
}

#[test]
fn a_job_that_comes_back_while_its_first_journey_is_in_doubt_stays() {
    let settings = NegotiationSettings { hops: 2, ..NegotiationSettings::default() };
    let mut sites = Sites::new(&[Toy::IDLE, Toy::IDLE], settings);
    sent(&mut sites);
    sites.deliver();
    sites.drop_post(); // the Done
    let back = Arc::new(Parcel { hops: 1, ..Parcel::clone(&parcel()) });
    sites.give(1, Input::PassOn(back, Preference::Better));
    for _ in 0..6 {
        sites.deliver();
    }
    assert_eq!(sites.owners(), [0]);
    assert_eq!(sites.all[0].durable().handing.len(), 1);
    sites.tick_to(200);
    while !sites.post.is_empty() {
        sites.deliver();
    }
    assert_eq!(sites.owners(), [0]);
    assert!(sites.all.iter().all(|n| n.durable().handing.is_empty()));
    sites.check_entries();
}

#[test]
fn home_keeps_a_job_that_gains_nothing() {
    let mut sites = Sites::new(
        &[Toy { home: Some(18), ..Toy::BUSY }, Toy::IDLE],
        NegotiationSettings::default(),
    );
    sites.pass_on(); // the offer starts at 18, too
    sites.deliver();
    sites.deliver();
    assert!(sites.post.is_empty() && sites.owners() == [0]);
}

#[test]
fn what_costs_more_than_the_budget_is_no_offer() {
    let with = |budget| {
        let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], NegotiationSettings::default());
        let terms = tradewind_model::Terms { budget: Some(Money(budget)), ..Default::default() };
        let demand = Demand { terms: Some(Arc::new(terms)), ..Demand::new(4, Span(10)) };
        let parcel = Arc::new(Parcel { demand, ..Parcel::clone(&parcel()) });
        sites.give(0, Input::PassOn(parcel, Preference::Better));
        sites.deliver();
        sites.deliver();
        sites.post.len()
    };
    assert_eq!((with(9), with(10)), (0, 1));
}

/// A commit of another origin than site 0.
fn commit_of_another(sites: &Sites, volunteer: u32) -> Envelope {
    let ticket = Ticket { home: Peer(2), job: JobId(1) };
    let (inquiry, settled) = (Serial::default(), Serial::default());
    let offer = Offer { quote: quote(sites.now + 10, 1, 0), expires: Time(99) };
    let parcel = Arc::new(Parcel { ticket, ..Parcel::clone(&parcel()) });
    let body = Body::Commit { inquiry, parcel, offer, lead: Span(10) };
    Envelope { from: Peer(2), to: Peer(volunteer), settled, body }
}

#[test]
fn agreements_are_weighed_together_until_they_are_cancelled_or_expire() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE, Toy::BUSY], NegotiationSettings::default());
    sites.pass_on();
    sites.deliver();
    sites.deliver();
    sites.tick_to(4);
    assert_eq!(sites.deliver(), [Kind::Commit]);
    let answer = |sites: &mut Sites| {
        sites.drop_post();
        let commit = commit_of_another(sites, 1);
        sites.give(1, Input::Heard(commit));
        sites.post[0].body.kind()
    };
    assert_eq!(answer(&mut sites), Kind::Refused);
    sites.now = 5;
    sites.give(0, Input::Started(TICKET));
    sites.deliver();
    assert_eq!(answer(&mut sites), Kind::Accepted);
    assert_eq!(answer(&mut sites), Kind::Accepted); // the same again
    // Its own agreement expires when the job is long overdue.
    sites.now = 5 + 10 + NegotiationSettings::default().offer_life.0 + 1;
    let other = commit_of_another(&sites, 1);
    sites.give(1, Input::Heard(Envelope { from: Peer(0), ..other }));
    assert_eq!(sites.post.last().unwrap().body.kind(), Kind::Accepted);
}

#[test]
fn each_choice_has_its_order() {
    let offer = |start, price, load| Offer { quote: quote(start, price, load), expires: Time(9) };
    let offers = BTreeMap::from([
        (Peer(1), offer(5, 5, 1)),
        (Peer(2), offer(4, 9, 3)),
        (Peer(3), offer(9, 4, 2)),
        (Peer(4), offer(5, 5, 1)),
    ]);
    let best = |choose| choice::best(choose, &offers).unwrap().0;
    assert_eq!(best(Choose::Load), Peer(1));
    assert_eq!(best(Choose::Start), Peer(2));
    assert_eq!(best(Choose::Cost), Peer(3));
    let stated = |start, free, network_mb, slowdown| {
        let memory = SiteMemory { free_kib: u64::from(free) * 100 + network_mb, total_kib: 900 };
        let status = Some(SiteStatus { free, network_mb, slowdown, memory });
        Offer { quote: StartQuote { status, ..quote(start, 1, 0) }, expires: Time(9) }
    };
    let offers = BTreeMap::from([
        (Peer(1), stated(5, 8, 70, 1_500)),
        (Peer(2), stated(4, 8, 90, 1_000)),
        (Peer(3), stated(9, 2, 0, 1_001)),
    ]);
    let best = |choose| choice::best(choose, &offers).unwrap().0;
    assert_eq!(best(Choose::Free), Peer(2), "as free as another, and earlier");
    assert_eq!(best(Choose::Network), Peer(3));
    assert_eq!(best(Choose::Memory), Peer(2));
    assert_eq!(best(Choose::Slowdown), Peer(2));
}

#[test]
fn samples_are_distinct_and_leave_no_site_out_in_the_end() {
    let peers: Vec<Peer> = (0..10).map(Peer).collect();
    let mut rng = tradewind_model::random::stream(3, "test", 0);
    let mut asked = BTreeSet::new();
    for _ in 0..3 {
        let drawn = choice::sample(&mut rng, 4, &peers, &asked, Peer(5));
        assert!(!drawn.contains(&Peer(5)) && drawn.iter().all(|peer| asked.insert(*peer)));
    }
    assert_eq!(asked.len(), 9);
}

#[test]
fn a_sampled_search_goes_on_to_others() {
    let hosts = [Toy::BUSY, Toy::BUSY, Toy::BUSY, Toy::IDLE];
    let mut sites = Sites::new(&hosts, NegotiationSettings::sampling(1));
    sites.pass_on();
    let mut discovered = 0;
    for at in 1..200 {
        discovered += sites.deliver().iter().filter(|kind| **kind == Kind::Discover).count();
        sites.tick_to(at);
    }
    assert_eq!(sites.owners(), [3]);
    assert!(discovered <= 3);
}

#[test]
fn senseless_settings_are_refused() {
    let bad = |settings: NegotiationSettings| settings.checked().unwrap_err().to_string();
    assert!(
        NegotiationSettings::default().checked().is_ok()
            && NegotiationSettings::sampling(2).checked().is_ok()
    );
    assert_eq!(bad(NegotiationSettings::sampling(0)), "`discover` must be at least 1");
    assert_eq!(
        bad(NegotiationSettings { window: Span(0), ..NegotiationSettings::default() }),
        "`window` must be at least 1"
    );
    assert_eq!(
        bad(NegotiationSettings { hops: 0, ..NegotiationSettings::default() }),
        "`hops` must be at least 1"
    );
}
