//! The `tradewind` command: arguments → settings → calls → rendering. One module per subcommand
//! in `commands`; what they share stands beside them. No decision is made here.

mod background;
mod bounded_call;
mod cli;
mod client;
mod command_policy;
mod commands;
mod decisions;
mod default_sites;
mod dispatch;
mod documents;
mod exit;
mod feeds;
mod input;
mod journals;
mod options;
mod output;
mod progress;
mod report;
mod shims;
mod sites;
mod tables;
mod worker_pool;

use std::process::ExitCode;

use clap::FromArgMatches as _;
use tradewind_campaign::{brackets, policy, values};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::Report;

/// A replay makes and drops millions of small things; see `BENCHMARKS.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    exit::install_bug_notice();
    if let Some(name) = shims::called() {
        return shims::run(name);
    }
    let parsed = cli::tree().try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return usage(&error).into(),
    };
    let report = Report::new(&cli.global);
    let ran = dispatch::run(&cli, &report);
    if let Some(warning) = client::expiry::warning() {
        report.warning(&warning);
    }
    match ran {
        Ok(exit) => exit.into(),
        Err(failure) => {
            report.failure(&failure);
            failure.exit.into()
        }
    }
}

/// Help and version go to standard output and are no error.
fn usage(error: &clap::Error) -> Exit {
    let printed = error.print();
    match (error.use_stderr(), printed) {
        (true, _) => Exit::Usage,
        (false, _) => Exit::Ok,
    }
}
