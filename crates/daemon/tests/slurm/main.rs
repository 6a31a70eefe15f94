//! The Slurm site on real Slurm. Without Slurm these tests fail: see docs/reference/slurm.md.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod accounting;
mod bench;
mod cluster;
mod gotchas;
mod guest;
mod modes;
mod owners;
#[path = "../ports/mod.rs"]
mod ports;
mod preempted;
mod recall;
mod shared;
mod signals;
mod ssh;
mod terms;
mod together;
mod trial;
mod users;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use tradewind_daemon::site::conformance::CHECKS;

use bench::SlurmBench;
use cluster::{Cluster, Plan};

/// Nodes that a check has for itself.
const WIDTH: u32 = 4;
const LANES: u32 = 6;

/// Each check has a partition of its own, so that it sees nothing of those before it, on the
/// nodes of its lane.
fn conformance_plan() -> Plan {
    let mut plan = Plan::of("c", LANES * WIDTH);
    for lane in 0..LANES {
        for check in 0..CHECKS.len() {
            let (low, high) = (lane * WIDTH + 1, (lane + 1) * WIDTH);
            plan.more.push(format!(
                "PartitionName=l{lane}c{check} Nodes=c[{low}-{high}] MaxTime=INFINITE \
                 DefaultTime=10 State=UP"
            ));
        }
    }
    plan
}

#[test]
fn slurm_keeps_its_promises() {
    let only = std::env::var("TRADEWIND_CHECK").unwrap_or_default();
    let cluster = Cluster::start(&conformance_plan());
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for lane in 0..LANES {
            let (cluster, next, failed, only) = (&cluster, &next, &failed, &only);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((name, check)) = CHECKS.get(number) else { return };
                    if !name.contains(only.as_str()) {
                        continue;
                    }
                    let began = Instant::now();
                    let mut bench = SlurmBench::new(cluster, &format!("l{lane}c{number}"), WIDTH);
                    if let Err(why) = check(&mut bench) {
                        failed.lock().unwrap().push(format!("{name}: {why}"));
                    }
                    drop(bench);
                    println!("{:6} ms  {name}", began.elapsed().as_millis());
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
