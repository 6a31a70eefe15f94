mod advice;

use std::time::{Duration, Instant};

use tradewind_model::{Performance, Price, Span, Time};

use super::record::MAX_WAITING;
use super::*;
use crate::site::fake::{FakeSite, LocalJob};
use crate::site::observed::Observed;
use crate::site::queued::{EndedJob, MAX_QUEUED, QueuedJob};
use crate::site::{HIDDEN_ON, LocalTask, PoolSetup, PoolSurvey, Site, Survey};

const BEGIN: i64 = 1_000_000;

fn setup(nodes: u32) -> Vec<PoolSetup> {
    vec![PoolSetup {
        name: "p".to_owned(),
        nodes,
        performance: Performance::REFERENCE,
        attributes: Default::default(),
    }]
}

/// What takes no part in a test: the cluster is given, and its surveys are made by hand.
fn observed(nodes: u32) -> Observed {
    Observed::of(Box::new(FakeSite::new(setup(nodes), Time(BEGIN))))
}

fn price() -> Pricing {
    Box::new(|_, loads| vec![Price(2); loads.len()])
}

fn waits(name: &str, nodes: u32, limit: i64, expected: Option<i64>) -> QueuedJob {
    QueuedJob {
        user: Some("eve".to_owned()),
        account: Some("physics".to_owned()),
        submitted: Time(BEGIN),
        expected: expected.map(Time),
        ..QueuedJob::of(name, 0, nodes, Span(limit))
    }
}

fn survey(nodes: u32, running: &[(&str, u32, i64, i64)], queue: Vec<QueuedJob>) -> Survey {
    let task = |&(name, nodes, from, until): &(&str, u32, i64, i64)| {
        let task = LocalTask { nodes, from: Time(from), until: Time(until) };
        (format!("job {name}"), task)
    };
    let local = running.iter().map(task).collect();
    let pool = PoolSurvey { up: nodes, local, ..PoolSurvey::default() };
    Survey { pools: vec![pool], queue, ..Survey::default() }
}

/// A survey of the cluster `a`, of four nodes, so long after the first.
fn look(records: &Records, after: i64, seen: &Survey) {
    records.note(Time(BEGIN + after), "a", &observed(4), seen, &price(), None);
}

#[test]
fn starts_are_compared_with_both_forecasts() {
    let records = Records::default();
    let end = BEGIN + 100;
    let first = [("1", 4, BEGIN - 50, end)];
    look(&records, 0, &survey(4, &first, vec![waits("2", 4, 60, None), waits("3", 4, 60, None)]));
    // The manager says what it expects in its next round.
    let later = vec![waits("2", 4, 60, Some(end + 7)), waits("3", 4, 60, None)];
    look(&records, 30, &survey(4, &first, later));
    let second = [("2", 4, BEGIN + 90, BEGIN + 150)];
    look(&records, 91, &survey(4, &second, vec![waits("3", 4, 60, None)]));
    let third = [("3", 4, BEGIN + 150, BEGIN + 210), ("4", 0, BEGIN + 151, BEGIN + 210)];
    look(&records, 152, &survey(4, &third, vec![]));

    let summary = records.summary();
    assert_eq!(summary.jobs, 2);
    // The first is foreseen at 100, and started at 90; the second at 160, and started at 150.
    let ours = Errors { jobs: 2, median: Some(10), p90: Some(10) };
    let manager = Errors { jobs: 1, median: Some(17), p90: Some(17) };
    assert_eq!((summary.ours, summary.manager), (ours, manager));
    let same = Errors { jobs: 1, ..ours };
    assert_eq!(summary.same, Compared { ours: same, manager });
    let site = &summary.sites[0];
    assert_eq!((site.counts.unpredicted, site.counts.gone, site.waiting), (1, 0, 0));
    let eve = &summary.users[0];
    assert_eq!((eve.name.as_deref(), eve.jobs, eve.waited, eve.examined), (Some("eve"), 2, 240, 0));
    assert_eq!(summary.projects[0].name.as_deref(), Some("physics"));
    // Four nodes at two micro-credits, all the time.
    assert_eq!(site.total, Hour { used: 608, up: 608, value: 1_216, idle_value: 0 });
}

