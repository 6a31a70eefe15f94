//! What Slurm does that one would not expect, each on a real cluster.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order};
use tradewind_daemon::site::{Exit, Order, Seen, SiteError, Survey, Tag};
use tradewind_io::settings::cluster::NodeUnit;
use tradewind_io::submission::{Append, Work};
use tradewind_model::{Span, Time};

use super::bench::SlurmBench;
use super::cluster::{Cluster, Plan};

/// Sleeps, then ends with this code.
pub(crate) fn sleeps(after: u32, code: u8) -> TaskBehaviour {
    TaskBehaviour::Exit { after, code }
}

pub(crate) fn survey(bench: &mut SlurmBench<'_>) -> Survey {
    bench.site().survey().unwrap()
}

fn seen(bench: &mut SlurmBench<'_>, tag: &Tag) -> Option<Seen> {
    survey(bench).tasks.remove(tag)
}

pub(crate) fn until(bench: &mut SlurmBench<'_>, tag: &Tag, holds: impl Fn(&Seen) -> bool) -> Seen {
    let began = Instant::now();
    let mut last = None;
    while began.elapsed() < Duration::from_secs(60) {
        // A controller that has just come back may not answer yet.
        if let Ok(mut survey) = bench.site().survey() {
            last = survey.tasks.remove(tag);
            if let Some(seen) = last.clone().filter(|seen| holds(seen)) {
                return seen;
            }
        }
        bench.wait();
    }
    panic!("{tag} is {last:?}");
}

pub(crate) fn until_running(bench: &mut SlurmBench<'_>, tag: &Tag) -> Seen {
    until(bench, tag, |seen| matches!(seen, Seen::Running { .. }))
}

