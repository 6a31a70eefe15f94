//! What people should know beside the result: all of it on standard error.

use std::io::Write as _;

use owo_colors::OwoColorize as _;

use crate::exit::{Failure, Problem};
use crate::options::Global;

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Volume {
    /// Errors and seeds.
    Quiet,
    /// Warnings and notes that change how the result is read.
    Normal,
    /// Sizes and times.
    Verbose,
}

/// The voice on standard error. Colours follow `NO_COLOR` and what standard error is.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) volume: Volume,
}

impl Report {
    pub(crate) fn new(global: &Global) -> Report {
        let volume = match (global.quiet, global.verbose) {
            (true, _) => Volume::Quiet,
            (false, false) => Volume::Normal,
            (false, true) => Volume::Verbose,
        };
        Report { volume }
    }

    /// Why a command stops.
    pub(crate) fn failure(&self, failure: &Failure) {
        for problem in &failure.problems {
            let error = "error:".red().bold().to_string();
            say(&error, problem);
        }
    }

    /// Something that may not be as meant.
    pub(crate) fn warning(&self, problem: &Problem) {
        if self.volume >= Volume::Normal {
            let warning = "warning:".yellow().bold().to_string();
            say(&warning, problem);
        }
    }

    /// Something that was assumed or left out.
    pub(crate) fn note(&self, message: &str) {
        if self.volume >= Volume::Normal {
            let _ = writeln!(anstream::stderr(), "{} {message}", "note:".cyan());
        }
    }

    /// What the user must do before the command can go on: always.
    pub(crate) fn prompt(&self, message: &str) {
        let _ = writeln!(anstream::stderr(), "{} {message}", "sign in:".cyan());
    }

    /// The seed of whatever was drawn: always, or the same draw could not be repeated.
    pub(crate) fn seed(&self, seed: u64) {
        let _ = writeln!(anstream::stderr(), "{} {seed}", "seed:".cyan());
    }

    /// The seeds of replications: always, too.
    pub(crate) fn seeds(&self, seeds: &str) {
        let _ = writeln!(anstream::stderr(), "{} {seeds}", "seeds:".cyan());
    }

    /// Sizes, times and the like.
    pub(crate) fn detail(&self, message: impl FnOnce() -> String) {
        if self.volume >= Volume::Verbose {
            let _ = writeln!(anstream::stderr(), "{}", message().dimmed());
        }
    }
}

fn say(label: &str, problem: &Problem) {
    let mut to = anstream::stderr().lock();
    let _ = writeln!(to, "{label} {}", problem.message);
    if let Some(hint) = &problem.hint {
        let _ = writeln!(to, "  {} {hint}", "hint:".green());
    }
}
