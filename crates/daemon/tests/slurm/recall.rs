//! Tasks that are taken back while Slurm is about to start them.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order};
use tradewind_daemon::site::{Exit, Order, SiteError};
use tradewind_io::submission::Append;
use tradewind_model::Span;

use super::bench::SlurmBench;
use super::cluster::{Cluster, Plan};
use super::gotchas::{number, ready, sleeps, survey, until_ended};

/// A folder with an `scancel` that takes a second, as over a slow connection.
fn slow_commands(cluster: &Cluster) -> String {
    let folder = cluster.path().join("slow");
    std::fs::create_dir(&folder).unwrap();
    let path = std::env::var("PATH").unwrap();
    let text = format!("#!/bin/sh\nsleep 1\nPATH='{path}' exec scancel \"$@\"\n");
    std::fs::write(folder.join("scancel"), text).unwrap();
    std::fs::set_permissions(folder.join("scancel"), PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:{path}", folder.display())
}

/// Of taking back and beginning exactly one succeeds, however slow `scancel` is.
#[test]
fn a_task_that_is_taken_back_as_it_begins_runs_once_or_never() {
    const TASKS: u64 = 50;
    let cluster = Cluster::start(&Plan::of("q", 4));
    let path = slow_commands(&cluster);
    let mut bench = SlurmBench::with(&cluster, "main", 4, |settings| {
        settings.cluster.environment.insert("PATH".to_owned(), path);
    });
    let (mut taken_back, mut ran) = (0, 0);
    for job in 1..=TASKS {
        let mut order: Order = order(&mut bench, job, &TaskBehaviour::Say("once".to_owned(), 0));
        order.surroundings.append = Append::Append;
        bench.site().submit(&order).unwrap();
        // Slurm starts it some tenths of a second later.
        std::thread::sleep(Duration::from_millis(job * 37 % 900));
        let answer = loop {
            match bench.site().recall(&order.tag) {
                Err(SiteError::Unknown(_)) => bench.wait(),
                answer => break answer,
            }
        };
        let (since, exit) = until_ended(&mut bench, &order.tag);
        let said = bench.site().output(&order.tag, 100).unwrap();
        match (&answer, &exit) {
            (Ok(()), Exit::Withdrawn) => {
                assert!(since.is_none() && said.is_empty(), "{job}: it ran: {said:?}");
                taken_back += 1;
            }
            (Err(SiteError::Begun) | Ok(()), Exit::Code(0)) => {
                assert!(since.is_some() && said == b"once", "{job}: {said:?}");
                ran += 1;
            }
            _ => panic!("{job}: {answer:?}, {since:?} {exit:?}"),
        }
    }
    println!("{taken_back} were taken back, {ran} ran");
    assert!(taken_back > 0 && ran > 0, "the race has only one winner: {taken_back}, {ran}");
}

/// The adapter dies when it has claimed the task's folder, or before, and is asked again.
#[test]
fn taking_back_survives_the_adapters_death() {
    let cluster = Cluster::start(&Plan::of("r", 1));
    let mut bench = SlurmBench::new(&cluster, "main", 1);
    let thief = cluster.job(&["--exclusive", "-N", "1"]);
    cluster.until_state(&thief, "RUNNING");
    let spool = bench.folder.path().join("spool");
    for (job, is_marked) in [(1, true), (2, false)] {
        let order = order(&mut bench, job, &sleeps(0, 0));
        bench.site().submit(&order).unwrap();
        // What an adapter that died has left.
        let folder = spool.join(order.tag.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        if is_marked {
            std::fs::write(folder.join("claimed"), "").unwrap();
        }
        bench.restart();
        bench.site().recall(&order.tag).unwrap();
        let (since, exit) = until_ended(&mut bench, &order.tag);
        assert_eq!((since, exit), (None, Exit::Withdrawn), "{job}");
    }
    cluster.until("nothing of ours is left", |it| {
        it.say(&["squeue", "-h", "-o", "%i"]).trim() == thief
    });
}

/// Held by any user; but what was submitted on hold is no news.
#[test]
fn a_job_that_a_user_holds_is_reported_with_slurms_word() {
    let cluster = Cluster::start(&Plan::of("s", 1));
    let mut bench = SlurmBench::with(&cluster, "main", 1, |settings| {
        settings.cluster.held_after = Span(77);
    });
    let thief = cluster.job(&["--exclusive", "-N", "1"]);
    cluster.until_state(&thief, "RUNNING");
    let runs = ready(&mut bench, 1, &sleeps(0, 3));
    let stays = ready(&mut bench, 2, &sleeps(0, 0));
    let mut late = order(&mut bench, 3, &sleeps(0, 0));
    late.start = late.start + Span(3_600);
    bench.site().submit(&late).unwrap();
    assert!(survey(&mut bench).held.is_empty(), "no user holds them");
    for (order, how) in [(&runs, "hold"), (&stays, "uhold"), (&late, "hold")] {
        cluster.say(&["scontrol", how, &number(&cluster, &order.tag)]);
    }
    let held = survey(&mut bench).held;
    let words: Vec<&str> = held.values().map(|held| held.why.as_str()).collect();
    assert_eq!(words, ["JobHeldAdmin", "JobHeldUser", "JobHeldAdmin"]);
    assert!(held.values().all(|held| held.max == Span(77)));
    // It was released before its time was over: as if nothing had been.
    cluster.say(&["scontrol", "release", &number(&cluster, &runs.tag)]);
    assert!(!survey(&mut bench).held.contains_key(&runs.tag));
    bench.site().recall(&stays.tag).unwrap();
    assert_eq!(until_ended(&mut bench, &stays.tag), (None, Exit::Withdrawn));
    cluster.run(&["scancel", &thief]);
    let (since, exit) = until_ended(&mut bench, &runs.tag);
    assert_eq!((since.is_some(), exit), (true, Exit::Code(3)));
}
