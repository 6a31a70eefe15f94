//! The grid: markets, the network between them, and what goes wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use tradewind_daemon::live::peers::{MessageBody, PeerMessage, RemoteStatus, StatusReport};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{Job, Phase};
use tradewind_daemon::live::{Ask, Input, Reply};
use tradewind_daemon::site::Site as _;
use tradewind_daemon::site::fake::{self, InjectedFault, LocalJob};
use tradewind_daemon::store::memory::StoreFault as DiskFault;
use tradewind_io::submission::{Conditions, OnLost, Submission, Surroundings, TimeLimit};
use tradewind_model::{Money, Span, Time};
use tradewind_sched::negotiation::{Entry, Peer};

use crate::checks::{self, Broken, Root};
use crate::market::{DAWN, Market, name};
use crate::network::{Faults, Network, Packet, Post};

/// A mistake that is made on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A volunteer says that it has a job before that is written down.
    VerdictIsNotDurable,
    /// A home forgets that it let a job go.
    HandingIsNotDurable,
    /// A home learns that a job costs nothing.
    PaysNothing,
    /// Markets never ask what happened to their jobs.
    NeverAsks,
}

impl Mutant {
    /// All, with the checker that must catch it.
    pub(crate) const ALL: [(Mutant, &'static str); 4] = [
        (Mutant::VerdictIsNotDurable, "owner"),
        (Mutant::HandingIsNotDurable, "owner"),
        (Mutant::PaysNothing, "mirrored"),
        (Mutant::NeverAsks, "finished"),
    ];
}

/// Result of one run of the test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Went {
    pub(crate) jobs: u64,
    /// Jobs that were accepted.
    pub(crate) taken: u64,
    /// Jobs that came and were sent back at once.
    pub(crate) returned: u64,
    /// Jobs that went where they could not run after all.
    pub(crate) given_back: u64,
    /// Daemons that died while a job of theirs was in doubt.
    pub(crate) deaths_in_doubt: u64,
    pub(crate) deaths: u64,
}

impl Went {
    pub(crate) fn add(&mut self, other: &Went) {
        self.jobs += other.jobs;
        self.taken += other.taken;
        self.returned += other.returned;
        self.given_back += other.given_back;
        self.deaths_in_doubt += other.deaths_in_doubt;
        self.deaths += other.deaths;
    }
}

/// Of 1,000 steps, drawn once for each grid.
#[derive(Debug, Clone, Copy)]
struct Rates {
    site: u32,
    mood: u32,
    crash: u32,
    disk: u32,
    clock: u32,
    nodes: u32,
    owner: u32,
    cut: u32,
}

pub(crate) struct World {
    rng: Pcg64Mcg,
    rates: Rates,
    mutant: Option<Mutant>,
    now: Time,
    markets: Vec<Market>,
    network: Network,
    /// Of every job that was ever seen at a peer.
    roots: BTreeMap<Root, Root>,
    went: Went,
    /// Money may run out.
    poor: bool,
}

impl World {
    pub(crate) fn new(seed: u64, mutant: Option<Mutant>) -> World {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut rate = |max: u32| match rng.random_range(0..3) {
            0 => 0,
            _ => rng.random_range(0..=max),
        };
        let rates = Rates {
            site: rate(60),
            mood: rate(25),
            crash: rate(25),
            disk: rate(25),
            clock: rate(5),
            nodes: rate(20),
            owner: rate(30),
            cut: rate(8),
        };
        let faults = Faults { loss: rate(300), doubles: rate(300), late: i64::from(rate(12)) };
        let count = rng.random_range(2..4);
        let mut markets: Vec<Market> =
            (0..count).map(|place| Market::new(&mut rng, place, count)).collect();
        let poor = rng.random_range(0..3) == 0;
        for market in &mut markets {
            market.grant = Money(if poor { 1_500_000_000 } else { 1_000_000_000_000 });
            market.forgets = match mutant {
                Some(Mutant::VerdictIsNotDurable) => Some(|it| matches!(it, Entry::Took { .. })),
                Some(Mutant::HandingIsNotDurable) => Some(|it| matches!(it, Entry::Handing { .. })),
                _ => None,
            };
        }
        let network = Network { faults, ..Network::default() };
        let (roots, went) = (BTreeMap::new(), Went::default());
        World { rng, rates, mutant, now: DAWN, markets, network, roots, went, poor }
    }

