//! What a service manager wants to know, and how it stops us.

use std::os::unix::net::UnixDatagram;
use std::sync::mpsc::Sender;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use tradewind_daemon::engine::MarketRole;

use crate::report::Report;

/// Where systemd listens to a service of `Type=notify`.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Notifies systemd, if it has started us with `Type=notify`.
pub(super) fn notify(state: &str) {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    let sent = UnixDatagram::unbound().and_then(|it| it.send_to(state.as_bytes(), &socket));
    if let Err(wrong) = sent {
        tracing::warn!(%wrong, "the service manager cannot be told");
    }
}

/// What a daemon waits for.
#[derive(Debug)]
pub(super) enum Happening {
    /// It is to end.
    Stop,
    /// It owns its market now, or does not any more.
    Role(MarketRole),
}

/// What ends the daemon.
pub(super) struct End(Signals);

impl End {
    /// From now on `SIGTERM` and `SIGINT` are waited for. As a service the daemon stays at `SIGHUP`, by
    /// which other daemons read their configuration again: for systemd an end by this signal is a
    /// success, after which it would not start us again.
    ///
    /// # Errors
    /// If signals cannot be waited for.
    pub(super) fn listen() -> std::io::Result<End> {
        let signals = Signals::new([SIGTERM, SIGINT])?;
        // Elsewhere it may be ignored on purpose (`nohup`), which must stay so.
        if std::env::var_os(SOCKET).is_some() {
            signals.add_signal(SIGHUP)?;
        }
        Ok(End(signals))
    }

    /// Waits for the first of them on a thread of its own, which says so.
    ///
    /// # Errors
    /// If there is no thread.
    pub(super) fn tell(mut self, told: Sender<Happening>, report: Report) -> std::io::Result<()> {
        let wait = move || {
            for signal in self.0.forever() {
                if signal != SIGHUP {
                    break;
                }
                report.note(
                    "SIGHUP changes nothing: the configuration is read when the service starts",
                );
            }
            drop(told.send(Happening::Stop));
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
    }
}
