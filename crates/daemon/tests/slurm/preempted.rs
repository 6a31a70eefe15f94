//! Jobs whose nodes Slurm takes away for others.

use tradewind_daemon::site::conformance::{SiteBench, order};
use tradewind_daemon::site::{Exit, Order};
use tradewind_io::submission::Work;

use super::bench::SlurmBench;
use super::cluster::{Cluster, Plan};
use super::gotchas::{number, sleeps, until_ended, until_running};

fn plan(mode: &str) -> Plan {
    let mut plan = Plan::of("t", 5);
    plan.more = vec![
        "PreemptType=preempt/partition_prio".to_owned(),
        format!("PreemptMode={mode}"),
        "PartitionName=main Nodes=NODES Default=YES MaxTime=INFINITE DefaultTime=10 State=UP \
         PriorityTier=1 GraceTime=8"
            .to_owned(),
        "PartitionName=owners Nodes=NODES MaxTime=INFINITE DefaultTime=10 State=UP \
         PriorityTier=10"
            .to_owned(),
    ];
    plan
}

/// What a task does when it is warned that it will be stopped, and how it ends then.
fn tasks() -> [(&'static str, Exit); 5] {
    [
        ("sleep 300", Exit::Preempted),
        ("trap 'echo told' TERM; for i in $(seq 300); do sleep 1; done", Exit::Preempted),
        ("trap 'echo told; exit 9' TERM; for i in $(seq 300); do sleep 1; done", Exit::Preempted),
        ("trap 'echo told; exit 143' TERM; for i in $(seq 300); do sleep 1; done", Exit::Preempted),
        ("trap 'echo told; exit 0' TERM; for i in $(seq 300); do sleep 1; done", Exit::Code(0)),
    ]
}

#[test]
fn a_task_whose_nodes_are_taken_away_has_its_grace_and_ends_as_preempted() {
    for mode in ["CANCEL", "REQUEUE"] {
        let cluster = Cluster::start(&plan(mode));
        let mut bench = SlurmBench::new(&cluster, "main", 5);
        let mut all: Vec<(Order, Exit)> = Vec::new();
        for (job, (line, exit)) in (1..).zip(tasks()) {
            let text = format!("#!/bin/sh\necho begun\n{line}\n");
            let work = Work::Script { text, arguments: Vec::new() };
            let plain = order(&mut bench, job, &sleeps(0, 0));
            let order = Order { work, is_preemptible: true, ..plain };
            bench.site().submit(&order).unwrap();
            all.push((order, exit));
        }
        for (order, _) in &all {
            until_running(&mut bench, &order.tag);
            cluster.until("its work has begun", |_| {
                let file = format!("work/tradewind-{}.out", order.tag.job);
                let said = std::fs::read_to_string(bench.folder.path().join(file));
                said.is_ok_and(|said| said.contains("begun"))
            });
        }
        let refused = cluster.run(&["scontrol", "requeue", &number(&cluster, &all[0].0.tag)]);
        assert!(!refused.status.success(), "Slurm runs a task again that must not be");
        let owners = cluster.job(&["-p", "owners", "--exclusive", "-N", "5"]);
        for (order, wanted) in &all {
            let (since, exit) = until_ended(&mut bench, &order.tag);
            let said = bench.site().output(&order.tag, 1_000).unwrap();
            let said = String::from_utf8_lossy(&said).into_owned();
            assert_eq!((since.is_some(), &exit), (true, wanted), "{mode} {order:?} {said:?}");
            let traps = matches!(&order.work, Work::Script { text, .. } if text.contains("trap"));
            assert_eq!(said.contains("told"), traps, "{mode} {order:?} {said:?}");
        }
        cluster.until_state(&owners, "RUNNING");
    }
}
