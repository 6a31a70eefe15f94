//! Policies of the user's own beside observed clusters.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tradewind_model::{Command, Event, Market, Place, PoolId};

use super::super::advice::Advice;
use super::super::mirror::Mirror;
use super::*;

/// Starts all jobs that fit, in the order of submission.
fn greedy(market: &Market) -> Vec<Command> {
    let mut free: Vec<u32> = market.pools().iter().map(|(pool, _)| market.free_in(pool)).collect();
    let mut commands = Vec::new();
    for job in market.queue() {
        let Some(demand) = market.demand(job) else { continue };
        let suits = |(id, pool): &(PoolId, &tradewind_model::Pool)| {
            demand.processors <= free[id.index()] && pool.suits(demand)
        };
        if let Some((pool, _)) = market.pools().iter().find(suits) {
            free[pool.index()] -= demand.processors;
            commands.push(Command::Start { job, place: Place::Pool(pool) });
        }
    }
    commands
}

/// Answers so often, then fails.
struct Greedy {
    answers: Arc<AtomicUsize>,
    told: Arc<Mutex<Vec<Event>>>,
}

impl Adviser for Greedy {
    fn decide(&mut self, market: &Market, events: &[Event]) -> Result<Vec<Command>, String> {
        self.told.lock().unwrap().extend_from_slice(events);
        let left = self.answers.load(Ordering::Relaxed);
        self.answers.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 { Err("it is tired".to_owned()) } else { Ok(greedy(market)) }
    }
}

#[derive(Default)]
struct Stage {
    answers: Arc<AtomicUsize>,
    told: Arc<Mutex<Vec<Event>>>,
    started: Arc<AtomicUsize>,
}

impl Stage {
    fn advice(&self) -> Advice {
        let (answers, told) = (Arc::clone(&self.answers), Arc::clone(&self.told));
        let started = Arc::clone(&self.started);
        let start: StartAdviser = Box::new(move |_, _| {
            started.fetch_add(1, Ordering::Relaxed);
            Ok(Box::new(Greedy { answers: Arc::clone(&answers), told: Arc::clone(&told) }))
        });
        let policy = SitePolicy { name: "python:a:Greedy".to_owned(), start };
        Advice::new(policy, "a", &Arc::new(AtomicBool::new(false)))
    }
}

fn note(records: &Records, after: i64, seen: &Survey, advice: &mut Advice) {
    records.note(Time(BEGIN + after), "a", &observed(4), seen, &price(), Some(advice));
}

fn advised(records: &Records) -> Advised {
    records.summary().sites[0].advised.clone().unwrap()
}

#[test]
fn what_a_policy_would_start_is_compared_with_what_came() {
    let (stage, records) = (Stage::default(), Records::default());
    stage.answers.store(usize::MAX, Ordering::Relaxed);
    let mut advice = stage.advice();
    // Two nodes are free: the cluster keeps them for the wide job, greed gives them to the narrow one.
    let first = [("1", 2, BEGIN - 50, BEGIN + 100)];
    let queue = || vec![waits("2", 4, 60, None), waits("3", 2, 600, None)];
    note(&records, 0, &survey(4, &first, queue()), &mut advice);
    note(&records, 50, &survey(4, &first, queue()), &mut advice);
    // The cluster starts the wide one, which greed has left waiting.
    let second = [("2", 4, BEGIN + 101, BEGIN + 161)];
    note(&records, 101, &survey(4, &second, vec![waits("3", 2, 600, None)]), &mut advice);
    let third = [("3", 2, BEGIN + 161, BEGIN + 761)];
    note(&records, 161, &survey(4, &third, vec![]), &mut advice);
    let seen = advised(&records);
    assert_eq!((seen.jobs, seen.earlier, seen.saved, seen.later, seen.built_in), (2, 1, 161, 1, 0));
    assert_eq!((seen.policy.outages, seen.policy.outage), (0, None));
    // What it started without effect is reported to it: the job waits again.
    let told = stage.told.lock().unwrap();
    let is_back = |event: &&Event| matches!(event, Event::Interrupted { .. });
    assert_eq!(told.iter().filter(is_back).count(), 2, "{told:?}");
}

#[test]
fn a_silent_policy_is_stated_replaced_and_started_again_after_a_pause() {
    let (stage, records) = (Stage::default(), Records::default());
    stage.answers.store(1, Ordering::Relaxed);
    let mut advice = stage.advice();
    let first = [("1", 4, BEGIN - 50, BEGIN + 100)];
    let seen = || survey(4, &first, vec![waits("2", 4, 60, None)]);
    note(&records, 0, &seen(), &mut advice);
    note(&records, 5, &seen(), &mut advice);
    let outage = Some((BEGIN + 5, "it is tired".to_owned()));
    assert_eq!(
        (advised(&records).policy.outage, stage.started.load(Ordering::Relaxed)),
        (outage, 1)
    );
    // The look-ahead starts the job when the nodes are free.
    note(&records, 101, &survey(4, &[], vec![waits("2", 4, 60, None)]), &mut advice);
    let second = [("2", 4, BEGIN + 102, BEGIN + 162)];
    note(&records, 102, &survey(4, &second, vec![]), &mut advice);
    let seen_now = advised(&records);
    assert_eq!((seen_now.jobs, seen_now.built_in), (0, 1));
    // Failed at 5 and 101, so that it rests until 121; it was not started in between.
    assert_eq!(stage.started.load(Ordering::Relaxed), 2);
    stage.answers.store(usize::MAX, Ordering::Relaxed);
    note(&records, 120, &survey(4, &[], vec![]), &mut advice);
    assert_eq!(stage.started.load(Ordering::Relaxed), 2);
    note(&records, 121, &survey(4, &[], vec![]), &mut advice);
    assert_eq!(stage.started.load(Ordering::Relaxed), 3);
    assert_eq!(advised(&records).policy.outage, None);
    assert_eq!(advised(&records).policy.outages, 1);
}