#[test]
fn a_late_forecast_of_the_manager_does_not_count() {
    let records = Records::default();
    let first = [("1", 4, BEGIN, BEGIN + 1_000)];
    look(&records, 0, &survey(4, &first, vec![waits("2", 4, 60, None)]));
    look(&records, 500, &survey(4, &first, vec![waits("2", 4, 60, Some(BEGIN + 1_000))]));
    look(&records, 1_001, &survey(4, &[("2", 4, BEGIN + 1_000, BEGIN + 1_060)], vec![]));
    let summary = records.summary();
    assert_eq!((summary.ours.jobs, summary.manager.jobs), (1, 0));
}

#[test]
fn what_is_not_compared_is_counted() {
    let records = Records::default();
    let array = QueuedJob { tasks: 5, ..waits("2", 1, 60, None) };
    let full = [("1", 4, BEGIN, BEGIN + 500)];
    look(&records, 0, &survey(4, &full, vec![array.clone(), waits("3", 1, 60, None)]));
    // The job is cancelled, and a task of the array has a number of its own.
    let task = [("9", 1, BEGIN + 10, BEGIN + 70)];
    look(&records, 10, &survey(4, &task, vec![QueuedJob { tasks: 4, ..array }]));
    let summary = records.summary();
    let counts = Counts { unpredicted: 1, gone: 1, arrays: 1, ..Counts::default() };
    assert_eq!((summary.jobs, summary.sites[0].counts), (0, counts));
}

/// What a manager still lists of jobs that are over shows what no survey saw run.
#[test]
fn jobs_that_are_over_between_two_surveys_count_once() {
    let ended = |name: &str, nodes, start, end| EndedJob {
        job: waits(name, nodes, 60, None),
        start: Time(BEGIN + start),
        end: Time(BEGIN + end),
    };
    let records = Records::default();
    let after = |all: Vec<EndedJob>, running: &[(&str, u32, i64, i64)], queue| Survey {
        ended: all,
        ..survey(4, running, queue)
    };
    // What is over when the observation begins was not observed.
    let old = ended("1", 4, -20, -10);
    look(&records, 0, &after(vec![old.clone()], &[], vec![waits("2", 1, 60, None)]));
    let brief = vec![old, ended("2", 1, 5, 20), ended("3", 2, 10, 40)];
    let running = [("4", 1, BEGIN + 50, BEGIN + 110)];
    look(&records, 90, &after(brief.clone(), &running, vec![]));
    let of = |records: &Records| records.summary().sites[0].clone();
    let site = of(&records);
    assert_eq!(
        (site.jobs, site.counts.brief, site.counts.gone, site.counts.unpredicted),
        (2, 1, 0, 1)
    );
    // The one that was seen waiting is compared, though no survey saw it run.
    assert_eq!((site.ours.jobs, site.ours.median), (1, Some(5)));
    assert_eq!((site.waits.jobs, site.waits.waited), (2, 15));
    // One node for 15 s, and two for 30 s, at two micro-credits.
    assert_eq!(site.total, Hour { used: 75, up: 360, value: 150, idle_value: 570 });
    // They are listed once more, with the one that ran.
    let more = [brief, vec![ended("4", 1, 50, 100)]].concat();
    look(&records, 180, &after(more, &[], vec![]));
    let site = of(&records);
    assert_eq!((site.jobs, site.counts.brief, site.waits.waited), (2, 1, 15));
}

