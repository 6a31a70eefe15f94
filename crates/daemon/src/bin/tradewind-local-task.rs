//! The supervisor of a local site's task, as a program of its own: for tests and for programs
//! that embed the daemon without the command line.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args_os().nth(1) {
        Some(folder) => tradewind_daemon::site::local::supervise(Path::new(&folder)),
        None => ExitCode::from(2),
    }
}