    pub(crate) fn went(&self) -> Went {
        let mut went = self.went;
        for state in self.markets.iter().map(|market| &market.written) {
            went.jobs += state.jobs.values().filter(|job| job.origin.is_none()).count() as u64;
            went.taken += state.jobs.values().filter(|job| job.origin.is_some()).count() as u64;
        }
        went
    }

    /// All steps as text, for messages of failed tests.
    pub(crate) fn story(&self) -> String {
        let mut lines = Vec::new();
        for market in &self.markets {
            lines.push(format!("market {}, its clock off by {}", market.place, market.skew));
            for ran in market.site.history() {
                lines.push(format!("  {} from {}: {:?}", ran.tag, ran.since, ran.ended));
            }
            for job in market.written.jobs.values() {
                let origin = job.origin.as_ref().map(|it| (&it.name, it.job));
                lines.push(format!("  job {} of {origin:?}: {:?}", job.number, job.history));
            }
        }
        lines.join("\n")
    }

    fn chance(&mut self, of_thousand: u32) -> bool {
        self.rng.random_range(0..1_000) < of_thousand
    }

    fn any(&mut self) -> usize {
        self.rng.random_range(0..self.markets.len())
    }

    /// A time of faults.
    pub(crate) fn live_through(&mut self, steps: u32) -> Result<(), Broken> {
        for _ in 0..steps {
            self.misfortune();
            self.step()?;
        }
        Ok(())
    }

    fn misfortune(&mut self) {
        let one = self.any();
        if self.chance(self.rates.site) {
            let fault = match self.rng.random_range(0..6) {
                0 => InjectedFault::Away,
                1 => InjectedFault::Refused,
                2 => InjectedFault::LostBefore,
                3 => InjectedFault::LostAfter,
                4 => InjectedFault::Late(Span(self.rng.random_range(0..60))),
                _ => InjectedFault::Twice,
            };
            self.markets[one].site.plan(Some(fault));
        }
        if self.chance(self.rates.mood) {
            let mood = (self.rng.random_range(0..2) == 0).then_some(InjectedFault::Refused);
            self.markets[one].site.weather(mood);
        }
        if self.chance(self.rates.nodes) {
            let pool = self.rng.random_range(0..self.markets[one].site.pools().len());
            let node = self.rng.random_range(0..4);
            match self.rng.random_range(0..2) {
                0 => self.markets[one].site.break_node(pool, node),
                _ => self.markets[one].site.mend_node(pool, node),
            }
        }
        if self.chance(self.rates.owner) {
            let (from, shown) = (self.now, self.now);
            let length = Span(self.rng.random_range(1..100));
            let job = LocalJob { pool: 0, nodes: 1, shown, from, length };
            self.markets[one].site.set_local("q", job);
        }
        if self.chance(self.rates.clock) {
            self.markets[one].skew = Span(self.rng.random_range(-50..50));
        }
        if self.chance(self.rates.disk) {
            let faults = [DiskFault::Full, DiskFault::DiesBefore, DiskFault::DiesAfter];
            self.markets[one].disk.fail_next(faults[self.rng.random_range(0..3usize)]);
        }
        if self.chance(self.rates.crash) {
            self.went.deaths += 1;
            self.markets[one].die();
        }
        // Those who are in the middle of a hand-over die more often.
        if let Some((home, volunteer)) = self.doubt()
            && self.chance(self.rates.crash * 8)
        {
            self.went.deaths_in_doubt += 1;
            let dies = [home, volunteer][self.rng.random_range(0..2usize)];
            self.markets[dies].die();
        }
        if self.chance(self.rates.cut) {
            self.network.alone = match self.network.alone {
                Some(_) => None,
                None => Some(one),
            };
        }
    }

    /// Between whom a job is in doubt.
    fn doubt(&self) -> Option<(usize, usize)> {
        let of = |market: &Market| {
            let job = market.written.jobs.values().find(|job| job.phase() == Phase::Handing)?;
            Some((market.place, checks::place(&job.away()?.name)))
        };
        self.markets.iter().find_map(of)
    }

