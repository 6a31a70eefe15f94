//! The hidden roles of a local site, as a program of their own: for tests and for programs that
//! embed the daemon without the command line.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    tradewind_daemon::site::local::play(&arguments)
}
