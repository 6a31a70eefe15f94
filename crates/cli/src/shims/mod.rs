//! Slurm's commands: the same program under their names answers as they do.
//!
//! Scripts and tools that call `sbatch`, `squeue` and the others run on the market unchanged, if a
//! folder with links to this program ([`NAMES`]) stands first in `PATH`. What Slurm 24.11 prints is
//! printed; an option that cannot be honoured is refused by its name. The market is found as by
//! every command, without options: by `TRADEWIND_URL` and its like, or on this machine.

mod args;
mod fields;
mod format;
mod hostlist;
mod job_name;
mod json;
pub(crate) mod link;
mod local_account;
mod moments;
mod prolog;
mod sacct;
mod sacctmgr;
mod sbatch;
mod scancel;
mod scontrol;
mod scontrol_update;
mod select;
mod selected;
mod sinfo;
mod squeue;
mod srun;
mod srun_options;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use crate::exit::{Exit, Failure, Outcome};

/// The release of Slurm whose words are spoken.
pub(crate) const SPOKEN: &str = "24.11.5";

/// The names under which the program is one of Slurm's commands. The last is none of Slurm's: `srun`
/// gives it to tasks as their prolog.
pub(crate) const NAMES: [&str; 9] =
    ["sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo", "srun", "sacctmgr", prolog::NAME];

/// The command of Slurm that the program was called as.
pub(crate) fn called() -> Option<&'static str> {
    let first = std::env::args_os().next()?;
    let name = Path::new(&first).file_name()?.to_str()?.to_owned();
    NAMES.into_iter().find(|known| *known == name)
}

/// Runs as `name`, with the arguments of this process.
pub(crate) fn run(name: &'static str) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let texts: Option<Vec<String>> =
        words.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let Some(words) = texts else {
        return failed(name, &refused("an argument is not UTF-8"));
    };
    if words.first().is_some_and(|word| word == "--version" || word == "-V") && name != prolog::NAME
    {
        let text = format!("slurm {SPOKEN} (tradewind {})\n", env!("CARGO_PKG_VERSION"));
        return ended(name, crate::output::print(&text).map(|()| Exit::Ok));
    }
    let outcome = match name {
        "sbatch" => sbatch::run(&words),
        "squeue" => squeue::run(&words),
        "scancel" => scancel::run(&words),
        "sacct" => sacct::run(&words),
        "scontrol" => scontrol::run(&words),
        "sinfo" => sinfo::run(&words),
        "srun" => srun::run(&words),
        "sacctmgr" => sacctmgr::run(&words),
        _ => prolog::run(),
    };
    ended(name, outcome)
}

fn ended(name: &str, outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => failed(name, &failure),
    }
}

/// Slurm's commands end with 1, but `sbatch` with 255 if its options are wrong.
fn failed(name: &str, failure: &Failure) -> ExitCode {
    for problem in &failure.problems {
        error(name, &problem.message);
        if let Some(hint) = &problem.hint {
            error(name, hint);
        }
    }
    match (failure.exit, name) {
        (Exit::Ok, _) => ExitCode::SUCCESS,
        (Exit::Usage | Exit::Data, "sbatch") => ExitCode::from(255),
        _ => ExitCode::FAILURE,
    }
}

/// A line as Slurm's commands print it: `scontrol` does not name itself, and what the controller says
/// stands alone.
fn error(name: &str, message: &str) {
    let _ = match name == "scontrol" || message.starts_with("slurm_") {
        true => writeln!(anstream::stderr(), "{message}"),
        false => writeln!(anstream::stderr(), "{name}: error: {message}"),
    };
}

/// A line as Slurm's commands print it.
fn warning(name: &str, message: &str) {
    let _ = writeln!(anstream::stderr(), "{name}: warning: {message}");
}

/// What cannot be done.
fn refused(message: impl Into<String>) -> Failure {
    Failure::negative(message)
}
