//! Pieces of work on all cores. Each thread takes the next when it is free, so results arrive in
//! any order and are put in that of the pieces.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How often progress may be reported.
const TICK: Duration = Duration::from_millis(100);

/// One thread per core.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does `count` pieces of work on `threads` threads until `stop`. `tick` gets how many are done,
/// again and again. `None`: stopped before.
pub fn work<T: Send>(
    count: usize,
    threads: usize,
    stop: &AtomicBool,
    mut tick: impl FnMut(usize),
    one: impl Fn(usize) -> T + Sync,
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let (to, from) = mpsc::channel();
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (to, next, one) = (to.clone(), &next, &one);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count || to.send((at, one(at))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(to);
        let mut done = 0;
        loop {
            match from.recv_timeout(TICK) {
                Ok((at, result)) => {
                    done += 1;
                    results[at] = Some(result);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            tick(done);
        }
    });
    results
}
