//! Long computations on threads of lower priority, so that other requests get the processor first.

use tokio::sync::oneshot;
use tradewind_daemon::priority;

use crate::failure::{Answer, ErrorResponse};

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
        priority::lower();
        // The request may be gone meanwhile.
        drop(send.send(work()));
    });
    let thread =
        spawned.map_err(|_| ErrorResponse::unavailable("no thread to read a large request"))?;
    match receive.await {
        Ok(done) => Ok(done),
        Err(_) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Err(ErrorResponse::unavailable("the server is stopping")),
        },
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
        assert_eq!((quiet, priority()), ((before + priority::NICER).min(19), before));
    }
}
