//! Two and three sites, message by message.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{Demand, JobId, Money, Price, Span, Time};

use super::*;

/// A host that offers what it is told to.
#[derive(Debug, Clone, Copy)]
struct Toy {
    /// After arrival, and at what price and load; `None`: nothing.
    quote: Option<(i64, i64, u32)>,
    home: Option<i64>,
}

impl Toy {
    const IDLE: Toy = Toy { quote: Some((0, 1, 0)), home: None };
    const BUSY: Toy = Toy { quote: None, home: None };
}

fn quote(start: i64, price: i64, load: u32) -> Quote {
    Quote { start: Time(start), price: Price(price), cost: Money(price * 10), load }
}

impl Host for Toy {
    fn quote(&self, _: &Parcel, from: Time, _: Pledged) -> Option<Quote> {
        self.quote.map(|(wait, price, load)| quote(from.0 + wait, price, load))
    }

    fn at_home(&self, _: &Parcel) -> Option<Quote> {
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

fn arguments(me: u32, count: u32, settings: Settings) -> (Peer, Arc<[Peer]>, Settings, u64) {
    (Peer(me), (0..count).map(Peer).collect(), settings, 1)
}

impl Sites {
    fn new(hosts: &[Toy], settings: Settings) -> Sites {
        let count = hosts.len() as u32;
        let one = |me| {
            let (me, peers, settings, seed) = arguments(me, count, settings);
            Negotiator::new(me, peers, settings, seed)
        };
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
                Output::HandedOver { .. } => "handed over",
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
        self.give(0, Input::PassOn(parcel(), Wish::Better));
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

    fn restart(&mut self, site: usize, settings: Settings) {
        let mut out = vec![];
        let durable = self.all[site].durable().clone();
        let arguments = arguments(site as u32, self.all.len() as u32, settings);
        let (now, host) = (Time(self.now), self.hosts[site]);
        self.all[site] = Negotiator::restart(durable, arguments, now, &host, &mut out);
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
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], Settings::default());
    sites.pass_on();
    let mut said = vec![];
    while !sites.post.is_empty() {
        assert!(sites.owners().len() <= 1);
        said.extend(sites.deliver());
    }
    use Kind::*;
    assert_eq!(said, [Discover, Volunteer, Commit, Accepted, Migrate, Done]);
    assert_eq!(sites.seen, [(0, "hold"), (1, "take in"), (0, "handed over")]);
    assert_eq!(sites.owners(), [1]);
    assert_eq!(sites.all[0].due(), None);
    sites.check_entries();
}

#[test]
fn nobody_volunteers_and_the_job_is_left_alone_for_a_while() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::BUSY], Settings::default());
    sites.pass_on();
    assert_eq!(sites.deliver(), [Kind::Discover]);
    sites.tick_to(4);
    sites.pass_on();
    assert!(sites.post.is_empty() && sites.all[0].due().is_none());
    sites.tick_to(4 + Settings::default().pause.0);
    sites.pass_on();
    assert_eq!(sites.deliver(), [Kind::Discover]);
}

#[test]
fn a_job_that_must_go_is_asked_for_until_somebody_takes_it() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::BUSY], Settings::default());
    sites.give(0, Input::PassOn(parcel(), Wish::Must));
    for round in 1..20 {
        assert_eq!(sites.deliver(), [Kind::Discover]);
        sites.tick_to(round * 64);
    }
    sites.hosts[1] = Toy::IDLE;
    while !sites.post.is_empty() {
        sites.deliver();
    }
    assert_eq!(sites.owners(), [1]);
}

#[test]
fn a_start_at_home_ends_the_search_and_frees_the_volunteer() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], Settings::default());
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
    let settings = Settings { horizon: Span(100), choose: Choose::Start, ..Settings::default() };
    let second = Toy { quote: Some((5, 1, 0)), home: None };
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
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], Settings::default());
    sites.pass_on();
    sites.deliver();
    sites.deliver();
    sites.now = 31;
    assert_eq!(sites.deliver(), [Kind::Commit]);
    assert_eq!(sites.deliver(), [Kind::Refused]);
    assert_eq!(sites.owners(), [0]);
}

#[test]
fn a_dearer_price_at_the_commit_is_a_refusal() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], Settings::default());
    sites.pass_on();
    sites.deliver();
    sites.deliver();
    sites.hosts[1].quote = Some((0, 2, 0));
    sites.deliver();
    assert_eq!(sites.deliver(), [Kind::Refused]);
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
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], Settings::default());
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
    assert_eq!(sites.seen, [(0, "hold"), (1, "take in"), (0, "handed over")]);
    sites.check_entries();
}

#[test]
fn a_job_that_comes_unwanted_goes_back() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], Settings::default());
    sent(&mut sites);
    sites.hosts[1] = Toy::BUSY;
    sites.restart(1, Settings::default()); // its agreement is forgotten
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
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], Settings::default());
    sent(&mut sites);
    let late = sites.post[0].clone();
    sites.deliver();
    sites.deliver();
    sites.give(1, Input::Over(TICKET)); // it ran
    sites.restart(1, Settings::default());
    sites.post.push(late.clone());
    sites.deliver();
    assert_eq!(sites.deliver(), [Kind::Done]);
    // Any later message from there says that the transfer is settled.
    let other =
        Arc::new(Parcel { ticket: Ticket { job: JobId(8), ..TICKET }, ..Parcel::clone(&parcel()) });
    sites.give(0, Input::Joined(other.ticket));
    sites.give(0, Input::PassOn(other, Wish::Better));
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
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], Settings::default());
    sent(&mut sites);
    let before = sites.drop_post();
    sites.restart(0, Settings::default());
    assert_eq!(sites.post[0].body, before[0].body);
    sites.post.extend(before);
    sites.deliver();
    assert_eq!(sites.deliver(), [Kind::Done, Kind::Done]);
    assert_eq!(sites.seen, [(0, "hold"), (1, "take in"), (0, "handed over")]);
}

#[test]
fn a_search_does_not_survive_its_site() {
    let mut sites = Sites::new(&[Toy::BUSY, Toy::IDLE], Settings::default());
    sites.pass_on();
    sites.deliver();
    sites.restart(0, Settings::default());
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
    let settings = Settings { hops: 2, ..Settings::default() };
    let mut sites = Sites::new(&[Toy::IDLE, Toy::IDLE], settings);
    sent(&mut sites);
    sites.deliver();
    sites.drop_post(); // the Done
    let back = Arc::new(Parcel { hops: 1, ..Parcel::clone(&parcel()) });
    sites.give(1, Input::PassOn(back, Wish::Better));
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
    let mut sites =
        Sites::new(&[Toy { home: Some(18), ..Toy::BUSY }, Toy::IDLE], Settings::default());
    sites.pass_on(); // the offer starts at 18, too
    sites.deliver();
    sites.deliver();
    assert!(sites.post.is_empty() && sites.owners() == [0]);
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
}

#[test]
fn samples_are_distinct_and_leave_nobody_out_in_the_end() {
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
    let mut sites = Sites::new(&hosts, Settings::sampling(1));
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
    let bad = |settings: Settings| settings.checked().unwrap_err().to_string();
    assert!(Settings::default().checked().is_ok() && Settings::sampling(2).checked().is_ok());
    assert_eq!(bad(Settings::sampling(0)), "`discover` must be at least 1");
    assert_eq!(
        bad(Settings { window: Span(0), ..Settings::default() }),
        "`window` must be at least 1"
    );
    assert_eq!(bad(Settings { hops: 0, ..Settings::default() }), "`hops` must be at least 1");
}
