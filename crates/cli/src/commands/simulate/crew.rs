//! Runs on all cores. Each takes the next when it is free, so results come in any order and are
//! put in the campaign's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::replay::Signals;
use super::summary::Summary;
use crate::exit::Failure;
use crate::progress::Progress;

/// How often the bar moves.
const TICK: Duration = Duration::from_millis(100);

/// What became of the runs that were to be done, in their order; `None`: stopped before.
pub(super) type Results = Vec<Option<Result<Summary, Failure>>>;

/// Does `count` pieces of work on `threads` threads; `all` estimates the jobs of all of them.
pub(super) fn work(
    count: usize,
    threads: usize,
    signals: &Arc<Signals>,
    progress: &mut Progress,
    all: impl Fn() -> u64,
    one: impl Fn(usize) -> Result<Summary, Failure> + Sync,
) -> Results {
    let next = AtomicUsize::new(0);
    let (to, from) = mpsc::channel();
    let mut results: Results = (0..count).map(|_| None).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (to, next, one) = (to.clone(), &next, &one);
            scope.spawn(move || {
                while !signals.stopped() {
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
            let ended = signals.ended.load(Ordering::Relaxed);
            progress.set(ended, all().max(ended), || format!("{done} of {count} runs"));
        }
    });
    results
}