/// The cluster shows no jobs of others, but which nodes are in use.
#[test]
fn nodes_of_hidden_jobs_are_in_use_and_what_is_not_seen_is_said() {
    let records = Records::default();
    let hidden = |notes: &[&str]| {
        let task = LocalTask { nodes: 1, from: Time(BEGIN), until: Time(BEGIN + 1) };
        let mut seen = survey(4, &[], vec![]);
        seen.queue_notes = notes.iter().map(|note| (*note).to_owned()).collect();
        seen.pools[0].local = [(format!("{HIDDEN_ON}n1"), task)].into();
        seen
    };
    look(&records, 0, &survey(4, &[], vec![]));
    look(&records, 10, &hidden(&["they are hidden"]));
    look(&records, 20, &hidden(&["they are hidden"]));
    let site = &records.summary().sites[0];
    assert_eq!((site.counts, site.jobs), (Counts::default(), 0), "no job was seen to start");
    assert_eq!((site.total.used, site.total.up), (10, 80));
    assert_eq!(site.unknown, ["they are hidden"]);
    look(&records, 30, &hidden(&[]));
    assert!(records.summary().sites[0].unknown.is_empty());
}

/// What the manager has forgotten is found in an accounting, or its time is counted.
#[test]
fn time_that_no_survey_covers_is_counted_from_the_second_one_on() {
    let records = Records::default();
    let unwatched = |seconds| Survey { unwatched: Span(seconds), ..survey(4, &[], vec![]) };
    let waiting = survey(4, &[], vec![waits("2", 1, 60, None)]);
    look(&records, 0, &Survey { unwatched: Span(500), ..waiting });
    let found = ["2", "3"].map(|name| EndedJob {
        job: waits(name, 1, 60, None),
        start: Time(BEGIN + 5),
        end: Time(BEGIN + 20),
    });
    look(&records, 700, &Survey { ended: found.into(), ..unwatched(0) });
    look(&records, 1_400, &unwatched(40));
    look(&records, 2_100, &unwatched(2));
    let site = &records.summary().sites[0];
    let counts = Counts { brief: 1, unwatched: 42, ..Counts::default() };
    assert_eq!((site.counts, site.jobs, site.ours.jobs), (counts, 2, 1));
}

#[test]
fn another_cluster_would_have_started_the_job_earlier() {
    let records = Records::default();
    let idle = survey(2, &[], vec![]);
    records.note(Time(BEGIN), "b", &observed(2), &idle, &price(), None);
    let full = [("1", 4, BEGIN, BEGIN + 100)];
    let queue = vec![waits("2", 2, 60, None), waits("3", 3, 60, None)];
    look(&records, 5, &survey(4, &full, queue));
    let then = [("2", 1, BEGIN + 100, BEGIN + 160), ("3", 3, BEGIN + 100, BEGIN + 160)];
    look(&records, 100, &survey(4, &then, vec![]));
    let eve = &records.summary().users[0];
    // `b` has two nodes: the wider job could not run there.
    assert_eq!((eve.jobs, eve.examined, eve.saved), (2, 1, 95));
}

