//! Sites that fail while jobs are there, with the engine and its threads: nodes at other sites are
//! given back, and what ran there is found when the site is back.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tradewind_daemon::codec::Json;
use tradewind_daemon::engine::{Engine, Setup, SiteSetup, Timing};
use tradewind_daemon::journal::prove;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::site_health::SiteState;
use tradewind_daemon::live::state::{Finish, Phase, State, TaskReport};
use tradewind_daemon::live::{Ask, Make, Refusal, RefusalKind, Reply, Settings};
use tradewind_daemon::site::{
    Exit, Finding, Go, Order, PoolSetup, PoolSurvey, Seen, Site, SiteError, Survey, Tag,
};
use tradewind_daemon::store::memory::Disk;
use tradewind_daemon::store::{Origin, Store};
use tradewind_io::submission::{Submission, TimeLimit, Work};
use tradewind_model::{
    Admission, Attributes, Money, Performance, Pool, PoolId, Pools, Price, Site as SiteName,
    SiteId, Span, Time, Times,
};
use tradewind_sched::policy::{Policy, gridfill};

#[derive(Debug)]
struct Easy;

impl Make for Easy {
    fn make(&self, _: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        Ok(Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default())))
    }
}

/// How calls of a site end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Good,
    /// None returns.
    Hangs,
    /// Submissions do not return.
    HangsInSubmit,
    /// There is no way to it.
    Gone,
    /// What is submitted waits in its queue.
    Queues,
}

fn running() -> Seen {
    Seen::Running { since: now(), nodes: vec!["n1".to_owned()] }
}

/// How it behaves, the tasks that it has, and failed calls.
type Known = (Mood, BTreeMap<Tag, Seen>, usize);

/// A site that a test drives, and its tasks.
#[derive(Debug, Clone)]
struct Cluster(Arc<(Mutex<Known>, Condvar)>);

fn now() -> Time {
    Time(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64)
}

impl Cluster {
    fn new(mood: Mood) -> Cluster {
        Cluster(Arc::new((Mutex::new((mood, BTreeMap::new(), 0)), Condvar::new())))
    }

    fn be(&self, mood: Mood) {
        self.0.0.lock().unwrap().0 = mood;
        self.0.1.notify_all();
    }

    /// Does something once calls return.
    fn call<T>(
        &self,
        hangs: &[Mood],
        work: impl FnOnce(&mut BTreeMap<Tag, Seen>) -> T,
    ) -> Result<T, SiteError> {
        let locked = self.0.0.lock().unwrap();
        let mut locked = self.0.1.wait_while(locked, |it| hangs.contains(&it.0)).unwrap();
        match locked.0 {
            Mood::Gone => {
                locked.2 += 1;
                Err(SiteError::Away("connect: Connection timed out".to_owned()))
            }
            _ => Ok(work(&mut locked.1)),
        }
    }

    fn mood(&self) -> Mood {
        self.0.0.lock().unwrap().0
    }

    /// What waits begins.
    fn begin(&self) {
        self.0.0.lock().unwrap().1.values_mut().for_each(|seen| *seen = running());
    }

    fn tasks(&self) -> usize {
        self.0.0.lock().unwrap().1.len()
    }

    fn failed_calls(&self) -> usize {
        self.0.0.lock().unwrap().2
    }

    /// The task ends, whether the site answers or not.
    fn end(&self, job: u64) {
        for (_, seen) in self.0.0.lock().unwrap().1.iter_mut().filter(|(tag, _)| tag.job == job) {
            let Seen::Running { since, .. } = seen else { panic!("{seen:?}") };
            *seen = Seen::Ended { since: Some(*since), at: now(), exit: Exit::Code(0) };
        }
    }
}

#[derive(Debug)]
struct Driven {
    pools: Vec<PoolSetup>,
    cluster: Cluster,
}

/// Whatever was there has gone without having run.
fn take_back(tasks: &mut BTreeMap<Tag, Seen>, tag: &Tag) {
    let ended = Seen::Ended { since: None, at: now(), exit: Exit::Withdrawn };
    tasks.insert(tag.clone(), ended);
}

