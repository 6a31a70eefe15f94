//! The promises of every site.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use tradewind_daemon::site::conformance::CHECKS;

use crate::bench::GridBench;

/// So many clusters at a time: their daemons and scripts mostly sleep.
const AT_ONCE: usize = 6;

/// Runs checks, each on a bench of its own; what has failed.
#[expect(clippy::print_stdout, reason = "how long each took")]
fn failures(make: impl Fn() -> GridBench + Sync, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let checks: Vec<_> = CHECKS.iter().filter(|(name, _)| wanted(name)).collect();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, check)) = checks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    if let Err(why) = check(&mut make()) {
                        failed.lock().unwrap().push(format!("{name}: {why}"));
                    }
                    println!("{:6} ms  {name}", began.elapsed().as_millis());
                }
            });
        }
    });
    failed.into_inner().unwrap()
}

#[test]
fn grid_engine_keeps_its_promises() {
    let failed = failures(GridBench::new, |_| true);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// With whole hosts for nodes, those that are about nodes.
#[test]
fn grid_engine_keeps_its_promises_on_whole_hosts() {
    let about_nodes = |name: &str| name.contains("node") || name.contains("owner");
    let failed = failures(GridBench::whole, about_nodes);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
