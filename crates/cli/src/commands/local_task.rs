//! The hidden role beside each task of a local site.

use std::path::PathBuf;
use std::process::ExitCode;

/// Which task.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task's folder.
    folder: PathBuf,
}

/// Looks after the task until it is over.
pub(crate) fn run(args: &Args) -> ExitCode {
    tradewind_daemon::site::local::supervise(&args.folder)
}