#[test]
fn another_hour_would_have_been_quieter_and_cheaper() {
    let records = Records::default();
    // Dear in the first hour, cheap in the third.
    let cost: Pricing = Box::new(|at, loads| {
        let price = if at.0 < BEGIN + 3_600 { 5 } else { 2 };
        vec![Price(price); loads.len()]
    });
    let note = |after: i64, seen: &Survey| {
        records.note(Time(BEGIN + after), "a", &observed(8), seen, &cost, None);
    };
    // Submitted at once, and waits for an hour; three narrow and one wide job later wait for less.
    let job = |name: &str, nodes: u32, after: i64| QueuedJob {
        submitted: Time(BEGIN + after),
        ..waits(name, nodes, 60, None)
    };
    let full = [("1", 8, BEGIN - 9, BEGIN + 600)];
    let mut after = 0;
    let first = [job("2", 2, 0)];
    while after < 600 {
        note(after, &survey(8, &full, first.to_vec()));
        after += 300;
    }
    note(600, &survey(8, &[("2", 2, BEGIN + 600, BEGIN + 660)], vec![]));
    for at in (900..7_200).step_by(300) {
        note(at, &survey(8, &[], vec![]));
    }
    let later = [job("3", 2, 7_200), job("4", 3, 7_200), job("5", 2, 7_200), job("6", 8, 7_200)];
    note(7_200, &survey(8, &[], later.to_vec()));
    let started = ["3", "4", "5"].map(|name| (name, 2, BEGIN + 7_300, BEGIN + 7_360));
    note(7_310, &survey(8, &started, vec![job("6", 8, 7_200)]));
    note(7_400, &survey(8, &[("6", 8, BEGIN + 7_390, BEGIN + 7_450)], vec![]));

    let summary = records.summary();
    let of = |it: &WaitSummary| (it.jobs, it.examined_later, it.saved_later, it.cheaper_later);
    // 600 s less 100 s, the median of the three that are as wide; 2 nodes for 60 s, 3 cheaper each.
    assert_eq!(of(&summary.users[0]), (5, 1, 500, 360));
    let site = &summary.sites[0];
    assert_eq!((of(&site.waits), site.waits.name.as_ref()), ((5, 1, 500, 360), None));
    assert_eq!(site.users, summary.users);
    assert_eq!(site.projects, summary.projects);
}

#[test]
fn records_of_older_releases_say_nothing_of_other_times() {
    let old = r#"{"format": 1, "shadow": {"sites": {}, "scored": [
        {"site": "a", "user": "eve", "wait": 50}, {"site": "a", "user": "eve", "wait": 5}]}}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shadow.json");
    std::fs::write(&path, old).unwrap();
    let eve = &Records::load(&path).unwrap().summary().users[0];
    assert_eq!((eve.jobs, eve.waited, eve.examined_later, eve.saved_later), (2, 55, 0, 0));
}

#[test]
fn use_is_counted_by_hour_and_gaps_are_not_known() {
    let records = Records::default();
    let hour = BEGIN.div_euclid(3_600) * 3_600 + 3_600 - BEGIN;
    let half = survey(4, &[("1", 1, BEGIN, BEGIN + 90_000)], vec![]);
    look(&records, hour - 100, &half);
    look(&records, hour + 50, &half);
    look(&records, hour + 2_000, &half);
    let site = &records.summary().sites[0];
    let used: Vec<(i64, i64, i64)> =
        site.hours.iter().map(|(at, it)| (at - BEGIN - hour, it.used, it.idle_value)).collect();
    assert_eq!(used, [(-3_600, 100, 600), (0, 50, 300)]);
}

#[test]
fn absurd_queues_are_bounded() {
    let records = Records::default();
    for round in 0..8 {
        let name = |number: usize| format!("{}", round * MAX_QUEUED + number);
        let absurd = |number| QueuedJob {
            nodes: u32::MAX,
            limit: Span(i64::MAX),
            submitted: Time(i64::MAX),
            expected: Some(Time(i64::MIN)),
            tasks: 100_000,
            ..waits(&name(number), 1, 60, None)
        };
        let queue = (0..MAX_QUEUED).map(absurd).collect();
        let seen = survey(4, &[], queue);
        look(&records, round as i64, &Survey { queue_beyond: 9, ..seen });
    }
    let site = &records.summary().sites[0];
    assert_eq!(site.waiting, MAX_WAITING, "those that are not listed any more may still wait");
    let hours = |day: i64| look(&records, day * 800, &survey(4, &[], vec![]));
    (1..2_000).for_each(hours);
    let site = &records.summary().sites[0];
    assert_eq!((site.waiting, site.hours.len()), (0, 8 * 24));
}

