//! Three daemons under the paper's mechanism (004), in real time: the same submissions and ends go to
//! the simulator, and every message and every start is compared.
//!
//! A job runs until the test ends it, so hours of a schedule are seconds here. The next submission or end
//! comes when all is quiet, so that no delay changes what precedes what. The simulator gets the
//! moments at which daemons saw submissions and ends. What may differ is named: moments within the time
//! between two of these events, and how often a message was sent.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};
use tradewind_daemon::codec::peers::Post;
use tradewind_model::{Span, Time};
use tradewind_sched::negotiation::{Choose, NegotiationSettings};
use tradewind_sched::policy::autonomous::Links;
use tradewind_sched::policy::multiqueue::{self, Overflow};

use super::Market;
use super::grid::{APART, Asked, DAWN, Plan, Told, body_of, deal, simulated};
use super::sniffer;

const NAMES: [&str; 3] = ["a", "b", "c"];
/// Nodes and price of each market, in micro-credits per node and second.
const SITES: [(u32, i64); 3] = [(2, 3_000), (3, 2_000), (4, 1_000)];
const PRICES: [&str; 3] = ["0.003", "0.002", "0.001"];
const POLICY: &str =
    "multi-queue[alpha=1,beta=2,overflow=migrate,choose=cost,window=3s,latency=0s]";
/// Offers are collected for so long. Moments are whole seconds, so it may be a second less; in the
/// simulator answers take no time, and on a busy machine more than a second.
const WINDOW: Span = Span(3);
/// The time limit of all jobs, seconds: none reaches it.
const LIMIT: i64 = 3_600;

#[derive(Debug, Clone, Copy)]
enum Event {
    /// A job at this market, so wide.
    Submit(usize, u32),
    /// The job with this place among the submissions ends.
    End(usize),
}
use Event::{End, Submit};

/// What each run of the tests does.
const CHOSEN: [Event; 19] = [
    Submit(0, 1),
    Submit(0, 1),
    Submit(0, 4), // too wide for its home
    Submit(0, 1), // the only volunteer
    Submit(1, 2),
    Submit(0, 2), // no volunteer
    Submit(1, 1), // no volunteer
    End(2),
    Submit(0, 1),
    End(0),
    Submit(0, 1), // would delay a reservation at home
    End(3),
    End(1),
    Submit(2, 2),
    Submit(2, 1), // no volunteer
    End(7),
    Submit(1, 3),
    End(4),
    End(6),
];

/// Events that are drawn: so many, of which a bit more than half are submissions. Jobs that end are
/// those that the simulator has started.
fn drawn(seed: u64, count: usize) -> Vec<Event> {
    let mut dice = Pcg64Mcg::seed_from_u64(seed);
    let mut events: Vec<Event> = Vec::new();
    while events.len() < count {
        let told = expected(&events, &nominal(events.len()));
        let is_over = |job: &usize| events.iter().any(|it| matches!(it, End(over) if over == job));
        let now = DAWN + Span(STEP * events.len() as i64 + STEP / 2);
        let has_begun = |job: &usize| told.starts[job].0 <= now && !is_over(job);
        let running: Vec<usize> = (0..told.starts.len()).filter(has_begun).collect();
        let ends = !running.is_empty() && dice.random_range(0..100) < 45;
        events.push(match ends {
            true => End(running[dice.random_range(0..running.len())]),
            false => {
                let home = dice.random_range(0..3);
                // A wider one that finds no volunteer would ask again and again.
                Submit(home, dice.random_range(1..=SITES[home].0))
            }
        });
    }
    events
}

/// Seconds between two events where the simulator is alone.
const STEP: i64 = 10;

/// Moments that are far enough apart.
fn nominal(count: usize) -> Vec<Time> {
    (1..=count as i64).map(|step| DAWN + Span(STEP * step)).collect()
}

fn plan(jobs: Vec<Asked>) -> Plan {
    let queues = multiqueue::MultiQueueSettings::new(1_000, 2).unwrap();
    Plan {
        sites: SITES.map(|(nodes, price)| (nodes, 1_000, price)).to_vec(),
        jobs,
        queues: multiqueue::MultiQueueSettings { overflow: Overflow::Migrate, ..queues },
        negotiation: NegotiationSettings {
            choose: Choose::Cost,
            window: WINDOW,
            ..NegotiationSettings::default()
        },
        links: Links {
            latency: (Span::ZERO, Span::ZERO),
            per_processor_mb: 0,
            base_mb: 0,
            ..Links::default()
        },
    }
}