#[test]
fn an_adviser_is_ended_with_the_watch() {
    struct Dropped(Arc<AtomicBool>);
    impl Adviser for Dropped {
        fn decide(&mut self, _: &Market, _: &[Event]) -> Result<Vec<Command>, String> {
            Ok(Vec::new())
        }
    }
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ended);
    let start: StartAdviser = Box::new(move |_, _| Ok(Box::new(Dropped(Arc::clone(&flag)))));
    let site = ObservedSite {
        name: "a".to_owned(),
        site: observed(4),
        every: Duration::from_secs(3_600),
        pricing: price(),
        policy: Some(SitePolicy { name: "python:a:Dropped".to_owned(), start }),
    };
    let records = Records::default();
    let watch = Watch::start(vec![site], &records, folder.path().join("shadow.json")).unwrap();
    let asked = || records.summary().sites.iter().any(|site| site.advised.is_some());
    let begin = Instant::now();
    while !asked() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it is not asked");
        std::thread::sleep(Duration::from_millis(5));
    }
    watch.stop();
    assert!(ended.load(Ordering::Relaxed));
}

/// Name, pool (2: either), nodes, limit, and whether it waits or runs, and where.
type DrawnJob = (u32, usize, u32, i64, u8);

/// A cluster of two pools at some surveys: jobs wait, run, come back, vanish; nodes are down.
fn surveys() -> impl Strategy<Value = Vec<Survey>> {
    let job = (0..12_u32, 0..3_usize, 1..6_u32, 1..500_i64, 0..4_u8);
    let one = (prop::collection::vec(job, 0..12), 0..5_u32, 0..5_u32, 0..3_u32);
    let survey = |(jobs, up, reserved, beyond): (Vec<DrawnJob>, u32, u32, u32)| {
        let mut seen = Survey { queue_beyond: beyond / 2, ..Survey::default() };
        let pool = |up| PoolSurvey { up, ..PoolSurvey::default() };
        seen.pools = vec![pool(4), pool(up)];
        let task = |nodes| LocalTask { nodes, from: Time(0), until: Time(BEGIN + 300) };
        seen.pools[1].local.insert("reservation x".to_owned(), task(reserved));
        for (name, pool, nodes, limit, runs) in jobs {
            let name = name.to_string();
            let pools = if pool == 2 { vec![0, 1] } else { vec![pool] };
            match runs {
                0 => {
                    seen.pools[pool % 2].local.insert(format!("job {name}"), task(nodes));
                }
                1 => seen.pools.iter_mut().for_each(|it| {
                    it.local.insert(format!("job {name}"), task(nodes));
                }),
                _ => seen.queue.push(QueuedJob { pools, ..waits(&name, nodes, limit, None) }),
            }
        }
        seen
    };
    prop::collection::vec(one.prop_map(survey), 1..12)
}

proptest! {
    /// Whatever surveys say, the market follows them, and its books are right.
    #[test]
    fn a_market_follows_any_surveys(surveys in surveys()) {
        let two: Vec<PoolSetup> = ["p", "q"]
            .map(|name| PoolSetup { name: name.to_owned(), ..setup(4).remove(0) })
            .into();
        let mut mirror = Mirror::new("a", &two, Time(BEGIN)).unwrap();
        for (at, survey) in (BEGIN..).step_by(90).zip(&surveys) {
            mirror.follow(Time(at), survey).unwrap();
            mirror.market().check().unwrap();
            let before: Vec<_> = mirror.market().queue().collect();
            let free = mirror.market().free();
            let starts = mirror.ask(|market, _| Ok(greedy(market))).unwrap();
            let queued = |name: &String| survey.queue.iter().any(|job| job.name == *name);
            prop_assert!(survey.queue_beyond > 0 || starts.iter().all(queued));
            // The cluster is as before: nothing was started there.
            prop_assert_eq!(before, mirror.market().queue().collect::<Vec<_>>());
            prop_assert_eq!(free, mirror.market().free());
            // What holds nodes beside the market's own jobs is missing.
            let (first, second) = (&survey.pools[0].local, &survey.pools[1].local);
            let only = first.keys().any(|name| !second.contains_key(name));
            prop_assert!(!only || mirror.market().free_in(PoolId(0)) < 4);
        }
    }
}
