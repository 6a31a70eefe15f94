//! A whole market on Grid Engine, beside owners who have jobs in its queue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_daemon::codec::Json;
use tradewind_daemon::engine::{Engine, Setup, SiteSetup, Timing};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::{Ask, Make, Refusal, Reply, Settings};
use tradewind_daemon::store::memory::Disk;
use tradewind_daemon::store::{Origin, Store};
use tradewind_io::submission::{Submission, TimeLimit, Work};
use tradewind_model::{
    Admission, Attributes, OwnersFirst, Performance, Pool, Pools, Price, Site, SiteId, Span,
    Standing, Times,
};
use tradewind_sched::policy::{Policy, gridfill};

use crate::bench::GridBench;
use crate::fixture::Cluster;
use crate::resources;

#[derive(Debug)]
struct Easy;

impl Make for Easy {
    fn make(&self, _: &str, _: &Pools) -> Result<Box<dyn Policy + Send>, String> {
        Ok(Box::new(gridfill::GridFill::new(gridfill::GridFillSettings::default())))
    }
}

/// A market with this cluster as its only site.
fn market(bench: GridBench) -> (Engine, Cluster) {
    let pool = |(name, nodes): (&str, u32)| Pool {
        name: format!("grid/{name}"),
        site: SiteId(0),
        nodes,
        performance: Performance::REFERENCE,
        price: Price(1_000_000),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let pools = [("main", 8), ("other", 2)].map(pool).into();
    let sites = vec![Site { name: "grid".to_owned() }];
    let disk = Disk::new(Origin { market: "m".to_owned(), created: 0 });
    let (cluster, site) = bench.into_parts();
    let setup = Setup {
        open: Box::new(move || Ok(Box::new(disk.open()?) as Box<dyn Store>)),
        codec: Json,
        pools: Arc::new(Pools::new(sites, pools).unwrap()),
        sites: vec![SiteSetup {
            name: "grid".to_owned(),
            owner: "grid".to_owned(),
            site,
            survey_every: Duration::from_secs(1),
            survey_within: Duration::from_secs(60),
        }],
        peers: Vec::new(),
        maker: Arc::new(Easy),
        policy: "easy".to_owned(),
        // As of a configuration in which nothing is said of the owners' queue.
        settings: Settings {
            owners_first: [("grid".to_owned(), OwnersFirst::usual(Standing::Behind))].into(),
            ..Settings::default()
        },
        timing: Timing::default(),
    };
    (Engine::start(setup).unwrap(), cluster)
}

/// A job of the market on so many nodes, with this time limit in seconds.
fn submit(engine: &Engine, script: &str, nodes: u32, limit: i64) {
    assert!(matches!(ask_for(engine, script, (nodes, limit), vec![]), Ok(Reply::Jobs(_))));
}

/// The same with options for managers.
fn ask_for(
    engine: &Engine,
    script: &str,
    (nodes, limit): (u32, i64),
    passed_through: Vec<(String, String)>,
) -> Result<Reply, Refusal> {
    let submission = Submission {
        passed_through,
        ..Submission::new(
            "market",
            Work::Script { text: format!("#!/bin/sh\n{script}\n"), arguments: vec![] },
            nodes,
            TimeLimit::Reference(Span(limit)),
        )
    };
    let actor = Actor { user: "ana".to_owned(), role: Role::User };
    let ask = Ask::Submit { submission: Arc::new(submission), key: None, quote: None };
    engine.handle.ask(actor, ask)
}

/// A job with resources runs where they are, and one that wants more than there is on any host is refused
/// with what there is.
#[test]
fn a_market_places_jobs_by_their_resources() {
    let (engine, cluster) = market(GridBench::on(resources::cluster(), |_| {}));
    let gpus = |count: &str| vec![("gres".to_owned(), format!("gpu:{count}"))];
    // It is not known what the hosts have before the first survey.
    let end = Instant::now() + Duration::from_secs(60);
    while !matches!(ask_for(&engine, "true", (1, 60), gpus("3")), Err(refusal)
        if refusal.message.contains("gpu 3") || refusal.hint.contains("gpu 2"))
    {
        assert!(Instant::now() < end, "{}", cluster.told());
        std::thread::sleep(Duration::from_millis(200));
    }
    let script = says(&cluster, "gpus", 0);
    assert!(ask_for(&engine, &script, (1, 60), gpus("2")).is_ok());
    until(&cluster, 120, "gpus-ends");
    engine.handle.stop();
    engine.wait();
}

/// Writes down when it begins and ends.
fn says(cluster: &Cluster, name: &str, seconds: u32) -> String {
    let marks = cluster.path("work/marks").display().to_string();
    let mark = |what: &str| format!("echo {name}-{what} $(date +%s%3N) >> {marks}");
    format!("{}; sleep {seconds}; {}", mark("begins"), mark("ends"))
}

/// An owner's job on so many slots of `main.q`, with these further words of `qsub`.
fn owners_job(cluster: &Cluster, name: &str, (slots, seconds): (u32, u32), words: &[&str]) {
    // It ends by itself: a job that is killed at its limit cannot write that it has ended.
    let (slots, limit) = (slots.to_string(), format!("h_rt={}", seconds + 2));
    let mut argv = vec!["qsub", "-terse", "-S", "/bin/sh", "-q", "main.q", "-pe", "units", &slots];
    argv.extend(["-l", &limit, "-o", "/dev/null", "-j", "y", "-wd", "/"]);
    argv.extend(words);
    cluster.must(&argv, &says(cluster, name, seconds));
}

/// What was written, in milliseconds.
fn marks(cluster: &Cluster) -> BTreeMap<String, i64> {
    let text = cluster.read("work/marks");
    let mark = |line: &str| {
        let (name, at) = line.split_once(' ')?;
        Some((name.to_owned(), at.parse().ok()?))
    };
    text.lines().filter_map(mark).collect()
}

fn until(cluster: &Cluster, seconds: u64, name: &str) -> BTreeMap<String, i64> {
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        let seen = marks(cluster);
        if seen.contains_key(name) {
            return seen;
        }
        assert!(Instant::now() < end, "no {name}: {seen:?}\n{}", cluster.told());
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// An owner's job runs on half of the slots, and a wide one waits for all; milliseconds from the end of the
/// first to the start of the wide one. A market with many narrow jobs, if there is one, starts none of them
/// in between, but one that it had sent before it saw the end.
fn wide_job_waits(words: &[&str], cluster: &Cluster, market: Option<&Engine>) -> i64 {
    owners_job(cluster, "first", (4, 20), &[]);
    until(cluster, 60, "first-begins");
    owners_job(cluster, "wide", (8, 5), words);
    std::thread::sleep(Duration::from_secs(3));
    if let Some(engine) = market {
        for job in 0..14 {
            submit(engine, &says(cluster, &format!("job{job}"), 4), 4, 6);
        }
    }
    let seen = until(cluster, 120, "wide-begins");
    let (free, begins) = (seen["first-ends"], seen["wide-begins"]);
    let between = |(name, at): &(&String, &i64)| {
        name.starts_with("job") && name.ends_with("begins") && (free + SEEN..begins).contains(*at)
    };
    assert_eq!(seen.iter().filter(between).count(), 0, "{seen:?}");
    begins - free
}

/// Jobs of the market do not keep an owner's wide job waiting, whether Grid Engine keeps nodes free for it
/// or not: it starts as soon after the last owner's job as without a market.
#[test]
fn an_owners_wide_job_starts_in_its_turn_beside_a_busy_market() {
    let (cluster, _site) = GridBench::new().into_parts();
    let alone = wide_job_waits(&[], &cluster, None);
    for words in [&[][..], &["-R", "y"]] {
        let (engine, cluster) = market(GridBench::new());
        let beside = wide_job_waits(words, &cluster, Some(&engine));
        println!("{words:?}: the wide job began after {beside} ms, and alone after {alone} ms");
        assert!(beside - alone < SEEN + SENT, "{beside} ms, and alone {alone} ms");
        // Then it is the market's turn.
        until(&cluster, 120, "job13-ends");
        engine.handle.stop();
        engine.wait();
    }
}

/// Until the market has seen an end, one survey of each second, and what a busy machine adds: milliseconds.
const SEEN: i64 = 3_000;
/// A job of the market that had been sent before: milliseconds.
const SENT: i64 = 5_000;