impl Site for Driven {
    fn pools(&self) -> &[PoolSetup] {
        &self.pools
    }
    fn survey(&mut self) -> Result<Survey, SiteError> {
        let tasks = self.cluster.call(&[Mood::Hangs], |tasks| tasks.clone())?;
        let pools = vec![PoolSurvey { up: 2, ..PoolSurvey::default() }];
        Ok(Survey { pools, tasks, ..Survey::default() })
    }
    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        let queues = self.cluster.mood() == Mood::Queues;
        let seen = if queues { Seen::Waiting } else { running() };
        self.cluster.call(&[Mood::Hangs, Mood::HangsInSubmit], |tasks| {
            tasks.entry(order.tag.clone()).or_insert(seen);
        })
    }
    fn go(&mut self, _: &Tag, _: &Go) -> Result<(), SiteError> {
        self.cluster.call(&[Mood::Hangs], |_| ())
    }
    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.cluster.call(&[Mood::Hangs], |tasks| take_back(tasks, tag))
    }
    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.cluster.call(&[Mood::Hangs], |tasks| take_back(tasks, tag))
    }
    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.cluster.call(&[Mood::Hangs], |tasks| drop(tasks.remove(tag)))
    }
    fn output(&mut self, _: &Tag, _: usize) -> Result<Vec<u8>, SiteError> {
        Ok(Vec::new())
    }
    fn doctor(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}

/// Two sites of two nodes each.
struct Market {
    sites: [Cluster; 2],
    disk: Disk,
    engine: Engine,
}

fn engine(disk: &Disk, sites: &[Cluster; 2]) -> Engine {
    let names = ["alpha", "beta"];
    let setup_of = |(name, cluster): (&&str, &Cluster)| {
        let pool = PoolSetup {
            name: "cpu".to_owned(),
            nodes: 2,
            performance: Performance::REFERENCE,
            attributes: Attributes::new(),
        };
        SiteSetup {
            name: (*name).to_owned(),
            owner: (*name).to_owned(),
            site: Box::new(Driven { pools: vec![pool], cluster: cluster.clone() }),
            survey_every: Duration::from_millis(50),
            survey_within: Duration::from_secs(1),
        }
    };
    let pool = |(place, name): (u32, &&str)| Pool {
        name: format!("{name}/cpu"),
        site: SiteId(place),
        nodes: 2,
        performance: Performance::REFERENCE,
        price: Price(1_000_000),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Wall,
    };
    let pools = Pools::new(
        names.iter().map(|name| SiteName { name: (*name).to_owned() }).collect(),
        (0..).zip(&names).map(pool).collect(),
    );
    let disk = disk.clone();
    Engine::start(Setup {
        open: Box::new(move || Ok(Box::new(disk.open()?) as Box<dyn Store>)),
        codec: Json,
        pools: Arc::new(pools.unwrap()),
        sites: names.iter().zip(sites).map(setup_of).collect(),
        peers: Vec::new(),
        maker: Arc::new(Easy),
        policy: "easy".to_owned(),
        settings: Settings { gather: Span(3), ..Settings::default() },
        timing: Timing { patience: Duration::from_secs(2), ..Timing::default() },
    })
    .unwrap()
}

impl Market {
    fn new(moods: [Mood; 2]) -> Market {
        let sites = moods.map(Cluster::new);
        let disk = Disk::new(Origin { market: "m".to_owned(), created: 0 });
        let engine = engine(&disk, &sites);
        Market { sites, disk, engine }
    }

    fn restart(self) -> Market {
        let Market { sites, disk, engine: old } = self;
        old.handle.stop();
        old.wait();
        let engine = engine(&disk, &sites);
        Market { sites, disk, engine }
    }

    fn submit(&self, nodes: u32) {
        self.try_submit(nodes).unwrap();
    }

    fn try_submit(&self, nodes: u32) -> Result<Reply, Refusal> {
        let submission = Submission::new(
            "t",
            Work::Command(vec!["true".to_owned()]),
            nodes,
            TimeLimit::Reference(Span(600)),
        );
        let ask = Ask::Submit { submission: Arc::new(submission), key: None, quote: None };
        self.engine.handle.ask(ana(), ask)
    }

    /// Waits until this holds of the market.
    fn until(&self, what: &str, holds: impl Fn(&State) -> bool + Clone + Send + 'static) {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            let holds = holds.clone();
            if self.engine.handle.look(move |live| holds(live.state())).unwrap() {
                return;
            }
            if Instant::now() > end {
                let shown = |live: &tradewind_daemon::live::Live| {
                    let state = live.state();
                    let sites = [0, 1].map(|site| state.site_health(SiteId(site)));
                    format!("{sites:?} {:?}", state.jobs.values().collect::<Vec<_>>())
                };
                panic!("not {what}: {}", self.engine.handle.look(shown).unwrap());
            }
            sleep(Duration::from_millis(20));
        }
    }

    fn until_state(&self, site: u32, wanted: SiteState) {
        let is = move |state: &State| state.site_health(SiteId(site)).state == wanted;
        self.until(wanted.name(), is);
    }

    fn stop(self) {
        self.sites.iter().for_each(|site| site.be(Mood::Good));
        self.engine.handle.stop();
        self.engine.wait();
    }
}

