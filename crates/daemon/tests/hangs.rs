//! A site that hangs: it is away within its time, comes back, and delays no caller; and what of a
//! job is at other sites is given back.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Condvar, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tradewind_daemon::codec::Json;
use tradewind_daemon::engine::reads::{Full, Reads};
use tradewind_daemon::engine::{Engine, Setup, SiteSetup, Timing};
use tradewind_daemon::live::{Make, Settings};
use tradewind_daemon::site::{
    Excerpt, Finding, Order, PoolSetup, PoolSurvey, Reading, Site, SiteError, Survey, Tag,
};
use tradewind_daemon::store::memory::Disk;
use tradewind_daemon::store::{Origin, Store};
use tradewind_model::{
    Admission, Attributes, Performance, Pool, Pools, Price, Site as SiteName, SiteId, Times,
};
use tradewind_sched::policy::{Policy, gridfill};

#[derive(Debug)]
struct Easy;

impl Make for Easy {
    fn make(&self, _: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        Ok(Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default())))
    }
}

/// Whether calls come back.
#[derive(Debug, Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn close(&self) {
        *self.0.0.lock().unwrap() = true;
    }

    fn open(&self) {
        *self.0.0.lock().unwrap() = false;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let closed = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(closed, |closed| *closed).unwrap());
    }
}

#[derive(Debug)]
struct Hangs {
    pools: Vec<PoolSetup>,
    surveys: Gate,
    reads: Gate,
}

impl Site for Hangs {
    fn pools(&self) -> &[PoolSetup] {
        &self.pools
    }
    fn survey(&mut self) -> Result<Survey, SiteError> {
        self.surveys.pass();
        let pools = vec![PoolSurvey { up: 2, ..PoolSurvey::default() }];
        Ok(Survey { pools, ..Survey::default() })
    }
    fn submit(&mut self, _: &Order) -> Result<(), SiteError> {
        Ok(())
    }
    fn withdraw(&mut self, _: &Tag) -> Result<(), SiteError> {
        Ok(())
    }
    fn recall(&mut self, _: &Tag) -> Result<(), SiteError> {
        Ok(())
    }
    fn forget(&mut self, _: &Tag) -> Result<(), SiteError> {
        Ok(())
    }
    fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError> {
        Ok(self.reading(tag, &Excerpt::last(max))?.run()?.bytes)
    }
    fn reading(&mut self, _: &Tag, wanted: &Excerpt) -> Result<Reading, SiteError> {
        let (gate, wanted) = (self.reads.clone(), *wanted);
        Ok(Reading::by(move || {
            gate.pass();
            Ok(wanted.of(b"text"))
        }))
    }
    fn doctor(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}

fn market(surveys: &Gate, reads: &Gate) -> Engine {
    let pool = PoolSetup {
        name: "cpu".to_owned(),
        nodes: 2,
        performance: Performance::REFERENCE,
        attributes: Attributes::new(),
    };
    let site = Hangs { pools: vec![pool], surveys: surveys.clone(), reads: reads.clone() };
    let pool = Pool {
        name: "alpha/cpu".to_owned(),
        site: SiteId(0),
        nodes: 2,
        performance: Performance::REFERENCE,
        price: Price(1),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let disk = Disk::new(Origin { market: "m".to_owned(), created: 0 });
    let setup = Setup {
        open: Box::new(move || Ok(Box::new(disk.open()?) as Box<dyn Store>)),
        codec: Json,
        pools: Arc::new(
            Pools::new(vec![SiteName { name: "alpha".to_owned() }], vec![pool]).unwrap(),
        ),
        sites: vec![SiteSetup {
            name: "alpha".to_owned(),
            owner: "alpha".to_owned(),
            site: Box::new(site),
            survey_every: Duration::from_millis(20),
            survey_within: Duration::from_secs(2),
        }],
        peers: Vec::new(),
        maker: Arc::new(Easy),
        policy: "easy".to_owned(),
        settings: Settings::default(),
        timing: Timing::default(),
    };
    Engine::start(setup).unwrap()
}

/// Until the site is away, with the reason, or is not.
fn until(engine: &Engine, away: bool) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let in_state = engine.handle.look(|live| live.state().away_since(SiteId(0)).is_some());
        let look = engine.handle.gauges().looks().remove(&SiteId(0));
        let reason = look.as_ref().and_then(|it| it.wrong.clone());
        let is_told = match away {
            true => reason.is_some_and(|why| why.contains("no survey came within 2 s")),
            false => look.is_some_and(|it| it.answered),
        };
        if in_state.unwrap() == away && is_told {
            return;
        }
        assert!(Instant::now() < end, "away: not {away}");
        sleep(Duration::from_millis(20));
    }
}

fn tag() -> Tag {
    Tag { market: "m".to_owned(), job: 1, attempt: 0, part: 0 }
}

#[test]
fn a_site_that_hangs_is_away_until_it_answers_again() {
    let (surveys, reads) = (Gate::default(), Gate::default());
    let engine = market(&surveys, &reads);
    until(&engine, false);
    surveys.close();
    until(&engine, true);
    // No caller waits for an answer that will not come.
    let all = Reads::new(1, 1);
    let told = engine
        .readers
        .get(SiteId(0))
        .unwrap()
        .read(&tag(), Excerpt::last(9), all.permit("ana").unwrap())
        .unwrap_err();
    assert!(matches!(&told, SiteError::Away(why) if why.contains("hangs")), "{told:?}");
    surveys.open();
    until(&engine, false);
    surveys.close();
    until(&engine, true);
    let begun = Instant::now();
    engine.handle.stop();
    engine.wait();
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
}

#[test]
fn a_read_that_hangs_delays_no_caller() {
    let (surveys, reads) = (Gate::default(), Gate::default());
    let engine = market(&surveys, &reads);
    until(&engine, false);
    let all = Reads::new(3, 2);
    assert_eq!(
        engine
            .readers
            .get(SiteId(0))
            .unwrap()
            .read(&tag(), Excerpt::last(9), all.permit("ana").unwrap())
            .unwrap()
            .bytes,
        b"text"
    );
    reads.close();
    for _ in 0..2 {
        let told = engine
            .readers
            .get(SiteId(0))
            .unwrap()
            .read(&tag(), Excerpt::last(9), all.permit("ana").unwrap())
            .unwrap_err();
        assert!(matches!(&told, SiteError::Away(why) if why.contains("within 5 s")), "{told:?}");
    }
    // What hangs counts until it comes back.
    assert_eq!(all.permit("ana").unwrap_err(), Full::OfOne(2));
    drop(all.permit("ben").unwrap());
    until(&engine, false);
    let begun = Instant::now();
    engine.handle.stop();
    engine.wait();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    reads.open();
    let end = Instant::now() + Duration::from_secs(60);
    while all.permit("ana").is_err() {
        assert!(Instant::now() < end, "the permits do not come back");
        sleep(Duration::from_millis(10));
    }
}