/// What the simulator does if the events happen at these moments. Run times follow from ends and
/// starts; so it is asked until no start changes.
fn expected(events: &[Event], moments: &[Time]) -> Told {
    let mut jobs = Vec::new();
    let mut ends = Vec::new();
    for (event, at) in events.iter().zip(moments) {
        match *event {
            Submit(home, tasks) => {
                let (run, limit) = (Span(LIMIT), Span(LIMIT));
                jobs.push(Asked { home, submit: *at, run, tasks, limit });
            }
            End(job) => ends.push((job, *at)),
        }
    }
    let mut plan = plan(jobs);
    for _ in 0..=2 * events.len() {
        let told = simulated(&plan);
        let before = plan.jobs.clone();
        for (job, at) in &ends {
            plan.jobs[*job].run = Span((*at - told.starts[job].0).0.clamp(1, LIMIT));
        }
        if before.iter().zip(&plan.jobs).all(|(one, two)| one.run == two.run) {
            return told;
        }
    }
    unreachable!("run times and starts do not settle");
}

/// A job that does not start as long as events happen.
const LATER: (usize, usize) = (usize::MAX, 0);
/// What follows from the last event happens within this time, and long before the next limit.
const STILL: Span = Span(300);

/// By job, after which event it started and where; by event, what was said after it.
type Entries = (Vec<(usize, usize)>, Vec<BTreeSet<String>>);

fn simulated_entries(events: &[Event], moments: &[Time]) -> Entries {
    let told = expected(events, moments);
    let after = |at: Time| moments.iter().filter(|it| **it <= at).count() - 1;
    let is_within = |at: Time| moments.last().is_some_and(|last| at <= *last + STILL);
    let starts = told.starts.values();
    let starts = starts.map(|(at, site)| if is_within(*at) { (after(*at), *site) } else { LATER });
    let starts = starts.collect();
    let mut said = vec![BTreeSet::new(); events.len()];
    for line in &told.heard {
        let (at, rest) = line.split_once(' ').unwrap();
        let at = DAWN + Span(at.parse().unwrap());
        if !is_within(at) {
            continue;
        }
        said[after(at)].insert(rest.split_once(APART).unwrap().0.to_owned());
    }
    (starts, said)
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    since.as_secs().try_into().unwrap()
}

/// Waits until the second is over, and a moment more.
fn pass(second: i64) {
    while now() <= second {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(300));
}

struct Grid {
    markets: [Market; 3],
    letters: Receiver<((usize, usize), Post)>,
    /// By market, which job its numbers are.
    numbers: [Vec<(u64, usize)>; 3],
}

impl Grid {
    fn start(root: &Path) -> Grid {
        let markets = NAMES.map(|name| Market::new(root, name));
        let (heard, letters) = channel();
        let mut grid = Grid { markets, letters, numbers: [const { Vec::new() }; 3] };
        for at in 0..3 {
            let others = (0..3).filter(|other| *other != at);
            let way = |to: usize| {
                (NAMES[to], sniffer::to(grid.markets[to].port, (at, to), heard.clone()))
            };
            let peers: Vec<(&str, u16)> = others.map(way).collect();
            let size = (SITES[at].0, PRICES[at]);
            grid.markets[at].configure_as(POLICY, size, &peers);
        }
        grid.markets.iter_mut().for_each(Market::start);
        for at in 0..3 {
            for peer in (0..3).filter(|peer| *peer != at) {
                grid.markets[at].admit(&grid.markets[peer]);
            }
        }
        grid
    }

    fn job(&self, at: usize, name: usize) -> Option<Value> {
        let path = format!("/v1/jobs?limit=1000&name=j{name}");
        let found = self.markets[at].list(&path, "jobs");
        found.into_iter().find(|it| it["peer"].is_null())
    }

    /// Where a job runs or ran, and what that market knows of it.
    fn at_work(&self, name: usize) -> Option<(usize, Value)> {
        let begun = |at: usize| Some((at, self.job(at, name).filter(|it| it["started"].is_i64())?));
        (0..3).find_map(begun)
    }

    /// Does what the event says, and waits until it is seen; when that was.
    fn cause(&mut self, event: Event, root: &Path) -> Time {
        match event {
            Submit(home, tasks) => {
                let name = self.numbers.iter().map(Vec::len).sum::<usize>();
                let until = root.join(format!("end-{name}"));
                let command = format!("until [ -e {} ]; do sleep 0.1; done", until.display());
                let job = json!({
                    "name": format!("j{name}"), "command": ["sh", "-c", command], "nodes": tasks,
                    "time": LIMIT, "output": "/dev/null"
                });
                let market = &self.markets[home];
                let answer = market.must("POST", "/v1/jobs", &format!("k{name}"), Some(&job));
                let number = answer["jobs"][0].as_u64().unwrap();
                self.numbers[home].push((number, name));
                let known = market.must("GET", &format!("/v1/jobs/{number}"), "", None);
                Time(known["submitted"].as_i64().unwrap())
            }
            End(name) => {
                let (at, _) =
                    self.at_work(name).unwrap_or_else(|| unreachable!("job {name} does not run"));
                fs::write(root.join(format!("end-{name}")), "").unwrap();
                let ended = || self.job(at, name).and_then(|it| it["ended"].as_i64());
                self.markets[at].until("the job is over", |_| ended().is_some());
                Time(ended().unwrap())
            }
        }
    }