fn ana() -> Actor {
    Actor { user: "ana".to_owned(), role: Role::User }
}

fn has_parts(state: &State) -> bool {
    state.jobs.get(&1).is_some_and(|job| job.parts().len() == 2)
}

/// The job has two parts, and the second site fails as `mood` says before the part is there.
fn loses_its_second_site(mood: Mood, state: SiteState) -> Market {
    let market = Market::new([Mood::Good, Mood::Good]);
    market.until_state(0, SiteState::Up);
    market.until_state(1, SiteState::Up);
    market.sites[1].be(mood);
    market.submit(3);
    market.until("it has two parts", has_parts);
    market.until_state(1, state);
    market
}

/// All nodes of the first site are free, and the job is not over.
fn are_given_back(market: &Market) {
    market.until("the first site's nodes are free", |state| {
        state.market.free_in(PoolId(0)) == 2 && state.jobs[&1].phase() == Phase::Running
    });
}

#[test]
fn on_cancel_nodes_at_other_sites_are_free_at_once() {
    for (mood, state) in [
        (Mood::HangsInSubmit, SiteState::Hanging),
        (Mood::Hangs, SiteState::Hanging),
        (Mood::Gone, SiteState::Lost),
    ] {
        let market = loses_its_second_site(mood, state);
        market.engine.handle.ask(ana(), Ask::Cancel { job: 1 }).unwrap();
        are_given_back(&market);
        // What was on its way is found and settled once the site is back.
        market.sites[1].be(Mood::Good);
        market.until("the job is over", |state| {
            state.jobs[&1].phase() == Phase::Over(&Finish::Cancelled)
        });
        market.until("all is free", |state| {
            state.jobs[&1].paid == Money::ZERO && state.market.free() == 4
        });
        market.stop();
    }
}

#[test]
fn nodes_at_other_sites_are_free_when_the_parts_do_not_come_together() {
    for (mood, state) in [(Mood::HangsInSubmit, SiteState::Hanging), (Mood::Gone, SiteState::Lost)]
    {
        let market = loses_its_second_site(mood, state);
        are_given_back(&market);
        market.sites[1].be(Mood::Good);
        market.until("it runs in a second attempt", |state| {
            state.jobs[&1].attempt > 0 && state.jobs[&1].began().is_some()
        });
        market.stop();
    }
}

#[test]
fn what_ran_at_a_lost_site_is_found_and_settled_also_after_a_restart() {
    for restarts in [false, true] {
        let mut market = Market::new([Mood::Good, Mood::Good]);
        market.until_state(1, SiteState::Up);
        market.submit(1);
        market
            .until("it runs", |state| state.jobs.get(&1).is_some_and(|job| job.began().is_some()));
        let place = market.engine.handle.look(|live| {
            let state = live.state();
            state.site_of(state.jobs[&1].parts()[0].pool).0
        });
        let place = place.unwrap();
        let site = market.sites[place as usize].clone();
        site.be(Mood::Gone);
        market.until_state(place, SiteState::Lost);
        site.end(1);
        if restarts {
            market = market.restart();
            market.until_state(place, SiteState::Lost);
            let is_reached = move |state: &State| {
                state.market.free_in(PoolId(place)) > 0 || state.is_counted_on(SiteId(place))
            };
            assert!(!market.engine.handle.look(move |live| is_reached(live.state())).unwrap());
        }
        sleep(Duration::from_millis(300));
        let runs =
            |live: &tradewind_daemon::live::Live| live.state().jobs[&1].phase() == Phase::Running;
        assert!(market.engine.handle.look(runs).unwrap(), "no survey has said that it ended");
        site.be(Mood::Good);
        market.until("it is settled", |state| {
            let job = &state.jobs[&1];
            job.phase() == Phase::Over(&Finish::Completed) && job.paid > Money::ZERO
        });
        market.until_state(place, SiteState::Up);
        market.until("its nodes are free", |state| state.market.free() == 4);
        market.stop();
    }
}

