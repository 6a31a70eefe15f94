//! The hidden role beside each task of a local site.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::exit::Exit;

/// Which task.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task's folder.
    folder: PathBuf,
}

/// Looks after the task until it is over. It has no standard streams: whatever is to be told is
/// in the folder.
pub(crate) fn run(args: &Args) -> Exit {
    match tradewind_daemon::site::local::supervise(&args.folder) {
        ExitCode::SUCCESS => Exit::Ok,
        _ => Exit::Negative,
    }
}
