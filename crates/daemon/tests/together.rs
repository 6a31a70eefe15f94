//! A whole market on two local sites, and a job whose parts begin together there.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_daemon::codec::Json;
use tradewind_daemon::engine::{Engine, Setup, SiteSetup, Timing, recover};
use tradewind_daemon::journal::prove;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{Finish, Job, Phase};
use tradewind_daemon::live::{Ask, Make, Reply, Settings};
use tradewind_daemon::site::PoolSetup;
use tradewind_daemon::site::local::{self, Local};
use tradewind_daemon::store::memory::{Disk, StoreFault};
use tradewind_daemon::store::{Origin, Store};
use tradewind_io::submission::{Append, Submission, Surroundings, TimeLimit, Work};
use tradewind_model::{
    Admission, Attributes, Money, Performance, Pool, Pools, Price, Site, SiteId, Span, Times,
};
use tradewind_sched::policy::{Policy, gridfill};

#[derive(Debug)]
struct Easy;

impl Make for Easy {
    fn make(&self, _: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        Ok(Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default())))
    }
}

const SITES: [&str; 2] = ["alpha", "beta"];

fn site(folder: &Path, name: &str) -> SiteSetup {
    let pool = PoolSetup {
        name: "cpu".to_owned(),
        nodes: 2,
        performance: Performance::REFERENCE,
        attributes: Attributes::new(),
    };
    let settings = local::LocalSettings {
        folder: folder.join(name),
        directory: folder.to_owned(),
        supervisor: vec![PathBuf::from(env!("CARGO_BIN_EXE_tradewind-local-task"))],
        pools: vec![pool],
        grace: Duration::from_millis(300),
        accounts: None,
        hidden: None,
        confinement: local::Confinement::default(),
    };
    SiteSetup {
        name: name.to_owned(),
        owner: name.to_owned(),
        site: Box::new(Local::open(settings).unwrap()),
        survey_every: Duration::from_millis(50),
        survey_within: Duration::from_secs(60),
    }
}

fn market(folder: &Path) -> Engine {
    market_on(folder, &Disk::new(Origin { market: "m".to_owned(), created: 0 }))
}

