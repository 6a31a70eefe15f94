//! Threads of lower priority, for long computations beside requests that others wait for.

/// How much nicer such a thread is than the others: it gets about a tenth of a processor that
/// others want too, and all of one that is idle.
pub const NICER: i32 = 10;

/// Lowers the priority of the calling thread only, as Linux does it. Where the system does not
/// allow it, nothing happens.
pub fn lower() {
    if let Ok(now) = rustix::process::getpriority_process(None) {
        let _ = rustix::process::setpriority_process(None, (now + NICER).min(19));
    }
}
