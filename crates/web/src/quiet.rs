//! Long computations on threads of lower priority, so that other requests get the processor first.

use tokio::sync::oneshot;

use crate::failure::{Answer, Failure};

/// How much nicer such a thread is than the others: it gets about a tenth of a processor that
/// others want too, and all of one that is idle.
const NICER: i32 = 10;

/// Runs `work` on a thread of its own, of lower priority. The caller bounds how many there are.
/// What `work` owns is also freed there.
///
/// # Errors
/// If there is no thread for it.
pub(crate) async fn quietly<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Answer<T> {
    let (send, receive) = oneshot::channel();
    let spawned = std::thread::Builder::new().name("quiet".to_owned()).spawn(move || {
        lower_priority();
        // The request may be gone meanwhile.
        drop(send.send(work()));
    });
    let thread = spawned.map_err(|_| Failure::unavailable("no thread to read a large request"))?;
    match receive.await {
        Ok(done) => Ok(done),
        Err(_) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Err(Failure::unavailable("the server is stopping")),
        },
    }
}

/// Of this thread only, as Linux does it. Where the system does not allow it, the work is done all
/// the same.
fn lower_priority() {
    if let Ok(now) = rustix::process::getpriority_process(None) {
        let _ = rustix::process::setpriority_process(None, (now + NICER).min(19));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_computation_has_a_lower_priority_and_others_keep_theirs() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        let quiet = runtime.block_on(quietly(priority)).unwrap();
        assert_eq!((quiet, priority()), ((before + NICER).min(19), before));
    }
}
