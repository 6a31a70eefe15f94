//! A market among peers that lie: what is lost is bounded, and it is known by whom.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use tradewind_io::submission::PeerChoice;
use tradewind_sched::negotiation::{Offer, Serial, StartQuote};

use super::*;
use crate::live::peers::{PeerLimits, PeerOutput, Receipts, StatusQuery};
use crate::live::state::jobs::RemoteProgress;

/// What a peer does with the jobs that it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    /// Accepts jobs, and does not confirm that they arrived.
    Swallows,
    /// Says that they run, for ever.
    RunsForEver,
    /// Says that they began just now, whenever it is asked.
    AlwaysBeginsNow,
    /// Says that they wait, for ever.
    NeverStarts,
    /// Says that they began in a hundred years.
    StartsInFuture,
    /// Says that they ended, and not when they began.
    EndsWithoutStart,
    /// Says that they ended before they were passed on.
    EndsBefore,
    /// Takes the whole price for nothing.
    Overcharges,
    /// Says that they reached their limit at once.
    TimesOut,
    /// Does not know them.
    Forgets,
    /// Loses them.
    Loses,
    /// Says that they ran, and has no output.
    HasNoOutput,
    /// Gives them back.
    Returns,
}

const LIES: [Lie; 13] = [
    Lie::Swallows,
    Lie::RunsForEver,
    Lie::AlwaysBeginsNow,
    Lie::NeverStarts,
    Lie::StartsInFuture,
    Lie::EndsWithoutStart,
    Lie::EndsBefore,
    Lie::Overcharges,
    Lie::TimesOut,
    Lie::Forgets,
    Lie::Loses,
    Lie::HasNoOutput,
    Lie::Returns,
];

/// What the peer may have at once.
const LIMITS: PeerLimits = PeerLimits {
    max_jobs: 5,
    max_doubt: 2,
    max_held: Money(40_000_000_000),
    min_standing: 500,
    receipts: Receipts::Unasked,
};
const JOBS: u64 = 20;
const LIMIT: Span = Span(600);

struct World {
    limits: PeerLimits,
    home: Live,
    now: Time,
    rng: Pcg64Mcg,
    /// What it does; of each job something else if there is none.
    lie: Option<Lie>,
    /// Letters to the market.
    post: VecDeque<MessageBody>,
    /// By job: what is done with it, and when it came.
    has: BTreeMap<u64, (Lie, Time)>,
}

impl World {
    fn new(seed: u64, lie: Option<Lie>, on_lost: OnLost) -> World {
        World::of(LIMITS, seed, lie, on_lost)
    }

    fn of(limits: PeerLimits, seed: u64, lie: Option<Lie>, on_lost: OnLost) -> World {
        let settings = Settings {
            peers: vec!["b".to_owned()],
            peer_limits: BTreeMap::from([("b".to_owned(), limits)]),
            ..Settings::default()
        };
        let state = live(0, 1).state().clone();
        let home = Live::begin(state, settings, Arc::new(Easy), "easy", DAWN).unwrap().0;
        let rng = Pcg64Mcg::seed_from_u64(seed);
        let (post, has) = (VecDeque::new(), BTreeMap::new());
        let mut world = World { limits, home, now: DAWN, rng, lie, post, has };
        let actor = Actor { user: "ana".to_owned(), role: Role::User };
        for _ in 0..JOBS {
            // No nodes at home suit it.
            let time = TimeLimit::one(LIMIT).counted_by(Times::Wall);
            let submission = Arc::new(Submission { on_lost, time, ..job(3) });
            let ask = Ask::Submit { submission, key: None, quote: None };
            world.step(Input::Asked { actor: actor.clone(), ask });
        }
        world
    }

    fn step(&mut self, input: Input) {
        let Step { answer, mut letters, .. } = self.home.step(self.now, input).unwrap();
        assert!(!matches!(answer, Some(Err(_))), "{answer:?}");
        while self.home.is_due(self.now) {
            letters.extend(self.home.plan(self.now).unwrap().letters);
        }
        for (_, letter) in letters {
            self.answer(letter.word);
        }
        self.check();
    }