/// Each order is given again every second, and it is surveyed 20 times a second.
#[test]
fn a_site_that_cannot_be_reached_is_not_asked_without_a_pause() {
    let market = loses_its_second_site(Mood::Gone, SiteState::Lost);
    let (began, before) = (Instant::now(), market.sites[1].failed_calls());
    are_given_back(&market);
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap() + 1;
    let calls = market.sites[1].failed_calls() - before;
    assert!(calls <= 30 * seconds, "{calls} calls in {seconds} s");
    market.stop();
}

#[test]
fn a_site_that_was_never_surveyed_gets_no_jobs() {
    let market = Market::new([Mood::Hangs, Mood::Gone]);
    market.until_state(1, SiteState::NeverReached);
    let is_joining = |state: &State| {
        matches!(state.site_health(SiteId(0)).state, SiteState::Joining | SiteState::Hanging)
    };
    market.until("the other one joins", is_joining);
    market.submit(1);
    market.until_state(0, SiteState::Hanging);
    let waits =
        |live: &tradewind_daemon::live::Live| live.state().jobs[&1].phase() == Phase::Waiting;
    assert!(market.engine.handle.look(waits).unwrap());
    market.sites[0].be(Mood::Good);
    market.until("it runs", |state| state.jobs[&1].began().is_some());
    market.stop();
}

/// A full disk stops writes only, also where the market was started on it: it is looked at, jobs are
/// cancelled, and none is accepted until there is room.
#[test]
fn on_a_full_disk_jobs_are_cancelled_and_none_is_accepted() {
    for restarts in [false, true] {
        let mut market = Market::new([Mood::Queues, Mood::Queues]);
        market.until_state(0, SiteState::Up);
        market.submit(1);
        market.disk.fill();
        if restarts {
            market = market.restart();
        }
        let refused = market.try_submit(1).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::Unavailable, "{refused:?}");
        market.until("it is there", |state| state.jobs.len() == 1);
        assert!(market.engine.handle.gauges().is_read_only());
        market.engine.handle.ask(ana(), Ask::Cancel { job: 1 }).unwrap();
        let is_over = |state: &State| state.jobs[&1].phase() == Phase::Over(&Finish::Cancelled);
        let is_stopped =
            move |state: &State| is_over(state) || state.jobs[&1].cancelled_by.is_some();
        market.until("it is cancelled", is_stopped);
        market.disk.make_room();
        market.until("it is over", is_over);
        let again = |_| {
            sleep(Duration::from_millis(50));
            market.try_submit(1).is_ok()
        };
        assert!((0..200).any(again), "it writes again");
        let disk = market.disk.clone();
        market.stop();
        prove(&mut disk.open().unwrap(), &Json).unwrap();
    }
}

/// While nothing can be written, jobs are shown as they are. What a site knows of an end stays there
/// until it is written down: a death of the daemon by then loses nothing.
#[test]
fn on_a_full_disk_starts_and_ends_are_seen() {
    for restarts in [false, true] {
        let mut market = Market::new([Mood::Queues, Mood::Queues]);
        market.until_state(0, SiteState::Up);
        market.submit(1);
        let is_queued =
            |state: &State| state.tasks.values().any(|it| it.known != TaskReport::Nothing);
        market.until("the task is at its site", is_queued);
        market.disk.fill();
        market.sites.iter().for_each(Cluster::begin);
        market.until("it runs", |state| state.jobs[&1].began().is_some());
        assert!(market.engine.handle.gauges().is_read_only());
        market.sites.iter().for_each(|site| site.end(1));
        let is_over = |state: &State| state.jobs[&1].phase() == Phase::Over(&Finish::Completed);
        market.until("it is over", is_over);
        if restarts {
            market = market.restart();
            market.until("it is over again", is_over);
        }
        // Some surveys come meanwhile.
        sleep(Duration::from_millis(300));
        assert_eq!(
            market.sites.iter().map(Cluster::tasks).sum::<usize>(),
            1,
            "it is not forgotten"
        );
        market.disk.make_room();
        let is_settled = |state: &State| state.tasks.is_empty();
        market.until("the task is forgotten", is_settled);
        assert_eq!(market.sites.iter().map(Cluster::tasks).sum::<usize>(), 0);
        let disk = market.disk.clone();
        market.stop();
        prove(&mut disk.open().unwrap(), &Json).unwrap();
    }
}
