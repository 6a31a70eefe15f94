//! A standby whose journal is unreachable, has lost rows with its primary, or has rows of a later
//! release.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tradewind_daemon::codec::{Codec as _, Json};
use tradewind_daemon::engine::{Engine, Followed, Lease, OwnerLook, SharedSetup, Term, Timing};
use tradewind_daemon::live::record::MarketRecord;
use tradewind_daemon::live::{Make, Record, RuleChange, Settings};
use tradewind_daemon::store::memory::Disk;
use tradewind_daemon::store::{Origin, Store, StoreError};
use tradewind_model::{
    Admission, Attributes, Performance, Pool, Pools, Price, Site, SiteId, Times,
};
use tradewind_sched::policy::{Policy, gridfill};

#[derive(Debug)]
struct Easy;

impl Make for Easy {
    fn make(&self, _: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        Ok(Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default())))
    }
}

fn pools() -> Pools {
    let pool = Pool {
        name: "alpha/cpu".to_owned(),
        site: SiteId(0),
        nodes: 2,
        performance: Performance::REFERENCE,
        price: Price(1_000_000),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    Pools::new(vec![Site { name: "alpha".to_owned() }], vec![pool]).unwrap()
}

/// What stands for the database.
struct Database {
    disk: Disk,
    last: u64,
    /// Whether the lease has run out.
    is_free: bool,
    is_away: bool,
    /// How often a standby wanted to own the market.
    takes: u32,
    /// It gets the market, once, until this lease is lost.
    lease: Option<Arc<Lease>>,
}

impl Database {
    /// Another one, with a row for each policy that the market had.
    fn new(policies: &[&str]) -> Database {
        let disk = Disk::new(Origin { market: "m".to_owned(), created: 0 });
        let mut it =
            Database { disk, last: 0, is_free: false, is_away: false, takes: 0, lease: None };
        it.append(Json.record(&Record::Market(MarketRecord::Created { market: "m".to_owned() })));
        let (pools, owners) = (Arc::new(pools()), vec!["o".to_owned()]);
        it.append(Json.record(&Record::Market(MarketRecord::Gridded { pools, owners })));
        policies.iter().for_each(|policy| it.begin(policy));
        it
    }

    fn begin(&mut self, policy: &str) {
        let (release, policy) = ("r".to_owned(), policy.to_owned());
        let began = MarketRecord::Began { release, policy, usage: Vec::new() };
        self.append(Json.record(&Record::Market(began)));
    }

    /// Connections to it are lost.
    fn append(&mut self, body: Vec<u8>) {
        self.disk.crash();
        self.disk.open().unwrap().append(&[(0, body)]).unwrap();
        self.disk.crash();
        self.last += 1;
    }
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Database>>);

impl Shared {
    fn database(&self) -> MutexGuard<'_, Database> {
        self.0.lock().unwrap()
    }

    /// From now on it is that one, and connections to the other are lost.
    fn fail_over(&self, next: Database) {
        let mut now = self.database();
        now.disk.crash();
        *now = next;
    }
}

impl Followed for Shared {
    fn look(&mut self) -> Result<OwnerLook, StoreError> {
        let it = self.database();
        Ok(OwnerLook { last: it.last, is_free: it.is_free, url: None })
    }

    fn read(&mut self) -> Result<Box<dyn Store>, StoreError> {
        let it = self.database();
        if it.is_away {
            return Err(StoreError::Io { path: "m".to_owned(), what: "away".to_owned() });
        }
        it.disk.crash();
        Ok(Box::new(it.disk.open()?))
    }

    fn take(&mut self) -> Result<Option<Term>, StoreError> {
        let mut it = self.database();
        it.takes += 1;
        let Some(lease) = it.lease.take() else { return Ok(None) };
        let disk = it.disk.clone();
        disk.crash();
        Ok(Some(Term {
            open: Box::new(move || Ok(Box::new(disk.open()?) as Box<dyn Store>)),
            epoch: 1,
            lease,
            hold: None,
            rules: RuleChange::AtOnce,
        }))
    }
}

/// A standby, and what it follows.
fn standby(policies: &[&str]) -> (Engine, Shared) {
    let shared = Shared(Arc::new(Mutex::new(Database::new(policies))));
    let setup = SharedSetup {
        codec: Json,
        pools: Arc::new(pools()),
        owners: vec!["o".to_owned()],
        maker: Arc::new(Easy),
        policy: "easy".to_owned(),
        settings: Settings::default(),
        timing: Timing::default(),
        sites: Box::new(|_| Ok(Default::default())),
        changed: Box::new(|_| ()),
    };
    let engine = Engine::share(setup, None, Box::new(shared.clone())).unwrap();
    (engine, shared)
}

/// The policy that the standby's state has.
fn policy(engine: &Engine) -> String {
    engine.handle.look(|live| live.state().policy.clone()).unwrap()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn rows_behind(engine: &Engine) -> u64 {
    engine.handle.gauges().standing().unwrap().rows_behind
}

#[test]
fn a_row_of_a_later_release_stops_a_standby_that_still_answers_and_takes_nothing_over() {
    let (engine, shared) = standby(&["one"]);
    shared.database().append(br#"{"of_a_later_release":{}}"#.to_vec());
    shared.database().is_free = true;
    until("it says how far behind it is", || rows_behind(&engine) == 1);
    for _ in 0..20 {
        assert_eq!(policy(&engine), "one");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(shared.database().takes, 0, "it does not know the state of the market");
    engine.handle.stop();
    engine.wait();
}

#[test]
fn a_standby_answers_while_it_cannot_read_and_then_goes_on() {
    let (engine, shared) = standby(&["one"]);
    shared.database().is_away = true;
    shared.database().begin("two");
    until("it says how far behind it is", || rows_behind(&engine) == 1);
    assert_eq!(policy(&engine), "one");
    shared.database().is_away = false;
    until("it goes on", || policy(&engine) == "two");
    engine.handle.stop();
    engine.wait();
}

#[test]
fn rows_that_were_lost_with_a_primary_are_not_in_the_state_of_a_standby() {
    let (engine, shared) = standby(&["one", "lost"]);
    assert_eq!(policy(&engine), "lost");
    // The journal is shorter, then longer, with another row where the standby had one.
    shared.fail_over(Database::new(&["one"]));
    until("it has what there is", || policy(&engine) == "one");
    shared.fail_over(Database::new(&["two", "another"]));
    until("it has what there is now", || policy(&engine) == "another");
    engine.handle.stop();
    engine.wait();
}

#[test]
fn what_an_owner_wrote_and_its_database_lost_is_not_in_its_state_afterwards() {
    let (engine, shared) = standby(&["one"]);
    let lease = Lease::endless();
    let mut database = shared.database();
    (database.lease, database.is_free) = (Some(Arc::clone(&lease)), true);
    drop(database);
    until("it owns the market", || engine.handle.gauges().standing().is_none());
    // Another primary goes on, without what this owner wrote to the one before, and another daemon has
    // the lease.
    *shared.database() = Database::new(&["another"]);
    lease.lose("another daemon has taken over this market");
    until("it has what there is", || policy(&engine) == "another");
    engine.handle.stop();
    engine.wait();
}