    /// One of the things that go on.
    fn step(&mut self) -> Result<(), Broken> {
        let one = self.any();
        if self.markets[one].daemon.is_none() {
            let letters = self.markets[one].start(self.now)?;
            self.send(one, letters);
            return self.check(one);
        }
        match self.rng.random_range(0..20) {
            0..3 => {
                let span = Span(self.rng.random_range(0..6));
                self.pass(span);
            }
            3..5 => drop(self.markets[one].talk()),
            5 => self.markets[one].look(),
            6..8 => self.wish(one)?,
            8..11 => {
                let letters = self.markets[one].take_in(self.now)?;
                self.send(one, letters);
                if self.chance(20) {
                    self.markets[one].keep_snapshot();
                }
            }
            11 => {
                let letters = self.markets[one].plan(self.now)?;
                self.send(one, letters);
            }
            12 => self.markets[one].instruct(self.now),
            13 => self.question(one),
            _ => self.deliver()?,
        }
        (0..self.markets.len()).try_for_each(|one| self.check(one))
    }

    fn pass(&mut self, span: Span) {
        self.now = self.now + span;
        let now = self.now;
        self.markets.iter_mut().for_each(|market| market.site.advance(now));
    }

    fn send(&mut self, from: usize, letters: Vec<(Peer, PeerMessage)>) {
        let sent = self.markets[from].clock(self.now);
        for (peer, letter) in letters {
            self.went.returned += u64::from(matches!(letter.word, MessageBody::Returned { .. }));
            let to = self.place_of(from, peer);
            let packet = Packet::Letters { sent, letters: vec![letter] };
            self.network.send(&mut self.rng, self.now, (from, to), &packet);
        }
    }

    fn place_of(&self, at: usize, peer: Peer) -> usize {
        let others = (0..self.markets.len()).filter(|other| *other != at);
        // Numbers are given in the order of the configuration.
        others.into_iter().nth(peer.0 as usize - 1).unwrap()
    }

    fn number_of(&self, at: usize, place: usize) -> Peer {
        let others = (0..self.markets.len()).filter(|other| *other != at);
        Peer(others.into_iter().position(|other| other == place).unwrap() as u32 + 1)
    }

    /// A market asks after its jobs.
    fn question(&mut self, from: usize) {
        if self.mutant == Some(Mutant::NeverAsks) {
            return;
        }
        let Some((live, _)) = &self.markets[from].daemon else { return };
        for (peer, wanted) in live.wanted() {
            let to = self.place_of(from, peer);
            let packet = Packet::Question(wanted);
            self.network.send(&mut self.rng, self.now, (from, to), &packet);
        }
    }

    fn deliver(&mut self) -> Result<(), Broken> {
        match self.network.take(&mut self.rng, self.now) {
            Some(post) => self.arrive(post),
            None => Ok(()),
        }
    }

    fn arrive(&mut self, Post { from, to, packet, .. }: Post) -> Result<(), Broken> {
        let actor = Actor { user: name(from), role: Role::Peer };
        let market = format!("m{from}");
        let ask = match packet {
            Packet::Letters { sent, letters } => Ask::Letters { market, sent, letters },
            Packet::Question(wanted) => Ask::Report { market, wanted },
            Packet::Answer(mut reports) => {
                let peer = self.number_of(to, from);
                if self.mutant == Some(Mutant::PaysNothing) {
                    reports.iter_mut().for_each(pays_nothing);
                }
                let outputs = BTreeMap::new();
                let input = Input::Reported { peer, reports, outputs };
                self.markets[to].inbox.push_back(input);
                return Ok(());
            }
        };
        let (answer, letters) = self.markets[to].ask(self.now, actor, ask)?;
        self.send(to, letters);
        if let Some(Ok(Reply::Reports(reports))) = answer {
            let back = reports.iter().filter(|it| matches!(it.fate, RemoteStatus::Back(_))).count();
            self.went.given_back += back as u64;
            let packet = Packet::Answer(reports);
            self.network.send(&mut self.rng, self.now, (to, from), &packet);
        } else if let Some(Err(refusal)) = answer {
            return Err(Broken { checker: "sound", what: refusal.to_string() });
        }
        Ok(())
    }

    /// A user sends a request to a market.
    fn wish(&mut self, one: usize) -> Result<(), Broken> {
        let last = self.markets[one].written.last_job();
        let administrator = Actor { user: "root".to_owned(), role: Role::Administrator };
        let number = self.rng.random_range(0..=last + 1);
        let own = self.markets[one].written.jobs.get(&number).is_none_or(|it| it.origin.is_none());
        let (actor, ask) = match self.rng.random_range(0..10) {
            // The owner of a market does not touch its peers' jobs: that would be no fault.
            0 if own => (administrator, Ask::Cancel { job: number }),
            1 if own => (administrator, Ask::Hold { job: number }),
            2 if own => (administrator, Ask::Release { job: number }),
            _ if last < 25 => {
                let user = ["ana", "bo"][self.rng.random_range(0..2usize)].to_owned();
                (Actor { user, role: Role::User }, self.submission())
            }
            _ => return Ok(()),
        };
        let (_, letters) = self.markets[one].ask(self.now, actor, ask)?;
        self.send(one, letters);
        Ok(())
    }