fn market_on(folder: &Path, disk: &Disk) -> Engine {
    let pool = |(place, name): (usize, &str)| Pool {
        name: format!("{name}/cpu"),
        site: SiteId(place as u32),
        nodes: 2,
        performance: Performance::REFERENCE,
        price: Price(1_000_000),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let sites = SITES.map(|name| Site { name: name.to_owned() });
    let pools = SITES.into_iter().enumerate().map(pool).collect();
    let disk = disk.clone();
    let setup = Setup {
        open: Box::new(move || Ok(Box::new(disk.open()?) as Box<dyn Store>)),
        codec: Json,
        pools: Arc::new(Pools::new(sites.into(), pools).unwrap()),
        sites: SITES.map(|name| site(folder, name)).into(),
        peers: Vec::new(),
        maker: Arc::new(Easy),
        policy: "easy".to_owned(),
        settings: Settings::default(),
        timing: Timing::default(),
    };
    Engine::start(setup).unwrap()
}

/// A job of three nodes, which are never all at one site.
fn submit(engine: &Engine, script: &str) -> u64 {
    let submission = Submission {
        surroundings: Surroundings {
            output: Some("out-%t".to_owned()),
            append: Append::Append,
            ..Surroundings::default()
        },
        ..Submission::new(
            "both",
            Work::Script { text: format!("#!/bin/sh\n{script}\n"), arguments: vec![] },
            3,
            TimeLimit::Reference(Span(60)),
        )
    };
    let actor = Actor { user: "ana".to_owned(), role: Role::User };
    let ask = Ask::Submit { submission: Arc::new(submission), key: None, quote: None };
    match engine.handle.ask(actor, ask).unwrap() {
        Reply::Jobs(jobs) => jobs[0],
        other => unreachable!("{other:?}"),
    }
}

/// The job, once this is so.
fn when(engine: &Engine, number: u64, is_so: impl Fn(&Job) -> bool) -> Job {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let job = engine.handle.look(move |live| live.state().jobs[&number].clone()).unwrap();
        if is_so(&job) {
            return job;
        }
        assert!(Instant::now() < end, "it does not happen: {job:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_work_of_both_parts_begins_on_the_same_second() {
    let folder = tempfile::tempdir().unwrap();
    let engine = market(folder.path());
    let script = "echo $TRADEWIND_PART $TRADEWIND_PARTS $TRADEWIND_PART_0_SITE \
                  $TRADEWIND_PART_1_SITE $TRADEWIND_HOSTS; sleep 1";
    let number = submit(&engine, script);
    let known = |job: &Job| job.barrier().is_some_and(|it| !it.began.is_empty());
    let job = when(&engine, number, |job| matches!(job.phase(), Phase::Over(_)) && known(job));
    assert_eq!(job.phase(), Phase::Over(&Finish::Completed));
    let rendezvous = job.barrier().unwrap();
    let at = rendezvous.at.unwrap();
    // Generous: the machine may be busy.
    assert!(job.skew().unwrap() < 1_000, "{rendezvous:?}");
    assert!(rendezvous.began.iter().all(|began| *began >= at.0 * 1_000), "{rendezvous:?}");
    let used: i64 = job
        .parts()
        .iter()
        .map(|part| (part.exit.as_ref().unwrap().0 - at).0 * i64::from(part.nodes))
        .sum();
    assert_eq!(job.paid, Money(used * 1_000_000), "from the common beginning on");
    for part in 0..2 {
        let said = std::fs::read_to_string(folder.path().join(format!("out-{part}"))).unwrap();
        assert_eq!(said, format!("{part} 2 alpha beta cpu/0,cpu/1,cpu/0\n"));
    }
    engine.handle.stop();
    engine.wait();
}

/// Waits until the market writes again.
fn goes_on(engine: &Engine) {
    let end = Instant::now() + Duration::from_secs(60);
    while engine.handle.gauges().is_read_only() {
        assert!(Instant::now() < end, "it does not go on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_full_disk_stops_writes_only() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(Origin { market: "m".to_owned(), created: 0 });
    let engine = market_on(folder.path(), &disk);
    let running = submit(&engine, "sleep 600");
    when(&engine, running, |job| job.parts().iter().all(|part| part.since.is_some()));
    let waiting = submit(&engine, "true");
    when(&engine, waiting, |job| job.phase() == Phase::Waiting);
    disk.fill();
    let ana = || Actor { user: "ana".to_owned(), role: Role::User };
    let ask = |engine: &Engine, ask: Ask| engine.handle.ask(ana(), ask);
    ask(&engine, Ask::Hold { job: waiting }).unwrap_err();
    // What was not written did not happen, and everything can be looked at.
    when(&engine, waiting, |job| job.phase() == Phase::Waiting);
    assert!(engine.handle.gauges().is_read_only());
    ask(&engine, Ask::Hold { job: waiting }).unwrap_err();
    ask(&engine, Ask::Cancel { job: waiting }).unwrap();
    ask(&engine, Ask::Cancel { job: running }).unwrap();
    when(&engine, waiting, |job| job.phase() == Phase::Over(&Finish::Cancelled));
    disk.make_room();
    // The site got the order to stop it, and what came of that is known before it can be written.
    when(&engine, running, |job| job.phase() == Phase::Over(&Finish::Cancelled));
    goes_on(&engine);
    engine.handle.stop();
    engine.wait();
    let mut journal = disk.open().unwrap();
    let state = recover(&mut journal, &Json).unwrap();
    assert_eq!(state.jobs[&waiting].phase(), Phase::Over(&Finish::Cancelled));
    prove(&mut journal, &Json).unwrap();
    drop(journal);

    // A start on a full disk.
    disk.fill();
    let engine = market_on(folder.path(), &disk);
    assert!(engine.handle.gauges().is_read_only());
    when(&engine, running, |job| job.phase() == Phase::Over(&Finish::Cancelled));
    disk.make_room();
    goes_on(&engine);
    submit(&engine, "true");
    engine.handle.stop();
    engine.wait();
}

#[test]
fn a_journal_that_is_full_and_then_gone_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(Origin { market: "m".to_owned(), created: 0 });
    let engine = market_on(folder.path(), &disk);
    let number = submit(&engine, "sleep 600");
    disk.fail_next(StoreFault::FullAndGone);
    let cancel = || {
        let ana = Actor { user: "ana".to_owned(), role: Role::User };
        engine.handle.ask(ana, Ask::Cancel { job: number })
    };
    let end = Instant::now() + Duration::from_secs(60);
    while cancel().is_err() {
        assert!(Instant::now() < end, "the market does not go on");
        std::thread::sleep(Duration::from_millis(100));
    }
    engine.handle.stop();
    engine.wait();
    prove(&mut disk.open().unwrap(), &Json).unwrap();
}
