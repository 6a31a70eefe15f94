//! Daemons that stop, hang and die.

use std::time::Duration;

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order, tag};
use tradewind_daemon::site::{Exit, Seen, SiteError};
use tradewind_io::submission::Append;
use tradewind_model::Span;

use crate::bench::GridBench;
use crate::fixture::Daemon;

/// Until the cluster answers again.
fn until_answered(bench: &mut GridBench) {
    bench.until(20, |bench| bench.site().survey().is_ok(), |is_ok| *is_ok);
}

/// An execution daemon whose master was killed comes back to the next one after 30 s, or after
/// another 30 if that fails on a busy machine; until then nothing begins there, and what is over
/// keeps its slots.
const RECONNECTED: u64 = 150;

/// A job that was on its way to its host when the master was killed may never have come there. The
/// next master lists it as on its way (`t`), and sends it again after five minutes, no sooner
/// (`MAX_JOB_DELIVER_TIME` in Grid Engine's source).
const SENT_AGAIN: u64 = 5 * 60 + RECONNECTED;

fn until_ended(bench: &mut GridBench, job: u64) -> Exit {
    until_ended_within(bench, job, RECONNECTED)
}

fn until_ended_within(bench: &mut GridBench, job: u64, seconds: u64) -> Exit {
    let seen = bench.until(
        seconds,
        |bench| bench.site().survey().ok().and_then(|mut seen| seen.tasks.remove(&tag(job))),
        |seen| matches!(seen, Some(Seen::Ended { .. })),
    );
    match seen {
        Some(Seen::Ended { exit, .. }) => exit,
        other => unreachable!("{other:?}"),
    }
}

fn until_running(bench: &mut GridBench, job: u64) {
    bench.until(
        20,
        |bench| bench.site().survey().ok().and_then(|mut seen| seen.tasks.remove(&tag(job))),
        |seen| matches!(seen, Some(Seen::Running { .. })),
    );
}

#[test]
fn a_hung_master_says_nothing_and_nothing_is_run_twice() {
    let mut bench = GridBench::with(|settings| settings.cluster.timeout = Span(4));
    bench.cluster.signal(Daemon::Master, "STOP");
    let surveyed = bench.site().survey();
    assert!(
        matches!(&surveyed, Err(SiteError::Unknown(why)) if why.contains("did not answer")),
        "{surveyed:?}"
    );
    let mut once = order(&mut bench, 1, &TaskBehaviour::Say("once".to_owned(), 0));
    once.surroundings.append = Append::Append;
    let answer = bench.site().submit(&once);
    assert!(matches!(answer, Err(SiteError::Unknown(_))), "{answer:?}");
    bench.cluster.signal(Daemon::Master, "CONT");
    until_answered(&mut bench);
    // Asked again, as a caller without an answer does.
    for _ in 0..2 {
        bench.until(10, |bench| bench.site().submit(&once), Result::is_ok).unwrap();
    }
    assert_eq!(until_ended(&mut bench, 1), Exit::Code(0));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(bench.site().output(&once.tag, 100).unwrap(), b"once");
}

#[test]
fn a_dead_master_is_away_while_tasks_go_on() {
    let mut bench = GridBench::new();
    let runs = order(&mut bench, 1, &TaskBehaviour::Exit { after: 6, code: 4 });
    let mut waits = order(&mut bench, 2, &TaskBehaviour::Exit { after: 0, code: 5 });
    waits.start = waits.start + Span(3_600);
    bench.site().submit(&runs).unwrap();
    bench.site().submit(&waits).unwrap();
    until_running(&mut bench, 1);
    bench.cluster.signal(Daemon::Master, "KILL");
    // The system may still take connections for a moment.
    let said = |bench: &mut GridBench| format!("{:?}", bench.site().survey().map(|_| ()));
    bench.until(10, said, |said| said.contains("refused"));
    let late = order(&mut bench, 3, &TaskBehaviour::Exit { after: 0, code: 6 });
    let answer = bench.until(10, |bench| bench.site().submit(&late), Result::is_err);
    assert!(matches!(&answer, Err(SiteError::Away(why)) if why.contains("refused")), "{answer:?}");
    assert!(bench.site().survey().is_err());
    // Withdrawn meanwhile: it never runs, though its job can only be deleted later.
    bench.site().withdraw(&waits.tag).unwrap();
    std::thread::sleep(Duration::from_secs(6));
    bench.cluster.restart(Daemon::Master);
    until_answered(&mut bench);
    assert_eq!(until_ended(&mut bench, 1), Exit::Code(4));
    assert_eq!(until_ended(&mut bench, 2), Exit::Withdrawn);
    bench.until(10, |bench| bench.site().submit(&late), Result::is_ok).unwrap();
    assert_eq!(until_ended(&mut bench, 3), Exit::Code(6));
    let listed = |bench: &mut GridBench| {
        bench.site().survey().unwrap();
        bench.cluster.must(&["qstat", "-u", "*"], "")
    };
    bench.until(RECONNECTED, listed, |listed| !listed.contains("tw-suite"));
}

