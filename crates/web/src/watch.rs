//! How long a question may be worked on.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A deadline, and whether the client is still there. Who works on a long question asks often, and
/// stops when it is over.
#[derive(Debug, Clone)]
pub struct Watch {
    until: Instant,
    cancelled: Arc<AtomicBool>,
}

impl Watch {
    /// For so long from now on.
    pub fn new(time: Duration) -> Watch {
        let now = Instant::now();
        // A time without end is a year.
        let until = now.checked_add(time).unwrap_or(now + Duration::from_secs(366 * 86_400));
        Watch { until, cancelled: Arc::default() }
    }

    /// The caller no longer waits for the answer.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether to stop: the time is over, or the caller no longer waits.
    pub fn is_over(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || Instant::now() >= self.until
    }

    /// The same for loops.
    pub fn flow(&self) -> ControlFlow<()> {
        match self.is_over() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// The last moment.
    pub fn until(&self) -> Instant {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_in_time_or_when_it_is_cancelled() {
        assert!(Watch::new(Duration::ZERO).is_over());
        let watch = Watch::new(Duration::MAX);
        assert!(!watch.is_over() && watch.flow().is_continue());
        let other = watch.clone();
        other.cancel();
        assert!(watch.is_over() && watch.flow().is_break());
    }
}
