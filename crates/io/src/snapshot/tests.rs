use tradewind_model::{NodeId, Performance};

use super::side::Model;
use super::*;
use crate::input::Input;
use crate::{scenario, swf};

/// `number submit wait run processors requested-time`, as a log on 8 processors.
fn log(lines: &[(i64, i64, i64, i64, i64, i64)]) -> Log {
    let mut text = String::from("; MaxProcs: 8\n; MaxNodes: 4\n");
    for (number, submit, wait, run, processors, asked) in lines {
        text.push_str(&format!(
            "{number} {submit} {wait} {run} {processors} -1 -1 {processors} {asked} -1 1 1 1 1 1 1 -1 -1\n"
        ));
    }
    swf::parse(&Input::new("dir/Tiny-1-2000.swf", text)).unwrap()
}

fn options(at: i64) -> SnapshotOptions {
    SnapshotOptions::new(At::Time(Time(at)), Span(1_000), 1)
}

fn taken(log: &Log, options: &SnapshotOptions) -> Taken {
    take(log, options).unwrap_or_else(|err| panic!("{err}"))
}

/// `(node, start, end)` of each busy span.
fn busy(taken: &Taken) -> Vec<(u32, i64, i64)> {
    let spans = taken.scenario.busy.as_ref().unwrap();
    spans.iter().map(|span| (span.node.0, span.start.0, span.end.0)).collect()
}

fn names(taken: &Taken) -> Vec<&str> {
    taken.scenario.snapshot.jobs.iter().map(|job| job.name.as_str()).collect()
}

#[test]
fn running_jobs_take_the_lowest_free_processors() {
    // Job 2 ends when 4 starts, so 4 gets processors 3 and 5: ends come before starts.
    let log = log(&[
        (1, 0, 0, 500, 3, 100),
        (2, 0, 10, 90, 1, 100),
        (3, 5, 20, 500, 1, 200),
        (4, 50, 50, 300, 2, 900),
        (5, 60, 600, 10, 2, 40),
        (6, 300, 600, 10, 2, 40),
    ]);
    let it = taken(&log, &options(100));
    assert_eq!(
        busy(&it),
        [(0, 100, 500), (1, 100, 500), (2, 100, 500), (3, 100, 400), (4, 100, 525), (5, 100, 400)]
    );
    assert_eq!(names(&it), ["5"], "submitted by then and not started");
    let snapshot = &it.scenario.snapshot;
    assert_eq!(snapshot.horizon, Horizon { start: Time(100), end: Time(1_100) });
    assert_eq!(snapshot.grid.len(), 8);
    let node = snapshot.grid.node(NodeId(2));
    assert_eq!((node.name.as_str(), node.host.as_deref()), ("p0003", Some("h0002")));
    assert_eq!(snapshot.grid.site_of(NodeId(0)).name, "tiny");
}

#[test]
fn local_tasks_may_last_as_long_as_was_requested() {
    let log = log(&[
        (1, 0, 0, 500, 1, 300),
        (2, 0, 0, 500, 1, 50),
        (3, 0, 0, 500, 1, -1),
        (4, 0, 0, 5_000, 1, 9_000),
        (5, 60, 600, 10, 2, 40),
    ]);
    let until = |local_until| busy(&taken(&log, &SnapshotOptions { local_until, ..options(100) }));
    let ends = |spans: Vec<(u32, i64, i64)>| spans.iter().map(|it| it.2).collect::<Vec<_>>();
    assert_eq!(ends(until(LocalUntil::End)), [500, 500, 500, 1_100]);
    assert_eq!(ends(until(LocalUntil::Requested)), [300, 500, 500, 1_100]);
}

