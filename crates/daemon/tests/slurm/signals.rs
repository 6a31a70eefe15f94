//! Signals before the limit and from outside, on real Slurm.

use std::path::PathBuf;

use tradewind_daemon::site::conformance::{SiteBench, order};
use tradewind_daemon::site::{Exit, Order};
use tradewind_io::submission::Work;
use tradewind_model::Span;

use super::bench::SlurmBench;
use super::cluster::{Cluster, Plan};
use super::gotchas::{number, sleeps, until_ended, until_running};

/// A job of 90 s that runs this in its directory, with a signal before the limit.
fn listener(bench: &mut SlurmBench<'_>, job: u64, signal: &str, text: &str) -> Order {
    let text = format!("#!/bin/sh\n{text}\n");
    let mut order = order(bench, job, &sleeps(0, 0));
    order.work = Work::Script { text, arguments: Vec::new() };
    order.limit = Span(90);
    if !signal.is_empty() {
        order.passed_through = vec![("signal".to_owned(), signal.to_owned())];
    }
    bench.site().submit(&order).unwrap();
    order
}

fn file(bench: &SlurmBench<'_>, name: &str) -> PathBuf {
    bench.folder.path().join("work").join(name)
}

fn written(bench: &SlurmBench<'_>, name: &str) -> String {
    std::fs::read_to_string(file(bench, name)).unwrap_or_default()
}

/// Waits until the script has set its traps.
fn until_begun(bench: &mut SlurmBench<'_>, order: &Order, name: &str) {
    until_running(bench, &order.tag);
    let path = file(bench, name);
    bench.cluster.until("the script has begun", |_| path.exists());
}

/// Slurm itself would count from two minutes.
#[test]
fn a_signal_before_the_limit_comes_on_the_second_to_whom_it_is_meant_for() {
    let cluster = Cluster::start(&Plan::of("s", 2));
    let mut bench = SlurmBench::new(&cluster, "main", 2);
    let script = listener(
        &mut bench,
        1,
        "B:USR1@75",
        "trap 'date +%s >>heard; exit 7' USR1\ndate +%s >>heard\nsleep 80 & wait",
    );
    let steps = listener(
        &mut bench,
        2,
        "SIGUSR1@75",
        "trap 'echo script >>steps' USR1\n\
         srun sh -c 'trap \"echo step; exit 5\" USR1; echo ready; while :; do sleep 0.2; done' \
         >>steps\n\
         code=$?; sleep 1; exit $code",
    );
    assert_eq!(until_ended(&mut bench, &script.tag).1, Exit::Code(7));
    let said = written(&bench, "heard");
    let seconds: Vec<i64> = said.lines().map(|line| line.parse().unwrap()).collect();
    let [begin, heard] = seconds[..] else { panic!("{said}") };
    // Never early but for what the script itself began late, and hardly late on a busy machine.
    assert!((13..=18).contains(&(heard - begin)), "{said}");
    assert_eq!(until_ended(&mut bench, &steps.tag).1, Exit::Code(5));
    assert_eq!(written(&bench, "steps"), "ready\nstep\n");
}

#[test]
fn a_signal_from_outside_reaches_the_script() {
    let cluster = Cluster::start(&Plan::of("t", 1));
    let mut bench = SlurmBench::new(&cluster, "main", 1);
    let text = "trap 'echo heard >>one; exit 3' USR1\n: >one\nsleep 80 & wait";
    let order = listener(&mut bench, 1, "", text);
    until_begun(&mut bench, &order, "one");
    let id = number(&cluster, &order.tag);
    cluster.say(&["scancel", "--signal=USR1", "--batch", &id]);
    assert_eq!(until_ended(&mut bench, &order.tag).1, Exit::Code(3));
    assert_eq!(written(&bench, "one"), "heard\n");
}

/// The owner's job takes the node; ours has some seconds to save its work.
#[test]
fn who_is_preempted_may_save_its_work() {
    let mut plan = Plan::of("u", 1);
    plan.more = vec![
        "PreemptType=preempt/partition_prio".to_owned(),
        "PreemptMode=CANCEL".to_owned(),
        "PartitionName=main Nodes=NODES Default=YES MaxTime=INFINITE State=UP PriorityTier=1 \
         GraceTime=20"
            .to_owned(),
        "PartitionName=owners Nodes=NODES MaxTime=INFINITE State=UP PriorityTier=9".to_owned(),
    ];
    let cluster = Cluster::start(&plan);
    let mut bench = SlurmBench::new(&cluster, "main", 1);
    let text =
        "trap 'sleep 1; echo saved >>work; exit 6' TERM\n: >work\nwhile :; do sleep 0.2; done";
    let order = listener(&mut bench, 1, "", text);
    until_begun(&mut bench, &order, "work");
    let owners = cluster.job(&["-p", "owners", "--exclusive", "-N", "1", "--time=5"]);
    cluster.until_state(&owners, "RUNNING");
    let exit = until_ended(&mut bench, &order.tag).1;
    assert!(matches!(exit, Exit::Code(6) | Exit::Preempted), "{exit:?}");
    assert!(written(&bench, "work").starts_with("saved"), "{:?}", written(&bench, "work"));
}
