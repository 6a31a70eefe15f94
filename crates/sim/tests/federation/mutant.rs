//! Planted faults: each must be caught by the watcher that is there for it.

/// What is wrong with a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A volunteer's tombstones do not survive a crash: a late double is accepted again.
    Forgets,
    /// An origin counts a job as gone when it is sent, not when it has arrived.
    LetsGo,
    /// An origin without an answer for a while takes the job back.
    TakesBack,
    /// A volunteer's last entry is not on disk yet when its answer leaves.
    WritesLate,
    /// Jobs from elsewhere start wherever there is room.
    Pushes,
}