    /// Waits until the second `at` is over and no market asks others any more; what was said. The
    /// second in which that, and the last start, was seen is over, too: what follows has a later moment.
    fn settle(&self, at: Time) -> BTreeSet<String> {
        pass(at.0);
        let is_quiet = |market: &Market| {
            let peers = market.send("GET", "/v1/peers", "", None).unwrap_or_default();
            let doubt = peers["peers"].as_array().into_iter().flatten();
            peers["searches"] == 0
                && doubt.map(|it| it["in_doubt"].as_u64()).all(|it| it == Some(0))
        };
        for _ in 0..2 {
            self.markets.iter().for_each(|market| market.until("it is quiet", is_quiet));
            thread::sleep(Duration::from_millis(100));
        }
        pass(now());
        self.said()
    }

    /// Waits for the starts that are expected after an event. What does not come is found by the
    /// comparison.
    fn await_starts(&self, expected: &[(usize, usize)], event: usize) {
        let begun = Instant::now();
        let due = expected.iter().enumerate().filter(|(_, (after, _))| *after == event);
        for (name, _) in due {
            while self.at_work(name).is_none() && begun.elapsed() < Duration::from_secs(20) {
                thread::sleep(Duration::from_millis(50));
            }
        }
    }

    /// By job: after which event it started, and where.
    fn starts(&self, moments: &[Time], jobs: usize) -> Vec<(usize, usize)> {
        let after = |at: i64| moments.iter().filter(|it| it.0 <= at).count() - 1;
        let found = |name: usize| match self.at_work(name) {
            Some((at, job)) => (after(job["started"].as_i64().unwrap()), at),
            None => LATER,
        };
        (0..jobs).map(found).collect()
    }

    /// What was said since the last look.
    fn said(&self) -> BTreeSet<String> {
        let mut said = BTreeSet::new();
        for ((from, to), post) in self.letters.try_iter() {
            for letter in post.letters {
                let known = |number: u32| {
                    let numbers = self.numbers[from].iter();
                    numbers.clone().find(|it| it.0 == u64::from(number)).map(|it| it.1)
                };
                let job = letter.word.job().and_then(|job| known(job.job));
                said.insert(deal((from, to), &body_of(&letter.word), job));
            }
        }
        said
    }
}

#[test]
fn three_daemons_decide_as_the_simulator() {
    let same = as_the_simulator(&CHOSEN);
    assert!(same.jobs == 12 && same.moved >= 4 && same.messages > 30, "{same:?}");
}

/// The same for events that are drawn, which takes minutes: `TRADEWIND_PAPER_SEED=7` and, if there are
/// to be others than forty, `TRADEWIND_PAPER_EVENTS=60`.
#[test]
fn three_daemons_decide_as_the_simulator_in_a_drawn_plan() {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let Some(seed) = number("TRADEWIND_PAPER_SEED") else { return };
    let count = number("TRADEWIND_PAPER_EVENTS").unwrap_or(40);
    println!("the simulator's: {:?}", as_the_simulator(&drawn(seed, count as usize)));
}

/// How much was the same.
#[derive(Debug)]
struct Same {
    messages: usize,
    jobs: usize,
    /// Jobs that started at another market than their own.
    moved: usize,
}

/// Lets the events happen to three daemons and to the simulator, and compares what they decide.
fn as_the_simulator(events: &[Event]) -> Same {
    let folder = tempfile::tempdir().unwrap();
    let (starts, _) = simulated_entries(events, &nominal(events.len()));
    let mut grid = Grid::start(folder.path());
    let (mut moments, mut said) = (Vec::new(), Vec::new());
    for (place, event) in events.iter().enumerate() {
        let at = grid.cause(*event, folder.path());
        moments.push(at);
        grid.await_starts(&starts, place);
        said.push(grid.settle(at));
    }
    let (expected, messages) = simulated_entries(events, &moments);
    assert_eq!(expected, starts, "the simulator decides the same at these moments");
    let found = grid.starts(&moments, expected.len());
    // The others end, too, and nothing is compared any more.
    (0..expected.len())
        .for_each(|name| fs::write(folder.path().join(format!("end-{name}")), "").unwrap());
    for (place, (one, two)) in messages.iter().zip(&said).enumerate() {
        assert_eq!(one, two, "after event {place}, {:?}: the simulator's are first", events[place]);
    }
    assert_eq!(expected, found, "by job: after which event it started, and where");
    let homes =
        events.iter().filter_map(|it| if let Submit(home, _) = it { Some(home) } else { None });
    let moved = homes.zip(&found).filter(|(home, (_, at))| *home != at).count();
    let messages = said.iter().map(BTreeSet::len).sum();
    for market in &mut grid.markets {
        market.kill();
        market.verify();
    }
    Same { messages, jobs: found.len(), moved }
}
