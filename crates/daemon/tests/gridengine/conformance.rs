//! The promises of every site.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use tradewind_daemon::site::conformance::CHECKS;

use crate::bench::GridBench;

/// So many clusters at a time: their daemons and scripts mostly sleep.
const AT_ONCE: usize = 6;

#[test]
fn grid_engine_keeps_its_promises() {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, check)) = CHECKS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    if let Err(why) = check(&mut GridBench::new()) {
                        failed.lock().unwrap().push(format!("{name}: {why}"));
                    }
                    println!("{:6} ms  {name}", began.elapsed().as_millis());
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
