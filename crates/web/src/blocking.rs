//! Work that waits.

use crate::failure::{Answer, ErrorResponse};

/// Does something that waits, on a thread that may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Answer<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(broken) => match broken.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ErrorResponse::unavailable("the server is stopping")),
        },
    }
}