/// Acknowledged submissions survive, others are submitted again, and none runs twice.
#[test]
fn a_master_killed_in_a_burst_of_submissions_loses_nothing() {
    let mut bench = GridBench::new();
    let orders: Vec<_> = (0..12)
        .map(|job| {
            let mut order = order(&mut bench, job, &TaskBehaviour::Say(format!("{job};"), 0));
            order.surroundings.append = Append::Append;
            order.surroundings.output = Some("all".to_owned());
            order
        })
        .collect();
    for (place, order) in orders.iter().enumerate() {
        if place == 6 {
            bench.cluster.signal(Daemon::Master, "KILL");
            bench.cluster.restart(Daemon::Master);
        }
        bench.until(20, |bench| bench.site().submit(order), Result::is_ok).unwrap();
    }
    for order in &orders {
        assert_eq!(until_ended_within(&mut bench, order.tag.job, SENT_AGAIN), Exit::Code(0));
    }
    let said = bench.cluster.read("work/all");
    let mut ran: Vec<u64> = said.split_terminator(';').map(|job| job.parse().unwrap()).collect();
    ran.sort_unstable();
    assert_eq!(ran, (0..12).collect::<Vec<u64>>());
}

/// Its tasks go on and say themselves how they ended; its nodes are not up meanwhile.
#[test]
fn a_dead_execution_daemon_takes_no_task_with_it() {
    let mut bench = GridBench::new();
    let runs = order(&mut bench, 1, &TaskBehaviour::Exit { after: 6, code: 4 });
    bench.site().submit(&runs).unwrap();
    until_running(&mut bench, 1);
    bench.cluster.signal(Daemon::Execution, "KILL");
    assert_eq!(until_ended(&mut bench, 1), Exit::Code(4));
    let up = |bench: &mut GridBench| bench.site().survey().map(|seen| seen.pools[1].up);
    bench.until(40, up, |up| *up == Ok(0)).unwrap();
    bench.cluster.restart(Daemon::Execution);
    bench.until(RECONNECTED, up, |up| *up == Ok(2)).unwrap();
    let next = order(&mut bench, 2, &TaskBehaviour::Exit { after: 0, code: 5 });
    bench.site().submit(&next).unwrap();
    assert_eq!(until_ended(&mut bench, 2), Exit::Code(5));
}

/// Hosts are known by themselves: one that dies, one that is used in part, and what runs where.
#[test]
fn a_dead_host_is_one_node_less() {
    let mut bench = GridBench::whole();
    let mut wide = order(&mut bench, 1, &TaskBehaviour::Exit { after: 30, code: 0 });
    wide.nodes = 2;
    bench.site().submit(&wide).unwrap();
    until_running(&mut bench, 1);
    let survey = bench.site().survey().unwrap();
    let Some(Seen::Running { nodes, .. }) = survey.tasks.get(&wide.tag) else { unreachable!() };
    assert!(nodes.len() == 2 && nodes.iter().all(|node| node.starts_with("ge")), "{nodes:?}");
    // One slot of a host is a whole host less.
    let free = (2..=5).find(|host| !nodes.contains(&format!("ge{host}"))).unwrap();
    let line = format!("whole.q@ge{free}");
    let mut argv = vec!["qsub", "-S", "/bin/sh", "-q", &line, "-l", "h_rt=300"];
    argv.extend(["-o", "/dev/null", "-j", "y", "-wd", "/"]);
    bench.cluster.must(&argv, "exec sleep 250\n");
    let pool = |bench: &mut GridBench| {
        let pool = bench.site().survey().unwrap().pools.remove(0);
        (pool.up, pool.local.values().map(|task| task.nodes).sum::<u32>())
    };
    bench.until(20, pool, |pool| *pool == (4, 1));
    let dead = (2..=5).rfind(|host| *host != free && !nodes.contains(&format!("ge{host}")));
    bench.cluster.signal_host(dead.unwrap(), "KILL");
    bench.until(60, pool, |pool| *pool == (3, 1));
}
