mod checks;
mod fast;
mod liars;
mod paper;
mod receipts;
mod silent;
mod volunteers;
mod wide;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tradewind_io::submission::{Conditions, OnLost, Submission, TimeLimit, Work};
use tradewind_model::{
    Admission, Attributes, Money, Performance, Pool, Pools, Price, Site, SiteId, Span, Time, Times,
};
use tradewind_sched::negotiation::Peer;
use tradewind_sched::policy::{Policy, gridfill};

use super::{MessageBody, PeerMessage, RemoteStatus, StatusReport};
use crate::live::money::Account;
use crate::live::record::MarketRecord;
use crate::live::rights::{Actor, Role};
use crate::live::state::{Finish, JobHold, Phase};
use crate::live::{
    Act, Ask, Input, Live, Make, Record, Refusal, RefusalKind, Reply, Settings, State, Step,
};
use crate::site::{PoolSurvey, SiteError, Survey, Tag};

#[derive(Debug)]
struct Easy;

impl Make for Easy {
    fn make(&self, _: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        Ok(Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default())))
    }
}

const DAWN: Time = Time(1_800_000_000);

/// Two markets, `a` with one node and `b` with four, and the letters between them.
struct Pair {
    lives: [Live; 2],
    post: VecDeque<(usize, PeerMessage)>,
    now: Time,
}

fn live(place: usize, nodes: u32) -> Live {
    live_of(place, nodes, Performance::REFERENCE)
}

fn live_of(place: usize, nodes: u32, performance: Performance) -> Live {
    let pool = Pool {
        name: "s/x".to_owned(),
        site: SiteId(0),
        nodes,
        performance,
        price: Price(1_000_000),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let pools = Pools::new(vec![Site { name: "s".to_owned() }], vec![pool]).unwrap();
    let mut state = State::empty(DAWN);
    let first = [
        Record::Market(MarketRecord::Created { market: format!("m{place}") }),
        Record::Market(MarketRecord::Gridded {
            pools: Arc::new(pools),
            owners: vec!["o".to_owned()],
        }),
    ];
    first.iter().for_each(|record| state.apply(DAWN, record).unwrap());
    let peers = vec![["b", "a"][place].to_owned()];
    let settings = Settings { peers, ..Settings::default() };
    Live::begin(state, settings, Arc::new(Easy), "easy", DAWN).unwrap().0
}

fn job(tasks: u32) -> Submission {
    Submission::new(
        "t",
        Work::Command(vec!["secret".to_owned()]),
        tasks,
        TimeLimit::Reference(Span(100)),
    )
}

fn peer(place: usize) -> Actor {
    Actor { user: ["a", "b"][place].to_owned(), role: Role::Peer }
}

impl Pair {
    fn new() -> Pair {
        Pair { lives: [live(0, 1), live(1, 4)], post: VecDeque::new(), now: DAWN }
    }

    fn step(&mut self, at: usize, input: Input) -> Option<Result<Reply, Refusal>> {
        let live = &mut self.lives[at];
        let step = live.step(self.now, input).unwrap();
        let Step { answer, mut letters, .. } = step;
        while live.is_due(self.now) {
            letters.extend(live.plan(self.now).unwrap().letters);
        }
        assert_eq!(live.state().accounts().sum(), 0);
        self.post.extend(letters.into_iter().map(|(_, letter)| (1 - at, letter)));
        answer
    }

    fn ask(&mut self, at: usize, actor: Actor, ask: Ask) -> Result<Reply, Refusal> {
        self.step(at, Input::Asked { actor, ask }).unwrap()
    }

    fn submit(&mut self, submission: Submission) -> Result<Reply, Refusal> {
        let actor = Actor { user: "ana".to_owned(), role: Role::User };
        let submission = Arc::new(submission);
        self.ask(0, actor, Ask::Submit { submission, key: None, quote: None })
    }

    /// Everything that is said, until there is nothing to say.
    fn talk(&mut self) {
        while let Some((to, letter)) = self.post.pop_front() {
            let (market, sent) = (format!("m{}", 1 - to), self.now);
            let ask = Ask::Letters { market, sent, letters: vec![letter] };
            self.ask(to, peer(1 - to), ask).unwrap();
        }
    }

    fn pass(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.now = self.now + Span(1);
            (0..2).for_each(|at| drop(self.step(at, Input::Tick)));
            self.talk();
        }
    }

    fn phase(&self, at: usize, job: u64) -> Phase<'_> {
        self.lives[at].state().jobs[&job].phase()
    }

    /// What `b` says of `a`'s jobs.
    fn reports(&mut self) -> Vec<StatusReport> {
        let wanted = self.lives[0].wanted().remove(&Peer(1)).unwrap_or_default();
        let ask = Ask::Report { market: "m0".to_owned(), wanted };
        match self.ask(1, peer(0), ask) {
            Ok(Reply::Reports(reports)) => reports,
            other => panic!("{other:?}"),
        }
    }

    fn hear(&mut self, reports: &[StatusReport]) {
        let (peer, reports) = (Peer(1), reports.to_vec());
        self.step(0, Input::Reported { peer, reports, outputs: BTreeMap::new() });
    }

    /// The site of `b` will not run the task.
    fn refuse(&mut self, tag: &Tag) {
        for (act, answer) in
            [(Act::Submit, Err(SiteError::Refused("no".to_owned()))), (Act::Withdraw, Ok(()))]
        {
            self.step(1, Input::Answered { tag: tag.clone(), act, answer });
        }
        let pools = vec![PoolSurvey { up: 4, ..PoolSurvey::default() }];
        let survey = Survey { pools, ..Survey::default() };
        self.step(1, Input::Surveyed { site: SiteId(0), survey: Ok(survey) });
    }

    /// What the market has to tell its site.
    fn tags(&self, at: usize) -> Vec<Tag> {
        self.lives[at].orders(|_, _| false).into_iter().map(|order| order.tag).collect()
    }
}

