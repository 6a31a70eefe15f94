//! Exit codes by meaning, and what leads to them.

use std::io::Write as _;

pub(crate) use tradewind_campaign::failure::{Exit, Failure, Problem};

/// What a command returns.
pub(crate) type Outcome = Result<Exit, Failure>;

/// A panic is a bug of ours: says so in short, and exits with 70.
pub(crate) fn install_bug_notice() {
    std::panic::set_hook(Box::new(|panic| {
        if tradewind_io::parquet::is_caught() {
            return;
        }
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
        let payload = panic.payload();
        let what = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let _ = writeln!(
            anstream::stderr(),
            "bug: tradewind {} stopped{}: {what}\n  hint: this is never your fault; please report \
             it with the command line and the input",
            env!("CARGO_PKG_VERSION"),
            place.unwrap_or_default()
        );
        std::process::exit(i32::from(Exit::Bug.code()));
    }));
}
