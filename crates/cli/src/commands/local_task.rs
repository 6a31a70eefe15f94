//! The hidden roles beside each task of a local site.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::exit::Exit;

/// Which task, or which role and what it needs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task's folder; or a role and its arguments.
    #[arg(required = true, allow_hyphen_values = true, trailing_var_arg = true)]
    words: Vec<OsString>,
}

/// Looks after the task until it is over, or does what the role says.
pub(crate) fn run(args: &Args) -> Exit {
    match tradewind_daemon::site::local::play(&args.words) {
        ExitCode::SUCCESS => Exit::Ok,
        code if code == ExitCode::from(3) => Exit::Data,
        _ => Exit::Negative,
    }
}
