//! The promises of a site, on each of those that need no cluster.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed"
)]

mod local_site;

use std::thread;

use tradewind_daemon::site::conformance::{CHECKS, SiteBench};

use local_site::LocalBench;

/// Runs each check on a bench of its own, some at a time, and reports which failed.
fn failures<B: SiteBench>(make: impl Fn() -> B + Sync, at_once: usize) -> Vec<String> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failed = std::sync::Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some((name, check)) =
                    CHECKS.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let began = std::time::Instant::now();
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
fn local_keeps_its_promises() {
    let failed = failures(LocalBench::new, 8);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