#[test]
fn a_job_that_no_nodes_suit_goes_to_a_peer_that_has_some() {
    let mut pair = Pair::new();
    pair.submit(job(3)).unwrap();
    assert_eq!(pair.phase(0, 1), Phase::Held(&JobHold::Nowhere));
    let asked = pair.post.iter().find_map(|(_, letter)| letter.word.job().cloned());
    let untold = Work::Command(vec!["untold".to_owned()]);
    assert_eq!(asked.unwrap().submission.work, untold, "what runs must not be known yet");
    pair.talk();
    pair.pass(3);
    assert_eq!(pair.phase(0, 1), Phase::Away);
    let held = pair.lives[0].state().accounts().balance(&Account::Held(1));
    assert_eq!(held, 3 * 100 * 1_000_000);
    let guest = &pair.lives[1].state().jobs[&1];
    assert_eq!((guest.user.as_str(), &guest.payer()), ("ana@a", &Account::Peer("a".to_owned())));
    assert_eq!(guest.submission.work, job(3).work);
    assert_eq!(guest.submission.terms.budget, Some(Money(3 * 100 * 1_000_000)));
    assert_eq!(pair.tags(1).len(), 1);
}

#[test]
fn jobs_that_are_to_stay_at_home_stay() {
    let mut pair = Pair::new();
    let home = |tasks| Submission { stay_home: true, ..job(tasks) };
    assert_eq!(pair.submit(home(3)).unwrap_err().kind, RefusalKind::Invalid);
    pair.submit(job(1)).unwrap();
    pair.submit(home(1)).unwrap();
    pair.pass(10);
    assert_eq!((pair.phase(0, 1), pair.phase(0, 2)), (Phase::Running, Phase::Waiting));
    pair.submit(job(1)).unwrap();
    pair.pass(5);
    assert_eq!(pair.phase(0, 3), Phase::Away);
}

