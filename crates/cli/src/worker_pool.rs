//! Pieces of work on all cores, until a signal stops them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
pub(crate) use tradewind_campaign::worker_pool::{cores, work};

use crate::exit::Exit;

/// Ctrl-C and its like raise `stop`; the second time, they end the program. Where the system
/// refuses to receive, they end it at once, and what is finished is still kept.
pub(crate) fn listen(stop: &Arc<AtomicBool>) {
    for signal in [SIGINT, SIGTERM] {
        let code = i32::from(Exit::Interrupted.code());
        // In this order: the flag is not up yet when the first signal comes.
        let _ = flag::register_conditional_shutdown(signal, code, Arc::clone(stop));
        let _ = flag::register(signal, Arc::clone(stop));
    }
}