#[test]
fn without_wait_times_a_job_starts_when_it_fits() {
    // 2 does not fit beside 1; 3 does and passes it. When 1 ends, 2 and 4 are tried in order:
    // 2 fits, and 4 fits beside it.
    let log = log(&[
        (1, 0, -1, 100, 6, -1),
        (2, 10, -1, 400, 4, -1),
        (3, 20, -1, 400, 2, -1),
        (4, 30, -1, 400, 2, -1),
        (5, 40, -1, 400, 3, -1),
        (9, 45, -1, 400, 9, -1),
        (6, 50, -1, 400, 1, -1),
        (7, 150, -1, 7, 1, -1),
        (8, 160, -1, 7, 1, 60),
    ]);
    let at = |at, batch| taken(&log, &SnapshotOptions { batch, ..options(at) });
    let waiting = at(60, Some(Batch::Waiting));
    assert_eq!(names(&waiting), ["2", "4", "5", "6"]);
    assert_eq!(busy(&waiting).len(), 8);
    let later = at(140, None);
    assert_eq!(names(&later), ["7", "8"], "the next arrivals by default");
    assert_eq!(busy(&later).iter().filter(|it| it.2 == 500).count(), 6);
    let request = &later.scenario.snapshot.jobs[0].request;
    assert_eq!((request.work, request.earliest_start), (Span(7), Some(Time(150))));
    let said = |text: &str| later.assumptions.iter().any(|it| it.contains(text));
    assert!(
        said("no wait times")
            && said("wider than the machine, never started: 1")
            && said("requested no time, given the time that they ran: 1")
    );
    let next = at(44, None);
    assert_eq!(names(&next), ["6", "7", "8"], "job 9 is wider than the machine");
    assert!(
        next.assumptions.iter().any(|it| it.contains("more than the machine has, left out: 1"))
    );
    let missing = MissingRequest::Span(Span(99));
    let with = taken(&log, &SnapshotOptions { missing_request: missing, ..options(140) });
    let works = |it: &Taken| {
        it.scenario.snapshot.jobs.iter().map(|job| job.request.work.0).collect::<Vec<_>>()
    };
    assert_eq!(works(&with), [99, 60]);
}

#[test]
fn arrivals_are_counted_or_within_a_time() {
    let lines: Vec<_> = (0..100).map(|n| (n, n * 10, 0, 5, 1, 10)).collect();
    let log = log(&lines);
    let count = |arrivals| {
        let batch = None;
        names(&taken(&log, &SnapshotOptions { batch, arrivals: Some(arrivals), ..options(100) }))
            .len()
    };
    assert_eq!(count(Arrivals::default()), 50);
    assert_eq!(count("7".parse().unwrap()), 7);
    assert_eq!(count("50s".parse().unwrap()), 5);
    assert_eq!(count(Arrivals::Count(1_000)), 89);
    assert!("0".parse::<Arrivals>().is_err() && "x".parse::<Arrivals>().is_err());
}

#[test]
fn overcommitted_machines_are_squeezed_and_said_to_be() {
    let log = log(&[(1, 0, 0, 100, 6, 9), (2, 1, 0, 100, 6, 9), (3, 1, 500, 1, 1, 9)]);
    let it = taken(&log, &options(50));
    assert_eq!(busy(&it).len(), 8);
    assert!(
        it.assumptions
            .iter()
            .any(|text| text.contains("more processors than were free, given those: 1"))
    );
}

#[test]
fn impossible_snapshots_are_refused_with_a_hint() {
    let log = log(&[(1, 10, 0, 100, 6, 9), (2, 20, 0, 100, 1, 9)]);
    let refused = |options: SnapshotOptions| take(&log, &options).unwrap_err().to_string();
    assert!(refused(options(9)).contains("outside the log\n  hint: the log goes from 10 to 120"));
    assert!(refused(options(121)).contains("outside the log"));
    assert!(refused(options(50)).contains("no job to plan at 50"));
    let soon = SnapshotOptions { batch: Some(Batch::Arrivals), horizon: Span(3), ..options(15) };
    let err = refused(soon);
    assert!(
        err.contains("no job is submitted between 15 and 18\n  hint: the next is submitted at 20")
    );
    assert!(refused(SnapshotOptions { horizon: Span(0), ..options(15) }).contains("horizon"));
    assert!(refused(SnapshotOptions { sites: 9, ..options(15) }).contains("9 sites"));
    let bare = Log { header: swf::Header::default(), ..log.clone() };
    let err = take(&bare, &options(15)).unwrap_err().to_string();
    assert!(err.contains("give `--procs N`; the widest job holds 6"), "{err}");
    let batch = Some(Batch::Arrivals);
    let given = SnapshotOptions { processors: Some(3), batch, ..options(15) };
    assert_eq!(taken(&bare, &given).scenario.snapshot.grid.len(), 3);
}