pub(crate) fn until_ended(bench: &mut SlurmBench<'_>, tag: &Tag) -> (Option<Time>, Exit) {
    match until(bench, tag, |seen| matches!(seen, Seen::Ended { .. })) {
        Seen::Ended { since, exit, .. } => (since, exit),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn ready(bench: &mut SlurmBench<'_>, job: u64, act: &TaskBehaviour) -> Order {
    let order = order(bench, job, act);
    bench.site().submit(&order).unwrap();
    order
}

/// One that starts at this moment.
pub(crate) fn ready_later(bench: &mut SlurmBench<'_>, job: u64, start: Time) -> Order {
    let order = Order { start, ..order(bench, job, &sleeps(0, 0)) };
    bench.site().submit(&order).unwrap();
    order
}

/// Slurm's number of the job with this tag.
pub(crate) fn number(cluster: &Cluster, tag: &Tag) -> String {
    let all = cluster.say(&["squeue", "-h", "-t", "all", "-o", "%i %k"]);
    let line = all.lines().find(|line| line.contains(&tag.to_string()));
    line.unwrap_or_else(|| panic!("no {tag} in {all}")).split(' ').next().unwrap().to_owned()
}

#[test]
fn what_the_controller_forgot_is_reported_by_the_task_itself() {
    let mut cluster = Cluster::start(&Plan::of("f", 4));
    let conf = cluster.conf();
    let mut bench = SlurmBench::new(&cluster, "main", 4);
    let over = ready(&mut bench, 1, &sleeps(0, 5));
    // Its limit comes when its last report is no longer awaited.
    let runs = Order { limit: Span(20), ..order(&mut bench, 2, &sleeps(12, 6)) };
    bench.site().submit(&runs).unwrap();
    let mut waits = order(&mut bench, 3, &sleeps(0, 0));
    waits.start = waits.start + Span(3_600);
    bench.site().submit(&waits).unwrap();
    until_running(&mut bench, &runs.tag);
    let begun = bench.folder.path().join("spool").join(runs.tag.to_string()).join("began");
    cluster.until("its work has begun", |_| begun.exists());
    let file = bench.folder.path().join("work/tradewind-1.out");
    cluster.until("the first has run", |_| file.exists());
    let first = number(&cluster, &over.tag);
    cluster.until_state(&first, "");
    let (settings, folder) = (bench.settings.clone(), bench.keep());
    // The controller starts from nothing: numbers begin again, and what ran is unknown.
    cluster.stop_controller(Signal::KILL);
    std::fs::remove_dir_all(conf.with_file_name("state")).unwrap();
    std::fs::create_dir(conf.with_file_name("state")).unwrap();
    cluster.start_controller();
    let owners = cluster.job(&["-N", "1", "--exclusive"]);
    assert_eq!(owners, "1", "numbers are used again");
    let mut bench = SlurmBench::again(&cluster, "main", settings, folder);
    let (since, exit) = until_ended(&mut bench, &over.tag);
    assert_eq!((since.is_some(), exit), (true, Exit::Code(5)));
    let (since, exit) = until_ended(&mut bench, &waits.tag);
    let never = since.is_none() && matches!(exit, Exit::Refused(_));
    assert!(never, "it never ran, and never will: {since:?} {exit:?}");
    let (since, exit) = until_ended(&mut bench, &runs.tag);
    assert!(since.is_some(), "{exit:?}");
    // The nodes' daemons may stop what the controller does not know.
    assert!(matches!(exit, Exit::Code(6) | Exit::Lost | Exit::Signal(_)), "{exit:?}");
    for order in [&over, &runs, &waits] {
        bench.site().withdraw(&order.tag).unwrap();
        bench.site().submit(order).unwrap();
    }
    cluster.until_state(&owners, "RUNNING");
    assert!(survey(&mut bench).pools[0].local.contains_key("job 1"));
}

#[test]
fn an_answer_with_errors_is_none_even_if_the_command_ended_well() {
    let mut cluster = Cluster::start(&Plan::of("g", 2));
    let conf = cluster.conf();
    let bench = SlurmBench::new(&cluster, "main", 2);
    let (settings, folder) = (bench.settings.clone(), bench.keep());
    cluster.stop_controller(Signal::TERM);
    let mut bench = SlurmBench::again(&cluster, "main", settings.clone(), folder);
    // Later versions end with 1 and write nothing.
    let answer = cluster.run(&["squeue", "--json"]);
    let is_old = super::cluster::version() < (23, 2);
    assert_eq!(answer.status.success(), is_old, "of a controller that is away: {conf:?}");
    assert!(matches!(bench.site().survey(), Err(SiteError::Unknown(why)) if why.contains("alpha")));
    let order = order(&mut bench, 1, &sleeps(0, 0));
    let told = bench.site().submit(&order).unwrap_err();
    assert!(matches!(&told, SiteError::Unknown(why) if why.contains("`sbatch")), "{told:?}");
    let told = bench.site().withdraw(&order.tag).unwrap_err();
    assert!(!matches!(told, SiteError::Refused(_)), "{told:?}");
    let folder = bench.keep();
    cluster.start_controller();
    let mut bench = SlurmBench::again(&cluster, "main", settings, folder);
    bench.site().withdraw(&order.tag).unwrap();
    bench.site().submit(&order).unwrap();
    let (since, exit) = until_ended(&mut bench, &order.tag);
    assert_eq!((since, exit), (None, Exit::Withdrawn));
}

#[test]
fn an_answer_that_is_cut_off_is_none() {
    let cluster = Cluster::start(&Plan::of("h", 1));
    let mut bench = SlurmBench::with(&cluster, "main", 1, |settings| {
        let cut = "\"$@\" | head -c 300";
        settings.cluster.command = ["/bin/sh", "-c", cut, "sh"].map(str::to_owned).to_vec();
    });
    let told = bench.site().survey().unwrap_err();
    assert!(matches!(&told, SiteError::Unknown(why) if why.contains("cut off")), "{told:?}");
}

#[test]
fn a_hung_controller_may_have_heard_us_and_the_task_runs_once() {
    let cluster = Cluster::start(&Plan::of("i", 2));
    let bench = SlurmBench::with(&cluster, "main", 2, |settings| {
        settings.cluster.timeout = Span(1);
    });
    let (settings, folder) = (bench.settings.clone(), bench.keep());
    cluster.signal_controller(Signal::STOP);
    let mut bench = SlurmBench::again(&cluster, "main", settings.clone(), folder);
    let began = Instant::now();
    let told = bench.site().survey().unwrap_err();
    assert!(!matches!(told, SiteError::Refused(_)) && began.elapsed() < Duration::from_secs(8));
    let mut order = order(&mut bench, 1, &TaskBehaviour::Say("once ".to_owned(), 0));
    order.surroundings.append = Append::Append;
    let told = bench.site().submit(&order).unwrap_err();
    assert!(matches!(told, SiteError::Unknown(_)), "{told:?}");
    let folder = bench.keep();
    cluster.signal_controller(Signal::CONT);
    let mut settings = settings;
    settings.cluster.timeout = Span(20);
    let mut bench = SlurmBench::again(&cluster, "main", settings, folder);
    let began = Instant::now();
    while let Err(wrong) = bench.site().submit(&order) {
        assert!(began.elapsed() < Duration::from_secs(30), "{wrong}");
    }
    let (since, exit) = until_ended(&mut bench, &order.tag);
    assert_eq!((since.is_some(), exit), (true, Exit::Code(0)));
    cluster.until("all is over", |it| it.say(&["squeue", "-h"]).is_empty());
    assert_eq!(bench.site().output(&order.tag, 100).unwrap(), b"once ");
}

#[test]
fn acknowledged_submissions_may_vanish_and_nothing_runs_twice() {
    let mut cluster = Cluster::start(&Plan::of("j", 4));
    let mut bench = SlurmBench::new(&cluster, "main", 4);
    let log = bench.folder.path().join("work/log");
    let orders: Vec<Order> = (1..=12)
        .map(|job| {
            let text = format!("#!/bin/sh\necho {job} >>{}\nsleep 1\n", log.display());
            let work = Work::Script { text, arguments: Vec::new() };
            Order { work, ..order(&mut bench, job, &sleeps(0, 0)) }
        })
        .collect();
    let (settings, mut folder) = (bench.settings.clone(), bench.keep());
    for half in orders.chunks(6) {
        let mut bench = SlurmBench::again(&cluster, "main", settings.clone(), folder);
        for order in half {
            bench.site().submit(order).unwrap();
        }
        folder = bench.keep();
        cluster.stop_controller(Signal::KILL);
        cluster.start_controller();
    }
    let mut bench = SlurmBench::again(&cluster, "main", settings, folder);
    let ends: Vec<(Option<Time>, Exit)> =
        orders.iter().map(|order| until_ended(&mut bench, &order.tag)).collect();
    cluster.until("all is over", |it| it.say(&["squeue", "-h"]).is_empty());
    let ran = std::fs::read_to_string(&log).unwrap_or_default();
    for (order, (since, exit)) in orders.iter().zip(ends) {
        let job = order.tag.job.to_string();
        let times = ran.lines().filter(|line| *line == job).count();
        match exit {
            Exit::Code(0) => assert_eq!((times, since.is_some()), (1, true), "{job}"),
            Exit::Refused(_) => assert_eq!((times, since), (0, None), "{job}: it may run again"),
            Exit::Lost => assert!(times <= 1 && (times == 0 || since.is_some()), "{job} {times}"),
            other => assert!(times <= 1, "{job} {other:?} {times}"),
        }
    }
}

/// A submission that seemed to fail has come through, and the job of the second one is over and listed:
/// the task is stopped in the first.
#[test]
fn a_task_is_stopped_in_whichever_of_its_jobs_it_is() {
    let cluster = Cluster::start(&Plan::of("w", 2));
    let mut bench = SlurmBench::new(&cluster, "main", 2);
    let order = order(&mut bench, 1, &sleeps(100, 0));
    bench.site().submit(&order).unwrap();
    until_running(&mut bench, &order.tag);
    let listed = cluster.say(&["squeue", "-h", "-o", "%i %k"]);
    let (first, mark) = listed.trim().split_once(' ').unwrap();
    let (tag, _) = mark.rsplit_once(' ').unwrap();
    let (first, earlier) = (format!("jobid={first}"), format!("comment={tag} 1"));
    cluster.say(&["scontrol", "update", &first, &earlier]);
    let second = cluster.job(&["--hold", &format!("--comment={mark}")]);
    cluster.say(&["scancel", &second]);
    cluster.until_state(&second, "");
    bench.site().withdraw(&order.tag).unwrap();
    assert_eq!(until_ended(&mut bench, &order.tag).1, Exit::Withdrawn);
}

#[test]
fn a_dead_node_ends_its_tasks_and_is_not_up() {
    let cluster = Cluster::start(&Plan::of("k", 2));
    let mut bench = SlurmBench::new(&cluster, "main", 2);
    let log = bench.folder.path().join("work/log");
    let text = format!("#!/bin/sh\necho runs >{}\nsleep 50\n", log.display());
    let work = Work::Script { text, arguments: Vec::new() };
    let runs = Order { work, ..order(&mut bench, 1, &sleeps(0, 0)) };
    bench.site().submit(&runs).unwrap();
    let Seen::Running { nodes, .. } = until_running(&mut bench, &runs.tag) else { panic!() };
    // Slurm says that a job runs before its script does; one that never did may run again.
    cluster.until("its work runs", |_| log.exists());
    let node = format!("nodename={}", nodes[0]);
    cluster.say(&["scontrol", "update", &node, "state=down", "reason=test"]);
    let (since, exit) = until_ended(&mut bench, &runs.tag);
    assert_eq!((since.is_some(), exit), (true, Exit::NodeFailed));
    cluster.say(&["scontrol", "update", &node, "state=drain", "reason=test"]);
    assert_eq!(survey(&mut bench).pools[0].up, 1);
}

#[test]
fn a_refused_submission_leaves_no_task_though_slurm_keeps_a_record() {
    let cluster = Cluster::start(&Plan::of("l", 2));
    let mut bench = SlurmBench::with(&cluster, "main", 8, |settings| {
        settings.cluster.unit = NodeUnit::Cores(1);
        settings.cluster.options = vec![("nodes".to_owned(), "1".to_owned())];
    });
    let mut order = Order { nodes: 5, ..order(&mut bench, 1, &sleeps(0, 0)) };
    for (name, value) in [("mem-bind", "local"), ("gres", "nobody-has-this:1")] {
        order.passed_through = vec![(name.to_owned(), value.to_owned())];
        let told = bench.site().submit(&order).unwrap_err();
        assert!(matches!(&told, SiteError::Refused(why) if why.contains("`sbatch")), "{told:?}");
        assert_eq!(seen(&mut bench, &order.tag), None);
    }
    let records = cluster.say(&["squeue", "-h", "-t", "all", "-o", "%T %r %k"]);
    assert!(records.contains("FAILED BadConstraints tw-suite-1-"), "{records}");
    order.nodes = 1;
    // What is no option for users does not come through.
    order.passed_through = vec![("wrap".to_owned(), "touch /tmp/no".to_owned())];
    bench.site().submit(&order).unwrap();
    assert_eq!(until_ended(&mut bench, &order.tag).1, Exit::Code(0));
}

#[test]
fn owners_jobs_and_reservations_count_once() {
    let cluster = Cluster::start(&Plan::of("m", 4));
    let mut bench = SlurmBench::new(&cluster, "main", 4);
    let user = format!("Users={}", cluster.user);
    cluster.say(&[
        "scontrol",
        "create",
        "reservation",
        "ReservationName=owners",
        "StartTime=now",
        "Duration=60",
        "Nodes=m1,m2",
        &user,
    ]);
    let inside =
        cluster.job(&["--reservation=owners", "--exclusive", "-N", "1", "--time=UNLIMITED"]);
    let beside = cluster.job(&["--exclusive", "-N", "1", "-w", "m3", "--time=5"]);
    let waits = cluster.job(&["--exclusive", "-N", "4"]);
    cluster.until_state(&inside, "RUNNING");
    cluster.until_state(&beside, "RUNNING");
    let now = bench.now();
    let mut seen = survey(&mut bench);
    let waiting = seen.queue.len();
    let pool = seen.pools.remove(0);
    let at = |time: Time| -> u32 {
        let holds =
            |task: &&tradewind_daemon::site::LocalTask| task.from <= time && time < task.until;
        pool.local.values().filter(holds).map(|task| task.nodes).sum()
    };
    assert_eq!((pool.up, waiting), (4, 1), "{waits}");
    assert_eq!(at(now), 3, "{:?}", pool.local);
    assert_eq!(at(now + Span(20 * 60)), 2, "{:?}", pool.local);
    assert_eq!(at(now + Span(2 * 3_600)), 1, "no limit is a long one: {:?}", pool.local);
}

#[test]
fn a_job_on_hold_or_with_a_begin_time_reserves_nothing() {
    use tradewind_io::settings::cluster::Mode;
    for mode in [Mode::HoldRelease, Mode::Begin] {
        let cluster = Cluster::start(&Plan::of("n", 1));
        let mut bench = SlurmBench::with(&cluster, "main", 1, |settings| {
            settings.cluster.mode = mode;
        });
        let mut order = order(&mut bench, 1, &sleeps(0, 0));
        order.start = order.start + Span(15);
        bench.site().submit(&order).unwrap();
        let thief = cluster.job(&["--exclusive", "-N", "1"]);
        cluster.until_state(&thief, "RUNNING");
        while bench.now() < order.start + Span(1) {
            assert_eq!(seen(&mut bench, &order.tag), Some(Seen::Waiting));
            bench.wait();
        }
        assert_eq!(
            seen(&mut bench, &order.tag),
            Some(Seen::Waiting),
            "the start barrier times out, and says so"
        );
        cluster.run(&["scancel", &thief]);
        let (since, exit) = until_ended(&mut bench, &order.tag);
        assert!(since >= Some(order.start) && exit == Exit::Code(0), "{since:?} {exit:?}");
    }
}

/// Slurm writes its state every few seconds: after a crash, a job that was released may be on hold
/// again. The hold here is set by hand.
#[test]
fn a_job_that_is_on_hold_again_after_its_release_is_released_again() {
    let cluster = Cluster::start(&Plan::of("h", 1));
    let mut bench = SlurmBench::new(&cluster, "main", 1);
    let mut order = order(&mut bench, 1, &sleeps(0, 0));
    order.start = order.start + Span(15);
    bench.site().submit(&order).unwrap();
    let id = number(&cluster, &order.tag);
    let thief = cluster.job(&["--exclusive", "-N", "1"]);
    cluster.until_state(&thief, "RUNNING");
    let reason = |cluster: &Cluster| cluster.say(&["squeue", "-h", "-j", &id, "-o", "%r"]);
    assert_eq!(reason(&cluster).trim(), "JobHeldUser");
    while reason(&cluster).trim() == "JobHeldUser" {
        assert_eq!(seen(&mut bench, &order.tag), Some(Seen::Waiting));
        bench.wait();
    }
    cluster.say(&["scontrol", "uhold", &id]);
    assert_eq!(reason(&cluster).trim(), "JobHeldUser");
    cluster.run(&["scancel", &thief]);
    let (since, exit) = until_ended(&mut bench, &order.tag);
    assert!(since.is_some() && exit == Exit::Code(0), "{since:?} {exit:?}");
}
