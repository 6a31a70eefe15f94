//! Work on two threads.

/// What both halves of some work give; `back` runs on a thread of its own. A panic of either goes
/// on here.
pub(crate) fn both<T: Send>(front: impl FnOnce() -> T, back: impl FnOnce() -> T + Send) -> (T, T) {
    std::thread::scope(|scope| {
        let back = scope.spawn(back);
        let front = front();
        match back.join() {
            Ok(back) => (front, back),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
