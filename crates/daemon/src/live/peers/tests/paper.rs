//! Live markets under the paper's mechanism (004) decide as the simulator does: the same submissions go
//! to one simulated grid, and to live markets that exchange real letters, and every message that
//! arrives and every start is compared. Times are virtual: a network that takes as long as the
//! simulated one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tradewind_model::random;
use tradewind_sched::negotiation::{self, Choose, Serial};
use tradewind_sched::policy::autonomous::{AutonomousSites, Links};
use tradewind_sched::policy::multiqueue::{self, MultiQueue, Overflow};

use self::grid::{Asked, Order, Plan, Told, body_of, line, serial_of, simulated};
use super::*;
use crate::codec::peers::{PROTOCOL, Post};
use crate::live::state::Job;
use crate::site::{Exit, Seen};

#[path = "../../../../tests/paper/mod.rs"]
mod grid;

type Pcg = rand_pcg::Pcg64Mcg;

impl Plan {
    fn draw(seed: u64) -> Plan {
        let mut rng: Pcg = random::stream(seed, "paper", 0);
        let mut within = |low, high| random::within(&mut rng, low, high);
        let sites: Vec<_> = (0..3)
            .map(|_| {
                let speed = [1_000, 2_000, 1_500][within(0, 2) as usize];
                (within(2, 12) as u32, speed, within(0, 9) * 1_000)
            })
            .collect();
        let widest = i64::from(sites.iter().map(|site| site.0).max().unwrap());
        let mut jobs: Vec<Asked> = (0..within(20, 60))
            .map(|_| {
                let limit = within(1, 200);
                let run = within(1, limit);
                // The first market gets most of them, some wider than it is.
                Asked {
                    home: [0, 0, 0, 1, 2][within(0, 4) as usize],
                    submit: DAWN + Span(within(1, 600)),
                    run: Span(run),
                    tasks: within(1, widest) as u32,
                    limit: Span(limit),
                }
            })
            .collect();
        jobs.sort_by_key(|job| job.submit);
        // In one second the order at the different markets is not the same everywhere.
        for place in 1..jobs.len() {
            jobs[place].submit = jobs[place].submit.max(jobs[place - 1].submit + Span(1));
        }
        let alpha = [100, 300, 1_000][within(0, 2) as usize];
        let queues = multiqueue::MultiQueueSettings::new(alpha, within(1, 5) as u32).unwrap();
        let queues = queues.with_patience([None, Some(3), Some(256)][within(0, 2) as usize]);
        let overflow = [Overflow::Queue, Overflow::Migrate][within(0, 1) as usize];
        let choose = Choose::ALL[within(0, 2) as usize].0;
        Plan {
            sites,
            jobs,
            queues: multiqueue::MultiQueueSettings { overflow, ..queues.unwrap() },
            negotiation: negotiation::NegotiationSettings {
                choose,
                horizon: Span(within(-20, 30).max(0)),
                ..negotiation::NegotiationSettings::default()
            },
            links: Links { per_processor_mb: within(0, 30) as u64, ..Links::default() },
        }
    }
}

/// Makes the paper's policy, as `multi-queue` is made live.
#[derive(Debug)]
struct Paper(multiqueue::MultiQueueSettings, negotiation::NegotiationSettings, Links);

impl Make for Paper {
    fn make(&self, _: &str, pools: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        let Paper(queues, negotiation, links) = *self;
        let build = |pool: &Pool| Box::new(MultiQueue::new(pool.nodes, queues)) as Box<_>;
        Ok(Box::new(AutonomousSites::among_others(pools, (negotiation, links), build)))
    }
}

/// Live markets, and the network between them.
struct Markets<'a> {
    plan: &'a Plan,
    lives: Vec<Live>,
    now: Time,
    post: BTreeMap<(Order, u64), (Rc<PeerMessage>, usize, usize)>,
    sequence: u64,
    /// By market: which of the jobs its numbers are.
    names: Vec<BTreeMap<u64, usize>>,
    told: Told,
    heard: RefCell<Vec<String>>,
}

fn market(plan: &Plan, place: usize) -> Live {
    let site = Site { name: format!("s{place}") };
    let pools = Pools::new(vec![site], vec![plan.pool(place, SiteId(0))]).unwrap();
    let mut state = State::empty(DAWN);
    let owners = vec!["o".to_owned()];
    let first = [
        Record::Market(MarketRecord::Created { market: format!("m{place}") }),
        Record::Market(MarketRecord::Gridded { pools: Arc::new(pools), owners }),
    ];
    first.iter().for_each(|record| state.apply(DAWN, record).unwrap());
    let others = (0..plan.sites.len()).filter(|other| *other != place);
    let peers = others.map(|other| format!("p{other}")).collect();
    let settings = Settings { peers, ..Settings::default() };
    let maker = Arc::new(Paper(plan.queues, plan.negotiation, plan.links));
    Live::begin(state, settings, maker, "multi-queue", DAWN).unwrap().0
}

