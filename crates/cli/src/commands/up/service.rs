//! What a service manager wants to know, and how it stops us.

use std::os::unix::net::UnixDatagram;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Notifies systemd, if it has started us with `Type=notify`.
pub(super) fn notify(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let sent = UnixDatagram::unbound().and_then(|it| it.send_to(state.as_bytes(), &socket));
    if let Err(wrong) = sent {
        tracing::warn!(%wrong, "the service manager cannot be told");
    }
}

/// Waits for `SIGTERM` or `SIGINT`.
///
/// # Errors
/// If signals cannot be waited for.
pub(super) fn wait() -> std::io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    signals.forever().next();
    Ok(())
}