    /// The peer is always ready, at once and for little.
    fn answer(&mut self, word: MessageBody) {
        let quote = StartQuote {
            start: self.now,
            price: Price(1_000),
            cost: Money(3_000_000_000),
            load: 0,
            status: None,
        };
        let offer = Offer { quote, expires: self.now + Span(60) };
        match word {
            MessageBody::Discover { inquiry, .. } => {
                self.post.push_back(MessageBody::Volunteer { inquiry, offer });
            }
            MessageBody::Commit { inquiry, offer, .. } => {
                self.post.push_back(MessageBody::Accepted { inquiry, offer });
            }
            MessageBody::Migrate { transfer, job, .. } => {
                let drawn = LIES[self.rng.random_range(0..LIES.len())];
                let lie = self.lie.unwrap_or(drawn);
                let has = self.has.entry(u64::from(job.job)).or_insert((lie, self.now));
                if has.0 != Lie::Swallows {
                    *has = (lie, self.now);
                    self.post.push_back(MessageBody::Done { transfer });
                }
            }
            _ => {}
        }
    }

    fn report(&self, wanted: &StatusQuery) -> RemoteStatus {
        let Some((lie, came)) = self.has.get(&wanted.job).copied() else {
            return RemoteStatus::Unknown;
        };
        let there = |since: Option<Time>, finish: Option<Finish>, charged: i64| {
            let charged = Money(charged);
            let (nodes, receipt) = (Vec::new(), None);
            RemoteStatus::There(RemoteProgress { since, nodes, finish, charged, receipt })
        };
        let all = 3_000_000_000;
        match lie {
            Lie::Swallows | Lie::Forgets => RemoteStatus::Unknown,
            Lie::RunsForEver => there(Some(came), None, 0),
            Lie::AlwaysBeginsNow => there(Some(self.now), None, 0),
            Lie::NeverStarts => there(None, None, 0),
            Lie::StartsInFuture => there(Some(self.now + Span(3_000_000_000)), None, 0),
            Lie::EndsWithoutStart => there(None, Some(Finish::Completed), all),
            Lie::EndsBefore => there(Some(Time(5)), Some(Finish::Completed), all),
            Lie::Overcharges => there(Some(came), Some(Finish::Completed), all),
            Lie::TimesOut => there(Some(came), Some(Finish::Timeout), 1_000),
            Lie::Loses => there(Some(came), Some(Finish::NodeFail), all),
            Lie::HasNoOutput => there(Some(came), Some(Finish::Completed), 1_000),
            Lie::Returns => RemoteStatus::Back("no".to_owned()),
        }
    }

    fn pass(&mut self, by: Span) {
        self.now = self.now + by;
        self.step(Input::Tick);
        for _ in 0..200 {
            let Some(word) = self.post.pop_front() else { break };
            let (market, sent) = ("liars".to_owned(), self.now);
            let letters = vec![PeerMessage { settled: Serial::default(), word }];
            let actor = Actor { user: "b".to_owned(), role: Role::Peer };
            self.step(Input::Asked { actor, ask: Ask::Letters { market, sent, letters } });
        }
        for (peer, wanted) in self.home.wanted() {
            let report = |it: &StatusQuery| StatusReport {
                job: it.job,
                transfer: it.transfer,
                fate: self.report(it),
            };
            let reports: Vec<StatusReport> = wanted.iter().map(report).collect();
            let hides = |it: &&StatusReport| {
                self.has.get(&it.job).is_some_and(|(lie, _)| *lie == Lie::HasNoOutput)
            };
            let outputs = reports.iter().filter(hides).map(|it| (it.job, PeerOutput::Unknown));
            let outputs = outputs.collect();
            self.step(Input::Reported { peer, reports, outputs });
        }
    }

    /// At all times no more is there than may be.
    fn check(&self) {
        let state = self.home.state();
        assert_eq!(state.accounts().sum(), 0);
        let there = |phase: Phase<'_>| state.jobs.values().filter(|it| it.phase() == phase).count();
        let (away, doubt) = (there(Phase::Away), there(Phase::Handing));
        assert!(
            away + doubt <= self.limits.max_jobs && doubt <= self.limits.max_doubt,
            "{away} {doubt}"
        );
        let held: i128 = state.accounts().held().map(|(_, held)| held).sum();
        assert!(held <= i128::from(self.limits.max_held.0), "{held}");
    }