#[test]
fn the_same_job_is_offered_the_same_terms_in_any_batch() {
    let log = swf::sample(3, 200, 64);
    let all = |at, seed| {
        taken(
            &log,
            &SnapshotOptions {
                seed,
                batch: Some(Batch::Arrivals),
                ..SnapshotOptions::new(at, Span(86_400), seed)
            },
        )
    };
    let middle = all(At::Middle, 7);
    assert_eq!(middle, all(At::Middle, 7));
    let at = middle.scenario.snapshot.horizon.start + Span(10_000);
    let later = all(At::Time(at), 7);
    let mut shared = 0;
    for job in &later.scenario.snapshot.jobs {
        let twin = middle.scenario.snapshot.jobs.iter().find(|twin| twin.name == job.name);
        if let Some(twin) = twin {
            assert_eq!(twin, job);
            shared += 1;
        }
    }
    assert!(shared > 10);
    assert_eq!(middle.scenario.snapshot.grid, later.scenario.snapshot.grid);
    assert_ne!(middle.scenario.snapshot.grid, all(At::Middle, 8).scenario.snapshot.grid);
}

#[test]
fn drawn_terms_are_within_the_models_ranges() {
    let log = swf::sample(3, 200, 64);
    let it = taken(
        &log,
        &SnapshotOptions {
            batch: Some(Batch::Arrivals),
            sites: 3,
            ..SnapshotOptions::new(At::Middle, Span(86_400), 7)
        },
    );
    let snapshot = &it.scenario.snapshot;
    assert_eq!(snapshot.grid.sites().len(), 3);
    let mut classes: Vec<Performance> =
        snapshot.grid.nodes().iter().map(|it| it.performance).collect();
    for node in snapshot.grid.nodes() {
        let market = side::market_price(1_700, node.performance).0;
        assert!((market * 3 / 4..=market * 5 / 4 + 1).contains(&node.price.0));
    }
    classes.sort_unstable();
    classes.dedup();
    assert_eq!(classes, Model::default().classes);
    for job in &snapshot.jobs {
        let request = &job.request;
        let min = request.min_performance.unwrap();
        let value = side::market_price(1_700, min).0
            * min.length_of(request.work).0
            * i64::from(request.tasks);
        let budget = request.budget.unwrap().0;
        assert!((value..=value * 8 / 5).contains(&budget));
        let suitable = snapshot.grid.nodes().iter().filter(|node| {
            request.suits(node) && request.max_price.is_none_or(|cap| node.price <= cap)
        });
        assert!(suitable.count() >= request.tasks as usize, "demands can be met");
        assert!(request.deadline.unwrap() >= request.earliest_start.unwrap() + Span(7_200));
    }
    assert!(snapshot.jobs.iter().any(|job| job.request.max_price.is_some()));
    assert!(snapshot.jobs.iter().any(|job| job.request.max_price.is_none()));
}

#[test]
fn a_snapshot_is_a_scenario_that_can_be_read_back() {
    let log = swf::sample(3, 200, 64);
    let batch = Some(Batch::Arrivals);
    let it = taken(
        &log,
        &SnapshotOptions { batch, sites: 2, ..SnapshotOptions::new(At::Middle, Span(86_400), 7) },
    );
    let (back, _) = scenario::parse(&Input::new("-", it.scenario.to_json())).unwrap();
    assert_eq!(back, it.scenario);
}

