//! What all managers share, on Grid Engine: a budget of requests, news from tasks, jobs of the doctor.

use std::time::{Duration, Instant};

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order};
use tradewind_daemon::site::{Exit, Order, Seen, Survey, Turn, Verdict, Wake};

use crate::bench::GridBench;

/// Busy machines take their time.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often Grid Engine was asked for lists.
fn lists(bench: &mut GridBench) -> u64 {
    let counts = bench.site().requests().unwrap().counts();
    let list = |kind: &str| counts.get(kind).map_or(0, |count| count.total);
    list("qstat") + list("qrstat")
}

/// Gives the site its turns, as its thread does, until what it last said is so.
fn drive(bench: &mut GridBench, is_so: impl Fn(&Survey) -> bool) -> Survey {
    let end = Instant::now() + PATIENCE;
    loop {
        match bench.site().turn() {
            Turn::Heard(survey) | Turn::Looked(Ok(survey)) if is_so(&survey) => return survey,
            _ => assert!(Instant::now() < end, "it never was so"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn seen<'s>(survey: &'s Survey, order: &Order) -> Option<&'s Seen> {
    survey.tasks.get(&order.tag)
}

#[test]
fn an_end_is_reported_by_the_task_and_not_queried() {
    let mut bench = GridBench::with(|settings| {
        (settings.cluster.requests_at_rest, settings.cluster.requests_busy) = (1, 60);
    });
    bench.site().attend(Wake::by(|| {}));
    let order = order(&mut bench, 1, &TaskBehaviour::Exit { after: 4, code: 3 });
    bench.site().submit(&order).unwrap();
    let runs = |survey: &Survey| matches!(seen(survey, &order), Some(Seen::Running { .. }));
    drive(&mut bench, runs);
    let before = lists(&mut bench);
    let ended = |survey: &Survey| matches!(seen(survey, &order), Some(Seen::Ended { .. }));
    let survey = drive(&mut bench, ended);
    assert_eq!(lists(&mut bench), before, "Grid Engine was not asked");
    let told = seen(&survey, &order).cloned();
    let is_right = |seen: &Seen| matches!(seen, Seen::Ended { exit: Exit::Code(3), .. });
    assert!(told.as_ref().is_some_and(is_right), "{told:?}");
    assert_eq!(survey.placed[&order.tag].len(), 1);
    let whole = bench.site().survey().unwrap();
    assert_eq!(seen(&whole, &order), told.as_ref(), "it says the same when it is asked");
}

#[test]
fn at_rest_the_budget_holds() {
    let mut bench = GridBench::with(|settings| {
        (settings.cluster.requests_at_rest, settings.cluster.requests_busy) = (12, 60);
    });
    bench.site().attend(Wake::by(|| {}));
    drive(&mut bench, |survey| survey.pools.first().is_some_and(|pool| pool.up > 0));
    let (before, begin) = (lists(&mut bench), Instant::now());
    while begin.elapsed() < Duration::from_secs(20) {
        bench.site().turn();
        std::thread::sleep(Duration::from_millis(50));
    }
    let asked = lists(&mut bench) - before;
    assert!(asked <= 5, "{asked} in 20 s, of 12 a minute");
    // On a busy machine Grid Engine answers late, but it is asked.
    let end = Instant::now() + PATIENCE;
    while lists(&mut bench) == before {
        assert!(Instant::now() < end, "Grid Engine is not asked any more");
        bench.site().turn();
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_job_of_the_doctor_shows_that_the_whole_way_works() {
    let mut bench = GridBench::new();
    assert_eq!(bench.site().trials(), ["main", "other"]);
    let found = bench.site().trial("main", PATIENCE);
    assert_eq!(found.verdict, Verdict::Good, "{found:?}");
    assert!(found.found.contains("output and clock are right"), "{found:?}");
}