#[test]
fn answers_about_an_earlier_hand_over_mean_nothing() {
    let mut pair = Pair::new();
    pair.submit(job(3)).unwrap();
    pair.talk();
    pair.pass(8);
    let tag = pair.tags(1).remove(0);
    pair.refuse(&tag);
    let old = pair.reports();
    assert!(matches!(&old[0].fate, RemoteStatus::Back(why) if why == "no"), "{old:?}");
    pair.hear(&old);
    assert!(matches!(pair.phase(0, 1), Phase::Held(JobHold::Nowhere)));
    assert_eq!(pair.lives[0].state().accounts().balance(&Account::Held(1)), 0);
    pair.pass(8);
    assert_eq!((pair.phase(0, 1), pair.phase(1, 2)), (Phase::Away, Phase::Running));
    pair.hear(&old);
    assert_eq!(pair.phase(0, 1), Phase::Away, "it would run here, too");
    // A market that asks with the old hand-over gets the old answer, whatever is known of the new one.
    let mut wrong = pair.reports();
    wrong[0].transfer = old[0].transfer;
    wrong[0].fate = RemoteStatus::Unknown;
    pair.hear(&wrong);
    assert_eq!(pair.phase(0, 1), Phase::Away);
}

#[test]
fn a_wish_to_cancel_reaches_the_job_wherever_it_is() {
    let mut pair = Pair::new();
    pair.submit(job(3)).unwrap();
    while pair.phase(0, 1) != Phase::Handing {
        let Some((to, letter)) = pair.post.pop_front() else { break };
        let (market, sent) = (format!("m{}", 1 - to), pair.now);
        pair.ask(to, peer(1 - to), Ask::Letters { market, sent, letters: vec![letter] }).unwrap();
    }
    assert!(matches!(pair.post[0].1.word, MessageBody::Migrate { .. }));
    let ana = Actor { user: "ana".to_owned(), role: Role::User };
    assert_eq!(pair.ask(0, ana, Ask::Cancel { job: 1 }), Ok(Reply::Done));
    assert_eq!(pair.phase(0, 1), Phase::Handing, "it is not known which market has it");
    pair.talk();
    let reports = pair.reports();
    pair.hear(&reports);
    assert_eq!(pair.phase(0, 1), Phase::Away, "its site has not said that it stopped");
    let tag = pair.tags(1).remove(0);
    pair.refuse(&tag);
    let reports = pair.reports();
    pair.hear(&reports);
    assert_eq!(pair.phase(0, 1), Phase::Over(&Finish::Cancelled));
    assert_eq!(pair.lives[0].state().accounts().balance(&Account::Held(1)), 0);
}

#[test]
fn a_job_that_its_peer_does_not_know_is_lost() {
    let mut pair = Pair::new();
    pair.submit(job(3)).unwrap();
    pair.talk();
    assert_eq!(pair.phase(0, 1), Phase::Away);
    pair.lives[1] = live(1, 4); // a backup of before
    let reports = pair.reports();
    assert_eq!(reports[0].fate, RemoteStatus::Unknown);
    pair.hear(&reports);
    assert_eq!(pair.phase(0, 1), Phase::Over(&Finish::NodeFail));
}

#[test]
fn only_a_peer_is_heard_and_only_as_the_market_that_it_was() {
    let mut pair = Pair::new();
    let letters = |market: &str| {
        let market = market.to_owned();
        Ask::Letters { market, sent: DAWN, letters: vec![] }
    };
    let kind = |answer: Result<Reply, Refusal>| answer.map_err(|refusal| refusal.kind);
    let user = Actor { user: "a".to_owned(), role: Role::User };
    assert_eq!(kind(pair.ask(1, user, letters("m0"))), Err(RefusalKind::Forbidden));
    let stranger = Actor { user: "x".to_owned(), role: Role::Peer };
    assert_eq!(kind(pair.ask(1, stranger, letters("m0"))), Err(RefusalKind::Forbidden));
    assert_eq!(kind(pair.ask(1, peer(0), letters("m1"))), Err(RefusalKind::Conflict));
    assert_eq!(kind(pair.ask(1, peer(0), letters("m0"))), Ok(Reply::Done));
    assert_eq!(kind(pair.ask(1, peer(0), letters("m7"))), Err(RefusalKind::Conflict));
    let submit = Ask::Submit { submission: Arc::new(job(1)), key: None, quote: None };
    assert_eq!(kind(pair.ask(1, peer(0), submit)), Err(RefusalKind::Forbidden));
}