    fn earned(&self) -> i128 {
        let account = Account::Peer("b".to_owned());
        let grant = i128::from(self.home.settings().new_user_grant.0);
        self.home.state().accounts().balance(&account) - grant
    }

    /// Jobs whose users have lost something: a run, or the certainty that there was none.
    fn lost(&self) -> usize {
        let harmed = |job: &&crate::live::state::Job| {
            matches!(
                job.phase(),
                Phase::Over(_) | Phase::Away | Phase::Handing | Phase::Held(JobHold::Lost)
            )
        };
        self.home.state().jobs.values().filter(harmed).count()
    }
}

#[test]
fn what_a_liar_costs_is_at_most_what_it_may_have_at_once() {
    let mixed = [None; 4];
    for (seed, lie) in LIES.into_iter().map(Some).chain(mixed).enumerate() {
        let on_lost = [OnLost::Fail, OnLost::Rerun, OnLost::Hold][seed % 3];
        let mut world = World::new(seed as u64, lie, on_lost);
        // Four hours.
        (0..360).for_each(|_| world.pass(Span(40)));
        let standing = world.home.state().peers.directory[&Peer(1)].standing.unwrap_or_default();
        let lost = world.lost();
        assert!(lost <= LIMITS.max_jobs, "{lie:?}: {lost} jobs");
        assert!(world.earned() == 0, "{lie:?}: {} micro-credits", world.earned());
        assert_eq!(standing.kept, 0, "{lie:?}");
        match lie {
            // No offer was broken in the sight of the market: these are no ends.
            Some(Lie::Swallows | Lie::Returns) => assert_eq!(standing.broken, 0, "{lie:?}"),
            _ => assert!(standing.broken > 1, "{lie:?}: {standing:?}"),
        }
        let silent = world.home.state().jobs.values().filter(|job| job.phase() == Phase::Away);
        assert_eq!(silent.count(), 0, "{lie:?}: jobs are there for ever");
    }
}

/// Two jobs at the peer hold nearly all that may be held for it, and it may have five jobs.
#[test]
fn what_jobs_at_a_peer_may_cost_is_bounded() {
    let limits = PeerLimits { max_held: Money(7_000_000_000), ..LIMITS };
    let mut world = World::of(limits, 0, Some(Lie::RunsForEver), OnLost::Fail);
    (0..20).for_each(|_| world.pass(Span(15)));
    let away = world.home.state().jobs.values().filter(|job| job.phase() == Phase::Away);
    assert_eq!(away.count(), 2);
}

#[test]
fn a_user_says_which_peers_may_have_a_job() {
    let name = |name: &str| vec![name.to_owned()];
    for (peers, goes) in [
        (None, true),
        (Some(PeerChoice::Only(name("b"))), true),
        (Some(PeerChoice::Only(name("vega"))), false),
        (Some(PeerChoice::Not(name("b"))), false),
        (Some(PeerChoice::Not(name("vega"))), true),
    ] {
        let mut world = World::new(0, Some(Lie::RunsForEver), OnLost::Fail);
        for number in 1..=JOBS {
            let actor = Actor { user: "ana".to_owned(), role: Role::User };
            world.step(Input::Asked { actor, ask: Ask::Cancel { job: number } });
        }
        (0..20).for_each(|_| world.pass(Span(15)));
        world.has.clear();
        let terms = Conditions { peers: peers.clone(), ..Conditions::default() };
        let submission = Arc::new(Submission { terms, ..job(3) });
        let actor = Actor { user: "ana".to_owned(), role: Role::User };
        let ask = Ask::Submit { submission, key: None, quote: None };
        world.step(Input::Asked { actor, ask });
        (0..20).for_each(|_| world.pass(Span(1)));
        assert_eq!(world.has.contains_key(&(JOBS + 1)), goes, "{peers:?}");
    }
}
