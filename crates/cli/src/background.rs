//! Threads that do something again and again until they are stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Whether a thread is to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Repeats `turn`, with a pause of this length between, until the flag is set or a turn fails.
    pub(crate) fn repeat<E>(&self, pause: Duration, mut turn: impl FnMut() -> Result<(), E>) {
        while !self.is_set() && turn().is_ok() {
            std::thread::park_timeout(pause);
        }
    }
}

/// A thread that looks at its flag.
#[derive(Debug)]
pub(crate) struct Background {
    flag: StopFlag,
    thread: JoinHandle<()>,
}

impl Background {
    /// Starts it under this name.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(&StopFlag) + Send + 'static,
    ) -> std::io::Result<Background> {
        let flag = StopFlag::default();
        let its = flag.clone();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&its))?;
        Ok(Background { flag, thread })
    }

    /// Tells it to end, and waits until it has.
    pub(crate) fn stop(self) {
        drop(self.leave().join());
    }

    /// Tells it to end, which it does by itself.
    pub(crate) fn leave(self) -> JoinHandle<()> {
        self.flag.0.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread
    }
}