#[test]
fn side_files_replace_what_is_drawn() {
    let toml = "[model]\nclasses = [2]\nblocks = 2\nprice_spread = [1, 1]\ncapped = 0\n\
        criteria = [\"cost\"]\n[[job]]\njob = 2\nbudget = 1.5\ndeadline = \"1h\"\npriority = 4\n\
        [[node]]\nnode = \"p0002\"\nprice = 0\n";
    let side = side::parse(&Input::new("side.toml", toml)).unwrap();
    let log = log(&[(1, 10, 0, 100, 6, 9), (2, 20, 40, 100, 1, 9), (3, 20, 40, 1, 1, 9)]);
    let it = taken(&log, &SnapshotOptions { side, ..options(50) });
    let snapshot = &it.scenario.snapshot;
    let prices: Vec<i64> = snapshot.grid.nodes().iter().map(|node| node.price.0).take(3).collect();
    assert_eq!(prices, [2_890_000, 0, 2_890_000]);
    let [two, three] = snapshot.jobs.as_slice() else { panic!() };
    assert_eq!(two.request.budget, Some(tradewind_model::Money(1_500_000)));
    assert_eq!((two.request.deadline, two.priority), (Some(Time(3_600)), 4));
    assert_eq!(three.request.criterion, tradewind_model::Criterion::Cost);
    assert_eq!(three.request.max_price, None);

    let csv = "job,budget,minimize,deadline\n2, 1.5 ,finish,1h\n3,,,60\n";
    let side = side::parse(&Input::new("-", csv)).unwrap();
    assert_eq!(side.jobs["2"].minimize, Some(tradewind_model::Criterion::Finish));
    assert_eq!(side.jobs["2"].deadline, Some(Time(3_600)));
    assert_eq!((side.jobs["3"].budget, side.jobs["3"].deadline), (None, Some(Time(60))));
}

#[test]
fn broken_side_files_are_refused_with_all_mistakes() {
    let read =
        |name: &str, text: &str| side::parse(&Input::new(name, text)).unwrap_err().to_string();
    let toml = "[model]\nclases = [2]\nslack = [3, 2]\ncriteria = [\"fast\"]\n[[job]]\nbudget = -1\n[[node]]\nnode = 7\n";
    let err = read("s.toml", toml);
    for expected in [
        "s.toml:2: model.clases: unknown key\n  hint: did you mean `classes`?",
        "s.toml:3: model.slack: expected two numbers, the lower first",
        "s.toml:4: model.criteria[0]: unknown criterion `fast`",
        "job[0]: `job` is missing",
        "s.toml:6: job[0].budget: negative number `-1`",
        "s.toml:8: node[0].node: expected a text, found the number `7`",
    ] {
        assert!(err.contains(expected), "{expected}\n{err}");
    }
    let toml = "[model]\nvalue = [1, 2]\nvalue_range = [-5, 2]\ndraw = [\"budgt\", \"value\", 3]\n\
        deadline_of = \"runs\"\n[[job]]\njob = 1\nvalue = -3\n";
    let err = read("s.toml", toml);
    for expected in [
        "s.toml:3: model.value_range: both `value` and `value_range`",
        "s.toml:3: model.value_range[0]: negative number `-5`",
        "s.toml:4: model.draw[0]: unknown value `budgt`\n  hint: did you mean `budget`?",
        "s.toml:4: model.draw[1]: unknown value `value`\n  hint: a value is drawn if",
        "s.toml:4: model.draw[2]: expected a text, found the number `3`",
        "s.toml:5: model.deadline_of: unknown value `runs`\n  hint: did you mean `run`?",
        "s.toml:8: job[0].value: negative number `-3`",
    ] {
        assert!(err.contains(expected), "{expected}\n{err}");
    }
    assert!(read("s.toml", "[model]\nvalue_range = [5, 2]\n").contains("the lower first"));
    let err = read("s.csv", "job,budgt\n1,5\n1,x\n2,\n");
    assert!(
        err.contains("s.csv:1: unknown column `budgt`\n  hint: did you mean `budget`?"),
        "{err}"
    );
    assert_eq!(err.matches("budgt").count(), 1, "{err}");
    assert!(read("s.csv", "job,budgt\n1,\n").contains("unknown column `budgt`"));
    assert!(read("s.csv", "job,budget,budget\n1,2,3\n").contains("`budget` is there twice"));
    assert!(read("s.csv", "job,budget\n1,2\n1,3\n").contains("the job 1 is given twice"));
    assert!(read("s.csv", "job,budget\n1\n").contains("s.csv:2: not a row"));
    let side = side::parse(&Input::new("s.toml", "[[node]]\nnode = \"x\"\n")).unwrap();
    let log = log(&[(1, 10, 0, 100, 6, 9), (2, 20, 40, 100, 1, 9)]);
    let err = take(&log, &SnapshotOptions { side, ..options(50) }).unwrap_err().to_string();
    assert!(err.contains("the node `x`, which is not there"), "{err}");
}