/// Which market a peer of this one is: it knows the others by 1, 2, … in their order.
fn other(me: usize, peer: Peer) -> usize {
    let place = peer.index() - 1;
    if place < me { place } else { place + 1 }
}

impl<'a> Markets<'a> {
    fn new(plan: &'a Plan) -> Markets<'a> {
        let count = plan.sites.len();
        Markets {
            plan,
            lives: (0..count).map(|place| market(plan, place)).collect(),
            now: DAWN,
            post: BTreeMap::new(),
            sequence: 0,
            names: vec![BTreeMap::new(); count],
            told: Told::default(),
            heard: RefCell::default(),
        }
    }

    fn step(&mut self, at: usize, input: Input) -> Option<Result<Reply, Refusal>> {
        let step = self.lives[at].step(self.now, input).unwrap();
        self.send(at, step.letters);
        step.answer
    }

    fn plan_all(&mut self, at: usize) {
        loop {
            let letters = self.lives[at].plan(self.now).unwrap().letters;
            self.send(at, letters);
            if !self.lives[at].is_due(self.now) {
                break;
            }
        }
        assert_eq!(self.lives[at].state().accounts().sum(), 0);
        self.note_starts(at);
    }

    /// Letters go as bytes, as between daemons.
    fn send(&mut self, from: usize, letters: Vec<(Peer, PeerMessage)>) {
        for (peer, letter) in letters {
            let to = other(from, peer);
            let (kind, serial) = head(&letter.word);
            let order = (self.now + self.plan.links.latency.1, to, from, kind, serial);
            self.post.insert((order, self.sequence), (Rc::new(letter), from, to));
            self.sequence += 1;
        }
    }

    fn name_of(&self, at: usize, job: &Job) -> usize {
        match &job.origin {
            Some(origin) => self.names[other(at, origin.peer)][&origin.job],
            None => self.names[at][&job.number],
        }
    }

    fn running(&self, at: usize) -> Vec<u64> {
        let jobs = self.lives[at].state().jobs.values();
        jobs.filter(|job| job.phase() == Phase::Running).map(|job| job.number).collect()
    }

    fn note_starts(&mut self, at: usize) {
        for number in self.running(at) {
            let name = self.name_of(at, &self.lives[at].state().jobs[&number]);
            self.told.starts.entry(name).or_insert((self.now, at));
        }
        for order in self.lives[at].orders(|_, _| false) {
            if order.act == Act::Submit {
                let input = Input::Answered { tag: order.tag, act: Act::Submit, answer: Ok(()) };
                self.step(at, input);
            }
        }
    }

    /// What the site of a market says: some jobs have ended.
    fn survey(&mut self, at: usize) {
        let pool = self.plan.pool(at, SiteId(0));
        let state = self.lives[at].state();
        let mut tasks = BTreeMap::new();
        let mut has_news = false;
        for number in self.running(at) {
            let job = &state.jobs[&number];
            let name = self.name_of(at, job);
            let since = self.told.starts[&name].0;
            let run = pool.length_in(tradewind_model::TimeMode::WORK, self.plan.jobs[name].run);
            let end = since + run;
            has_news |= end <= self.now;
            let seen = match end <= self.now {
                true => Seen::Ended { since: Some(since), at: end, exit: Exit::Code(0) },
                false => Seen::Running { since, nodes: vec![] },
            };
            tasks.insert(job.tag(&state.name, 0), seen);
        }
        if has_news {
            let pools = vec![PoolSurvey { up: pool.nodes, ..PoolSurvey::default() }];
            let survey = Survey { pools, tasks, ..Survey::default() };
            self.step(at, Input::Surveyed { site: SiteId(0), survey: Ok(survey) });
        }
    }

    fn submit(&mut self, name: usize) {
        let Asked { home, tasks, limit, .. } = self.plan.jobs[name];
        let time = TimeLimit::Reference(limit);
        let submission = Arc::new(Submission { time, ..job(tasks) });
        let actor = Actor { user: "ana".to_owned(), role: Role::User };
        let ask = Ask::Submit { submission, key: None, quote: None };
        self.step(home, Input::Asked { actor, ask }).unwrap().unwrap();
        let number = self.lives[home].state().last_job();
        self.names[home].insert(number, name);
    }

    fn deliver(&mut self) {
        while let Some(first) = self.post.first_entry().filter(|it| it.key().0.0 <= self.now) {
            let (letter, from, to) = first.remove();
            let letter = Rc::unwrap_or_clone(letter);
            let market = format!("m{from}");
            let post = Post { protocol: PROTOCOL, market, sent: self.now, letters: vec![letter] };
            let read = Post::read(serde_json::from_slice(&post.bytes()).unwrap()).unwrap();
            self.hear(from, to, &read.letters[0]);
            let Post { market, sent, letters, .. } = read;
            let actor = Actor { user: format!("p{from}"), role: Role::Peer };
            let ask = Ask::Letters { market, sent, letters };
            self.step(to, Input::Asked { actor, ask }).unwrap().unwrap();
            self.plan_all(to);
        }
    }

    fn hear(&self, from: usize, to: usize, letter: &PeerMessage) {
        let home = |number: u32| self.names[from][&u64::from(number)];
        let job = letter.word.job().map(|job| home(job.job));
        let body = body_of(&letter.word);
        self.heard.borrow_mut().push(line(self.now, (from, to), &body, job));
    }

    fn second(&mut self) {
        self.now = self.now + Span(1);
        for at in 0..self.lives.len() {
            self.survey(at);
            let due = self.plan.jobs.iter().enumerate();
            let due = due.filter(|(_, job)| job.submit == self.now && job.home == at);
            let due: Vec<usize> = due.map(|(name, _)| name).collect();
            due.into_iter().for_each(|name| self.submit(name));
            self.plan_all(at);
        }
        self.deliver();
        for at in 0..self.lives.len() {
            self.step(at, Input::Tick);
            self.plan_all(at);
        }
    }

    fn is_over(&self) -> bool {
        let busy = |at: usize| {
            let jobs = self.lives[at].state().jobs.values();
            let mut here = jobs.filter(|job| job.phase() != Phase::Away);
            here.any(|job| !matches!(job.phase(), Phase::Over(_)))
        };
        let last = self.plan.jobs.last().unwrap().submit;
        self.now > last && self.post.is_empty() && !(0..self.lives.len()).any(busy)
    }

    /// The homes ask what came of their jobs.
    fn ask_for_all(&mut self) {
        for at in 0..self.lives.len() {
            for (peer, wanted) in self.lives[at].wanted() {
                let there = other(at, peer);
                let actor = Actor { user: format!("p{at}"), role: Role::Peer };
                let ask = Ask::Report { market: format!("m{at}"), wanted };
                let answer = self.step(there, Input::Asked { actor, ask });
                let Some(Ok(Reply::Reports(reports))) = answer else { panic!("{answer:?}") };
                let outputs = BTreeMap::new();
                self.step(at, Input::Reported { peer, reports, outputs });
            }
        }
    }

    fn live(mut self) -> (Told, Vec<Live>) {
        for _ in 0..60_000 {
            if self.is_over() {
                break;
            }
            self.second();
        }
        self.ask_for_all();
        self.told.heard = self.heard.take();
        (self.told, self.lives)
    }
}

fn head(word: &MessageBody) -> (u8, Serial) {
    let body = body_of(word);
    (body.kind() as u8, serial_of(&body))
}

fn compare(plan: &Plan) -> (usize, usize) {
    let expected = simulated(plan);
    let (found, lives) = Markets::new(plan).live();
    let heard = expected.heard.iter().zip(&found.heard);
    if let Some(place) = heard.clone().position(|(one, two)| one != two) {
        let from = place.saturating_sub(12);
        let some = |heard: &[String]| heard[from..heard.len().min(place + 4)].join("\n");
        let (one, two) = (some(&expected.heard), some(&found.heard));
        panic!("message {place}: simulated\n{one}\nlive\n{two}");
    }
    assert_eq!(expected.heard.len(), found.heard.len());
    assert_eq!(expected.starts, found.starts, "the simulator's are first");
    for live in &lives {
        let jobs = live.state().jobs.values();
        let mut open = jobs.filter(|job| job.phase() != Phase::Over(&Finish::Completed));
        assert!(open.next().is_none());
        let standings = live.state().peers.directory.values().filter_map(|known| known.standing);
        assert!(standings.map(|standing| standing.broken).sum::<u64>() == 0);
    }
    let home = |job: &(&usize, &(Time, usize))| plan.jobs[*job.0].home != job.1.1;
    (found.heard.len(), found.starts.iter().filter(home).count())
}

#[test]
fn live_markets_decide_as_the_simulator() {
    let (mut messages, mut moved) = (0, 0);
    let more = std::env::var("TRADEWIND_PLANS").ok().and_then(|count| count.parse().ok());
    for seed in 0..more.unwrap_or(12) {
        let plan = Plan::draw(seed);
        println!("plan {seed}: {:?} {:?} {:?}", plan.sites, plan.queues, plan.negotiation.choose);
        let (heard, went) = compare(&plan);
        messages += heard;
        moved += went;
    }
    println!("{messages} messages and all starts are the simulator's; {moved} jobs moved");
    assert!(messages > 1_000 && moved > 50, "{messages} {moved}");
}