#[test]
fn history_is_bounded() {
    let records = Records::default();
    let each = 2_000;
    for round in 0..i64::try_from(MAX_SCORED / each).unwrap() + 1 {
        let names: Vec<String> = (0..each).map(|it| format!("{round}-{it}")).collect();
        let at = round * 10;
        let queue = names.iter().map(|name| QueuedJob {
            blocked: crate::site::queued::Blocked::Held,
            ..waits(name, 1, 60, None)
        });
        look(&records, at, &survey(4, &[], queue.collect()));
        let start = BEGIN + at + 1;
        let running: Vec<(&str, u32, i64, i64)> =
            names.iter().map(|name| (name.as_str(), 0, start, start + 60)).collect();
        look(&records, at + 1, &survey(4, &running, vec![]));
    }
    assert_eq!(records.summary().jobs, MAX_SCORED);
}

/// A cluster whose queue moves on with the clock: all of its starts are seen, and none is ours.
#[test]
fn a_queue_that_moves_on_is_foreseen() {
    let mut site = FakeSite::new(setup(4), Time(BEGIN));
    for number in 0..6 {
        let at = Time(BEGIN);
        let job = LocalJob { pool: 0, nodes: 4, shown: at, from: at, length: Span(100) };
        site.set_local(&format!("{number}"), job);
    }
    let records = Records::default();
    for step in 0..60 {
        let at = Time(BEGIN + step * 10);
        site.advance(at);
        let seen = site.survey().unwrap();
        records.note(at, "a", &observed(4), &seen, &price(), None);
    }
    let summary = records.summary();
    assert_eq!(summary.jobs, 5, "{summary:?}");
    assert!(summary.ours.jobs == 5 && summary.ours.p90 <= Some(1), "{summary:?}");
    assert!(site.history().is_empty(), "nothing was submitted");
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn watch(records: &Records, path: &std::path::Path) -> Watch {
    let site = ObservedSite {
        name: "a".to_owned(),
        site: observed(4),
        every: Duration::from_millis(10),
        pricing: price(),
        policy: None,
    };
    Watch::start(vec![site], records, path.to_owned()).unwrap()
}

#[test]
fn the_record_survives_a_restart_and_a_damaged_file_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shadow.json");
    let records = Records::load(&path).unwrap();
    look(&records, 0, &survey(4, &[("1", 4, BEGIN, BEGIN + 9)], vec![waits("2", 4, 60, None)]));
    look(&records, 9, &survey(4, &[("2", 4, BEGIN + 9, BEGIN + 69)], vec![]));
    look(
        &records,
        10,
        &survey(4, &[("2", 4, BEGIN + 9, BEGIN + 69)], vec![waits("3", 4, 60, None)]),
    );
    let before = records.summary();
    let first = Watch::start(vec![], &records, path.clone()).unwrap();
    first.stop();
    let records = Records::load(&path).unwrap();
    assert_eq!(records.summary(), before);
    // What waited before the restart is scored after it.
    look(&records, 69, &survey(4, &[("3", 4, BEGIN + 69, BEGIN + 129)], vec![]));
    // It starts when the running job reaches its limit, as expected.
    assert_eq!((records.summary().jobs, records.summary().ours.median), (2, Some(0)));

    std::fs::write(&path, "{\"format\": 1, \"shadow\": {").unwrap();
    let records = Records::load(&path).unwrap();
    assert_eq!(records.summary(), Summary::default());
    assert!(super::file::aside(&path).exists() && !path.exists());
    std::fs::write(&path, "{\"format\": 2, \"shadow\": {}}").unwrap();
    assert_eq!(Records::load(&path).unwrap().summary(), Summary::default());
}

#[test]
fn a_cluster_is_observed_until_it_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shadow.json");
    let records = Records::load(&path).unwrap();
    let watch = watch(&records, &path);
    until("it is surveyed", || records.summary().sites[0].observed.is_some());
    watch.stop();
    let again = Records::load(&path).unwrap().summary();
    assert_eq!((again.sites.len(), again.sites[0].name.as_str()), (1, "a"));
}