    fn submission(&mut self) -> Ask {
        let rng = &mut self.rng;
        let length = rng.random_range(1..80);
        let code = i32::from(rng.random_range(0..5) == 0);
        let budget =
            (rng.random_range(0..4) == 0).then(|| Money(rng.random_range(1..600) * 1_000_000));
        let on_lost = [OnLost::Fail, OnLost::Rerun, OnLost::Hold][rng.random_range(0..3usize)];
        let submission = Submission {
            name: "job".to_owned(),
            work: fake::work(Span(length), code),
            tasks: rng.random_range(1..6),
            shape: None,
            time: TimeLimit::Reference(Span(length + rng.random_range(0..40))),
            terms: Conditions { budget, ..Conditions::default() },
            project: None,
            surroundings: Surroundings::default(),
            after: vec![],
            array: None,
            held: false,
            on_lost,
            on_preempted: None,
            on_breach: None,
            mail: None,
            comment: None,
            quote: None,
            passed_through: vec![],
            gather: None,
            stay_home: false,
        };
        Ask::Submit { submission: Arc::new(submission), key: None, quote: None }
    }

    fn check(&mut self, one: usize) -> Result<(), Broken> {
        for job in self.markets[one].written.jobs.values().filter(|job| job.origin.is_some()) {
            self.roots.insert((one, job.number), checks::root(one, job));
        }
        checks::owner(&self.markets)?;
        let market = &self.markets[one];
        checks::money(market)?;
        checks::books(market)?;
        checks::replayed(market)
    }

    /// Faults end, and everything must finish.
    pub(crate) fn calm_down(&mut self) -> Result<(), Broken> {
        checks::once(&self.markets, &self.roots)?;
        self.network.alone = None;
        self.network.faults = Faults::default();
        for market in &mut self.markets {
            market.skew = Span(0);
            market.site.weather(None);
            for pool in 0..market.site.pools().len() {
                (0..4).for_each(|node| market.site.mend_node(pool, node));
            }
            market.site.end_local("q");
        }
        let mut last = Ok(());
        for _ in 0..1_500 {
            self.round()?;
            last = checks::finished(&self.markets, |job| self.is_hopeless(job));
            if last.is_ok() {
                checks::once(&self.markets, &self.roots)?;
                checks::told(&self.markets)?;
                return checks::mirrored(&self.markets);
            }
        }
        last
    }

    /// Whether no market can run it for what its user, or its home, has there.
    fn is_hopeless(&self, job: &Job) -> bool {
        // Under the paper's mechanism each pool is a site.
        let nodes = |market: &Market| match market.written.policy.as_str() {
            "easy" => market.written.market.processors(),
            _ => {
                let pools = market.written.market.pools().as_slice();
                pools.iter().map(|pool| pool.nodes).max().unwrap_or(0)
            }
        };
        let wide = self.markets.iter().all(|market| nodes(market) < job.submission.tasks);
        wide || job.submission.terms.budget.is_some() || self.poor
    }

    /// Some seconds in which everything goes on.
    fn round(&mut self) -> Result<(), Broken> {
        self.pass(Span(3));
        for one in 0..self.markets.len() {
            if self.markets[one].daemon.is_none() {
                let letters = self.markets[one].start(self.now)?;
                self.send(one, letters);
            }
            while self.markets[one].talk() {}
            self.markets[one].look();
            self.question(one);
        }
        for _ in 0..4 {
            for one in 0..self.markets.len() {
                let letters = self.markets[one].take_in(self.now)?;
                self.send(one, letters);
                let letters = self.markets[one].plan(self.now)?;
                self.send(one, letters);
                self.markets[one].instruct(self.now);
            }
            for _ in 0..self.network.posts.len() {
                self.deliver()?;
            }
        }
        (0..self.markets.len()).try_for_each(|one| self.check(one))
    }
}

fn pays_nothing(report: &mut StatusReport) {
    if let RemoteStatus::There(news) = &mut report.fate {
        news.charged = Money(0);
    }
}
